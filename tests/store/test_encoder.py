"""An encoder with a store: what is stored is found, and only what is missing is encoded."""

import numpy as np
import polars as pl
import pytest

from equiview.benchmarks import load_benchmark
from equiview.data.items import Items
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search import comparable, unit
from equiview.store import Store, stored
from equiview.subjects import EmbeddingModel, load_subject
from equiview.subjects.encoders.pictogram import Pictogram
from tests.conftest import write_world
from tests.store.counting import Counting, Tokens, images, many, picture, texts


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_a_second_audit_encodes_nothing_and_sees_the_same_vectors(store):
    items = many(23)
    first, second = Counting(), Counting()
    made = stored(first, store).embed(items)
    found = stored(second, store).embed(items)
    assert (first.encoded, second.encoded) == (23, 0)
    np.testing.assert_array_equal(made, found)
    np.testing.assert_array_equal(made, Counting().embed(items))


def test_only_what_is_missing_is_encoded_whatever_the_order_and_the_ids(store):
    stored(Counting(), store).embed(texts("a", "b", "c"))
    encoder = Counting()
    vectors = stored(encoder, store).embed(texts("d", "c", "e", "a", "d"))
    assert encoder.encoded == 2
    np.testing.assert_array_equal(vectors, Counting().embed(texts("d", "c", "e", "a", "d")))


def test_pictures_are_known_by_content_not_by_place(store, tmp_path):
    colours = [picture(colour) for colour in ("red", "lime", "blue")]
    stored(Counting(), store).embed(images(*colours))
    paths = [tmp_path / f"{row}.png" for row in range(3)]
    for path, content in zip(paths, colours, strict=True):
        path.write_bytes(content)
    filed = Items("image", pl.DataFrame({"id": ["x", "y"], "path": [str(paths[2]), str(paths[0])]}))
    encoder = Counting()
    assert stored(encoder, store).embed(filed)[:, :3].tolist() == [[0, 0, 255], [255, 0, 0]]
    assert encoder.encoded == 0


def test_half_precision_rounds_alike_the_first_and_the_second_time(store):
    items = many(9)
    made = stored(Counting(scale=1 / 3), store, precision="float16").embed(items)
    found = stored(Counting(), store, precision="float16").embed(items)
    np.testing.assert_array_equal(made, found)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, made.astype(np.float16))
    assert stored(Counting(), store).fingerprint == "counting"
    assert stored(Counting(), store, precision="float16").fingerprint == "counting-float16"
    with pytest.raises(InputError, match="too large for float16"):
        stored(Counting("large", scale=1e6), store, precision="float16").embed(items)


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_one_vector_a_token_is_stored_too(store, precision):
    items = texts("abc", "a", "abcdefg", "bc", "abc", "xyz", "u")
    made = stored(Tokens(), store, precision=precision).embed(items)
    encoder = Tokens()
    found = stored(encoder, store, precision=precision).embed(items.take([6, 0, 2]))
    assert encoder.encoded == 0
    assert isinstance(found, TokenVectors)
    assert found.values.dtype == precision
    assert found.lengths.tolist() == [1, 3, 7]
    np.testing.assert_array_equal(found[1], made[0])


def test_vectors_in_stored_order_are_mapped_not_copied(store):
    items = images(*map(picture, ("red", "lime", "blue")))
    vectors = stored(Counting(), store).embed(items)
    assert not vectors.flags.owndata
    assert not vectors.flags.writeable


def test_vectors_that_were_copied_are_scaled_where_they_are(store):
    items = many(23).take(list(range(22, -1, -1)))
    encoder = stored(Counting(), store)
    encoder.embed(items.take([3, 1]))
    expected = unit(encoder.embed(items))
    copied = encoder.embed(items)
    encoder.embed = lambda *_: copied
    assert comparable(encoder, items) is copied
    np.testing.assert_array_equal(copied, expected)


def test_an_error_keeps_what_was_encoded_before_it(store):
    class Breaks(Counting):
        def encode_texts(self, texts):
            if self.encoded >= 10:
                raise RuntimeError("out of memory")
            return super().encode_texts(texts)

    with pytest.raises(InputError, match="Breaks: encode_texts failed with RuntimeError: out of memory"):
        stored(Breaks(), store).embed(many(20))
    encoder = Counting()
    stored(encoder, store).embed(many(20))
    assert encoder.encoded == 10


def test_vectors_that_are_not_numbers_are_never_stored(store):
    with pytest.raises(InputError, match=r"'t2' \(row 3\) is not finite"):
        stored(Counting(scale=np.nan), store).embed(texts("a", "bbbbb", "ccccccc"))
    assert store.contents()["items"].sum() == 0


def test_unreadable_pictures_stop_or_are_reported_by_row_and_reason(store, tmp_path):
    good = [picture(colour) for colour in ("red", "lime", "blue", "white", "black")]
    items = images(good[0], b"broken", *good[1:], b"broken")
    with pytest.raises(InputError, match="images, row 2: picture of 'i1' cannot be read"):
        stored(Counting(), store).embed(items)
    encoder = Counting()
    bad = stored(encoder, store).fill(items)
    assert bad.select("row", "id").rows() == [(2, "i1"), (7, "i6")]
    assert "cannot be read" in bad["reason"][0]
    again = Counting()
    stored(again, store).embed(items.take([0, 2, 3, 4, 5]))
    assert again.encoded == 0
    absent = Items("image", pl.DataFrame({"id": ["a"], "path": [str(tmp_path / "gone.png")]}), "images")
    assert "gone.png" in stored(Counting(), store).fill(absent)["reason"][0]


def test_progress_counts_what_was_there_already(store):
    stored(Counting(), store).embed(many(10))
    told = []
    stored(Counting(), store).embed(many(20), lambda *what: told.append(what))
    assert told == [("encoding texts", 15, 20), ("encoding texts", 20, 20)]


def test_encoders_that_cannot_vouch_for_themselves_are_not_stored(store, tmp_path):
    class Anonymous(Counting):
        fingerprint = EmbeddingModel.fingerprint

    kept = stored(Counting(), store)
    assert kept is not None
    assert kept.about == Counting().about == "An encoder that counts what it was asked to encode."
    anonymous = Anonymous()
    assert stored(anonymous, store) is anonymous
    vectors = load_subject(f"embeddings:{write_world(tmp_path / 'world')}")
    assert stored(vectors, store) is vectors


def test_vectors_that_vanish_in_half_precision_are_refused(store):
    with pytest.raises(InputError, match="too small for float16"):
        stored(Counting(scale=1e-12), store, precision="float16").embed(many(3))


def test_encoders_that_share_an_image_tower_share_its_pictures_and_no_texts(store):
    world = load_benchmark("pictograms")
    pictures, texts = world.images.take(range(5)), world.texts.take(range(5))
    skewed, english, scenes = (stored(Pictogram(name), store) for name in ("skewed", "english", "scenes"))
    vectors = skewed.embed(pictures)
    skewed.embed(texts)
    assert english.missing(pictures) == []
    assert english.missing(texts) == scenes.missing(pictures) == list(range(5))
    np.testing.assert_array_equal(english.embed(pictures), vectors)

    class Own(Pictogram):
        """May see pictures otherwise."""

    assert stored(Own("skewed"), store).missing(pictures) == list(range(5))
