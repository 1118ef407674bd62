"""What `open_clip:` gives, beside the library's own pipeline; test_open_clip.py runs it, in a new process.

torchvision from the package index is built for CUDA, and beside a torch for processors it lacks two operators
that pictures do not need. They are defined here, in this process alone, so that it can be imported.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from equiview.data.items import Items
from equiview.errors import InputError
from equiview.store.encoder import StoredEncoder
from equiview.subjects import load_subject
from equiview.subjects.encoders.open_clip import mark_of
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, keeps_its_promises
from tests.subjects.encoders.vocabularies import xlmr_tokenizer

OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
for name in ("nms", "qnms"):
    OPERATORS.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

VISION = {"layers": 2, "width": 64, "image_size": 32, "patch_size": 8}
TEXT = {"context_length": 24, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}
COLOURS = {
    "mean": [0.5, 0.4, 0.3],
    "std": [0.2, 0.3, 0.4],
    "interpolation": "bilinear",
    "resize_mode": "squash",
}
TEXTS = ["a dog", "A DOG &amp; a cat", "", "犬が寝ている", "word " * 60]


def saved(folder: Path, config: dict[str, Any], preprocess: dict[str, Any] = COLOURS) -> Path:
    """A checkpoint of random weights in OpenCLIP's layout."""
    from open_clip import CLIP, CustomTextCLIP

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model = (CustomTextCLIP if "hf_model_name" in config["text_cfg"] else CLIP)(**config)
    save_file(
        {name: value.contiguous() for name, value in model.state_dict().items()},
        folder / "open_clip_model.safetensors",
    )
    settings = {"model_cfg": config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(settings))
    return folder


def plain(folder: Path) -> Path:
    return saved(folder, {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT})


