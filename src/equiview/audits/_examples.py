"""Which trials are shown as examples: by seed, never by hand."""

from __future__ import annotations

import numpy as np
import polars as pl


def example_trials(trials: pl.DataFrame, seed: int, count: int = 6) -> pl.DataFrame:
    """A seeded sample of trials, each of another country."""
    rng = np.random.default_rng(seed)
    shuffled = trials[rng.permutation(len(trials))].unique("country", keep="first", maintain_order=True)
    return shuffled.head(count)
