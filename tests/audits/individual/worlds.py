"""Worlds whose bias is known because we made it, and the audit of them."""

from pathlib import Path

import numpy as np
import polars as pl

from equiview.audits.individual import INDIVIDUAL
from equiview.audits.individual.settings import IndividualSettings
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.estimates import Estimates
from equiview.data.items import Items
from equiview.data.observations import Observations
from equiview.data.relevance import Relevance
from equiview.data.verdict import Verdict
from equiview.io.progress import silent
from equiview.subjects import Encoder, load_subject
from tests.audits import steps
from tests.conftest import LANGUAGES, write_world


def audited(folder: Path, **settings) -> tuple[Observations, Estimates, IndividualSettings]:
    options = INDIVIDUAL.configure({"replicates": 500, **settings})
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    observed = INDIVIDUAL.observe(subject, benchmark, options, silent)
    return observed, steps.measured(INDIVIDUAL, observed, options), options


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


def observed(images: np.ndarray, texts: np.ndarray, exists: np.ndarray | None = None) -> Observations:
    """What is observed of captions with vectors `texts`, `(slots, languages, images, width)`."""
    exists = np.ones(texts.shape[:3], dtype=bool) if exists is None else exists
    slot, language, image = np.nonzero(exists)
    n = len(slot)
    rows = {"id": [f"t{row}" for row in range(n)], "text": ["x"] * n, "slot": slot, "at": np.arange(n)}
    table = pl.DataFrame({**rows, "language": np.asarray(sorted(LANGUAGES))[language]})
    ids = pl.DataFrame({"id": [f"i{row}" for row in range(len(images))], "at": np.arange(len(images))})
    benchmark = Benchmark(
        "made up",
        images=Items("image", ids),
        texts=Items("text", table),
        relevance=Relevance.from_pairs(image, np.arange(n), n_queries=len(images), n_items=n),
    )
    vectors = {"image": images.astype(np.float32), "text": texts[exists].astype(np.float32)}

    class Given(Encoder):
        def embed(self, items, progress=silent):
            return vectors[items.kind][items.table["at"].to_numpy()]

    return INDIVIDUAL.observe(Given(), benchmark, INDIVIDUAL.configure({}), silent)


def similar(similarities: np.ndarray, seed: int = 0) -> Observations:
    """What is observed of captions of these similarities to their images, `(slots, languages, images)`.

    nan: there is no caption.
    """
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(similarities.shape[-1], 24))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    aside = rng.normal(size=(*similarities.shape, 24))
    aside -= (aside * images).sum(axis=-1, keepdims=True) * images
    aside /= np.linalg.norm(aside, axis=-1, keepdims=True)
    c = np.nan_to_num(similarities)[..., None]
    return observed(images, c * images + np.sqrt(1 - c**2) * aside, ~np.isnan(similarities))


def judged(seen: np.ndarray | Observations, **settings) -> tuple[Estimates, Verdict]:
    """Estimates and verdict of observations, or of captions of these similarities."""
    options = INDIVIDUAL.configure({"replicates": 500, **settings})
    observations = similar(seen) if isinstance(seen, np.ndarray) else seen
    estimates = steps.measured(INDIVIDUAL, observations, options)
    return estimates, INDIVIDUAL.judge(estimates, options)
