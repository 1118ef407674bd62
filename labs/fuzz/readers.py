"""Every reader of data and of runs, each with a small valid copy; those of `labs.fuzz.left` are with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from labs.fuzz.left import LEFT
from labs.fuzz.trial import Reader
from tests.benchmarks.layouts import LAYOUTS
from tests.benchmarks.test_hub import write_captions, write_faces
from tests.benchmarks.test_prompts import WEATHER
from tests.benchmarks.test_removals import write_removals
from tests.benchmarks.test_xcm import release
from tests.conftest import write_world

from equiview import api
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.prompts import read_prompts
from equiview.data.run import Run
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders.embeddings import Embeddings
from equiview.subjects.lists.finished import FinishedRun


def _read_benchmark(name: str) -> Callable[[Path], str]:
    return lambda place: _benchmark(load_benchmark(name.format(place)))


def _benchmark(read: Benchmark) -> str:
    assert read.name
    assert read.about
    for items in filter(None, (read.images, read.texts)):
        assert items.ids.n_unique() == len(items) > 0
        assert items.ids.null_count() == 0
    if read.texts is not None:
        assert all(text.strip() for text in read.texts.texts)
        assert all(name.strip() == name != "" for name in read.texts.table["language"])
        assert read.relevance is not None
    for table in read.tables.values():
        for column in table.select(pl.selectors.float()):
            assert not column.is_nan().any(), column
    return read.fingerprint


def _world(place: Path, ending: str = "csv") -> None:
    write_world(place, images=4, width=3)
    if ending == "parquet":
        for kind in ("images", "texts"):
            table = pl.read_csv(place / f"{kind}.csv")
            if kind == "images":
                picture = pl.Series([{"bytes": b"RIFF", "path": "x.webp"}] * len(table))
                table = table.with_columns(year=pl.lit(2001), image=picture)
            table.write_parquet(place / f"{kind}.parquet")
            (place / f"{kind}.csv").unlink()


def _read_embeddings(place: Path) -> str:
    benchmark = load_benchmark(f"folder:{place}")
    vectors = [Embeddings(str(place)).embed(items) for items in (benchmark.images, benchmark.need_texts())]
    for array, items in zip(vectors, (benchmark.images, benchmark.need_texts()), strict=True):
        assert array.dtype == np.float32
        assert array.shape == (len(items), array.shape[1])
        assert np.isfinite(array).all()
        assert array.any(axis=1).all()
    return fingerprint(benchmark.fingerprint, *(array.tobytes() for array in vectors))


def _lists(name: str) -> Callable[[Path], None]:
    def write(place: Path) -> None:
        place.mkdir()
        rows = [(f"q{q}", rank, f"i{(q + rank) % 3}", 1 / rank) for q in range(2) for rank in (1, 2, 3)]
        table = pl.DataFrame(rows, schema=["query_id", "rank", "item_id", "score"], orient="row")
        released = table.rename({"rank": "result_rank", "item_id": "result_id"})
        released = released.with_columns(lang=pl.lit("en"), caption_idx=1)
        trec = "".join(f"{query} Q0 {item} {rank} {score} tag\n" for query, rank, item, score in rows)
        writes: dict[str, Callable[[Path], object]] = {
            "run.csv": table.write_csv,
            "run.parquet": table.write_parquet,
            "run.tsv": lambda path: table.write_csv(path, separator="\t"),
            "run.jsonl": table.write_ndjson,
            "run.trec": lambda path: path.write_text(trec),
            "released.csv": released.write_csv,
        }
        writes[name](place / name)

    return write


def _read_lists(name: str) -> Callable[[Path], str]:
    def read(place: Path) -> str:
        table = FinishedRun(str(place / name)).table
        assert table.null_count().sum_horizontal().item() == 0
        assert table["score"].is_finite().all()
        assert table["rank"].min() == 1
        return fingerprint(table.write_csv())

    return read


def _removals(place: Path) -> None:
    world = write_world(place.with_name(f"{place.name}-world"), images=3, width=3)
    write_removals(place, f"folder:{world}")


def _beside_a_run(place: Path) -> None:
    place.mkdir()
    (place / "items.csv").write_text("item_id,text,language\ni0,a,en\ni1,b,sw\ni2,c,en\n")
    (place / "queries.csv").write_text("query_id,path\nq0,a.png\nq1,\n")
    (place / "qrels.txt").write_text("q0 0 i0 1\nq1 0 i1 2\nq1 0 i2 0\n")


def _prompts(place: Path) -> None:
    place.mkdir()
    (place / "weather.toml").write_text(WEATHER)


def _read_prompts(place: Path) -> str:
    prompts = read_prompts(place / "weather.toml")
    assert len(prompts.values) > 1
    assert len(prompts.table) == len(prompts.languages) * len(prompts.paraphrases) * len(prompts.values)
    return fingerprint(prompts.attribute, prompts.values, prompts.table.write_csv())


def _run(place: Path) -> None:
    world = write_world(place.with_name(f"{place.name}-world"), images=20, width=4)
    settings = {"prevalence": {"replicates": 100}}
    api.audit(f"embeddings:{world}", f"folder:{world}", ["prevalence"], place, settings=settings, cache=False)


def _read_run(place: Path) -> str:
    run = Run.open(place)
    parts: list[object] = [run.manifest.model_dump(), run.estimates.table.write_csv()]
    parts += [*run.verdicts, *run.failures]
    parts += [figure.table.write_ndjson() for audit in run.manifest.audits for figure in run.figures(audit)]
    return fingerprint(*parts)


READERS: dict[str, Reader] = {
    **{name: Reader(write, _read_benchmark(f"{name}:{{}}")) for name, write in LAYOUTS.items()},
    "coco-annotations": Reader(LAYOUTS["coco"], _read_benchmark("coco:{},split=val2014"), ("annotations/*",)),
    "multi30k": Reader(
        LAYOUTS["multi30k"], _read_benchmark("multi30k:{}"), ("**/image_splits/*", "**/task1/raw/*")
    ),
    "multi30k-independent": Reader(
        LAYOUTS["multi30k"], _read_benchmark("multi30k:{},part=independent"), ("**/task2/raw/*",)
    ),
    "hub": Reader(write_captions, _read_benchmark("hub:{}"), ("**/*.parquet",)),
    "hub-faces": Reader(write_faces, _read_benchmark("hub:{},config=0.25"), ("**/*.parquet",)),
    "3xcm": Reader(release, _read_benchmark("3xcm:{}")),
    "folder-csv": Reader(_world, _read_benchmark("folder:{}"), ("*.csv",)),
    "folder-parquet": Reader(
        lambda place: _world(place, "parquet"), _read_benchmark("folder:{}"), ("*.parquet",)
    ),
    "embeddings": Reader(_world, _read_embeddings, ("*.npy",)),
    **{name: Reader(_lists(name), _read_lists(name))
       for name in ("run.csv", "run.tsv", "run.jsonl", "run.parquet", "run.trec", "released.csv")},
    "removals": Reader(_removals, _read_benchmark("removals:{0},of=folder:{0}-world")),
    "beside-a-run": Reader(_beside_a_run, _read_benchmark("run:{}/run.trec")),
    "prompts": Reader(_prompts, _read_prompts),
    **LEFT,
    "run-folder": Reader(
        _run, _read_run, ("manifest.json", "verdicts.json", "estimates.parquet", "figures/*.json"), ours=True
    ),
}  # fmt: skip
