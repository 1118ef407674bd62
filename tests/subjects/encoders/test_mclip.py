from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import save_file
from torch.nn import functional

from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, keeps_its_promises

Made = Callable[[str], Path]


@pytest.mark.parametrize("vision", ["clip", "open_clip"])
def test_mclip_keeps_its_promises(checkpoint: Made, vision: str) -> None:
    name = f"mclip:{checkpoint('mclip')},vision={checkpoint(vision)},batch=2"
    keeps_its_promises(load_subject(name), load_subject(name), 16)


def test_the_fingerprint_covers_both_towers(checkpoint: Made) -> None:
    made = {
        load_subject(f"mclip:{checkpoint('mclip')},vision={checkpoint(vision)}").fingerprint
        for vision in ("clip", "open_clip")
    }
    assert len(made) == 2


def test_texts_are_averaged_under_the_mask_and_go_through_the_linear_layer(checkpoint: Made) -> None:
    folder = checkpoint("mclip")
    state = torch.load(folder / "pytorch_model.bin", weights_only=True)
    body = {
        name.removeprefix("transformer."): value for name, value in state.items() if "transformer." in name
    }
    config = hf.XLMRobertaConfig(
        **{**tiny.TOWER, "hidden_size": 128, "num_attention_heads": 2, "max_position_embeddings": 66},
        **{"vocab_size": len(body["embeddings.word_embeddings.weight"]), "type_vocab_size": 1},
        **{"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "layer_norm_eps": 1e-5},
    )
    model = hf.XLMRobertaModel(config).eval()
    model.load_state_dict(body, strict=False)
    tokenizer = hf.XLMRobertaTokenizer.from_pretrained(folder)
    short = ["a dog", "", "mbwa analala", "犬"]
    with torch.inference_mode():
        tokens = tokenizer(short, padding=True, return_tensors="pt")
        hidden, mask = model(**tokens)[0], tokens["attention_mask"]
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]
        made = functional.linear(
            mean, state["LinearTransformation.weight"], state["LinearTransformation.bias"]
        )
    subject = load_subject(f"mclip:{folder},vision={checkpoint('clip')}")
    np.testing.assert_allclose(
        subject.encode_texts(short), functional.normalize(made).numpy(), atol=TOLERANCE
    )


def plain_tower(state: dict[str, torch.Tensor], pixels: torch.Tensor) -> torch.Tensor:
    """A vision transformer step by step, from OpenCLIP's own names."""

    def norm(values: torch.Tensor, name: str) -> torch.Tensor:
        return functional.layer_norm(
            values, values.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"]
        )

    patches = functional.conv2d(pixels, state["visual.conv1.weight"], stride=8).flatten(2).transpose(1, 2)
    first = state["visual.class_embedding"].expand(len(pixels), 1, -1)
    hidden = norm(torch.cat([first, patches], 1) + state["visual.positional_embedding"], "visual.ln_pre")
    for layer in range(2):
        block = f"visual.transformer.resblocks.{layer}"
        attention = torch.nn.MultiheadAttention(128, 2, batch_first=True)
        prefix = f"{block}.attn."
        attention.load_state_dict(
            {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
        )
        read = norm(hidden, f"{block}.ln_1")
        hidden = hidden + attention(read, read, read, need_weights=False)[0]
        inner = functional.linear(
            norm(hidden, f"{block}.ln_2"), state[f"{block}.mlp.c_fc.weight"], state[f"{block}.mlp.c_fc.bias"]
        )
        hidden = hidden + functional.linear(
            functional.gelu(inner), state[f"{block}.mlp.c_proj.weight"], state[f"{block}.mlp.c_proj.bias"]
        )
    return norm(hidden[:, 0], "visual.ln_post") @ state["visual.proj"]


def test_an_openclip_tower_computes_what_its_weights_say(checkpoint: Made) -> None:
    subject = load_subject(f"mclip:{checkpoint('mclip')},vision={checkpoint('open_clip')}")
    torch.manual_seed(0)
    state = tiny.open_clip_state()
    images = tiny.pictures()[2:3]  # 64 by 64: halved, nothing cut off
    pixels = torch.tensor(np.asarray(images[0].resize((32, 32), 3)) / 255).permute(2, 0, 1).float()
    with torch.inference_mode():
        expected = functional.normalize(plain_tower(state, ((pixels - 0.5) / 0.25)[None])).numpy()
    np.testing.assert_allclose(subject.encode_images(images), expected, atol=TOLERANCE)


@pytest.fixture
def copy(checkpoint: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoint("mclip"), tmp_path / "copy"))


def test_an_unknown_width_asks_for_the_image_tower(copy: Path) -> None:
    with pytest.raises(InputError, match="no image tower is known for vectors 16 wide; name it: mclip:"):
        load_subject(f"mclip:{copy}").encode_texts(["a dog"])


