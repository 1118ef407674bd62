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
import transformers as hf
from safetensors.torch import load_file, save_file

from equiview.data.items import Items
from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, keeps_its_promises

WIDTHS = {"clip": 16, "chinese_clip": 16, "siglip": 32, "siglip2": 32, "altclip": 16, "blip": 16}
WIDTHS["siglip2_fixed"] = 32
Made = Callable[[str], Path]


def test_every_tiny_dual_encoder_is_tested() -> None:
    assert WIDTHS.keys() == tiny.DUAL.keys()


@pytest.mark.parametrize("family", WIDTHS)
def test_a_family_keeps_its_promises(checkpoint: Made, family: str) -> None:
    subject, again = (load_subject(f"hf:{checkpoint(family)},batch=3") for _ in range(2))
    keeps_its_promises(subject, again, WIDTHS[family])


def unit(vectors: torch.Tensor) -> Any:
    return torch.nn.functional.normalize(vectors, dim=-1).numpy()


@pytest.mark.parametrize("family", [name for name in WIDTHS if name not in {"blip", "siglip2_fixed"}])
def test_vectors_are_those_of_the_library(checkpoint: Made, family: str) -> None:
    folder = checkpoint(family)
    subject = load_subject(f"hf:{folder}")
    model = hf.AutoModel.from_pretrained(folder).eval()
    processor = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    image, text = tiny.pictures()[3], "ein Hund auf dem Sofa"
    length = {"padding": "max_length", "max_length": 64} if family.startswith("siglip") else {}
    tokens = tokenizer([text], return_tensors="pt", **length)
    if family.startswith("siglip"):
        del tokens["attention_mask"]
    with torch.inference_mode():
        seen = model.get_image_features(**processor([image], return_tensors="pt")).pooler_output
        read = model.get_text_features(**tokens).pooler_output
    np.testing.assert_allclose(subject.encode_images([image]), unit(seen), atol=TOLERANCE)
    np.testing.assert_allclose(subject.encode_texts([text]), unit(read), atol=TOLERANCE)


@pytest.mark.parametrize("text", ["Ein HUND auf dem Sofa", "", "Ω Σ К犬", "word " * 300])
def test_siglip_2_reads_lower_case_filled_up_to_64_tokens(checkpoint: Made, text: str) -> None:
    # Tschannen et al., "SigLIP 2", 2025, section 2: "We set the text length to 64 and use the multilingual
    # Gemma tokenizer with vocabulary size 256k, transforming the text to lower case before tokenization".
    folder = checkpoint("siglip2_fixed")
    gemma = hf.GemmaTokenizer.from_pretrained(folder)
    ids = [*gemma(text.lower(), add_special_tokens=False)["input_ids"][:63], gemma.eos_token_id]
    filled = torch.tensor([ids + [gemma.pad_token_id] * (64 - len(ids))])
    model = hf.SiglipModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = unit(model.get_text_features(filled).pooler_output)
    made = load_subject(f"hf:{folder}").encode_texts([text])
    np.testing.assert_allclose(made, expected, atol=TOLERANCE)


def test_blip_scores_are_those_of_its_contrastive_head(checkpoint: Made) -> None:
    folder = checkpoint("blip")
    subject = load_subject(f"hf:{folder}")
    model = hf.BlipForImageTextRetrieval.from_pretrained(folder).eval()
    processor = hf.AutoProcessor.from_pretrained(folder)
    image, text = tiny.pictures()[0], "a dog"
    with torch.inference_mode():
        inputs = processor(images=[image], text=[text], return_tensors="pt")
        expected = model(**inputs, use_itm_head=False).itm_score
    ours = subject.encode_images([image]) @ subject.encode_texts([text]).T
    np.testing.assert_allclose(ours, expected, atol=TOLERANCE)


