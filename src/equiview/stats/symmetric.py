"""An interval for the centre of few symmetric values, such as one effect for each of twelve languages.

If independent values lie symmetrically around their centre, the centre falls with equal probability into each
of the gaps that the means of all subsets of the values leave: Hartigan, "Using Subsample Values as Typical
Values" (JASA, 1969). The interval is thus exact, without a normal distribution, and it leaves out 0 just when
`sign_flip_test` rejects 0 at the same level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.stats._check import as_level, as_sample, whole_number
from equiview.stats.paired import EXACT_CLUSTERS


def sign_flip_interval(
    values: ArrayLike, *, level: float = 0.95, replicates: int = 10_000, seed: int
) -> tuple[float, float]:
    """Interval (low, high) of the centre of `values`, `(n,)`, in their unit.

    With at most 20 values the means of all subsets are taken and `seed` is without effect, else those of
    `replicates` random subsets. Too few values for the level (below 6 for 95%) leave the centre open: the
    interval is then infinite.

    Raises UndefinedStatisticError for no value; StatsInputError for values that are not finite or a level
    outside (0, 1).

    The 63 subsets of six values leave 64 gaps; 95% leaves out one at each end:

    >>> sign_flip_interval([0.3, 0.1, 0.2, 0.2, 0.3, 0.1], seed=0)
    (0.1, 0.3)
    >>> sign_flip_interval([0.3, 0.1, 0.2, 0.2, 0.3], seed=0)
    (-inf, inf)
    """
    sample = np.sort(as_sample(values, "values"))  # so that the order of the values does not matter
    level = as_level(level)
    replicates = whole_number(replicates, "replicates", 1)
    rng = np.random.Generator(np.random.PCG64(whole_number(seed, "seed", 0)))
    means = _all_means(sample) if len(sample) <= EXACT_CLUSTERS else _some_means(sample, replicates, rng)
    gaps = len(means) + 1
    outside = int(np.floor((1 - level) / 2 * gaps + 1e-9))
    if outside < 1:
        return -np.inf, np.inf
    ends = outside - 1, gaps - outside - 1
    low, high = np.partition(means, ends)[list(ends)].tolist()
    # Rounding may put the mean of equal values beside them.
    return float(np.clip(low, sample[0], sample[-1])), float(np.clip(high, sample[0], sample[-1]))


def _all_means(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """The means of all subsets but the empty one, `(2**n - 1,)`."""
    sums, sizes = np.zeros(1), np.zeros(1)
    for value in sample:
        sums, sizes = np.concatenate([sums, sums + value]), np.concatenate([sizes, sizes + 1])
    return np.asarray(sums[1:] / sizes[1:])


def _some_means(
    sample: NDArray[np.float64], replicates: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The means of random subsets, `(replicates,)` but for those that happen to be empty."""
    taken = rng.integers(0, 2, size=(replicates, len(sample)), dtype=np.int8).astype(np.float64)
    sizes = taken.sum(axis=1)
    filled = sizes > 0
    return np.asarray((taken[filled] * sample).sum(axis=1) / sizes[filled])
