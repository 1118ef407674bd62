from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.subjects import EmbeddingModel, load_subject
from tests.subjects.encoders import tiny
from tests.subjects.encoders.checks import TOLERANCE

Made = Callable[[str], Path]


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    """Import mteb, without the warnings of libraries that it imports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mteb  # noqa: F401


@pytest.fixture
def registered(checkpoint: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Put a folder into mteb's registry under a name, as a copy of a model that is in it."""
    import mteb
    from mteb.models.get_model_meta import MODEL_REGISTRY
    from mteb.models.model_meta import ModelMeta

    monkeypatch.chdir(tmp_path)
    # It asks for torchvision, which its CLIP does not use.
    monkeypatch.setattr(ModelMeta, "_check_requirements", lambda self: None)

    def register(name: str, folder: Path, like: str, **changes: Any) -> str:
        # mteb loads a model by its name, and libraries look for a folder of that name first.
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(folder)
        meta = mteb.get_model_meta(like).model_copy(update={"name": name, "revision": None, **changes})
        monkeypatch.setitem(MODEL_REGISTRY, name, meta)
        return f"mteb:{name}"

    return register


@pytest.fixture
def clip(registered: Callable[..., str], checkpoint: Made) -> EmbeddingModel:
    return load_subject(
        registered("tiny/clip", checkpoint("clip"), "openai/clip-vit-large-patch14") + ",batch=2"
    )


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_texts_and_images_gives_what_it_gives_without_mteb(
    clip: EmbeddingModel, checkpoint: Made
) -> None:
    texts, images = [text for text in tiny.TEXTS if text], tiny.pictures()
    ours = load_subject(f"hf:{checkpoint('clip')}")
    for made, expected in (
        (clip.encode_texts(texts), ours.encode_texts(texts)),
        (clip.encode_images(images), ours.encode_images(images)),
    ):
        vectors = np.asarray(made)
        assert vectors.dtype == np.float32
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        np.testing.assert_allclose(unit, expected, atol=TOLERANCE)
    np.testing.assert_array_equal(clip.encode_texts(texts), clip.encode_texts(texts))


@pytest.mark.filterwarnings("ignore")
def test_a_checkpoint_that_lacks_weights_is_refused(
    registered: Callable[..., str], checkpoint: Made, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(checkpoint("clip"), tmp_path / "copy"))
    state = load_file(folder / "model.safetensors")
    del state["visual_projection.weight"]
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    subject = load_subject(registered("tiny/lacking", folder, "openai/clip-vit-large-patch14"))
    with pytest.raises(InputError, match=r"tiny/lacking.*has no weights for 1 parts.*visual_projection"):
        subject.encode_texts(["a dog"])


def late() -> type:
    """A model of mteb that gives a vector a token."""
    from mteb.models.abs_encoder import AbsEncoder

    class Late(AbsEncoder):
        """A vector a letter, shorter texts filled up with zeros, as mteb's wrappers of ColPali do."""

        def __init__(
            self, model_name: str, revision: str | None, device: str | None = None, **_: Any
        ) -> None:
            self.seen: list[Any] = []

        def encode(self, inputs: Any, *, task_metadata: Any, prompt_type: Any, **_: Any) -> torch.Tensor:
            self.seen.append((task_metadata.name, prompt_type.value))
            texts = [text for batch in inputs for text in batch["text"]]
            rows = [torch.tensor([[ord(letter), 1.0] for letter in text]) for text in texts]
            return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    return Late


def test_one_vector_a_token(registered: Callable[..., str], tmp_path: Path) -> None:
    changes = {"loader": late(), "similarity_fn_name": "MaxSim", "modalities": ["text"]}
    subject = load_subject(registered("tiny/late", tmp_path, "openai/clip-vit-large-patch14", **changes))
    assert subject.similarity == "maxsim"
    made = subject.encode_texts(["ab", "cab"])
    assert isinstance(made, TokenVectors)
    assert made.lengths.tolist() == [2, 3]
    assert made[1][:, 0].tolist() == [99, 97, 98]
    assert subject.model.seen == [("XM3600T2IRetrieval", "query")]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="mteb:tiny/late: reads text, no images"):
        subject.encode_images(tiny.pictures())


def test_the_fingerprint_is_of_name_revision_and_task() -> None:
    names = ["openai/clip-vit-large-patch14", "openai/clip-vit-base-patch32"]
    names += [f"{names[0]},task=Flickr30kT2IRetrieval"]
    assert len({load_subject(f"mteb:{name}").fingerprint for name in names}) == 3


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mteb:", "needs a model: mteb:NAME"),
        ("mteb:no/such-model", "registry has no model 'no/such-model'"),
        ("mteb:openai/clip-vit-large-patch14,batch=0", "batch is '0'"),
        ("mteb:openai/clip-vit-large-patch14,task=Nothing", "mteb has no task 'Nothing'"),
        ("mteb:openai/clip-vit-large-patch14", "cannot be loaded"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_is_said(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_subject(name).encode_texts(["a dog"])


def test_known_late_interaction_models_are_compared_by_maxsim() -> None:
    assert load_subject("mteb:vidore/colqwen2.5-v0.2").similarity == "maxsim"
