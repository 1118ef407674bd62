"""CLIPScore, against what transformers computes for a checkpoint and on vectors one can check by eye."""

import numpy as np
import polars as pl
import pytest
import torch
import transformers as hf
from PIL import Image

from equiview.audits.memory.scoring import Scorer
from equiview.data.items import Items
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.store import stored
from equiview.subjects import Encoder, load_subject
from tests.subjects.encoders import tiny

TEXTS = ["a red hat on a chair", "a dog", "a red hat on a chair " * 40]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.build(tiny.ALL["clip"], tmp_path_factory.mktemp("clip"))


@pytest.fixture
def images(tmp_path):
    paths = []
    for number, picture in enumerate(tiny.pictures()[:4]):
        paths.append(str(tmp_path / f"{number}.png"))
        picture.save(paths[-1])
    landmarks = ["b", "a", "b", "c"]  # not in order: pictures of one landmark need not stand together
    return Items("image", pl.DataFrame({"id": list("wxyz"), "path": paths, "landmark_id": landmarks}))


def test_scores_are_those_of_transformers(checkpoint, images):
    scorer = Scorer(load_subject(f"hf:{checkpoint},device=cpu"), images, silent)
    own, other = scorer.scores(TEXTS, ["b", "a", "c"], silent)

    model = hf.CLIPModel.from_pretrained(checkpoint).eval()
    processor = hf.CLIPProcessor.from_pretrained(checkpoint)
    pictures = [Image.open(path).convert("RGB") for path in images.table["path"]]
    inputs = processor(text=TEXTS, images=pictures, return_tensors="pt", padding=True, truncation=True)
    with torch.inference_mode():
        output = model(**inputs)
    cosines = (output.text_embeds @ output.image_embeds.T).numpy()
    scores = 2.5 * np.maximum(cosines, 0)
    by_landmark = {"b": scores[:, [0, 2]].mean(axis=1), "a": scores[:, 1], "c": scores[:, 3]}
    expected = [by_landmark["b"][0], by_landmark["a"][1], by_landmark["c"][2]]
    np.testing.assert_allclose(own, expected, atol=2e-3)
    others = [
        (by_landmark["a"][0] + by_landmark["c"][0]) / 2,
        (by_landmark["b"][1] + by_landmark["c"][1]) / 2,
        (by_landmark["a"][2] + by_landmark["b"][2]) / 2,
    ]
    np.testing.assert_allclose(other, others, atol=2e-3)


def test_texts_beyond_the_limit_of_a_checkpoint_are_known(checkpoint, monkeypatch, tmp_path):
    encoder = load_subject(f"hf:{checkpoint},device=cpu")
    assert encoder.cuts(TEXTS) == [False, False, True]
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path))
    assert stored(encoder).cuts(TEXTS) == [False, False, True]
    assert load_subject("pictogram:aligned").cuts(TEXTS) is None


VECTORS = {"x": (1.0, 0.0), "y": (0.0, 2.0), "m": (-1.0, -1.0), "d": (1.0, 1.0)}


class Given(Encoder):
    """Vectors of the first letter of a text, and of the id of a picture."""

    def embed(self, items, progress=silent):
        names = items.texts if items.kind == "text" else items.ids
        return np.array([VECTORS[name[0]] for name in names], dtype=np.float32)


def test_a_score_is_two_and_a_half_cosines_and_never_below_0():
    pictures = pl.DataFrame({"id": ["x", "y", "d"], "landmark_id": ["1", "2", "2"]})
    scorer = Scorer(Given(), Items("image", pictures), silent)
    own, other = scorer.scores(["x", "x", "m", "d"], ["1", "2", "1", "2"], silent)
    half = np.sqrt(0.5)
    assert own.tolist() == pytest.approx([2.5, 1.25 * half, 0, (2.5 * half + 2.5) / 2])
    assert other.tolist() == pytest.approx([1.25 * half, 2.5, 0, 2.5 * half])


def test_one_landmark_has_no_others():
    scorer = Scorer(Given(), Items("image", pl.DataFrame({"id": ["x"], "landmark_id": ["1"]})), silent)
    own, other = scorer.scores(["d"], ["1"], silent)
    assert own[0] == pytest.approx(2.5 * np.sqrt(0.5))
    assert np.isnan(other[0])


def test_an_encoder_with_one_vector_a_token_is_refused():
    class Late(Given):
        def embed(self, items, progress=silent):
            return TokenVectors.of([np.ones((2, 2), dtype=np.float32)] * len(items))

    with pytest.raises(InputError, match="has one vector for each token"):
        Scorer(Late(), Items("image", pl.DataFrame({"id": ["x"], "landmark_id": ["1"]})), silent)
