"""Systems of known truth for the audit of tests/plugin: does a retriever prefer short captions."""

from __future__ import annotations

import numpy as np
import polars as pl
from labs.error_rates.harness import System

from equiview.data.observations import Observations
from tests.plugin.brevity import BrevitySettings

POOL = 200
"""Captions, all of one language and of lengths 1 to 200."""


def returned(seed: int, size: int, effect: float = 2.0) -> Observations:
    """Captions drawn with a probability that depends on their length, so that the preference is known.

    Weights fall in a straight line from the shortest to the longest; a slope s makes the mean share of longer
    captions a half plus s / 6.
    """
    share = (np.arange(POOL, 0, -1) - 0.5) / POOL
    weights = 1 + 6 * effect * BrevitySettings().tolerance * (2 * share - 1)
    items = np.random.default_rng(seed).choice(POOL, size, p=weights / weights.sum())
    rankings = pl.DataFrame(
        {
            "query_id": [f"q{query}" for query in range(size)],
            "rank": np.ones(size, np.int32),
            "item_id": [f"c{item}" for item in items],
            "score": np.ones(size, np.float32),
            "relevant": np.ones(size, bool),
        }
    )
    captions = pl.DataFrame(
        {
            "item_id": [f"c{item}" for item in range(POOL)],
            "text": ["x" * (item + 1) for item in range(POOL)],
            "language": ["en"] * POOL,
            "letters": np.arange(1.0, POOL + 1),
            "longer": share,
        }
    )
    return Observations({"rankings": rankings, "items": captions})


def blind(seed: int, size: int) -> Observations:
    return returned(seed, size, 0.0)


def few(seed: int, size: int) -> Observations:
    return returned(seed, 12, 0.0)


def nothing(seed: int, size: int) -> Observations:
    return Observations({})


SYSTEMS = {
    system.name: system
    for system in (
        System("blind", "none", blind, "captions drawn whatever their length"),
        System("short first", "planted", returned, "short captions are drawn more often than long ones"),
        System("few", "tiny", few, "twelve images"),
        System("nothing", "tiny", nothing, "no table was observed"),
    )
}
