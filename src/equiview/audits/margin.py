"""Effects in units of a margin: the score of a right answer less that of a wrong one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equiview.audits.base import Settings
from equiview.audits.estimating import Replicates, Rows
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline, Means
from equiview.data.metric import quantity
from equiview.data.values import Values
from equiview.stats import exceeds_p, interval, sign_flip_test, wald_p

MARGIN = quantity("margin")
DRAWS_A_TEST = 200
"""Random signs for each test of a family at least: with fewer, none could reject after correction."""


def over_margin(means: Means) -> Means:
    """The first mean over the second, the margin; infinite where that is not above 0."""
    margin = means[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.real(margin) > 0, means[..., 0] / margin, np.inf)


def effects_over_margin(
    measured: Values,
    names: Mapping[str, str],
    settings: Settings,
    least: int,
    tolerance: float,
    untested: Headline | None = None,
) -> Estimates | None:
    """The margin, then the effects of the metrics in `names` with their tests, alone and over the margin.

    Alone they are tested to be 0. Where languages are exchangeable, both signs of an effect are equally
    likely, so that test flips signs cluster by cluster. `names` holds by metric the name of the effect over
    the margin, which is tested to exceed `tolerance`; its interval includes the variation of the margin. It
    is skipped where the margin may be 0, and so is `untested`, a headline over the margin. All effects are
    one family, of simultaneous intervals too; those of fewer than `least` clusters are not judged.
    """
    rows, clusters = Rows(), measured.clusters
    tested = [entry for entry in measured.quantities if entry.metric in names]
    others = () if untested is None else untested.of[:1]
    matrix = measured.at(MARGIN, *others, *tested)
    margin, *effects = Replicates.of(matrix, settings, clusters=clusters).split()
    rows.add(MARGIN, margin, _size(margin), p=float(wald_p(margin.value, margin.draws)))
    related = float(interval(margin.draws)[0]) > 0
    if untested is not None and related:
        rows.add(untested.quantity, _over(effects[0], margin), _size(effects[0]), among="over the margin")
    if not tested:
        return rows.estimates()
    p_values = sign_flip_test(
        matrix[:, 1 + len(others) :],
        clusters=clusters,
        replicates=max(settings.replicates, DRAWS_A_TEST * len(tested)),
        seed=settings.seed_of("signs"),
    )
    for wanted, effect, p in zip(tested, effects[len(others) :], p_values, strict=True):
        n = _size(effect)
        enough = n >= least
        kinds = [("as it is", wanted, effect, float(p))]
        if related:
            about = quantity(names[wanted.metric], None, **wanted.keys)
            beyond = _exceeds(effect, margin, tolerance, n) if enough else 1.0
            kinds.append(("over the margin", about, _over(effect, margin), beyond))
        for kind, about, measured_as, tested_by in kinds:
            among = kind if enough else ""
            p_value = tested_by if enough else None
            rows.add(about, measured_as, n, p=p_value, judged=enough, family=kind, among=among)
    return rows.estimates()


def _exceeds(effect: Replicates, margin: Replicates, tolerance: float, n: int) -> float:
    """The p value of an effect being no larger than its tolerance, a share of the margin, on either side.

    The share is subtracted from the effect, not divided by, so that the difference is as normal as the two.
    The tails at both ends of the null are added, so that a tolerance of 0 gives the two-sided p.
    """
    sign = -1.0 if effect.value < 0 else 1.0
    tails = (
        exceeds_p(
            float(sign * effect.value - end * margin.value), sign * effect.draws - end * margin.draws, n
        )
        for end in (tolerance, -tolerance)
    )
    return min(1.0, sum(tails))


def _size(effect: Replicates) -> int:
    assert effect.clusters is not None
    return int(effect.clusters)


def _over(effect: Replicates, margin: Replicates) -> Replicates:
    """An effect over the margin, replicate by replicate."""
    value, draws = (
        over_margin(np.stack(numbers, axis=-1))
        for numbers in ((effect.value, margin.value), (effect.draws, margin.draws))
    )
    return Replicates(value, draws, effect.clusters)
