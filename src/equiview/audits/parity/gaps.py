"""Gaps of accuracies with intervals and tests that hold at 0 and at 100% too, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Rows
from equiview.audits.parity.answers import Floats
from equiview.data.metric import Quantity
from equiview.metrics import group_rate_gaps
from equiview.stats import Proportions, difference_interval, difference_p, paired_correlation

VERDICT = "verdict"
"""The family of all tests that the verdict reads."""


@dataclass(frozen=True)
class Gaps:
    """Gaps, each array `(n_gaps,)`; `p` is of the gap being no larger than the tolerance, where tested."""

    value: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]
    p: Floats | None

    def add(
        self,
        rows: Rows,
        place: int,
        wanted: Quantity,
        draws: Floats | None = None,
        *,
        judged: bool | None = None,
        family: str = "",
    ) -> None:
        """Add one of them to `rows`; it is tested where it is judged.

        `draws`, `(replicates, n_gaps)`, say how gaps of one family vary together; where they are judged their
        simultaneous intervals follow.
        """
        ends = self.value[place], self.low[place], self.high[place]
        p = float(self.p[place]) if judged and self.p is not None else None
        among = family if judged and draws is not None else ""
        drawn = draws[:, place] if among and draws is not None else None
        rows.add_known(
            wanted, ends, self.n[place], 0.0, drawn, p=p, judged=judged, family=family, among=among
        )


def paired_gaps(first: Floats, second: Floats, margin: float | None) -> Gaps:
    """Mean of `first` less that of `second`, `(n_images, n_gaps)`, over the images asked about in both.

    Every column must have such an image. Gaps are tested to be beyond `margin` if there is one.
    """
    neither = np.isnan(first) | np.isnan(second)
    a, b = (np.where(neither, np.nan, table) for table in (first, second))
    return _gaps(a, b, margin, paired_correlation(a, b), (~neither).sum(axis=0))


def group_gaps(correct: Floats, a: NDArray[np.bool_], b: NDArray[np.bool_], margin: float) -> Gaps:
    """Accuracy of the images `a` less that of `b`, in each column of `correct`, `(n_images, n_columns)`."""
    n, either = np.full(correct.shape[1], int(a.sum() + b.sum())), a | b
    gaps = _gaps(correct[a], correct[b], margin, np.zeros(correct.shape[1]), n)
    return replace(gaps, value=group_rate_gaps(correct[either], a[either]))


def _gaps(
    first: Floats, second: Floats, margin: float | None, correlation: Floats, n: NDArray[np.int64]
) -> Gaps:
    sides = Proportions.of(first), Proportions.of(second)
    low, high = difference_interval(*sides, correlation=correlation)
    p = None if margin is None else difference_p(*sides, margin, correlation=correlation)
    return Gaps(sides[0].value - sides[1].value, low, high, n, p)
