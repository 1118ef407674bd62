"""Effects in units of a margin: the score of a right answer less that of a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equiview.audits.base import Settings
from equiview.audits.estimating import Replicates, Rows
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline, Means
from equiview.data.metric import quantity
from equiview.data.values import Values
from equiview.stats import interval, sign_flip_test, wald_p

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
    untested: Headline | None = None,
) -> Estimates | None:
    """The margin, then the effects of the metrics in `names` with their tests, alone and over the margin.

    Where languages are exchangeable, both signs of an effect are equally likely, so the test flips signs
    cluster by cluster. All effects are one family; those of fewer than `least` clusters are not judged.
    `names` holds by metric the name of the effect over the margin. Its interval includes the variation of the
    margin; it is skipped where the margin may be 0, and so is `untested`, a headline over the margin.
    """
    rows, clusters = Rows(), measured.clusters
    tested = [entry for entry in measured.quantities if entry.metric in names]
    others = () if untested is None else untested.of[:1]
    matrix = measured.at(MARGIN, *others, *tested)
    margin, *effects = Replicates.of(matrix, settings, clusters=clusters).split()
    rows.add(MARGIN, margin, _size(margin), p=float(wald_p(margin.value, margin.draws)))
    related = float(interval(margin.draws)[0]) > 0
    if untested is not None and related:
        rows.add(untested.quantity, _over(effects[0], margin), _size(effects[0]))
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
        test: dict[str, Any] = {"p": float(p) if n >= least else None, "judged": n >= least}
        rows.add(wanted, effect, n, **test, family="as it is")
        if related:
            about = quantity(names[wanted.metric], None, **wanted.keys)
            rows.add(about, _over(effect, margin), n, **test, family="over the margin")
    return rows.estimates()


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