TOWERS = {
    512: "openai/clip-vit-base-patch32",
    640: "timm/vit_base_patch16_plus_clip_240.laion400m_e32",
    768: "openai/clip-vit-large-patch14",
}
"""Vision models of M-CLIP's own table of its pre-trained models, by their dimensions."""


@pytest.mark.parametrize("width", TOWERS)
@pytest.mark.parametrize("stated", [True, False])
def test_the_published_widths_know_their_image_tower(copy: Path, width: int, stated: bool) -> None:
    config: dict[str, object] = {"model_type": "M-CLIP", "num_attention_heads": 2}
    if stated:
        config["numDims"] = width
    else:
        state = torch.load(copy / "pytorch_model.bin", weights_only=True)
        head = torch.nn.Linear(128, width).state_dict()
        state |= {f"LinearTransformation.{name}": value for name, value in head.items()}
        torch.save(state, copy / "pytorch_model.bin")
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=f"{TOWERS[width]}.*could not be fetched"):
        load_subject(f"mclip:{copy}").encode_images(tiny.pictures())


def test_a_text_tower_that_is_not_xlm_r_is_refused(copy: Path, checkpoint: Made) -> None:
    name = f"mclip:{copy},vision={checkpoint('clip')}"
    state = torch.load(copy / "pytorch_model.bin", weights_only=True)
    state["transformer.embeddings.token_type_embeddings.weight"] = torch.zeros(2, 128)
    torch.save(state, copy / "pytorch_model.bin")
    with pytest.raises(InputError, match="its text tower is a BERT; mclip reads M-CLIP on XLM-R alone"):
        load_subject(name).encode_texts(["a dog"])
    (copy / "config.json").write_text(json.dumps({"modelBase": "sentence-transformers/LaBSE"}))
    with pytest.raises(InputError, match="its text tower is sentence-transformers/LaBSE; mclip reads"):
        load_subject(name)


def test_heads_that_nothing_states_are_not_guessed(copy: Path, checkpoint: Made) -> None:
    """128 numbers are of two heads of 64 or of four of 32: weights do not say."""
    config = json.loads((copy / "config.json").read_text())
    del config["num_attention_heads"]
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="128 wide is neither XLM-R base nor large"):
        load_subject(f"mclip:{copy},vision={checkpoint('clip')}").encode_texts(["a dog"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"vision_cfg": None}, "states no vision_cfg"),
        ({"vision_cfg": {"head_width": 48}}, "heads are 48 wide, which does not divide the width 128"),
        ({"vision_cfg": {"pool_type": "avg"}}, "pool_type is 'avg'; mclip reads plain"),
    ],
)
def test_an_image_tower_that_cannot_be_read_as_it_is_meant_is_refused(
    checkpoint: Made, tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    tower = Path(shutil.copytree(checkpoint("open_clip"), tmp_path / "tower"))
    (tower / "open_clip_config.json").write_text(json.dumps({"model_cfg": changed}))
    with pytest.raises(InputError, match=said):
        load_subject(f"mclip:{checkpoint('mclip')},vision={tower}").encode_images(tiny.pictures())


def test_weights_of_a_tower_that_would_not_be_used_are_named(checkpoint: Made, tmp_path: Path) -> None:
    tower = Path(shutil.copytree(checkpoint("open_clip"), tmp_path / "tower"))
    state = tiny.open_clip_state() | {"visual.attn_pool.query": torch.ones(1)}
    save_file(state, tower / "open_clip_model.safetensors")
    with pytest.raises(InputError, match=r"has 1 weights .* such as visual.attn_pool.query"):
        load_subject(f"mclip:{checkpoint('mclip')},vision={tower}").encode_images(tiny.pictures())


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("LinearTransformation.weight", "has no LinearTransformation.weight"),
        ("transformer.encoder.layer.1.output.dense.weight", "no weights for 1 parts of XLMRobertaModel"),
        ("transformer.embeddings.word_embeddings.weight", "it is not an M-CLIP checkpoint"),
    ],
)
def test_lost_weights_are_named(copy: Path, checkpoint: Made, lost: str, said: str) -> None:
    state = torch.load(copy / "pytorch_model.bin", weights_only=True)
    del state[lost]
    torch.save(state, copy / "pytorch_model.bin")
    with pytest.raises(InputError, match=said):
        load_subject(f"mclip:{copy},vision={checkpoint('clip')}").encode_texts(["a dog"])


def test_a_pickle_with_code_in_it_is_refused(copy: Path, checkpoint: Made) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("ran",)

    torch.save({"transformer.x": Evil()}, copy / "pytorch_model.bin")
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_subject(f"mclip:{copy},vision={checkpoint('clip')}").encode_texts(["a dog"])
