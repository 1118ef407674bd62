"""What effect a verdict would find on a benchmark of some size, known before anything is run.

`labs.error_rates` plants effects of known size and counts how often each audit finds them. The counts follow

    P(biased) = Phi(slope sqrt(n) (effect - 1) - threshold)

with `n` queries and an effect in multiples of the tolerance; `power.csv` holds slope and threshold of every
planted system (docs/error-rates.md shows the counts and how well this fits). A real subject differs from the
planted ones, in how much its queries vary and how many languages or groups there are, so this is a guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from statistics import NormalDist

import polars as pl

from equiview.benchmarks import Benchmark

SCHEMA = {
    "audit": pl.String,
    "system": pl.String,
    "slope": pl.Float64,
    "threshold": pl.Float64,
    "note": pl.String,
}
FOUND = 0.8
"""The share of verdicts that find an effect, at which it counts as one that can be found."""


@dataclass(frozen=True)
class Unit:
    """What a verdict is over: its name in the plural, and how many of them a benchmark has."""

    name: str
    count: Callable[[Benchmark], int]


def rows_of(table: str, key: str = "") -> Callable[[Benchmark], int]:
    """Counts the rows of a table of the benchmark, or the different values of its column `key`; 0 without."""

    def count(benchmark: Benchmark) -> int:
        rows = benchmark.tables.get(table)
        return 0 if rows is None else rows[key].n_unique() if key else len(rows)

    return count


IMAGES = Unit("images", lambda benchmark: len(benchmark.images))


@dataclass(frozen=True)
class Power:
    """How often one kind of planted effect is found: the probit line of its counts.

    >>> power = Power("one weak language", slope=0.1, threshold=2.0)
    >>> round(power.effect(1000), 2), power.queries(2.0)
    (1.9, 808)
    """

    system: str
    slope: float
    threshold: float
    note: str = ""

    def found(self, effect: float, n: int) -> float:
        """The share of verdicts that say "biased", for an effect in multiples of the tolerance."""
        return NormalDist().cdf(self.slope * math.sqrt(n) * (effect - 1) - self.threshold)

    def effect(self, n: int, share: float = FOUND) -> float:
        """The effect, in multiples of the tolerance, that `share` of verdicts over `n` queries find."""
        return 1 + self._distance(share) / math.sqrt(n)

    def queries(self, effect: float, share: float = FOUND) -> int:
        """How many queries `share` of verdicts need to find an effect above 1."""
        return math.ceil((self._distance(share) / (effect - 1)) ** 2)

    def scaled(self, factor: float) -> Power:
        """The same where the tolerance is `factor` times the default: its multiples are as much larger."""
        return replace(self, slope=self.slope * factor)

    def _distance(self, share: float) -> float:
        return (self.threshold + NormalDist().inv_cdf(share)) / self.slope


def powers_of(audit: str) -> list[Power]:
    """What is known of an audit's power, the effect that is hardest to find first; [] where nothing is."""
    rows = _table().filter(pl.col("audit") == audit).drop("audit")
    return sorted((Power(**row) for row in rows.iter_rows(named=True)), key=lambda power: -power.effect(1000))


@cache
def _table() -> pl.DataFrame:
    content = files("equiview.audits").joinpath("power.csv").read_bytes()
    return pl.read_csv(content, schema=SCHEMA)
