from dataclasses import replace

import pytest

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from tests.benchmarks.layouts import coco, fairface
from tests.conftest import write_world


def test_texts_of_removed_images_are_removed(tmp_path):
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


def test_rows_of_tables_that_name_removed_images_are_removed(tmp_path):
    coco(tmp_path)
    part = without_images(load_benchmark(f"coco:{tmp_path}"), ["1"])
    assert part.images.ids.to_list() == ["2"]
    assert len(part.tables["objects"]) == 0


def test_a_benchmark_without_texts_loses_images_alone(tmp_path):
    fairface(tmp_path)
    part = without_images(load_benchmark(f"fairface:{tmp_path}"), ["val/1"])
    assert part.images.table["race"].to_list() == ["Latino_Hispanic"]
    assert part.texts is part.relevance is None


def test_texts_that_are_relevant_to_no_image_stay(tmp_path):
    whole = load_benchmark(f"folder:{write_world(tmp_path / 'world', images=2)}")
    assert without_images(replace(whole, relevance=None), ["i1"]).texts is whole.texts
    english = whole.relevance.items % 4 == 0
    relevance = Relevance.from_pairs(
        whole.relevance.queries[english], whole.relevance.items[english], n_queries=2, n_items=8
    )
    part = without_images(replace(whole, relevance=relevance), ["i1"])
    assert part.texts.ids.to_list() == whole.texts.ids[[0, 1, 2, 3, 5, 6, 7]].to_list()
