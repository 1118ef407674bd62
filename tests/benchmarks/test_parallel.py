"""Which captions of an image are compared: by slot, by order, by length."""

import polars as pl
import pytest

from equiview.benchmarks import Benchmark, same_image
from equiview.benchmarks.parallel import captions_of
from equiview.data.items import Items
from equiview.errors import InputError

IMAGES = Items("image", pl.DataFrame({"id": ["a", "b", "c"]}))
ROWS = [  # id, image, language, text, slot; German captions of a are in the wrong order
    ("a-de-2", "a", "de", "ein langer Satz", 2),
    ("a-de-1", "a", "de", "kurz", 1),
    ("a-en-1", "a", "en", "a cat", 1),
    ("b-en-1", "b", "en", "a dog", 1),
    ("b-de-1", "b", "de", "ein Hund", 1),
    ("c-en-1", "c", "en", "a bird", 1),
    ("c-sw-1", "c", "sw", "ndege", 1),
]


def captioned(rows=ROWS, slots=True):
    table = pl.DataFrame(rows, schema=["id", "image_id", "language", "text", "slot"], orient="row")
    texts = Items("text", table if slots else table.drop("slot"))
    return Benchmark("b", IMAGES, texts, same_image(IMAGES, texts))


def ids(benchmark, rows):
    return [[None if row < 0 else benchmark.texts.ids[int(row)] for row in slot] for slot in rows]


def test_an_attribute_may_be_called_as_anything_inside():
    texts = captioned().texts
    for name in ("row", "place", "length", "image", "slots"):
        named = Items("text", texts.table.with_columns(pl.lit("x").alias(name)))
        benchmark = Benchmark("b", IMAGES, named, same_image(IMAGES, named))
        assert (captions_of(benchmark, "each").rows == captions_of(captioned(), "each").rows).all()


def test_every_slot_is_a_layer_and_missing_captions_are_marked():
    benchmark = captioned()
    captions = captions_of(benchmark, "each")
    assert captions.languages == ["de", "en", "sw"]
    assert (captions.n_slots, captions.rows.shape) == (2, (2, 3, 3))
    assert ids(benchmark, captions.rows[:, 0]) == [["a-de-1", "b-de-1", None], ["a-de-2", None, None]]
    assert ids(benchmark, captions.rows[:, 2]) == [[None, None, "c-sw-1"], [None, None, None]]
    assert captions.complete.tolist() == []
    assert captions_of(benchmark, "each", ("de", "en")).complete.tolist() == [0, 1]


def test_without_slots_captions_are_in_the_order_of_the_texts():
    benchmark = captioned(slots=False)
    assert ids(benchmark, captions_of(benchmark, "first").rows[:, 0]) == [["a-de-2", "b-de-1", None]]
    benchmark = captioned()
    assert ids(benchmark, captions_of(benchmark, "first").rows[:, 0]) == [["a-de-1", "b-de-1", None]]


def test_length_takes_the_caption_nearest_the_mean_of_its_language():
    rows = [*ROWS, ("b-de-2", "b", "de", "ein langer Hund", 2), ("c-de-1", "c", "de", "ein Vogel sitzt", 1)]
    benchmark = captioned(
        rows
    )  # German captions have 15, 4, 8, 15 and 15 letters: 10.2 in the geometric mean
    assert ids(benchmark, captions_of(benchmark, "length").rows[:, 0]) == [["a-de-2", "b-de-1", "c-de-1"]]


def test_what_cannot_be_compared_is_said():
    with pytest.raises(InputError, match="'b' has no text in fr; it has de, en, sw"):
        captions_of(captioned(), "each", ("en", "fr"))
    with pytest.raises(InputError, match="comparing languages takes two or more"):
        captions_of(captioned(), "each", ("en",))
    with pytest.raises(InputError, match="'faces' has no texts, which this audit needs"):
        captions_of(Benchmark("faces", IMAGES), "each")
    with pytest.raises(InputError, match="'captions' has no relevance judgements, which this audit needs"):
        captions_of(Benchmark("captions", IMAGES, captioned().texts), "each")
