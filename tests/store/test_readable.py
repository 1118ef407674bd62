"""Pictures that cannot be read are excluded and reported, whatever looks at them."""

from dataclasses import replace

import polars as pl
import pytest

from equiview.benchmarks import Benchmark, load_benchmark, same_image
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.store import Store, readable_part, stored, stored_answers
from equiview.subjects import Answerer, load_subject
from tests.benchmarks.layouts import knowrecall
from tests.conftest import write_world
from tests.store.counting import Counting, images, picture, texts


class Ready(Answerer):
    """Has its answers already."""

    looks_up = True

    @property
    def fingerprint(self):
        return type(self).__name__

    def replies(self, requests, images, progress):
        yield from ((place, Reply("A")) for place in range(len(requests)))


class Looking(Ready):
    """Must look at the picture."""

    looks_up = False


class Outside(Looking):
    """Somebody else's, which asks an encoder for vectors; with `follows` these are all that is kept."""

    def __init__(self, follows=False):
        super().__init__()
        self.encoder, self.follows = Counting(), follows

    def replies(self, requests, images, progress):
        vectors = self.encoder.embed(images)
        yield from ((place, Reply(str(vectors[request.image][0]))) for place, request in enumerate(requests))


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def quiz(tmp_path):
    """Six questions about three landmarks in three languages; the picture of the second is broken."""
    knowrecall(tmp_path / "quiz")
    benchmark = load_benchmark(f"knowrecall:{tmp_path / 'quiz'}")
    table = benchmark.images.table
    broken = pl.when(pl.arange(len(table)) == 1).then(pl.lit(b"broken")).otherwise("picture")
    return replace(benchmark, images=Items("image", table.with_columns(picture=broken), "quiz"))


@pytest.mark.parametrize("with_store", [True, False])
def test_an_encoder_goes_on_with_what_can_be_read(with_store):
    pictures = images(picture("red"), b"broken", picture("blue"))
    captions = texts("one", "two", "three").table.with_columns(image_id=pl.Series(["i0", "i1", "i2"]))
    captions = Items("text", captions, "texts")
    whole = Benchmark("some", pictures, captions, same_image(pictures, captions))
    subject = stored(Counting(), Store()) if with_store else Counting()
    part, bad = readable_part(subject, whole)
    assert part.images.ids.to_list() == ["i0", "i2"]
    assert part.texts.texts == ["one", "three"]
    assert bad.select("row", "id").rows() == [(2, "i1")]
    assert len(subject.embed(part.images)) == 2


@pytest.mark.parametrize("with_store", [True, False])
@pytest.mark.parametrize("make", [Looking, Outside, lambda: load_subject("choice:pictogram:aligned")])
def test_what_answers_is_asked_about_pictures_that_can_be_read(make, with_store, quiz):
    subject = stored_answers(make()) if with_store else make()
    told = []
    part, bad = readable_part(subject, quiz, lambda label, done, total: told.append((done, total)))
    whole, left = (benchmark.tables["questions"]["image_id"] for benchmark in (quiz, part))
    missing = quiz.images.ids[1]
    assert bad.select("row", "id").rows() == [(2, missing)]
    assert set(left) == set(whole) - {missing}
    assert len(left) == len(whole) * 2 // 3
    assert told


@pytest.mark.parametrize("follows", [True, False])
def test_vectors_behind_the_answers_of_somebody_elses_model_are_kept(follows, quiz):
    part, _ = readable_part(Looking(), quiz)
    request = Request("q", "which?", "en", image=0)
    for encoded in (1, 0):  # the pictures that can be read are one picture twice
        outside = Outside(follows)
        counting, model = outside.encoder, stored_answers(outside)
        assert (model is outside) == follows
        readable_part(model, quiz)
        model.ask([request], part.images)
        assert counting.encoded == encoded


def test_who_has_the_answers_or_vectors_already_needs_no_picture(quiz, tmp_path):
    vectors = load_subject(f"embeddings:{write_world(tmp_path / 'world')}")
    outside = Outside()
    outside.encoder = vectors
    for subject in (Ready(), vectors, outside, stored_answers(outside)):
        part, bad = readable_part(subject, quiz)
        assert (part is quiz, len(bad)) == (True, 0)


def test_nothing_that_can_be_read_is_an_error(quiz):
    with pytest.raises(InputError, match="no image is left; all 1 cannot be used"):
        readable_part(Looking(), replace(quiz, images=quiz.images.take([1]), tables={}))