def test_embed_checks_and_keeps_the_order_of_items(checkpoint: Made) -> None:
    subject = load_subject(f"hf:{checkpoint('clip')}")
    subject.text_batch = 2
    texts = [text for text in tiny.TEXTS if text]
    table = pl.DataFrame({"id": list("abcdefgh"), "text": texts, "language": ["en"] * 8})
    vectors = subject.embed(Items("text", table))
    np.testing.assert_allclose(vectors, subject.encode_texts(texts), atol=TOLERANCE)


def test_half_precision_stays_near_and_changes_the_fingerprint(checkpoint: Made) -> None:
    whole, half = (load_subject(f"hf:{checkpoint('clip')},dtype={name}") for name in ("float32", "bfloat16"))
    near = (whole.encode_texts(tiny.TEXTS[:3]) * half.encode_texts(tiny.TEXTS[:3])).sum(axis=1)
    assert near.min() > 0.99
    assert whole.fingerprint != half.fingerprint


@pytest.fixture
def copy(checkpoint: Made, tmp_path: Path) -> Path:
    """A checkpoint that a test may break."""
    return Path(shutil.copytree(checkpoint("clip"), tmp_path / "copy"))


def test_the_fingerprint_follows_every_weight_and_the_preprocessing(copy: Path) -> None:
    first = load_subject(f"hf:{copy}").fingerprint
    weights = load_file(copy / "model.safetensors")
    weights["text_projection.weight"][0, 0] += 1e-3
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    second = load_subject(f"hf:{copy}").fingerprint
    name = next(
        name for name in ("preprocessor_config.json", "processor_config.json") if (copy / name).exists()
    )
    (copy / name).write_text((copy / name).read_text().replace("32", "24"))
    third = load_subject(f"hf:{copy}").fingerprint
    assert len({first, second, third}) == 3


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("config.json", "has no config.json"),
        ("model.safetensors", "has no weights"),
        ("processor_config.json", "has no preprocessor_config.json nor processor_config.json"),
    ],
)
def test_a_missing_file_is_named(copy: Path, lost: str, said: str) -> None:
    (copy / lost).unlink()
    with pytest.raises(InputError, match=said):
        load_subject(f"hf:{copy}").encode_texts(["a dog"])


def test_missing_tokenizer_files_are_an_input_error(copy: Path) -> None:
    for path in [*copy.glob("token*"), *copy.glob("vocab*"), *copy.glob("merges*")]:
        path.unlink()
    with pytest.raises(InputError):
        load_subject(f"hf:{copy}").encode_texts(["a dog"])


def test_a_missing_shard_is_named(copy: Path) -> None:
    index = {"weight_map": {"text_projection.weight": "model-00002-of-00002.safetensors"}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"has no model-00002-of-00002.safetensors"):
        load_subject(f"hf:{copy}")


def test_a_checkpoint_that_lacks_weights_is_not_filled_with_random_ones(copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    del weights["text_projection.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        InputError, match=r"no weights for 1 parts of CLIPModel, such as text_projection.weight"
    ):
        load_subject(f"hf:{copy}").encode_texts(["a dog"])


def test_a_truncated_weight_file_is_an_input_error(copy: Path) -> None:
    content = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="cannot be loaded"):
        load_subject(f"hf:{copy}").encode_texts(["a dog"])


