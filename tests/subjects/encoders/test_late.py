from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders._qwen import widened
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, flat, keeps_its_promises

Made = Callable[[str], Path]
LATE = {"colpali": "colpali", "colqwen2": "colqwen2", "colqwen2.5": "colqwen25", "jina-v4-multi": "jina_v4"}


@pytest.mark.parametrize("scheme", LATE)
def test_a_family_keeps_its_promises(checkpoint: Made, scheme: str) -> None:
    name = f"{scheme}:{checkpoint(LATE[scheme])},batch=2"
    keeps_its_promises(load_subject(name), load_subject(name), 8)


@pytest.mark.parametrize(("scheme", "stem"), [("colpali", "ColPali"), ("colqwen2", "ColQwen2")])
def test_vectors_are_those_of_the_library(checkpoint: Made, scheme: str, stem: str) -> None:
    folder = checkpoint(scheme)
    subject = load_subject(f"{scheme}:{folder}")
    model = getattr(hf, f"{stem}ForRetrieval").from_pretrained(folder).eval()
    images = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")
    processor = getattr(hf, f"{stem}Processor")(images, hf.AutoTokenizer.from_pretrained(folder))
    pairs = [(subject.encode_texts(tiny.TEXTS[:3]), processor.process_queries(tiny.TEXTS[:3]))]
    if scheme == "colpali":  # ColQwen2's pictures have a test of their own
        pictures = tiny.pictures()[:2]
        pairs.append((subject.encode_images(pictures), processor.process_images(pictures)))
    for ours, inputs in pairs:
        inputs.pop("labels", None)
        with torch.inference_mode():
            expected = model(**inputs).embeddings[inputs["attention_mask"].bool()]
        np.testing.assert_allclose(flat(ours), expected, atol=TOLERANCE)


def grid_positions(ids: list[int], place: int, rows: int, columns: int) -> torch.Tensor:
    """Positions `(3, 1, tokens)` by the rule of Qwen2-VL (Wang et al. 2024, section 2.1 and figure 3).

    A token of text has three equal numbers; those of a picture have one time, and their row and column.
    What follows a picture counts on from the largest number in it.
    """
    positions: list[tuple[int, int, int]] = []
    following = 0
    while len(positions) < len(ids):
        if ids[len(positions)] == place:
            positions += [
                (following, following + row, following + column)
                for row in range(rows)
                for column in range(columns)
            ]
        else:
            positions.append((following,) * 3)
        following = max(positions[-1]) + 1
    return torch.tensor(positions).T[:, None]


