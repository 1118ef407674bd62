"""Pages of several systems of known bias, of every audit that comes along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from tests.audits.association.planted import Planted, world
from tests.audits.parity.worlds import Faces
from tests.conftest import write_world

from equiview.audits.execute import execute
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.data.run import Run
from equiview.subjects import Subject, load_subject

SKEWS = {"skewed": 3.0, "tilted": 0.4, "even": 0.0}
QUICK = {"replicates": 200}


def of_world(folder: Path, audits: tuple[str, ...] = ("prevalence", "parity", "individual")) -> list[Run]:
    """Three systems over the same captions, from one that moves two languages aside to one that moves none.

    Small pools, so that one panel has gaps beyond the tolerance and another has none.
    """
    for name, skew in SKEWS.items():
        write_world(folder / name, images=120, skew=skew)
    benchmark = load_benchmark(f"folder:{folder / 'even'}")
    return [
        executed(load_subject(f"embeddings:{folder / name}"), benchmark, audits, folder / f"{name}-run", name)
        for name in SKEWS
    ]


def of_trials(folder: Path) -> list[Run]:
    """Two systems over the same trials, one of which is pulled by the country of the query."""
    pulls = {"pulled": 1.2, "not pulled": 0.0}
    return [
        executed(Planted(pull), world(), ("association",), folder / name, name)
        for name, pull in pulls.items()
    ]


def of_faces(folder: Path) -> list[Run]:
    """Two systems that classify faces, one of which harms a group."""
    rng = np.random.default_rng(0)
    labels = {"gender": ("male", "female"), "race": ("White", "Black"), "age": ("0-2", "20-29")}
    table = pl.DataFrame(
        {"id": [f"f{row}" for row in range(700)]}
        | {name: rng.choice(values, 700) for name, values in labels.items()}
    )
    images = Items("image", table)
    rows = [(f"{code}-{image}", f"{code} {image}", code) for code in ("en", "de") for image in images.ids]
    texts = Items("text", pl.DataFrame(rows, schema=["id", "text", "language"], orient="row"))
    pairs = Relevance.from_pairs(np.tile(np.arange(700), 2), range(1400), n_queries=700, n_items=1400)
    benchmark = Benchmark("faces", images, texts, pairs)
    harms = {"harming": 0.25, "harmless": 0.0}
    return [
        executed(Faces(harm), benchmark, ("parity",), folder / name, name) for name, harm in harms.items()
    ]


def executed(subject: Subject, benchmark: Benchmark, audits: tuple[str, ...], folder: Path, name: str) -> Run:
    """A run measured and drawn with few replicates."""
    return execute(subject, benchmark, audits, folder, name=name, settings=dict.fromkeys(audits, QUICK))