def test_a_model_that_returns_nan_is_reported_with_the_item(copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    weights["text_projection.weight"][:] = float("nan")
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    items = Items("text", pl.DataFrame({"id": ["t0"], "text": ["a dog"], "language": ["en"]}))
    with pytest.raises(InputError, match=r"the vector of text 't0' .* is not finite"):
        load_subject(f"hf:{copy}").embed(items)


def test_half_a_surrogate_pair_is_refused(checkpoint: Made) -> None:
    with pytest.raises(InputError, match=r"text 2 of this batch, .* unpaired surrogate"):
        load_subject(f"hf:{checkpoint('clip')}").encode_texts(["a dog", "a \ud83d"])


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("", "needs a checkpoint: hf:ID_OR_PATH"),
        ("/nowhere/at/all", "/nowhere/at/all: no such folder"),
        ("nobody/nothing", "is not a folder, is not in the hub's cache, and could not be fetched"),
        ("{clip},depth=3", "has no option 'depth'; it has: device, dtype, batch"),
        ("{clip},dtype=int8", "dtype is 'int8'; expected float32, float16 or bfloat16"),
        ("{clip},batch=0", "batch is '0'; expected a whole number from 1"),
        ("{clip},device=abacus", "device 'abacus' cannot be used"),
    ],
)
def test_a_wrong_argument_is_an_input_error(checkpoint: Made, argument: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_subject(f"hf:{argument.format(clip=checkpoint('clip'))}").encode_texts(["a dog"])


def test_a_missing_extra_says_how_to_install_it(checkpoint: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(InputError, match=r"pip install 'equiview\[hf\]'"):
        load_subject(f"hf:{checkpoint('clip')},device=cpu").encode_texts(["a dog"])


CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel

class OwnConfig(PretrainedConfig):
    model_type = "own_dual_encoder"
    hidden_size = 8

class OwnModel(PreTrainedModel):
    config_class = OwnConfig
    def __init__(self, config):
        super().__init__(config)
        self.text = torch.nn.Embedding(1000, 8)
        self.image = torch.nn.Linear(3, 8)
        self.post_init()
    def get_text_features(self, input_ids=None, return_dict=None, *_, **__):
        return self.text(input_ids).sum(1)
    def get_image_features(self, pixel_values=None, **__):
        return self.image(pixel_values.mean((2, 3)))
"""


@pytest.fixture
def own_code(checkpoint: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint that brings its own classes, as jina-clip-v2 does."""
    folder = Path(shutil.copytree(checkpoint("clip"), tmp_path / "own"))
    (folder / "modeling_own.py").write_text(CODE)
    auto = {"AutoConfig": "modeling_own.OwnConfig", "AutoModel": "modeling_own.OwnModel"}
    (folder / "config.json").write_text(json.dumps({"model_type": "own_dual_encoder", "auto_map": auto}))
    torch.manual_seed(0)
    weights = {
        "text.weight": torch.randn(1000, 8),
        "image.weight": torch.randn(8, 3),
        "image.bias": torch.randn(8),
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    return folder


def test_code_of_a_checkpoint_runs_only_when_trusted(own_code: Path) -> None:
    with pytest.raises(InputError, match=f"program code of its own.*say hf-trust:{own_code}"):
        load_subject(f"hf:{own_code}").encode_texts(["a dog"])
    subject = load_subject(f"hf-trust:{own_code}")
    assert subject.encode_texts(["a dog"]).shape == subject.encode_images(tiny.pictures()[:1]).shape == (1, 8)


def test_a_model_of_one_tower_is_refused(checkpoint: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("chinese_clip"), tmp_path / "bert"))
    tiny.saved(folder, hf.BertModel(hf.BertConfig(**tiny.TOWER, vocab_size=300)))
    with pytest.raises(InputError, match="BertModel does not make separate vectors of images and texts"):
        load_subject(f"hf:{folder}").encode_texts(["a dog"])


def test_vectors_are_cut_to_their_first_numbers_and_scaled_again(checkpoint: Made) -> None:
    whole, cut = (load_subject(f"hf:{checkpoint('clip')}{dim}") for dim in ("", ",dim=5"))
    for encode, encode_cut, items in (
        (whole.encode_images, cut.encode_images, tiny.pictures()),
        (whole.encode_texts, cut.encode_texts, ["a dog", "mbwa"]),
    ):
        first = encode(items)[:, :5]
        expected = first / np.linalg.norm(first, axis=1, keepdims=True)
        np.testing.assert_allclose(encode_cut(items), expected, atol=TOLERANCE)
    assert whole.fingerprint != cut.fingerprint
    with pytest.raises(InputError, match="dim is 17, but its vectors are 16 wide"):
        load_subject(f"hf:{checkpoint('clip')},dim=17").encode_texts(["a dog"])
    with pytest.raises(InputError, match="dim is '0'; expected a whole number from 1"):
        load_subject(f"hf:{checkpoint('clip')},dim=0")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("jinaai/jina-embeddings-v4", "say jina-v4:jinaai/jina-embeddings-v4"),
        ("vidore/colpali-v1.3", "say colpali:vidore/colpali-v1.3-hf"),
        ("vidore/colqwen2-v1.0-hf@main", "say colqwen2:vidore/colqwen2-v1.0-hf"),
        ("vidore/colqwen2.5-v0.2", r"say colqwen2\.5:vidore/colqwen2\.5-v0\.2"),
        ("Qwen/Qwen3-VL-Embedding-2B", "say st:Qwen/Qwen3-VL-Embedding-2B"),
        ("TomoroAI/tomoro-colqwen3-embed-4b", "say mteb:TomoroAI/tomoro-colqwen3-embed-4b"),
        ("nomic-ai/nomic-embed-vision-v1.5", "say mteb:nomic-ai/nomic-embed-vision-v1.5"),
        ("M-CLIP/XLM-Roberta-Large-Vit-L-14", "say mclip:M-CLIP/XLM-Roberta-Large-Vit-L-14"),
    ],
)
def test_what_loads_another_kind_of_model_is_said_before_it_is_fetched(name: str, said: str) -> None:
    with pytest.raises(InputError, match=f"hf reads dual encoders; {said}"):
        load_subject(f"hf:{name}")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "blip-2"}, "BLIP-2 gives several vectors a picture"),
        ({"model_type": "flava"}, "FLAVA gives a vector a token"),
        ({"model_type": "qwen2_5_vl", "architectures": ["JinaEmbeddingsV4Model"]}, "say jina-v4:"),
    ],
)
def test_models_that_are_no_dual_encoders_are_refused_in_a_line(
    checkpoint: Made, tmp_path: Path, config: dict[str, object], said: str
) -> None:
    folder = Path(shutil.copytree(checkpoint("clip"), tmp_path / "model"))
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=said):
        load_subject(f"hf:{folder}").encode_texts(["a dog"])


