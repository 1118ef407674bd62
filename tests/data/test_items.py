import io

import polars as pl
import pytest
from PIL import Image

from equiview.data.items import Items
from equiview.errors import InputError


def encoded(image, kind="PNG"):
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def images(**columns):
    return Items("image", pl.DataFrame(columns), "images.csv")


def test_transparent_parts_are_shown_on_white():
    clear = Image.new("RGBA", (2, 2), (255, 0, 0, 0))
    (picture,) = images(id=["a"], picture=[encoded(clear)]).pictures()
    assert picture.mode == "RGB"
    assert picture.getpixel((0, 0)) == (255, 255, 255)


def test_an_unreadable_picture_names_file_row_and_image():
    items = images(id=["a", "b"], picture=[encoded(Image.new("RGB", (2, 2))), b"not a picture"])
    with pytest.raises(InputError, match=r"images\.csv, row 2: picture of 'b' cannot be read"):
        items.pictures()


def test_an_image_without_picture_or_path_says_so():
    with pytest.raises(InputError, match="row 1: image 'a' has no picture and no path"):
        images(id=["a"]).pictures()


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.png"):
        images(id=["a"], path=[str(tmp_path / "gone.png")]).pictures()


def test_thumbnails_pass_small_pictures_on_and_shrink_large_ones(tmp_path):
    small = encoded(Image.new("RGB", (4, 4)))
    path = tmp_path / "large.bmp"
    Image.effect_noise((400, 200), 50).save(path)
    items = images(id=["a", "b", "c"], picture=[small, None, None], path=[None, str(path), None])
    assert items.thumbnail(0) == small
    assert Image.open(io.BytesIO(items.thumbnail(1))).size == (96, 48)
    assert items.thumbnail(2) is None


def test_take_keeps_the_order_asked_for():
    items = Items("text", pl.DataFrame({"id": ["a", "b"], "text": ["A", "B"], "language": ["en", "sw"]}))
    assert items.take([1, 0]).texts == ["B", "A"]
    assert items.fingerprint != items.take([1, 0]).fingerprint
    assert items.fingerprint == items.take([0, 1]).fingerprint


def test_fingerprints_tell_what_is_alike_in_print_apart():
    tables = [
        {"id": ["a", "b"], "note": ["None", "x"]},
        {"id": ["a", "b"], "note": [None, "x"]},
        {"id": ["a", "b"], "note": ["", "x"]},
        {"id": ["a", "b"], "memo": ["None", "x"]},
        {"id": ["a", "b"], "picture": [b"x", b"y"]},
        {"id": ["a", "b"], "picture": [b"xy", b""]},
        {"id": ["a", "b"], "size": [1, 2]},
        {"id": ["a", "b"], "size": ["1", "2"]},
    ]
    assert len({images(**table).fingerprint for table in tables}) == len(tables)
    assert images(id=["a"], path=["here.png"]).fingerprint == images(id=["a"]).fingerprint


def test_a_fingerprint_covers_pictures_in_files_wherever_these_are(tmp_path):
    here, there = tmp_path / "here.png", tmp_path / "there.png"
    here.write_bytes(b"red")
    there.write_bytes(b"red")
    before = images(id=["a"], path=[str(here)]).fingerprint
    assert images(id=["a"], path=[str(there)]).fingerprint == before
    assert images(id=["a"], picture=[b"red"]).fingerprint == before
    here.write_bytes(b"sky")
    assert images(id=["a"], path=[str(here)]).fingerprint != before
    here.unlink()
    assert images(id=["a"], path=[str(here)]).fingerprint != before


def test_rows_are_found_by_id():
    items = images(id=["1", "2", "3"])
    assert items.rows_of(pl.Series([3, 1, None, 4, 3])).to_list() == [2, 0, None, None, 2]


def test_texts_need_a_language():
    with pytest.raises(InputError, match=r"texts\.csv: column 'language'.*is missing"):
        Items("text", pl.DataFrame({"id": ["a"], "text": ["A"]}), "texts.csv")


def test_an_empty_pool_is_refused():
    empty = pl.DataFrame(
        {"id": [], "text": [], "language": []},
        schema_overrides=dict.fromkeys(("id", "text", "language"), pl.String),
    )
    with pytest.raises(InputError, match=r"texts\.csv: holds no text"):
        Items("text", empty, "texts.csv")


def test_an_unknown_attribute_lists_those_there_are():
    with pytest.raises(InputError, match="no attribute 'country'; they have: id"):
        images(id=["a"]).attribute("country")


def test_an_empty_text_is_named_and_emoji_alone_are_words():
    table = pl.DataFrame({"id": ["a", "b"], "text": ["\U0001f355", " \t"], "language": ["en", "sw"]})
    with pytest.raises(
        InputError, match=r"texts\.csv: column 'text', row 2: text 'b' is empty \(1 of 2 are\)"
    ):
        Items("text", table, "texts.csv")
    assert Items("text", table.head(1), "texts.csv").texts == ["\U0001f355"]


def test_the_stored_picture_is_available_undecoded(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"bytes")
    items = images(id=["a", "b"], path=[str(path), None], picture=[None, b"own"])
    assert [items.encoded(0), items.encoded(1)] == [b"bytes", b"own"]