def multilingual(folder: Path) -> Path:
    """An XLM-R text tower whose configuration is in another folder, as the library's own are."""
    import transformers as hf

    tokenizer, tower = xlmr_tokenizer(), folder.with_name(f"{folder.name}-tower")
    sizes = {**tiny.TOWER, "max_position_embeddings": 66, "vocab_size": len(tokenizer), "type_vocab_size": 1}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    tiny.saved(tower, hf.XLMRobertaConfig(**sizes, **ids), tokenizer)
    tiny.saved(folder, tokenizer)
    names = {"hf_model_name": str(tower), "hf_tokenizer_name": str(tower)}
    text = {**names, "hf_proj_type": "mlp", "hf_pooler_type": "mean_pooler", "context_length": 24}
    text |= {"hf_model_pretrained": False}
    return saved(folder, {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": text})


@pytest.fixture(params=[plain, multilingual])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made: Callable[[Path], Path] = request.param
    return made(tmp_path / "model")


def theirs(name: str, texts: list[str], **settings: Any) -> tuple[Any, Any]:
    """Vectors of pictures and texts as OpenCLIP's README makes them."""
    import open_clip

    model, _, preprocess = open_clip.create_model_and_transforms(name, **settings)
    model.eval()
    with torch.no_grad():
        images = model.encode_image(torch.stack([preprocess(image) for image in tiny.pictures()]))
        encoded = model.encode_text(open_clip.get_tokenizer(name)(texts))
    return functional.normalize(images).numpy(), functional.normalize(encoded).numpy()


def test_a_folder_gives_the_vectors_of_the_library(folder: Path) -> None:
    subject = load_subject(f"open_clip:{folder},device=cpu,batch=2")
    images, texts = theirs(f"local-dir:{folder}", TEXTS)
    np.testing.assert_allclose(subject.encode_images(tiny.pictures()), images, atol=TOLERANCE)
    np.testing.assert_allclose(subject.encode_texts(TEXTS), texts, atol=TOLERANCE)


def test_a_folder_keeps_its_promises(folder: Path) -> None:
    name = f"open_clip:{folder},batch=2"
    keeps_its_promises(load_subject(name), load_subject(name), 16, ["a dog", "two cats", "mbwa analala"])


@pytest.fixture
def tiny_architecture(tmp_path: Path) -> str:
    """An architecture that the library knows by name."""
    import open_clip

    path = tmp_path / "tiny-quickgelu.json"
    path.write_text(json.dumps({"embed_dim": 16, "quick_gelu": True, "vision_cfg": VISION, "text_cfg": TEXT}))
    open_clip.add_model_config(path)
    return path.stem


def test_an_architecture_with_a_file_of_weights(tiny_architecture: str, tmp_path: Path) -> None:
    config = {"embed_dim": 16, "quick_gelu": True, "vision_cfg": VISION, "text_cfg": TEXT}
    weights = saved(tmp_path / "made", config) / "open_clip_model.safetensors"
    subject = load_subject(f"open_clip:{tiny_architecture},pretrained={weights}")
    images, texts = theirs(tiny_architecture, TEXTS, pretrained=str(weights))
    np.testing.assert_allclose(subject.encode_images(tiny.pictures()), images, atol=TOLERANCE)
    np.testing.assert_allclose(subject.encode_texts(TEXTS), texts, atol=TOLERANCE)
    (tmp_path / "made" / "other.json").write_text("{}")
    assert (
        load_subject(f"open_clip:{tiny_architecture},pretrained={weights}").fingerprint == subject.fingerprint
    )


def test_an_architecture_with_weights_by_their_tag(
    tiny_architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but the download is the library's; a tag brings its own preprocessing."""
    import open_clip
    from open_clip import factory, pretrained

    config = {"embed_dim": 16, "quick_gelu": True, "vision_cfg": VISION, "text_cfg": TEXT}
    weights = saved(tmp_path / "made", config) / "open_clip_model.safetensors"
    tags = {
        "ours": {"hf_hub": "nobody/nothing", "quick_gelu": True, **COLOURS},
        "plain": {"hf_hub": "nobody/x"},
    }
    monkeypatch.setitem(pretrained._PRETRAINED, tiny_architecture, tags)
    for module in (open_clip, factory):
        monkeypatch.setattr(module, "download_pretrained", lambda *_, **__: str(weights))
    subject = load_subject(f"open_clip:{tiny_architecture},pretrained=ours")
    images, texts = theirs(tiny_architecture, TEXTS, pretrained="ours")
    np.testing.assert_allclose(subject.encode_images(tiny.pictures()), images, atol=TOLERANCE)
    np.testing.assert_allclose(subject.encode_texts(TEXTS), texts, atol=TOLERANCE)
    of_file = load_subject(f"open_clip:{tiny_architecture},pretrained={weights}")
    assert of_file.fingerprint != subject.fingerprint  # of the same weights, but pictures prepared otherwise
    with pytest.raises(InputError, match=r"'plain' were trained without QuickGELU, .*say open_clip:tiny,"):
        load_subject(f"open_clip:{tiny_architecture},pretrained=plain")


def test_the_fingerprint_covers_the_text_tower_and_the_tokenizer(tmp_path: Path) -> None:
    folder = multilingual(tmp_path / "model")
    tower = Path(
        json.loads((folder / "open_clip_config.json").read_text())["model_cfg"]["text_cfg"]["hf_model_name"]
    )
    prints = [load_subject(f"open_clip:{folder}").fingerprint]
    config = json.loads((tower / "config.json").read_text())
    (tower / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.1}))
    prints.append(load_subject(f"open_clip:{folder}").fingerprint)
    for place in (tower, folder):
        content = (place / "tokenizer.json").read_text()
        (place / "tokenizer.json").write_text(content.replace('"▁a"', '"▁zz"', 1))
    prints.append(load_subject(f"open_clip:{folder}").fingerprint)
    weights = load_file(folder / "open_clip_model.safetensors")
    weights["logit_scale"] += 1
    save_file(weights, folder / "open_clip_model.safetensors")
    prints.append(load_subject(f"open_clip:{folder}").fingerprint)
    moved = Path(shutil.move(folder, tmp_path / "moved"))
    assert len(set(prints)) == 4
    assert load_subject(f"open_clip:{moved}").fingerprint == prints[-1]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("ViT-B-32", r"has no weights named ''; say open_clip:ViT-B-32,pretrained=TAG or FILE; its tags: op"),
        ("ViT-B-32,pretrained=laion", "has no weights named 'laion'"),
        ("ViT-B-32,pretrained=openai", r"were trained with QuickGELU, .*say open_clip:ViT-B-32-quickgelu,"),
        ("ViT-B-33,pretrained=openai", "no architecture of OpenCLIP is named 'ViT-B-33'; did you mean"),
        ("ViT-B-32,pretrained=laion2b_s34b_b79k", "are not in the hub's cache and could not be fetched"),
        ("ViT-B-32,pretrained=openai,depth=3", "has no option 'depth'"),
        ("/nowhere", "/nowhere: no such folder"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_an_input_error(argument: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_subject(f"open_clip:{argument}")


def test_a_folder_that_lacks_weights_is_an_input_error(tmp_path: Path) -> None:
    folder = plain(tmp_path / "model")
    weights = load_file(folder / "open_clip_model.safetensors")
    del weights["text_projection"]
    save_file(weights, folder / "open_clip_model.safetensors")
    with pytest.raises(InputError, match="OpenCLIP cannot load it"):
        load_subject(f"open_clip:{folder}").encode_texts(["a dog"])
    (folder / "open_clip_config.json").unlink()
    with pytest.raises(InputError, match=r"has no open_clip_config\.json"):
        load_subject(f"open_clip:{folder}")


@pytest.mark.parametrize("head", [80, 88, 104])
def test_heads_are_as_wide_as_in_the_library(tmp_path: Path, head: int) -> None:
    """ViT-H, ViT-g and ViT-bigG have heads of 80, 88 and 104: read as 64 wide, all vectors are wrong."""
    config = {
        "embed_dim": 16,
        "vision_cfg": VISION | {"width": 2 * head, "head_width": head},
        "text_cfg": TEXT,
    }
    tower, texts = saved(tmp_path / "tower", config), tiny.build(tiny.mclip, tmp_path / "texts")
    settings = json.loads((tower / "open_clip_config.json").read_text())
    settings["preprocess_cfg"] |= {"interpolation": "bicubic", "resize_mode": "shortest"}
    (tower / "open_clip_config.json").write_text(json.dumps(settings))
    images, _ = theirs(f"local-dir:{tower}", ["a dog"])
    for name in (f"mclip:{texts},vision={tower}", f"open_clip:{tower}"):
        made = load_subject(f"{name},device=cpu").encode_images(tiny.pictures())
        np.testing.assert_allclose(made, images, atol=TOLERANCE)


@pytest.fixture
def nllb(tmp_path: Path) -> Path:
    """NLLB-CLIP: the encoder of a translator; texts begin with the mark of their language."""
    import transformers as hf

    letters = ["<s>", "<pad>", "</s>", "<unk>", *"▁abcdefghijklmnopqrstuvwxyz"]
    vocab = {letter: place for place, letter in enumerate(letters)}
    tokenizer = hf.NllbTokenizer(vocab=vocab)
    tower, folder = tmp_path / "tower", tmp_path / "model"
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 4}
    sizes |= {"decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.5}
    tiny.saved(tower, hf.M2M100Config(**sizes, vocab_size=len(tokenizer)), tokenizer)
    tiny.saved(folder, tokenizer)
    names = {"hf_model_name": str(tower), "hf_tokenizer_name": str(tower), "hf_model_pretrained": False}
    text = {**names, "hf_proj_type": "linear", "hf_pooler_type": "cls_pooler", "context_length": 24}
    return saved(folder, {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": text})


def test_a_text_is_read_in_its_own_language(nllb: Path) -> None:
    import open_clip
    import transformers as hf

    model, _, _ = open_clip.create_model_and_transforms(f"local-dir:{nllb}")
    subject = load_subject(f"open_clip:{nllb},device=cpu")
    texts = Items(
        "text", pl.DataFrame({"id": ["0", "1", "2"], "text": ["dog"] * 3, "language": ["sw", "en", "ko"]})
    )
    made = subject.embed(texts)
    for row, mark in enumerate(("swh_Latn", "eng_Latn", "kor_Hang")):
        tokenizer = open_clip.get_tokenizer(f"local-dir:{nllb}")
        tokenizer.tokenizer = hf.NllbTokenizer.from_pretrained(nllb, src_lang=mark)
        with torch.no_grad():
            expected = functional.normalize(model.eval().encode_text(tokenizer(["dog"])))[0].numpy()
        np.testing.assert_allclose(made[row], expected, atol=TOLERANCE)
    assert np.abs(made[0] - made[1]).max() > 1e-3
    stored = StoredEncoder(subject).embed(texts)
    np.testing.assert_array_equal(stored, made)
    assert load_subject(f"open_clip:{nllb},device=cpu").fingerprint == subject.fingerprint
    klingon = Items("text", pl.DataFrame({"id": ["0"], "text": ["targh"], "language": ["tlh"]}))
    with pytest.raises(InputError, match="has no mark for 'tlh'; leave it out"):
        subject.embed(klingon)


def test_marks_of_the_languages_of_crossmodal_3600() -> None:
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    wanted = {
        "ar": "arb_Arab", "fa": "pes_Arab", "fil": "tgl_Latn", "he": "heb_Hebr", "ko": "kor_Hang",
        "no": "nob_Latn", "quz": "quy_Latn", "zh": "zho_Hans", "zh-TW": "zho_Hant", "pt-BR": "por_Latn",
        "mi": "mri_Latn", "swh_Latn": "swh_Latn", "ps": "pbt_Arab", "ms": "zsm_Latn",
    }  # fmt: skip
    assert {code: mark_of(code, FAIRSEQ_LANGUAGE_CODES, "nllb") for code in wanted} == wanted


def test_texts_longer_than_the_limit_are_counted(folder: Path, nllb: Path) -> None:
    """The limit of both is 24 tokens, two of them before and after the text."""
    subject = load_subject(f"open_clip:{folder}")
    assert subject.cuts(["a dog", "", "word " * 60]) == [False, False, True]
    assert load_subject(f"open_clip:{nllb}").cuts(["a dog", "word " * 60]) == [False, True]


def test_a_text_of_just_the_limit_is_not_cut(tmp_path: Path) -> None:
    subject = load_subject(f"open_clip:{plain(tmp_path / 'model')}")
    assert subject.cuts(["a " * 22, "a " * 23]) == [False, True]
