from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentence_transformers as st
from safetensors.torch import load_file, save_file

from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE, flat, keeps_its_promises

Made = Callable[[str], Path]


@pytest.fixture(scope="session")
def saved(checkpoint: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A tiny model in the library's own layout: `both` reads texts and images, `texts` and `tokens` texts."""
    made: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            if kind == "both":
                st.SentenceTransformer(str(checkpoint("clip")), device="cpu").save_pretrained(str(made[kind]))
            else:
                bert = tiny.build(tiny.bert, tmp_path_factory.mktemp("bert"))
                kinds = {"texts": st.SentenceTransformer, "tokens": st.MultiVectorEncoder}
                prompts = {"query": "Query: ", "document": ""}
                kinds[kind](str(bert), device="cpu", prompts=prompts).save_pretrained(str(made[kind]))
        return made[kind]

    return get


def test_a_model_of_texts_and_images_keeps_its_promises(saved: Made) -> None:
    name = f"st:{saved('both')},batch=3"
    keeps_its_promises(load_subject(name), load_subject(name), 16)


def test_vectors_are_those_of_transformers_too(saved: Made, checkpoint: Made) -> None:
    theirs, ours = load_subject(f"st:{saved('both')}"), load_subject(f"hf:{checkpoint('clip')}")
    texts = [text for text in tiny.TEXTS if text]
    np.testing.assert_allclose(theirs.encode_texts(texts), ours.encode_texts(texts), atol=TOLERANCE)
    images = tiny.pictures()
    np.testing.assert_allclose(theirs.encode_images(images), ours.encode_images(images), atol=TOLERANCE)


def test_a_prompt_is_used_and_part_of_the_fingerprint(saved: Made) -> None:
    plain, asked = (load_subject(f"st:{saved('texts')}{given}") for given in ("", ",prompt=query"))
    assert plain.fingerprint != asked.fingerprint
    with_words = plain.encode_texts(["Query: a dog"])
    np.testing.assert_allclose(asked.encode_texts(["a dog"]), with_words, atol=TOLERANCE)
    with pytest.raises(InputError, match="has no prompt 'title'; it has: query, document"):
        load_subject(f"st:{saved('texts')},prompt=title").encode_texts(["a dog"])


def test_one_vector_a_token(saved: Made) -> None:
    folder = saved("tokens")
    subject = load_subject(f"st-multi:{folder},batch=2")
    texts = [text for text in tiny.TEXTS if text]
    made = subject.encode_texts(texts)
    assert subject.similarity == "maxsim"
    assert len(made) == len(texts)
    np.testing.assert_allclose(np.linalg.norm(flat(made), axis=1), 1, atol=1e-5)
    model = st.MultiVectorEncoder(str(folder), device="cpu")
    for row, text in enumerate(texts):
        expected = model.encode_query(text, convert_to_numpy=True, normalize_embeddings=True)
        np.testing.assert_allclose(list(made)[row], expected, atol=TOLERANCE)


def test_a_model_of_texts_refuses_images(saved: Made) -> None:
    for scheme, kind in (("st", "texts"), ("st-multi", "tokens")):
        with pytest.raises(InputError, match="reads text, no images"):
            load_subject(f"{scheme}:{saved(kind)}").encode_images(tiny.pictures())


def test_the_similarity_is_the_model_s(saved: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved("texts"), tmp_path / "copy"))
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"similarity_fn_name": "dot"}))
    subject = load_subject(f"st:{folder}")
    assert subject.similarity == "dot"
    assert abs(np.linalg.norm(subject.encode_texts(["a dog"])) - 1) > 1e-3


def test_a_broken_checkpoint_is_an_input_error(saved: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved("both"), tmp_path / "copy"))
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match="cannot be loaded"):
        load_subject(f"st:{folder}").encode_texts(["a dog"])
    with pytest.raises(InputError, match="batch is 'many'"):
        load_subject(f"st:{saved('both')},batch=many").encode_texts(["a dog"])


@pytest.mark.parametrize(("scheme", "kind"), [("st", "both"), ("st", "texts"), ("st-multi", "tokens")])
def test_a_checkpoint_that_lacks_weights_is_refused(
    saved: Made, tmp_path: Path, scheme: str, kind: str
) -> None:
    folder = Path(shutil.copytree(saved(kind), tmp_path / "copy"))
    (weights,) = folder.glob("model.safetensors")
    state = load_file(weights)
    lost = next(name for name in sorted(state) if "layers.1" in name or "layer.1" in name)
    del state[lost]
    save_file(state, weights, metadata={"format": "pt"})
    with pytest.raises(InputError, match="the checkpoint has no weights for 1 parts of"):
        load_subject(f"{scheme}:{folder}").encode_texts(["a dog"])


def test_a_pooler_that_is_never_read_may_be_missing(saved: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved("texts"), tmp_path / "copy"))
    state = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in state.items() if not name.startswith("pooler.")}
    assert len(kept) < len(state)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    whole, without = (load_subject(f"st:{path}") for path in (saved("texts"), folder))
    np.testing.assert_allclose(without.encode_texts(["a dog"]), whole.encode_texts(["a dog"]), atol=TOLERANCE)


def test_precision_on_an_accelerator_is_the_checkpoint_s(saved: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved("texts"), tmp_path / "copy"))
    config = json.loads((folder / "config.json").read_text())
    for stated in ("bfloat16", "float32"):
        (folder / "config.json").write_text(json.dumps(config | {"dtype": stated}))
        assert load_subject(f"st:{folder}").half == stated


def test_vectors_are_cut_to_their_first_numbers(saved: Made) -> None:
    whole, cut = (load_subject(f"st:{saved('both')}{dim}").encode_texts(["a dog"]) for dim in ("", ",dim=5"))
    first = whole[:, :5] / np.linalg.norm(whole[:, :5])
    np.testing.assert_allclose(cut, first, atol=TOLERANCE)
    with pytest.raises(InputError, match="'st-multi' has no option 'dim'"):
        load_subject(f"st-multi:{saved('tokens')},dim=5")


def test_long_texts_are_counted(saved: Made) -> None:
    assert load_subject(f"st:{saved('texts')}").cuts(["a dog", "word " * 300]) == [False, True]
