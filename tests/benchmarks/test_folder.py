"""A user's tables in a folder: what is read, and what is refused by file, column and row."""

import io
import os

import polars as pl
import pytest
from PIL import Image

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from tests.conftest import write_world


def test_paths_are_of_the_folder_and_further_columns_are_attributes(tmp_path):
    world = write_world(tmp_path / "world", images=2)
    pl.DataFrame({"id": ["i0", "i1"], "path": ["a.png", None], "country": ["USA", "Kenya"]}).write_csv(
        world / "images.csv"
    )
    read = load_benchmark(f"folder:{world}")
    assert read.name == "folder:world"
    assert read.images.table.rows() == [("i0", str(world / "a.png"), "USA"), ("i1", None, "Kenya")]
    assert read.counts == {"images": 2, "texts": 8}
    assert read.need_relevance().counts.tolist() == [4, 4]


def test_one_table_of_each_kind_is_needed(tmp_path):
    with pytest.raises(InputError, match="'folder' needs a folder: folder:DIR"):
        load_benchmark("folder")
    with pytest.raises(InputError, match="absent: no such folder"):
        load_benchmark(f"folder:{tmp_path / 'absent'}")
    world = write_world(tmp_path / "world")
    pl.read_csv(world / "images.csv").write_parquet(world / "images.parquet")
    with pytest.raises(InputError, match=r"world: holds images\.csv and images\.parquet; keep one"):
        load_benchmark(f"folder:{world}")
    (world / "images.csv").unlink()
    assert len(load_benchmark(f"folder:{world}").images) == 40
    (world / "texts.csv").unlink()
    with pytest.raises(InputError, match=r"world: holds no texts\.csv, nor one that ends in \.tsv"):
        load_benchmark(f"folder:{world}")


def test_a_caption_of_an_absent_image_is_named_with_its_row(tmp_path):
    world = write_world(tmp_path / "world", images=2)
    texts = pl.read_csv(world / "texts.csv").with_columns(image_id=pl.col("image_id").replace("i1", "i7"))
    texts.write_csv(world / "texts.csv")
    with pytest.raises(
        InputError, match=r"texts\.csv: column 'image_id', row 5: text 'i1-en' is of image 'i7'"
    ):
        load_benchmark(f"folder:{world}")


@pytest.mark.parametrize("column", ["image", "picture"])
def test_pictures_as_hugging_face_writes_them_are_read(tmp_path, column):
    world = write_world(tmp_path / "world", images=2)
    (world / "images.csv").unlink()
    buffer = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(buffer, "PNG")
    (world / "i1.png").write_bytes(buffer.getvalue())
    pictures = [{"bytes": buffer.getvalue(), "path": "elsewhere.png"}, {"bytes": None, "path": "i1.png"}]
    pl.DataFrame({"id": ["i0", "i1"], column: pictures}).write_parquet(world / "images.parquet")
    images = load_benchmark(f"folder:{world}").images
    assert [picture.size for picture in images.pictures()] == [(3, 2), (3, 2)]
    assert images.table["path"].to_list() == [None, str(world / "i1.png")]


@pytest.mark.parametrize("language", ["en ", " en", "e\nn", "a\tb", "\u00a0en"])
def test_a_language_that_cannot_be_printed_in_a_line_is_refused(tmp_path, language):
    world = write_world(tmp_path / "world", images=2)
    texts = pl.read_csv(world / "texts.csv").with_columns(language=pl.col("language").replace("sw", language))
    texts.write_csv(world / "texts.csv")
    with pytest.raises(
        InputError, match=r"texts\.csv: column 'language', row 3: .* is no name of a language"
    ):
        load_benchmark(f"folder:{world}")


@pytest.mark.parametrize(
    "language", ["a,b", "x, language=en", "<b onclick=alert(1)>x</b>", "zh-Hant", "片假名", "!"]
)
def test_a_language_of_any_other_name_is_kept_apart_and_shown_as_text(tmp_path, language):
    world = write_world(tmp_path / "world")
    texts = pl.read_csv(world / "texts.csv").with_columns(
        language=pl.col("language").replace("sw", language), tier=pl.lit("high")
    )
    texts.write_csv(world / "texts.csv")
    run = api.audit(f"embeddings:{world}", f"folder:{world}", ["individual"], tmp_path / "out", cache=False)
    assert language in run.estimates.table["language"].to_list()
    assert not run.failures
    assert "<b onclick" not in (run.folder / "report.html").read_text()


@pytest.mark.parametrize(
    "name", ["SW", "sw-TZ", "swa", "swh", "Swahili", "kiswahili", "sw_tz", "s\u200bw", "ｓｗ", "sw-Latn"]
)
def test_a_language_is_the_same_however_it_is_written(tmp_path, name, caplog):
    plain = load_benchmark(f"folder:{write_world(tmp_path / 'plain', images=4)}")
    world = write_world(tmp_path / "world", images=4)
    texts = pl.read_csv(world / "texts.csv")
    half = pl.when(pl.col("id").str.starts_with("i1")).then(pl.col("language").replace("sw", name))
    texts.with_columns(language=half.otherwise("language")).write_csv(world / "texts.csv")
    read = load_benchmark(f"folder:{world}")
    assert read.fingerprint == plain.fingerprint
    assert caplog.messages == [
        f"equiview: note: {world / 'texts.csv'}: names of languages are read by their codes: {name!r} as 'sw'"
    ]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("en", "-"), "'-' .* looks like a missing value"),
        (("en", "None"), "'None' .* looks like a missing value"),
        (("en", "nan"), "'nan' .* looks like a missing value"),
        (
            ("Klingon", "klingon"),
            r"in two ways: 'Klingon' \(8, first in row 1\) and 'klingon' \(8, first in row 2\)",
        ),
    ],
)
def test_a_language_that_is_missing_or_spelled_twice_is_refused(tmp_path, names, said):
    world = write_world(tmp_path / "world", images=4)
    texts = pl.read_csv(world / "texts.csv")
    texts.with_columns(language=pl.Series([names[row % 2] for row in range(len(texts))])).write_csv(
        world / "texts.csv"
    )
    with pytest.raises(InputError, match=rf"texts\.csv.*{said}"):
        load_benchmark(f"folder:{world}")


def test_a_table_that_is_a_pipe_is_not_waited_for(tmp_path):
    world = write_world(tmp_path / "world", images=2)
    (world / "texts.csv").unlink()
    os.mkfifo(world / "texts.csv")
    with pytest.raises(InputError, match=r"texts\.csv: is a pipe, a socket or a device"):
        load_benchmark(f"folder:{world}")


def test_a_picture_that_is_a_pipe_is_not_waited_for(tmp_path):
    world = write_world(tmp_path / "world", images=2)
    os.mkfifo(world / "a.png")
    pl.DataFrame({"id": ["i0", "i1"], "path": ["a.png", None]}).write_csv(world / "images.csv")
    with pytest.raises(InputError, match=r"images\.csv, row 1: picture of 'i0' .*a\.png: is a pipe"):
        load_benchmark(f"folder:{world}").images.pictures([0])


def test_a_text_of_a_list_of_images_is_refused(tmp_path):
    world = write_world(tmp_path / "world", images=2)
    texts = pl.read_csv(world / "texts.csv").with_columns(image_id=pl.concat_list("image_id"))
    (world / "texts.csv").unlink()
    texts.write_parquet(world / "texts.parquet")
    with pytest.raises(InputError, match=r"texts\.parquet: column 'image_id' holds lists, expected text"):
        load_benchmark(f"folder:{world}")
