from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.gme import first_size
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, flat, keeps_its_promises

Made = Callable[[str], Path]
TURN = (
    "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n<|endoftext|>"
)


@pytest.mark.parametrize(("scheme", "name"), [("gme", "gme"), ("jina-v4", "jina_v4")])
def test_a_family_keeps_its_promises(checkpoint: Made, scheme: str, name: str) -> None:
    subject, again = (load_subject(f"{scheme}:{checkpoint(name)},batch=2") for _ in range(2))
    keeps_its_promises(subject, again, 32)


def unit(vectors: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(vectors, dim=-1)


def test_gme_is_the_closing_token_of_the_library_s_model(checkpoint: Made) -> None:
    folder = checkpoint("gme")
    model = hf.Qwen2VLForConditionalGeneration.from_pretrained(folder).eval().model
    tokenizer = hf.Qwen2Tokenizer.from_pretrained(folder)
    ids = torch.tensor([tokenizer(TURN.format("Find an image.", "mbwa"))["input_ids"]])
    with torch.inference_mode():
        expected = unit(model(ids).last_hidden_state[:, -1])
    subject = load_subject(f"gme:{folder},instruction=Find an image.")
    np.testing.assert_allclose(subject.encode_texts(["mbwa"]), expected, atol=TOLERANCE)

    image = tiny.pictures()[3]
    assert image.size == (100, 40)
    settings = {"min_pixels": 256 * 28 * 28, "max_pixels": 1280 * 28 * 28}
    # First to sides that are multiples of 28, 3.6 and 1.4 times rounded, then to the pixels of its settings.
    first = image.resize((112, 28), PIL.Image.Resampling.BICUBIC)
    patches = hf.Qwen2VLImageProcessorPil.from_pretrained(folder, **settings)([first], return_tensors="pt")
    count = int(patches["image_grid_thw"].prod()) // 4
    assert count >= 256
    shown = "<|vision_start|>" + "<|image_pad|>" * count + "<|vision_end|>"
    ids = torch.tensor([tokenizer(TURN.format("You are a helpful assistant.", shown))["input_ids"]])
    positions = torch.arange(ids.shape[1]).expand(3, 1, -1)
    with torch.inference_mode():
        expected = unit(model(ids, position_ids=positions, **patches).last_hidden_state[:, -1])
    np.testing.assert_allclose(subject.encode_images([image]), expected, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("size", "resized"),
    [
        ((500, 375), (504, 364)),  # 17.86 and 13.39 times 28
        ((14, 42), (56, 112)),  # 28 by 56 has under 4 * 784 pixels: times sqrt(3136 / 588), rounded up
        ((1, 1), (56, 56)),
        ((4032, 3024), (4032, 3024)),
        ((4200, 4200), (3584, 3584)),  # over 16384 * 784 pixels
        ((20, 3000), (28, 2996)),
        ((3, 9000), (28, 5600)),  # at most 200 times as long as wide
        ((400_000, 40), (5600, 28)),
    ],
)
def test_gme_s_pictures_get_sides_that_are_multiples_of_28_first(
    size: tuple[int, int], resized: tuple[int, int]
) -> None:
    assert first_size(*size) == resized
    assert first_size(*size[::-1]) == resized[::-1]


def test_the_instruction_is_part_of_the_fingerprint(checkpoint: Made) -> None:
    names = [f"gme:{checkpoint('gme')}{given}" for given in ("", ",instruction=Find an image.")]
    assert len({load_subject(name).fingerprint for name in names}) == 2


def test_an_over_long_text_keeps_the_end_of_its_prompt(checkpoint: Made) -> None:
    subject = load_subject(f"gme:{checkpoint('gme')}")
    long = "犬" * 4000
    row = subject.tokens([long])[0]["input_ids"]  # type: ignore[attr-defined]
    end = subject.tokenizer("<|im_end|>\n<|im_start|>assistant\n<|endoftext|>")["input_ids"]  # type: ignore[attr-defined]
    assert len(row) == 1800
    assert list(row[-len(end) :]) == end
    assert np.isfinite(subject.encode_texts([long])).all()


def test_jina_v4_means_tokens_under_the_retrieval_adapter(checkpoint: Made) -> None:
    folder = checkpoint("jina_v4")
    model = hf.Qwen2_5_VLModel.from_pretrained(folder).eval()
    state = load_file(folder / "adapters" / "adapter_model.safetensors")
    down, up = (
        state[f"base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_{half}.retrieval.weight"]
        for half in "AB"
    )
    model.language_model.layers[0].self_attn.q_proj.register_forward_hook(
        lambda _, given, made: made + 2 / 4 * (given[0] @ down.T @ up.T)
    )
    tokenizer = hf.Qwen2Tokenizer.from_pretrained(folder)
    with torch.inference_mode():
        hidden = model(torch.tensor([tokenizer("Query: mbwa")["input_ids"]])).last_hidden_state
    subject = load_subject(f"jina-v4:{folder}")
    np.testing.assert_allclose(subject.encode_texts(["mbwa"]), unit(hidden.mean(1)), atol=TOLERANCE)

    image = tiny.pictures()[0]
    patches = tiny.qwen_images()([image], return_tensors="pt")
    shown = "<|vision_start|>" + "<|image_pad|>" * 6 + "<|vision_end|>"
    ids = torch.tensor([tokenizer(f"<|im_start|>user\n{shown}Describe the image.<|im_end|>\n")["input_ids"]])
    kinds = (ids == tokenizer.convert_tokens_to_ids("<|image_pad|>")).int()
    with torch.inference_mode():
        hidden = model(ids, mm_token_type_ids=kinds, **patches).last_hidden_state
    first = int((ids == tokenizer.convert_tokens_to_ids("<|vision_start|>")).int().argmax())
    expected = unit(hidden[:, first : first + 8].mean(1))
    np.testing.assert_allclose(subject.encode_images([image]), expected, atol=TOLERANCE)

    several = flat(load_subject(f"jina-v4-multi:{folder}").encode_images([image]))
    weights = load_file(folder / "model.safetensors")
    weight, bias = (weights[f"multi_vector_projector.{name}"] for name in ("weight", "bias"))
    down, up = (
        state[f"base_model.model.multi_vector_projector.lora_{half}.retrieval.weight"] for half in "AB"
    )
    expected = unit(hidden[0] @ (weight + up @ down / 2).T + bias)
    np.testing.assert_allclose(several, expected, atol=TOLERANCE)


def test_jina_v4_prompts_and_tasks_differ(checkpoint: Made) -> None:
    folder = checkpoint("jina_v4")
    names = [f"jina-v4:{folder}{given}" for given in ("", ",prompt=passage", ",task=code")]
    made = [load_subject(name) for name in names]
    assert len({subject.fingerprint for subject in made}) == 3
    texts = np.concatenate([subject.encode_texts(["mbwa"]) for subject in made])
    assert len(np.unique(texts.round(4), axis=0)) == 3


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (",prompt=passage", "Passage: mbwa"),
        (",task=code,prompt=passage", "Passage: mbwa"),
        (",task=text-matching,prompt=passage", "Query: mbwa"),
    ],
)
def test_jina_v4_reads_texts_to_be_matched_as_queries(checkpoint: Made, given: str, read: str) -> None:
    folder = checkpoint("jina_v4")
    row = load_subject(f"jina-v4:{folder}{given}").tokens(["mbwa"])[0]["input_ids"]  # type: ignore[attr-defined]
    assert row == hf.Qwen2Tokenizer.from_pretrained(folder)(read)["input_ids"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (",prompt=document", "prompt is 'document'; expected one of query, passage"),
        (",task=clustering", "task is 'clustering'; expected one of retrieval, text-matching, code"),
        (",task=text-matching", "its adapter has no task 'text-matching'"),
    ],
)
def test_a_wrong_option_is_an_input_error(checkpoint: Made, given: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_subject(f"jina-v4:{checkpoint('jina_v4')}{given}").encode_texts(["a dog"])


def test_missing_weights_are_named(checkpoint: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("gme"), tmp_path / "copy"))
    state = load_file(folder / "model.safetensors")
    lost = next(name for name in state if name.endswith("layers.1.mlp.up_proj.weight"))
    save_file({k: v for k, v in state.items() if k != lost}, folder / "model.safetensors")
    with pytest.raises(
        InputError, match=r"no weights for 1 parts of Qwen2VLModel, such as .*layers.1.mlp.up_proj"
    ):
        load_subject(f"gme:{folder}").encode_texts(["a dog"])


def test_the_revision_that_an_adapter_names_is_that_of_its_base(checkpoint: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("colqwen25"), tmp_path / "copy"))
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings |= {"base_model_name_or_path": "no-such/base", "revision": "v7"}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="no-such/base@v7: is not a folder"):
        _ = load_subject(f"colqwen2.5:{folder}").fingerprint
