"""Which files of a repository are fetched and read: of each folder the weights in one format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.checkpoint import Checkpoint, files_read

Made = Callable[[str], Path]

GTR = """.gitattributes 1_Pooling/config.json 2_Dense/config.json 2_Dense/pytorch_model.bin README.md
config.json config_sentence_transformers.json model.safetensors modules.json onnx/model.onnx onnx/model.bin
pytorch_model.bin rust_model.ot spiece.model tokenizer.json"""
CHINESE_CLIP = (
    "README.md clip_cn_vit-l-14.pt config.json preprocessor_config.json pytorch_model.bin vocab.txt"
)
LAION = """config.json model.safetensors model.safetensors.index.json open_clip_config.json
open_clip_model.safetensors open_clip_pytorch_model.bin pytorch_model.bin vocab.json"""
TRAINED = """config.json training_args.bin optimizer.pt scheduler.pt checkpoint-500/model.safetensors
runs/events.bin original/consolidated.00.pth pytorch_model.bin .cache/x/config.json"""
JINA = (
    "adapters/adapter_config.json adapters/adapter_model.safetensors config.json model-00001-of-2.safetensors"
)


@pytest.mark.parametrize(
    ("listing", "open_clip", "left_out"),
    [
        (GTR, False, """.gitattributes README.md onnx/model.onnx onnx/model.bin pytorch_model.bin
                        rust_model.ot"""),
        (CHINESE_CLIP, False, "README.md clip_cn_vit-l-14.pt"),
        (LAION, False, """open_clip_config.json open_clip_model.safetensors open_clip_pytorch_model.bin
                          pytorch_model.bin"""),
        (LAION, True, "model.safetensors open_clip_pytorch_model.bin pytorch_model.bin"),
        (CHINESE_CLIP, True, "README.md clip_cn_vit-l-14.pt"),
        (TRAINED, False, """training_args.bin optimizer.pt scheduler.pt checkpoint-500/model.safetensors
                            runs/events.bin original/consolidated.00.pth .cache/x/config.json"""),
        (JINA, False, ""),
    ],
)  # fmt: skip
def test_each_folder_of_a_repository_has_its_own_format(listing: str, open_clip: bool, left_out: str) -> None:
    assert files_read(listing.split(), open_clip) == sorted(set(listing.split()) - set(left_out.split()))


def test_what_is_fetched_is_what_is_read(
    checkpoint: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's own client decides which files its patterns mean; only the transport is replaced."""
    hub, local = tmp_path / "hub", tmp_path / "local"
    shutil.copytree(checkpoint("clip"), hub)
    for name in ("pytorch_model.bin", "extra[1].json", "onnx/model.bin", "2_Dense/pytorch_model.bin"):
        (hub / name).parent.mkdir(exist_ok=True)
        (hub / name).write_text("{}")
    names = [path.relative_to(hub).as_posix() for path in hub.rglob("*") if path.is_file()]

    def download(allow_patterns: list[str], **_: Any) -> str:
        for name in huggingface_hub.utils.filter_repo_objects(names, allow_patterns=allow_patterns):
            (local / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(hub / name, local / name)
        return str(local)

    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda **_: names)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    fetched = Checkpoint.find("someone/some-model", "hf")
    left = {path.relative_to(local).as_posix() for path in local.rglob("*") if path.is_file()}
    assert set(names) - left == {"pytorch_model.bin", "onnx/model.bin"}
    assert fetched.fingerprint == Checkpoint.find(str(hub), "hf").fingerprint


@pytest.fixture
def copy(checkpoint: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoint("clip"), tmp_path / "copy"))


def test_an_index_of_the_format_that_is_not_read_says_nothing(copy: Path) -> None:
    before = load_subject(f"hf:{copy}").fingerprint
    index = {"weight_map": {"text_projection.weight": "pytorch_model-00001-of-00002.bin"}}
    (copy / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    assert load_subject(f"hf:{copy}").encode_texts(["a dog"]).shape == (1, 16)
    assert load_subject(f"hf:{copy}").fingerprint != before


def test_an_index_in_a_folder_below_names_files_of_that_folder(copy: Path) -> None:
    (copy / "2_Dense").mkdir()
    (copy / "2_Dense" / "model-1.safetensors").write_bytes(b"")
    index = {"weight_map": {"linear.weight": "model-1.safetensors", "linear.bias": "model-2.safetensors"}}
    (copy / "2_Dense" / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"has no 2_Dense/model-2\.safetensors"):
        load_subject(f"hf:{copy}")


def test_files_of_openclip_change_nothing_for_transformers(copy: Path, checkpoint: Made) -> None:
    before = load_subject(f"hf:{copy}").fingerprint
    for path in checkpoint("open_clip").iterdir():
        shutil.copy(path, copy)
    assert load_subject(f"hf:{copy}").fingerprint == before
    assert Checkpoint.find(str(copy), "mclip", open_clip=True).weights == (
        copy / "open_clip_model.safetensors",
    )


def test_a_checkpoint_of_openclip_alone_says_how_to_name_it(checkpoint: Made) -> None:
    folder = checkpoint("open_clip")
    with pytest.raises(InputError, match=f"is OpenCLIP's; say open_clip:{folder}"):
        load_subject(f"hf:{folder}")
