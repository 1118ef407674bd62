"""Encoding, search and bootstrap by this process and by 1, 2 and 4 workers of a Ray cluster, at three sizes.

The cluster is on loopback (`tests/engine/loopback.py`): its workers share the cores of this machine, so more
of them than cores show what it costs to spread work, and no speed-up. What passes between processes is
computed from the sizes. Two constants of the cost model in docs/scaling.md are measured first: what a part
costs that does nothing, and the bytes a second at which large parts travel.

    python -m bench.scaling [--repeats 4] [--out scaling.json]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
from tests.engine.loopback import loopback

from equiview.data.items import Items
from equiview.engine import Engine, Local, using
from equiview.engine.cluster import RayEngine
from equiview.search import sharded, top_k
from equiview.search.sharded import TURNS
from equiview.stats import bootstrap, bootstrap_means
from equiview.store.vectors import KEY, keys_of
from equiview.subjects.encoders.pictogram import Pictogram

WORKERS = (1, 2, 4)
STORE = 600 * 2**20
QUERIES, WIDTH, K = 400, 256, 100
TEXTS, GALLERIES, CLUSTERS = (4_000, 16_000, 64_000), (10_000, 40_000, 160_000), (500, 2_000, 8_000)
REPLICATES, COLUMNS = 2_000, 64


class Texts(Pictogram):
    """The embedded encoder in batches small enough for several workers."""

    text_batch = 1024


def encoding(count: int) -> tuple[Callable[[], Any], dict[str, float]]:
    """Encode so many captions; bytes there and back."""
    words = np.random.default_rng(0).integers(0, 5_000, (count, 8))
    strings = [" ".join(f"word{number}" for number in row) + f" {place}" for place, row in enumerate(words)]
    table = pl.DataFrame({"id": [str(place) for place in range(count)], "text": strings})
    items = Items("text", table.with_columns(language=pl.lit("en")))
    sent = float(items.table.estimated_size())
    model = Texts("skewed")
    return lambda: model.embed(items), {"items": count, "sent": sent, "returned": 4.0 * 120 * count}


def search(count: int) -> tuple[Callable[[], Any], dict[str, float]]:
    """Rank a gallery of so many vectors for each query; bytes there and back, and operations."""
    rng = np.random.default_rng(0)
    queries, gallery = (rng.normal(size=(n, WIDTH)).astype(np.float32) for n in (QUERIES, count))
    sizes = {"items": count, "sent": float(gallery.nbytes + queries.nbytes), "returned": 8.0 * QUERIES * K}
    return lambda: top_k(queries, gallery, K), sizes | {"flop": 2.0 * QUERIES * count * WIDTH}


def resampling(count: int) -> tuple[Callable[[], Any], dict[str, float]]:
    """Bootstrap means of so many queries; bytes there and back, and operations."""
    values = np.random.default_rng(0).random((count, COLUMNS))
    sizes = {
        "items": count,
        "sent": 8.0 * count * (COLUMNS + 1),
        "returned": 8.0 * REPLICATES * (COLUMNS + 1),
    }
    flop = 2.0 * REPLICATES * count * (COLUMNS + 1)
    return lambda: bootstrap_means(values, replicates=REPLICATES, seed=0), sizes | {"flop": flop}


WORK = {"encoding": (encoding, TEXTS), "search": (search, GALLERIES), "bootstrap": (resampling, CLUSTERS)}


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The least time of some calls, after one that is not counted, in which workers load what they need."""
    call()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def held_by_item(count: int = 200_000) -> float:
    """Bytes of memory that this process holds for each text of a store: its key, and where it is."""
    table = pl.DataFrame({"id": pl.int_range(count, eager=True).cast(pl.String)})
    items = Items("text", table.with_columns(text="caption " + pl.col("id"), language=pl.lit("en")))
    tracemalloc.start()
    keys = keys_of(items)
    places: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    shelf = np.unique(np.array(keys, dtype=KEY), return_index=True)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (held + float(items.table.estimated_size())) / len(shelf[0])


def constants(engine: Engine) -> dict[str, float]:
    """Seconds that a part costs which does nothing, and bytes a second of large ones."""
    part, count = 8 * 2**20, 16

    def large() -> Iterator[bytes]:
        return (bytes(part) for _ in range(count))

    nothing = seconds(lambda: list(engine.map(len, [b""] * 200)), 3) / 200
    return {
        "part_s": nothing,
        "bytes_s": part * count / seconds(lambda: list(engine.map(len, large(), size=len)), 3),
    }


def short(row: dict[str, Any]) -> dict[str, Any]:
    """A row with numbers of three digits."""
    return {name: value if isinstance(value, str) else float(f"{value:.3g}") for name, value in row.items()}


def parts_of(row: dict[str, Any], workers: int) -> float:
    """How many parts a row of work is divided into."""
    if row["work"] == "encoding":
        return float(row["items"] / Texts.text_batch)
    if row["work"] == "search":
        return TURNS * workers
    return float(REPLICATES * row["items"] * 8 / bootstrap.BLOCK_BYTES)


def expected(about: dict[str, Any], row: dict[str, Any], workers: int) -> float:
    """Seconds by the model of docs/scaling.md: the work, the parts, the bytes."""
    working = min(workers, about["cores"])
    moved = (row["sent"] + row["returned"]) / about["bytes_s"]
    return float(row["here_s"] / working + parts_of(row, workers) * about["part_s"] + moved)


def table(about: dict[str, Any]) -> str:
    """What was measured beside what the model expects, in Markdown."""
    lines = [
        "| work | items | MB sent, returned | here, s | 1 worker (model) | 2 workers (model) | 4 (model) |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in about["rows"]:
        took = [f"{row[f'workers_{n}_s']:.2f} ({expected(about, row, n):.2f})" for n in WORKERS]
        moved = f"{row['sent'] / 1e6:.1f}, {row['returned'] / 1e6:.1f}"
        cells = [row["work"], f"{row['items']:,}", moved, f"{row['here_s']:.2f}", *took]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print a line for each, and write all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with (
        loopback(machines=1, cores=max(WORKERS), store=STORE) as cluster,
        mock.patch.object(bootstrap, "SHARED_FROM", 0),
        mock.patch.object(sharded, "SHARED_FROM", 0),
    ):
        measured = constants(cluster.engine) | {"held_by_item": held_by_item()}
        print(short(measured), flush=True)
        for name, (prepare, sizes) in WORK.items():
            for count in sizes:
                call, known = prepare(count)
                row: dict[str, Any] = {"work": name} | known
                with using(Local()):
                    row["here_s"] = seconds(call, options.repeats)
                for workers in WORKERS:
                    cluster.engine.rest()
                    with RayEngine(cluster.cluster.address, workers=workers) as engine, using(engine):
                        row[f"workers_{workers}_s"] = seconds(call, options.repeats)
                rows.append(row)
                print(short(row), flush=True)
    about = {"cores": os.cpu_count(), "load": os.getloadavg()[0], **measured, "rows": rows}
    print(table(about))
    if options.out:
        options.out.write_text(json.dumps(about, indent=1))


if __name__ == "__main__":
    main()