@pytest.mark.parametrize("scheme", ["colqwen2", "st-multi"])
def test_colqwen2_reads_pictures_at_rows_and_columns(checkpoint: Made, scheme: str) -> None:
    folder = checkpoint("colqwen2")
    subject = load_subject(f"{scheme}:{folder},batch=2")
    whole = hf.ColQwen2ForRetrieval.from_pretrained(folder).eval()
    tokenizer, place = hf.Qwen2Tokenizer.from_pretrained(folder), whole.config.vlm_config.image_token_id
    pictures = tiny.pictures()
    for ours, picture in zip(subject.encode_images(pictures), pictures, strict=True):
        patches = tiny.qwen_images()([picture], return_tensors="pt")
        rows, columns = (patches["image_grid_thw"][0, 1:] // 2).tolist()
        shown = "<|vision_start|>" + "<|image_pad|>" * rows * columns + "<|vision_end|>"
        prompt = f"<|im_start|>user\n{shown}Describe the image.<|im_end|><|endoftext|>"
        ids = tokenizer(prompt)["input_ids"]
        positions = grid_positions(ids, place, rows, columns)
        with torch.inference_mode():
            hidden = whole.vlm(torch.tensor([ids]), position_ids=positions, **patches).last_hidden_state
            expected = torch.nn.functional.normalize(whole.embedding_proj_layer(hidden), dim=-1)[0]
        np.testing.assert_allclose(ours, expected, atol=TOLERANCE)


def with_lora(model: Any, head: Any, folder: Path, scale: float) -> None:
    """Add an adapter's layers to a model as they run, side by side with the layers they change."""
    state = load_file(folder / "adapter_model.safetensors")
    for name in {key.split(".lora_")[0] for key in state}:
        down, up = (state[f"{name}.lora_{half}.weight"] for half in "AB")
        path = name.removeprefix("base_model.model.").removeprefix("model.")
        layer = head if path == "custom_text_proj" else model.language_model.get_submodule(path)

        def beside(_: Any, given: Any, made: Any, down: Any = down, up: Any = up) -> Any:
            return made + scale * (given[0] @ down.T @ up.T)

        layer.register_forward_hook(beside)


@pytest.fixture
def reference(checkpoint: Made) -> tuple[Any, Any]:
    folder = checkpoint("colqwen25")
    model = hf.Qwen2_5_VLModel.from_pretrained(folder / "base").eval()
    state = load_file(folder / "base" / "model.safetensors")
    head = torch.nn.Linear(32, 8)
    head.load_state_dict({name: state[f"custom_text_proj.{name}"] for name in ("weight", "bias")})
    with_lora(model, head, folder, 2 / 4)
    return model, head


def test_colqwen25_is_its_base_with_the_adapter_beside_it(
    checkpoint: Made, reference: tuple[Any, Any]
) -> None:
    model, head = reference
    folder = checkpoint("colqwen25")
    subject = load_subject(f"colqwen2.5:{folder}")
    # The prompt around a picture is ColQwen2's.
    processor = hf.ColQwen2Processor(tiny.qwen_images(), hf.Qwen2Tokenizer.from_pretrained(folder))
    for image in tiny.pictures()[:3]:
        inputs = processor.process_images([image])
        with torch.inference_mode():
            kinds = (inputs["input_ids"] == processor.image_token_id).int()
            patches = {"pixel_values": inputs["pixel_values"][0], "image_grid_thw": inputs["image_grid_thw"]}
            hidden = model(inputs["input_ids"], mm_token_type_ids=kinds, **patches).last_hidden_state
            expected = torch.nn.functional.normalize(head(hidden), dim=-1)[0]
        np.testing.assert_allclose(flat(subject.encode_images([image])), expected, atol=TOLERANCE)
    # colpali-engine 0.3.9: a text stands after "Query: " and before ten tokens that expand it.
    for given, prefix in (("", "Query: "), (",prefix=Find: ", "Find: "), (",prefix=", "")):
        prompt = f"{prefix}mbwa" + 10 * "<|endoftext|>"
        with torch.inference_mode():
            hidden = model(torch.tensor([processor.tokenizer(prompt)["input_ids"]])).last_hidden_state
            expected = torch.nn.functional.normalize(head(hidden), dim=-1)[0]
        subject = load_subject(f"colqwen2.5:{folder}{given}")
        np.testing.assert_allclose(flat(subject.encode_texts(["mbwa"])), expected, atol=TOLERANCE)


def test_a_merged_checkpoint_under_older_names_gives_the_same(checkpoint: Made, tmp_path: Path) -> None:
    from equiview.subjects.encoders._adapters import adapted, tensors_of
    from equiview.subjects.encoders.checkpoint import Checkpoint

    folder = checkpoint("colqwen25")
    apart = load_subject(f"colqwen2.5:{folder}")
    merged = adapted(tensors_of(Checkpoint("base", folder / "base")), Checkpoint("adapter", folder))
    older = {
        name if name.startswith(("visual", "custom")) else f"model.{name}": merged[name] for name in merged
    }
    shutil.copytree(folder / "base", tmp_path / "merged")
    save_file(
        {name: value.contiguous() for name, value in older.items()}, tmp_path / "merged" / "model.safetensors"
    )
    whole = load_subject(f"colqwen2.5:{tmp_path / 'merged'}")
    np.testing.assert_array_equal(flat(whole.encode_texts(["mbwa"])), flat(apart.encode_texts(["mbwa"])))


@pytest.fixture
def copy(checkpoint: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoint("colqwen25"), tmp_path / "copy"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"use_dora": True}, "not plain LoRA"),
        ({"base_model_name_or_path": None}, r"names no base; name it: colqwen2.5:.*,base=ID_OR_PATH"),
        ({"base_model_name_or_path": "/nowhere"}, "/nowhere: no such folder"),
    ],
)
def test_an_adapter_that_cannot_be_used_says_why(copy: Path, change: dict[str, Any], said: str) -> None:
    path = copy / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=said):
        load_subject(f"colqwen2.5:{copy}").encode_texts(["a dog"])


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        (
            {"model.layers.9.self_attn.q_proj": (32, 32)},
            "changes layers.9.self_attn.q_proj, which the model does not",
        ),
        ({"model.layers.0.self_attn.q_proj": (16, 32)}, "it is an adapter of another model"),
    ],
)
def test_an_adapter_of_another_model_is_refused(copy: Path, layers: Any, said: str) -> None:
    tiny.lora(copy, layers, base_model_name_or_path=str(copy / "base"))
    with pytest.raises(InputError, match=said):
        load_subject(f"colqwen2.5:{copy}").encode_texts(["a dog"])


def test_scales_follow_the_adapter_s_settings(copy: Path) -> None:
    def first() -> Any:
        return flat(load_subject(f"colqwen2.5:{copy}").encode_texts(["a dog"]))

    path = copy / "adapter_config.json"
    stated = json.loads(path.read_text())
    as_published = first()
    path.write_text(json.dumps(stated | {"lora_alpha": 1, "use_rslora": True}))
    np.testing.assert_allclose(first(), as_published, atol=TOLERANCE)  # 2 / 4 is 1 / sqrt(4)
    path.write_text(json.dumps(stated | {"alpha_pattern": {"q_proj": 8}}))
    assert np.abs(first() - as_published).max() > 1e-3


def test_an_adapter_where_a_merged_checkpoint_is_read_is_refused(copy: Path) -> None:
    with pytest.raises(InputError, match="is an adapter; colqwen2 reads merged checkpoints"):
        load_subject(f"colqwen2:{copy}").encode_texts(["a dog"])


def test_a_base_without_the_projection_is_refused(copy: Path) -> None:
    tiny.lora(copy, {"model.layers.0.self_attn.q_proj": (32, 32)}, base_model_name_or_path=str(copy / "base"))
    state = load_file(copy / "base" / "model.safetensors")
    save_file({k: v for k, v in state.items() if "custom" not in k}, copy / "base" / "model.safetensors")
    with pytest.raises(InputError, match=r"has no custom_text_proj.weight"):
        load_subject(f"colqwen2.5:{copy}").encode_texts(["a dog"])


def test_a_picture_too_thin_for_the_model_is_drawn_out() -> None:
    from PIL import Image

    assert widened(Image.new("RGB", (1, 1000))).size == (5, 1000)
    assert widened(Image.new("RGB", (3000, 4))).size == (3000, 15)
    assert widened(Image.new("RGB", (200, 1))).size == (200, 1)
