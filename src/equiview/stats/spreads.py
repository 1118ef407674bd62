"""Whether the columns of two tables are equally unequal: a test of the difference of two spreads.

A range or a standard deviation over languages is above 0 even where all languages are alike, the more so the
nearer the level is to 50% and the fewer the images. So two systems that treat languages alike differ in their
ranges where they differ in their levels. What must be compared is the excess, each spread less its own floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.errors import StatsInputError, UndefinedStatisticError
from equiview.stats._check import ExactProduct, as_columns, cluster_rows, exact_sums, whole_number
from equiview.stats.tails import tail_p

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
BLOCK_BYTES = 16 * 2**20


def spread_test(
    first: ArrayLike,
    second: ArrayLike,
    statistic: Statistic,
    *,
    clusters: ArrayLike | None = None,
    replicates: int = 2_000,
    seed: int,
) -> float:
    """Two-sided p value of two tables' columns being equally unequal, beyond what noise alone makes of them.

    `first` and `second` are `(n_rows, n_columns)`, such as the correctness of two systems by image and
    language; rows with a nan in either are left out. `statistic` takes means `(..., n_columns)` and returns
    `(...)`, in proportion to how far the columns lie apart: a range, a standard deviation, a Gini
    coefficient. `clusters`, `(n_rows,)` whole numbers, names rows that are not independent.

    The noise of the column means is drawn by giving what each row adds to them a random sign, the same in
    both tables (a wild bootstrap: Liu, 1988). It is added to columns that have the same true spread in both
    tables, and p says how rarely the spreads then differ as much, both ways of what they differ on average.
    The true spread is not known: p is the largest of those for none, for the larger of the two and for what
    lies between. Of each it is estimated by the root of its square less its mean square where columns are
    alike. Where draws do not reach, p is that of a fitted tail (`tail_p`). Ours.

    Raises UndefinedStatisticError where no row is whole in both; StatsInputError for shapes that differ.

    Two systems that treat 12 languages alike, one at 98% and one at 60%, and one that does not:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> high, low = (rng.random((400, 12)) < rate for rate in (0.98, 0.6))
    >>> uneven = rng.random((400, 12)) < np.linspace(0.75, 0.95, 12)
    >>> width = lambda means: np.ptp(means, axis=-1)
    >>> bool(spread_test(high, low, width, seed=0) > 0.05 > 0.001 > spread_test(high, uneven, width, seed=0))
    True
    """
    (p,) = spread_tests(
        (first, second), [(0, 1)], statistic, clusters=clusters, replicates=replicates, seed=seed
    )
    return p


def spread_tests(
    tables: Mapping[int, ArrayLike] | Sequence[ArrayLike],
    pairs: Sequence[tuple[int, int]],
    statistic: Statistic,
    *,
    clusters: ArrayLike | None = None,
    replicates: int = 2_000,
    seed: int,
) -> list[float]:
    """As `spread_test`, for pairs of tables; each p value is that of its pair alone.

    The noise of a table is drawn once for all its pairs with the same rows left out.

    >>> import numpy as np
    >>> a, b, c = np.random.default_rng(0).random((3, 50, 4))
    >>> p = spread_tests([a, b, c], [(0, 1), (0, 2)], lambda means: np.ptp(means, axis=-1), seed=0)
    >>> p[1] == spread_test(a, c, lambda means: np.ptp(means, axis=-1), seed=0)
    True
    """
    columns = {place: as_columns(tables[place], "tables") for pair in pairs for place in pair}
    kept: dict[bytes, tuple[NDArray[np.bool_], dict[int, None]]] = {}
    names = []
    for a, b in pairs:
        if columns[a].shape != columns[b].shape:
            shapes = f"{columns[a].shape} and {columns[b].shape}"
            raise StatsInputError(f"the tables of a pair must have one shape; got {shapes}")
        whole = np.asarray(~(np.isnan(columns[a]) | np.isnan(columns[b])).any(axis=1))
        if not whole.any():
            raise UndefinedStatisticError("the tables of a pair share no row without nan")
        names.append(np.packbits(whole).tobytes())
        kept.setdefault(names[-1], (whole, {}))[1].update({a: None, b: None})
    drawn: dict[tuple[int, bytes], _Drawn] = {}
    for name, (whole, places) in kept.items():
        labels = None if clusters is None else np.asarray(clusters)[whole]
        rows, n_clusters = cluster_rows(labels, whole.sum())
        means = [columns[place][whole].mean(axis=0) for place in places]
        apart = [columns[place][whole] - mean for place, mean in zip(places, means, strict=True)]
        noises = _noises(apart, rows, n_clusters, replicates, seed)
        for place, mean, noise in zip(places, means, noises, strict=True):
            drawn[place, name] = _Drawn.of(mean, noise, statistic)
    return [_p_of(drawn[a, name], drawn[b, name]) for (a, b), name in zip(pairs, names, strict=True)]


@dataclass(frozen=True)
class _Drawn:
    """A table's means and noise, `(replicates, n_columns)`, its spread, and those where columns are alike."""

    mean: Floats
    noise: Floats
    statistic: Statistic
    spread: float
    alike: Floats

    @classmethod
    def of(cls, mean: Floats, noise: Floats, statistic: Statistic) -> _Drawn:
        """With what the spreads are."""
        return cls(mean, noise, statistic, float(statistic(mean)), statistic(mean.mean() + noise))

    @property
    def beyond(self) -> float:
        """The square of the spread, less its mean where columns are alike."""
        return self.spread**2 - float((self.alike**2).mean())

    def where(self, true: float, other: _Drawn) -> Floats:
        """The spread in each replicate, where the true one is this.

        Columns that are all equal have no way to be apart; they are then as far apart as those of `other`.
        """
        level = self.mean.mean()
        apart, spread = self.mean - level, self.spread
        if not spread:
            apart = other.mean - other.mean.mean()
            spread = float(self.statistic(level + apart))
        if not true or not spread:
            return self.alike
        return self.statistic(level + true / spread * apart + self.noise)


def _p_of(first: _Drawn, second: _Drawn) -> float:
    """The p value of two tables."""
    apart = second.spread - first.spread
    beyond = [first.beyond, second.beyond]
    found = []
    for squared in {max(0.0, squared) for squared in (0.0, sum(beyond) / 2, max(beyond))}:
        true = math.sqrt(squared)
        differences = second.where(true, first) - first.where(true, second)
        usual = float(differences.mean())
        found.append(tail_p(abs(apart - usual), np.abs(differences - usual)))
    return max(found)


def _noises(
    apart: Sequence[Floats], rows: NDArray[np.int64], n_clusters: int, replicates: int, seed: int
) -> list[Floats]:
    """Means of each table's columns under the same random signs of clusters, `(replicates, n_columns)`."""
    draws = whole_number(replicates, "replicates", 1)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
    summed = [exact_sums(table, rows, n_clusters) for table in apart]
    product = ExactProduct(np.ascontiguousarray(np.hstack([sums for sums, _ in summed])))
    block = max(1, BLOCK_BYTES // (8 * n_clusters))
    parts = []
    for start in range(0, draws, block):
        signs = rng.integers(0, 2, size=(min(block, draws - start), n_clusters), dtype=np.int8)
        parts.append(product(2 * signs - 1))
    ends = np.cumsum([table.shape[1] for table in apart])[:-1]
    totals = np.split(np.concatenate(parts), ends, axis=1)
    return [
        total * (unit / len(table)) for total, (_, unit), table in zip(totals, summed, apart, strict=True)
    ]