def test_code_in_another_repository_is_pinned_and_in_the_fingerprint(
    own_code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((own_code / "config.json").read_text())
    config["auto_map"] = {name: f"other/code--{place}" for name, place in config["auto_map"].items()}
    (own_code / "config.json").write_text(json.dumps(config))
    code = tmp_path / "snapshots" / ("c" * 40)
    code.mkdir(parents=True)
    asked: list[dict[str, object]] = []

    def fetched(**where: object) -> str:
        asked.append(where)
        return str(code)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    found = []
    for content in ("a = 1", "a = 2"):
        (code / "modeling_own.py").write_text(content)
        subject = load_subject(f"hf-trust:{own_code},code_revision=v1")
        found.append(subject.fingerprint)
        assert subject.trusted == {"trust_remote_code": True, "code_revision": "c" * 40}
    assert found[0] != found[1]
    assert asked[0] == {"repo_id": "other/code", "revision": "v1", "allow_patterns": ["*.py"]}


def test_a_batch_that_does_not_fit_is_taken_in_halves(
    checkpoint: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = load_subject(f"hf:{checkpoint('clip')},batch=5")
    pictures = tiny.pictures()[:5]
    whole = subject.encode_images(pictures)
    seen: list[int] = []
    forward = subject.image_vectors

    def small(inputs: Any, most: int = 2) -> torch.Tensor:
        if len(inputs["pixel_values"]) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        seen.append(len(inputs["pixel_values"]))
        return forward(inputs)

    monkeypatch.setattr(subject, "image_vectors", small)
    np.testing.assert_allclose(subject.encode_images(pictures), whole, atol=TOLERANCE)
    assert seen == [2, 1, 2]
    monkeypatch.setattr(subject, "image_vectors", lambda inputs: small(inputs, 0))
    with pytest.raises(InputError, match=r"cpu has too little memory for .*lower the option 'batch'"):
        subject.encode_images(pictures)
