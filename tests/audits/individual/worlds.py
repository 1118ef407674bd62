"""Worlds whose bias is known because we made it, and the audit of them."""

from pathlib import Path

import numpy as np
import polars as pl

from equiview.audits.individual import INDIVIDUAL
from equiview.audits.individual.settings import IndividualSettings
from equiview.benchmarks import load_benchmark
from equiview.data.estimates import Estimates
from equiview.data.observations import Observations
from equiview.data.progress import silent
from equiview.subjects import load_subject
from tests.conftest import LANGUAGES, write_world


def audited(folder: Path, **settings) -> tuple[Observations, Estimates, IndividualSettings]:
    options = INDIVIDUAL.configure({"replicates": 500, **settings})
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    observed = INDIVIDUAL.observe(subject, benchmark, options, silent)
    return observed, INDIVIDUAL.measure(observed, options), options


def several(folder: Path, slots: int = 3, **world) -> Path:
    """A world in which every image has `slots` captions a language, later ones longer in German alone."""
    write_world(folder, **world)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    parts = []
    for slot in range(slots):
        more = pl.when(pl.col("language") == "de").then(pl.lit("x" * 9 * slot)).otherwise(pl.lit(""))
        parts.append(texts.with_columns(pl.col("id") + f"-{slot}", pl.col("text") + more))
    pl.concat(parts).write_csv(folder / "texts.csv")
    noise = np.random.default_rng(9).normal(size=(slots, *vectors.shape))
    np.save(folder / "texts.npy", np.concatenate([vectors + 0.1 * s for s in noise]).astype(np.float32))
    return folder


def with_equal_german(folder: Path) -> Path:
    """A world whose German captions have the vectors of the English ones."""
    write_world(folder)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    english, german = (texts["language"].eq(code).to_numpy() for code in ("en", "de"))
    vectors[german] = vectors[english]
    np.save(folder / "texts.npy", vectors)
    return folder


def vectors_by_language(folder: Path) -> dict[str, np.ndarray]:
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    return {code: vectors[(texts["language"] == code).to_numpy()] for code in LANGUAGES}
