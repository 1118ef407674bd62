"""What a benchmark may lack, what it must have, and how it is counted and told from others."""

from dataclasses import replace

import polars as pl
import pytest

from equiview.benchmarks import Benchmark, same_attribute, same_image
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.io.tables import Column, Schema

IMAGES = Items("image", pl.DataFrame({"id": ["a", "b"], "concept": ["hat", "doll"]}), "images.csv")
TEXTS = Items(
    "text",
    pl.DataFrame(
        {
            "id": ["1", "2", "3"],
            "text": ["hat", "kofia", "doll"],
            "language": ["en", "sw", "en"],
            "image_id": ["a", "a", "b"],
            "concept": ["hat", "hat", "doll"],
        }
    ),
    "texts.csv",
)
BOXES = Schema("boxes", (Column("image_id", pl.String, "the image"), Column("x", pl.Float64, "left edge")))


def whole(**changes):
    return replace(Benchmark("b", IMAGES, TEXTS, same_image(IMAGES, TEXTS)), **changes)


def test_what_is_missing_is_said_when_it_is_needed():
    images = Benchmark("faces", IMAGES)
    for need, what in ((images.need_texts, "texts"), (images.need_relevance, "relevance judgements")):
        with pytest.raises(InputError, match=f"^benchmark 'faces' has no {what}, which this audit needs$"):
            need()
    with pytest.raises(InputError, match=r"^benchmark 'faces' has no table 'boxes', which this audit needs$"):
        images.need_table("boxes", BOXES)
    unjudged = Benchmark("captions", IMAGES, TEXTS)
    assert unjudged.need_texts() is TEXTS
    with pytest.raises(InputError, match="'captions' has no relevance judgements"):
        unjudged.need_relevance()
    assert whole().need_relevance().counts.tolist() == [2, 1]


def test_relevance_must_be_of_these_images_and_texts():
    with pytest.raises(InputError, match="'b' has relevance but no texts"):
        Benchmark("b", IMAGES, relevance=same_image(IMAGES, TEXTS))
    other = Relevance.from_pairs([0], [0], n_queries=2, n_items=2)
    with pytest.raises(InputError, match="over 2 images and 2 texts, but there are 2 and 3"):
        Benchmark("b", IMAGES, TEXTS, other)


def test_tables_are_checked_when_the_benchmark_is_made():
    boxes = pl.DataFrame({"label": ["hat"], "x": ["1.5"], "image_id": ["a"]})
    read = whole(tables={"boxes": boxes}, schemas={"boxes": BOXES, "absent": BOXES})
    assert read.tables["boxes"].row(0) == ("a", 1.5, "hat")
    assert read.need_table("boxes", BOXES) is read.tables["boxes"]
    with pytest.raises(InputError, match=r"'b': table 'boxes' has no schema; a benchmark says of each"):
        whole(tables={"boxes": boxes})
    with pytest.raises(InputError, match=r"benchmark 'b', table 'boxes': column 'x' .* is missing"):
        whole(tables={"boxes": boxes.drop("x")}, schemas={"boxes": BOXES})


def test_a_table_of_another_schema_is_checked_against_the_one_needed():
    loose = Schema("boxes", (Column("image_id", pl.String, "the image"),))
    tables = {"boxes": pl.DataFrame({"image_id": ["a"], "x": ["2"]})}
    assert whole(tables=tables, schemas={"boxes": loose}).need_table("boxes", BOXES)["x"].to_list() == [2.0]
    tables = {"boxes": pl.DataFrame({"image_id": ["a"], "x": ["left"]})}
    with pytest.raises(InputError, match="table 'boxes': column 'x', row 1: 'left', expected numbers"):
        whole(tables=tables, schemas={"boxes": loose}).need_table("boxes", BOXES)


def test_counts_are_in_order_by_name():
    boxes = pl.DataFrame({"image_id": ["a"] * 4, "x": [0.0] * 4})
    read = whole(tables={"boxes": boxes}, schemas={"boxes": BOXES})
    assert list(read.counts.items()) == [("images", 2), ("texts", 3), ("boxes", 4)]
    assert Benchmark("b", IMAGES).counts == {"images": 2}


def test_the_fingerprint_is_of_everything_in_it_and_of_nothing_else():
    boxes = pl.DataFrame({"image_id": ["a"], "x": [0.0]})
    different = [
        whole(),
        whole(relevance=None),
        whole(texts=None, relevance=None),
        whole(relevance=Relevance.from_pairs([], [], n_queries=2, n_items=3)),
        whole(relevance=same_attribute(IMAGES, TEXTS.take([0, 2, 1]), "concept")),
        whole(images=IMAGES.take([1, 0])),
        whole(tables={"boxes": boxes}, schemas={"boxes": BOXES}),
        whole(tables={"boxes": boxes.with_columns(x=1.0)}, schemas={"boxes": BOXES}),
    ]
    assert len({read.fingerprint for read in different}) == len(different)
    assert whole(name="c", about="c", source="c", licence="c").fingerprint == whole().fingerprint


def test_a_text_of_an_absent_image_is_named():
    with pytest.raises(InputError, match=r"texts\.csv: column 'image_id', row 3: text '3'"):
        same_image(IMAGES.take([0]), TEXTS)


def test_texts_are_relevant_to_all_images_of_their_attribute():
    hats = Items("image", IMAGES.table.with_columns(concept=pl.lit("hat")))
    assert same_attribute(hats, TEXTS, "concept").counts.tolist() == [2, 2]
    with pytest.raises(InputError, match=r"images\.csv: images have no attribute 'country'"):
        same_attribute(IMAGES, TEXTS, "country")
