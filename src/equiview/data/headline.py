"""Headlines: the quantities by which an audit is summed up and runs are compared.

Most are the mean of one column of `Values`. Some are a function of several means, such as a ratio; its
interval and its test must vary all of them, so a headline carries the function and not its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equiview.data.metric import Quantity
from equiview.data.values import Values

Means: TypeAlias = NDArray[Any]
STEP = 1e-30


def first(means: Means) -> Means:
    """The only mean there is."""
    return means[..., 0]


def ratio(means: Means) -> Means:
    """The first mean over the second; infinite over 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(means[..., 0] / means[..., 1])


@dataclass(frozen=True)
class Headline:
    """`quantity` is `combine` of the means of the columns `of`, by default the mean of its own column.

    `pick` takes them from `Values` where they are not known beforehand, such as those of all languages.

    `combine` takes means `(..., columns)` and returns `(...)`. It must be smooth and made of arithmetic that
    holds for complex numbers as well (no abs or rounding), because its slopes are taken with a complex step.
    If it is not `smooth`, as a range is not, it must grow in proportion to how far the columns lie apart: two
    systems are tested by what lies beyond each one's own floor (`stats.spread_test`), over the rows that have
    all columns, and their difference has no interval.

    `tested` names the audit's setting that says which share of the rows each of the columns is over, where
    columns are of one measurement with models trained on the other rows. Then rows are not independent, since
    all of a column depend on what its model has learnt; systems are compared column by column.

    >>> from equiview.data.metric import quantity
    >>> sp = Headline(quantity("SP"), of=(quantity("M_cul"), quantity("M_sem")), combine=ratio)
    >>> float(sp.combine(np.array([0.2, 0.8])))
    0.25
    >>> sp.slopes(np.array([0.2, 0.8])).round(4).tolist()
    [1.25, -0.3125]
    """

    quantity: Quantity
    of: tuple[Quantity, ...] = ()
    combine: Callable[[Means], Means] = first
    smooth: bool = True
    pick: Callable[[Values], tuple[Quantity, ...]] | None = None
    tested: str = ""

    def columns(self, *tables: Values) -> tuple[Quantity, ...]:
        """The columns that it is computed from in all of `tables`; none where it cannot be computed."""
        if self.pick is not None:
            return tuple(
                entry for entry in self.pick(tables[0]) if all(entry in table for table in tables[1:])
            )
        wanted = self.of or (self.quantity,)
        return wanted if all(entry in table for entry in wanted for table in tables) else ()

    def columns_of(
        self, systems: Sequence[Values], pairs: Sequence[tuple[int, int]]
    ) -> list[tuple[Quantity, ...]]:
        """`columns` of each pair of `systems`; those of a system alone are found once."""
        alone = {place: self.columns(systems[place]) for place in dict.fromkeys(a for a, _ in pairs)}
        if self.pick is None:
            return [alone[a] if self.columns(systems[b]) else () for a, b in pairs]
        return [tuple(entry for entry in alone[a] if entry in systems[b]) for a, b in pairs]

    def slopes(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much it changes with each mean, `(len(of),)`, at `means`; exact to rounding (complex step)."""
        steps = means + 1j * STEP * np.eye(len(means))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.imag(self.combine(steps)) / STEP, dtype=np.float64)
