import polars as pl
import pytest

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.errors import InputError
from tests.benchmarks.layouts import coco, fairface
from tests.conftest import write_world


def test_texts_of_images_that_are_gone_go_with_them(tmp_path):
    whole = load_benchmark(f"folder:{write_world(tmp_path / 'world', images=5)}")
    part = without_images(whole, ["i1", "i3"])
    assert part.images.ids.to_list() == ["i0", "i2", "i4"]
    assert part.texts.ids.to_list() == [
        f"i{n}-{code}" for n in (0, 2, 4) for code in ("en", "de", "sw", "mi")
    ]
    named = zip(part.images.ids[part.relevance.queries], part.texts.ids[part.relevance.items], strict=True)
    assert all(text.startswith(f"{image}-") for image, text in named)
    assert part.relevance.counts.tolist() == [4, 4, 4]
    assert part.fingerprint != whole.fingerprint
    assert without_images(whole, []) is whole
    with pytest.raises(InputError, match="no image is left; all 5"):
        without_images(whole, whole.images.ids)


def test_rows_of_tables_that_name_them_go_too(tmp_path):
    coco(tmp_path)
    part = without_images(load_benchmark(f"coco:{tmp_path}"), ["1"])
    assert part.images.ids.to_list() == ["2"]
    assert len(part.tables["objects"]) == 0


def test_without_texts_there_is_nothing_more_to_leave_out(tmp_path):
    fairface(tmp_path)
    part = without_images(load_benchmark(f"fairface:{tmp_path}"), ["val/1"])
    assert part.images.table["race"].to_list() == ["Latino_Hispanic"]
    assert isinstance(part.texts.table, pl.DataFrame)
