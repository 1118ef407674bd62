"""`removals:DIR`: what `equiview build removal` writes, beside the benchmark that it was made of."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from tests.conftest import write_world


def write_removals(out: Path, source: str) -> None:
    """What is written of a benchmark when a cat is removed from its first image."""
    world = load_benchmark(source)
    (out / "images").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(out / "images" / "a.png")
    pl.DataFrame(
        {
            "id": ["a"],
            "source_id": [world.images.ids[0]],
            "path": ["images/a.png"],
            "target": ["cat"],
            "removed": [["cat"]],
            "kept": [["dog"]],
            "share": [0.2],
        }
    ).write_parquet(out / "removals.parquet")
    write_captions(out, world.texts.ids.to_list(), world.texts.texts)


def write_captions(out: Path, ids: list[str], texts: list[str]) -> None:
    """Captions, of which only the first names anything."""
    table = pl.DataFrame({"id": ids, "text": texts, "classes": [["cat", "dog"], *[[]] * (len(ids) - 1)]})
    table.write_parquet(out / "captions.parquet")


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, str]:
    """A folder as it is written, and the name of the benchmark."""
    source = f"folder:{write_world(tmp_path / 'world', images=3)}"
    write_removals(tmp_path / "out", source)
    return tmp_path / "out", source


def test_it_holds_the_real_images_then_the_synthetic_ones(written):
    out, source = written
    real, benchmark = load_benchmark(source), load_benchmark(f"removals:{out},of={source}")
    assert benchmark.images.ids.to_list() == [*real.images.ids, "a"]
    assert benchmark.texts.fingerprint == real.texts.fingerprint
    assert benchmark.relevance.items.tolist() == real.relevance.items.tolist()
    assert benchmark.tables["removals"].row(0) == ("a", real.images.ids[0], "cat", ["cat"], ["dog"])
    assert benchmark.images.pictures([len(real.images)])[0].size == (8, 8)


def test_captions_of_synthetic_images_are_read_where_there_are_any(written):
    out, source = written
    assert "captions" not in load_benchmark(f"removals:{out},of={source}").tables["removals"].columns
    table = pl.read_parquet(out / "removals.parquet").with_columns(captions=pl.lit(["a dog"]))
    table.write_parquet(out / "removals.parquet")
    benchmark = load_benchmark(f"removals:{out},of={source}")
    assert benchmark.tables["removals"]["captions"].to_list() == [["a dog"]]


def test_an_image_or_a_caption_that_is_not_there_is_told(written):
    out, source = written
    table = pl.read_parquet(out / "removals.parquet")
    table.with_columns(source_id=pl.lit("nowhere")).write_parquet(out / "removals.parquet")
    with pytest.raises(InputError, match="source_id 'nowhere' is not in"):
        load_benchmark(f"removals:{out},of={source}")


def test_captions_name_their_classes_and_those_of_other_splits_join_the_gallery(written, tmp_path):
    out, source = written
    more = tmp_path / "more"
    more.mkdir()
    write_captions(more, ["x1", "x2"], ["a cat with a dog", "nothing"])
    real = load_benchmark(source)
    alone = load_benchmark(f"removals:{out},of={source}")
    benchmark = load_benchmark(f"removals:{out},gallery={more},of={source}")
    first = real.texts.ids[0]
    assert alone.tables["mentions"].rows() == [(first, "cat"), (first, "dog")]
    assert benchmark.texts.ids.to_list() == [*real.texts.ids, "x1", "x2"]
    assert benchmark.tables["mentions"].rows()[2:] == [("x1", "cat"), ("x1", "dog")]
    assert benchmark.relevance.items.tolist() == real.relevance.items.tolist()


def test_it_says_what_it_needs(written):
    out, _ = written
    with pytest.raises(InputError, match="removals:DIR,of="):
        load_benchmark(f"removals:{out}")


def test_new_pictures_numbered_as_real_images_are_told_apart(tmp_path):
    world = write_world(tmp_path / "world", images=3)
    source = f"folder:{world}"
    write_removals(tmp_path / "out", source)
    first = load_benchmark(source).images.ids[0]
    table = pl.read_parquet(tmp_path / "out/removals.parquet").with_columns(id=pl.lit(first))
    table.write_parquet(tmp_path / "out/removals.parquet")
    benchmark = load_benchmark(f"removals:{tmp_path / 'out'},of={source}")
    assert benchmark.images.ids[-1] == f"removed-{first}"
    assert benchmark.tables["removals"].row(0)[:2] == (f"removed-{first}", first)


def rewritten(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(text=table["text"].reverse())


def of_other_images(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(image_id=pl.lit("another"))


def with_one_more(table: pl.DataFrame) -> pl.DataFrame:
    table = table.with_columns(image_id=pl.col("id").str.split("-").list.first())
    return pl.concat([table, table[:1].with_columns(id=pl.lit("i0-more"))])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (rewritten, "the text of caption"),
        (of_other_images, "the image_id of caption .* is 'another'"),
        (lambda table: table[: len(table) // 2], "is missing"),
        (lambda table: table.with_columns(id="x" + pl.col("id")), "is missing"),
        (with_one_more, r"texts.csv: caption 'i0-more' of .* is missing \(1 of 13\)"),
    ],
)
def test_captions_of_another_benchmark_are_refused(written, changed, said):
    out, source = written
    changed(pl.read_parquet(out / "captions.parquet")).write_parquet(out / "captions.parquet")
    with pytest.raises(InputError, match=said):
        load_benchmark(f"removals:{out},of={source}")


def test_captions_in_another_order_give_the_same_numbers(written):
    out, source = written
    before = load_benchmark(f"removals:{out},of={source}").tables["mentions"].rows()
    pl.read_parquet(out / "captions.parquet").reverse().write_parquet(out / "captions.parquet")
    assert sorted(load_benchmark(f"removals:{out},of={source}").tables["mentions"].rows()) == sorted(before)


def test_a_gallery_whose_captions_say_something_else_is_refused(written, tmp_path):
    out, source = written
    (tmp_path / "more").mkdir()
    write_captions(tmp_path / "more", [load_benchmark(source).texts.ids[0]], ["something else"])
    with pytest.raises(InputError, match="something else"):
        load_benchmark(f"removals:{out},gallery={tmp_path / 'more'},of={source}")
