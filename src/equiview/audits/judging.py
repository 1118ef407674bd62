"""One rule for all verdicts, so that each is a claim with known error rates.

Unclear unless the subject is better than chance at its task and there is enough to judge by. Biased when the
test that holds everything else fixed rejects, p corrected over all the tests that the verdict reads, and the
interval of the effect lies beyond the tolerance. Fair when the interval of every effect lies within the
tolerance (equivalence). Unclear otherwise. `labs/error_rates.py` measures how often each is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from equiview.data.estimates import TOO_SMALL, Estimate
from equiview.data.verdict import Effect, Finding

ALPHA = 0.05


def shows_bias(effect: Estimate, tolerance: float) -> bool:
    """Whether an effect, 0 where there is none, is shown to be beyond the tolerance, on either side.

    Its corrected p must reject and its interval lie beyond; without a test the interval alone shows it. What
    is too small to judge (`judged` is False) shows nothing.
    """
    p = effect.p if effect.p_holm is None else effect.p_holm
    rejected = p is None or p <= ALPHA
    beyond = effect.low > tolerance or effect.high < -tolerance
    return effect.judged is not False and rejected and beyond


def excludes_bias(effect: Estimate, tolerance: float) -> bool:
    """Whether the interval of an effect lies within the tolerance; nan and infinity do not."""
    return effect.judged is not False and -tolerance <= effect.low and effect.high <= tolerance


def decide(*effects: Estimate, tolerance: float, missing: str = "") -> Finding:
    """The finding of a verdict over `effects`, each 0 where nobody is treated differently.

    `missing` says what is missing for a judgement (the subject is no better than chance, there are too few
    queries); if it says anything, or there is no effect, the finding is "unclear".

    >>> from equiview.data.metric import quantity
    >>> gap = Estimate(quantity("gap"), value=0.2, low=0.1, high=0.3, n=100, p=0.001)
    >>> decide(gap, tolerance=0.05), decide(gap, tolerance=0.3), decide(gap, tolerance=0.15)
    ('biased', 'fair', 'unclear')
    """
    if missing or not effects:
        return "unclear"
    if any(shows_bias(effect, tolerance) for effect in effects):
        return "biased"
    return "fair" if all(excludes_bias(effect, tolerance) for effect in effects) else "unclear"


def largest(effects: Sequence[Estimate], tolerance: float) -> Effect | None:
    """What the page plots for a verdict over `effects`: the largest that shows bias, else the largest of all.

    None where there is no effect that there is enough to judge by.
    """
    judged = [effect for effect in effects if effect.judged is not False and not math.isnan(effect.value)]
    shown = [effect for effect in judged if shows_bias(effect, tolerance)]
    if not judged:
        return None
    most = max(shown or judged, key=lambda effect: abs(effect.value))
    return Effect(quantity=most.quantity, tolerance=tolerance, among=len(judged))


def in_points(value: float, spec: str = ".1f") -> str:
    """A difference of shares as it is said in words.

    >>> in_points(0.538), in_points(0.05, ".3g"), in_points(-0.02, "+.1f")
    ('53.8 points', '5 points', '-2.0 points')
    """
    return f"{100 * value:{spec}} points"


def with_interval(effect: Estimate, spec: str = ".1f") -> str:
    """A difference of shares in points, with its interval.

    >>> from equiview.data.metric import quantity
    >>> with_interval(Estimate(quantity("gap"), value=0.2, low=0.1, high=0.3, n=100))
    '20.0 points [10.0, 30.0]'
    """
    ends = f"{100 * effect.low:{spec}}, {100 * effect.high:{spec}}" if effect.has_interval else TOO_SMALL
    return f"{in_points(effect.value, spec)} [{ends}]"
