"""Correlations over models of what was measured before with what was measured after."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from equiview.audits.judging import ALPHA
from equiview.errors import UndefinedStatisticError
from equiview.stats import Correlation, detectable_correlation, holm, spearman_fisher
from equiview.studies.transfer.measures import Measure
from equiview.studies.transfer.models import LEAST
from equiview.studies.transfer.settings import TransferSettings

RHO = "rho"


@dataclass(frozen=True)
class Pair:
    """A measure before and one after, of one attribute, over the models that have both.

    `rho` is None where it is not defined, and `reason` then says why. `p_holm` is corrected over all pairs.
    """

    before: Measure
    after: Measure
    models: tuple[str, ...]
    rho: Correlation | None = None
    p_holm: float | None = None
    reason: str = ""

    @property
    def value(self) -> float:
        """The correlation, 0 where it is not defined."""
        return self.rho.value if self.rho else 0.0

    @property
    def attribute(self) -> str:
        """The attribute, or both where they are called differently: `race, skin`."""
        return ", ".join(dict.fromkeys(filter(None, (self.before.attribute, self.after.attribute))))

    @property
    def keys(self) -> dict[str, str]:
        """What the estimates of this pair are about."""
        keys = {"before": self.before.label, "after": self.after.label, "attribute": self.attribute}
        return {name: value for name, value in keys.items() if value}

    @property
    def points(self) -> list[tuple[str, float, float]]:
        """Each model with its values before and after."""
        return [(name, self.before.values[name], self.after.values[name]) for name in self.models]


def correlated(before: Sequence[Measure], after: Sequence[Measure], settings: TransferSettings) -> list[Pair]:
    """Every measure before with every one after of the same attribute, or of attributes that are paired."""
    also = set(settings.also)
    pairs = [
        _correlated(first, second)
        for first in before
        for second in after
        if first.attribute == second.attribute or (first.attribute, second.attribute) in also
    ]
    tested = [place for place, pair in enumerate(pairs) if pair.rho is not None]
    p_values = [rho.p_value for pair in pairs if (rho := pair.rho)]
    for place, p in zip(tested, holm(p_values) if tested else (), strict=True):
        pairs[place] = replace(pairs[place], p_holm=float(p))
    return pairs


def _correlated(before: Measure, after: Measure) -> Pair:
    both = [name for name in before.values if name in after.values]
    finite = [name for name in both if np.isfinite([before.values[name], after.values[name]]).all()]
    pair = Pair(before, after, tuple(finite))
    if len(finite) < LEAST:
        return replace(pair, reason=f"{len(finite)} models have both")
    x, y = ([series.values[name] for name in finite] for series in (before, after))
    for series, values in ((before, x), (after, y)):
        if len(set(values)) == 1:
            return replace(pair, reason=f"{series.label} is {values[0]:g} for every model")
    return replace(pair, rho=spearman_fisher(x, y))


def detectable(models: int, tested: int) -> tuple[float | None, float | None]:
    """The smallest correlation found with 80% power, alone and after correction; None where undefined."""

    def least(alpha: float) -> float | None:
        with suppress(UndefinedStatisticError):
            return detectable_correlation(models, alpha=alpha)
        return None

    return least(ALPHA), least(ALPHA / tested)
