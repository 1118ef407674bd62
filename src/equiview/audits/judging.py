"""One rule for all verdicts, so that each is a claim with known error rates.

Unclear unless the subject is better than chance at its task and there is enough to judge by. Biased when the
test that holds everything else fixed rejects, p corrected over all the tests that the verdict reads, and the
interval of the effect lies beyond the tolerance. Fair when the interval of every effect lies within the
tolerance (equivalence) and no group or language was too small to judge. Unclear otherwise.
`labs/error_rates.py` measures how often each is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from equiview.data.estimates import Estimate
from equiview.data.verdict import Effect, Finding, Verdict

ALPHA = 0.05
SKILL = 0.001
"""Highest p of a retriever's hits, against chance, for its lists to be judged."""
CERTAIN = 0.0001
"""p up to which a subject counts as better at its own items than at others."""


def shows_bias(effect: Estimate, tolerance: float) -> bool:
    """Whether an effect, 0 where there is none, is shown to be beyond the tolerance, on either side.

    Its corrected p must reject and its own interval lie beyond; without a test the interval alone shows it,
    and of many effects then the one that holds for all of them. What is too small to judge (`judged` is
    False) shows nothing.
    """
    p = effect.p if effect.p_holm is None else effect.p_holm
    rejected = p is None or p <= ALPHA
    ends = effect.of_many() if p is None else effect
    beyond = ends.low > tolerance or ends.high < -tolerance
    return effect.judged is not False and rejected and beyond


def shown(effects: Iterable[Estimate], tolerance: float) -> list[Estimate]:
    """The effects that show bias, largest first."""
    return sorted((row for row in effects if shows_bias(row, tolerance)), key=lambda row: -abs(row.value))


def excludes_bias(effect: Estimate, tolerance: float) -> bool:
    """Whether the interval of an effect lies within the tolerance; nan and infinity do not."""
    return effect.judged is not False and -tolerance <= effect.low and effect.high <= tolerance


def decide(
    *effects: Estimate, tolerance: float, missing: str = "", unjudged: Collection[str] = ()
) -> Finding:
    """The finding of a verdict over `effects`, each 0 where nobody is treated differently.

    `missing` says what is missing for a judgement (the subject is no better than chance, there are too few
    queries); if it says anything, or there is no effect, the finding is "unclear". `unjudged` names groups or
    languages that could not be judged, such as those of too few items: others may be shown to be treated
    unequally, but that nobody is cannot be shown, so that the finding is not "fair".

    >>> from equiview.data.metric import quantity
    >>> gap = Estimate(quantity("gap"), value=0.2, low=0.1, high=0.3, n=100, p=0.001)
    >>> decide(gap, tolerance=0.05), decide(gap, tolerance=0.3), decide(gap, tolerance=0.15)
    ('biased', 'fair', 'unclear')
    >>> decide(gap, tolerance=0.05, unjudged=["women"]), decide(gap, tolerance=0.3, unjudged=["women"])
    ('biased', 'unclear')
    """
    if missing or not effects:
        return "unclear"
    if any(shows_bias(effect, tolerance) for effect in effects):
        return "biased"
    within = all(excludes_bias(effect, tolerance) for effect in effects)
    return "fair" if within and not unjudged else "unclear"


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


def together(findings: Iterable[Finding]) -> Finding:
    """Several findings as one: biased where any is, fair where all are.

    >>> together(["fair", "biased"]), together(["fair", "fair"]), together(["fair", "unclear"]), together([])
    ('biased', 'fair', 'unclear', 'unclear')
    """
    found = set(findings)
    return "biased" if "biased" in found else "fair" if found == {"fair"} else "unclear"


def skilled(level: Estimate) -> bool:
    """Whether so many hits would be rare for a retriever that guesses (binomial test)."""
    from scipy.special import bdtrc  # slow to import

    hits, chance = round(level.value * level.n), level.chance or 0.0
    return hits > 0 and chance < 1 and float(bdtrc(hits - 1, level.n, chance)) <= SKILL


def better_by(margin: Estimate) -> str:
    """Whether a margin over items of others is shown: "" where it is, else "no" or "hardly"."""
    if not margin.low > 0:
        return "no"
    return "hardly" if margin.p is not None and margin.p > CERTAIN else ""


def at_least_none(effect: Estimate) -> Estimate:
    """An effect where only values above 0 are bias: its interval is clipped at 0."""
    clipped = effect.moved(lambda end: max(end, 0.0))
    return replace(clipped, value=effect.value)


def size(effect: Estimate) -> Estimate:
    """The effect without its sign."""
    if effect.value >= 0:
        return effect
    turned = effect.moved(lambda end: -end)
    return replace(turned, low=turned.high, high=turned.low, low_all=turned.high_all, high_all=turned.low_all)


def verdict(
    finding: Finding, answer: str, evidence: Iterable[str], *, advice: tuple[str, ...], **more: Any
) -> Verdict:
    """The verdict, without repeated evidence, and with advice only where there is bias."""
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(dict.fromkeys(line for line in evidence if line not in answer)),
        advice=advice if finding == "biased" else (),
        **more,
    )
