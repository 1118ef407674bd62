"""A user's tables in a folder: what is read, and what is refused by file, column and row."""

import polars as pl
import pytest

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
    with pytest.raises(InputError, match=r"world: holds both of images\.csv and images\.parquet"):
        load_benchmark(f"folder:{world}")
    (world / "images.csv").unlink()
    assert len(load_benchmark(f"folder:{world}").images) == 40
    (world / "texts.csv").unlink()
    with pytest.raises(InputError, match=r"world: holds neither of texts\.csv and texts\.parquet"):
        load_benchmark(f"folder:{world}")


def test_a_caption_of_an_absent_image_is_named_with_its_row(tmp_path):
    world = write_world(tmp_path / "world", images=2)
    texts = pl.read_csv(world / "texts.csv").with_columns(image_id=pl.col("image_id").replace("i1", "i7"))
    texts.write_csv(world / "texts.csv")
    with pytest.raises(
        InputError, match=r"texts\.csv: column 'image_id', row 5: text 'i1-en' is of image 'i7'"
    ):
        load_benchmark(f"folder:{world}")
