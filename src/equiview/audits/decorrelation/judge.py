"""Whether what is gone is named more often than captions of the same things name it."""

from __future__ import annotations

from equiview.audits.decorrelation import sentences as say
from equiview.audits.decorrelation.measure import EXCESS, KEPT
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.audits.judging import at_least_none, decide, shown, verdict
from equiview.audits.saying import limit, not_decided, opening
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Effect, Verdict
from equiview.stats.means import LEAST

HEADWAY = 0.1
"""Least skill: naming what is there, rescaled so that chance is 0 and always is 1."""


def judge(estimates: Estimates, settings: DecorrelationSettings) -> Verdict:
    """Biased where what is gone is named more often, by more than the tolerance, than captions alike name it.

    Captions are alike when they name the same of the things that are still there and as many others. Naming
    it less often, as a system does that sees it is gone, is fair. Unclear unless captions name what is there
    clearly more often than captions at random, and with objects of fewer than ten classes taken away. Not
    fair where one class is shown to be named too often, beyond what classes differ by.
    """
    excess = estimates.one(EXCESS, settings.judged_at)
    missing = _missing(estimates, excess, settings)
    by_class = estimates.by("removed", EXCESS, settings.judged_at)
    named = [row for row in shown(by_class, settings.tolerance) if row.value > 0]
    finding = decide(
        at_least_none(excess), tolerance=settings.tolerance, missing=missing, unjudged=say.classes(named)
    )
    begin = opening(finding, limit(settings.tolerance))
    if missing:
        answer = not_decided(missing)
    else:
        answer = say.answer(begin, estimates, excess, settings.judged_at)
        answer += say.too_often(named) if finding != "biased" else ""
    return verdict(
        finding,
        answer,
        say.evidence(estimates, settings),
        advice=say.ADVICE,
        limits=say.LIMITS,
        effect=None if missing else Effect(quantity=excess.quantity, tolerance=settings.tolerance),
        able=not missing,
    )


def _missing(estimates: Estimates, excess: Estimate, settings: DecorrelationSettings) -> str:
    if not excess.judged and excess.n >= settings.least:
        return say.too_few_classes(LEAST)
    if not excess.judged:
        return f"there are {excess.n} synthetic images, at least {settings.least} are needed"
    there = estimates.one(KEPT, settings.judged_at)
    floor = there.chance or 0.0
    if not there.low > floor + HEADWAY * (1 - floor):
        return say.unseen(there, settings.judged_at)
    return ""
