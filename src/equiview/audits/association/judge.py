"""Whether the query's language pulls in its culture's images over the right concept."""

from __future__ import annotations

from equiview.audits.association import sentences as say
from equiview.audits.association.measure import CHANCE, RATES
from equiview.audits.association.pull import FROM_CULTURE, MEAN_PULL, PULL, TO_CULTURE
from equiview.audits.association.settings import LEAST_LANGUAGES, AssociationSettings, Direction
from equiview.audits.judging import decide, largest, shown, shows_bias, verdict
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict

LEAST_TRIALS = 10
"""A language with fewer trials forbids "fair": its pull is hardly known, yet counts as much as others."""
KNOWN = 0.5
"""Share of the languages in which the right image must win more often than by chance."""


def judge(estimates: Estimates, settings: AssociationSettings) -> Verdict:
    """By the mean pull of languages: biased beyond the tolerance, fair within it.

    Unclear with too few languages, no better than chance, or where the finding depends on who is given ties.
    Not fair where one language is shown to have a pull beyond the tolerance, has too few trials to tell, or
    is not shown to be known: it could have none then.
    """
    direction = settings.directions[0]
    pull = estimates.one(MEAN_PULL, direction=direction)
    missing = _missing(estimates, pull, direction, settings.tolerance)
    finding = decide(pull, tolerance=settings.tolerance, missing=missing)
    able = not missing
    if finding == "fair":
        missing = (
            say.too_small(estimates, direction, LEAST_TRIALS)
            or say.not_known(estimates, direction)
            or say.own_pulls(own_pulls(estimates, direction, settings.tolerance))
        )
        finding = "unclear" if missing else finding
    return verdict(
        finding,
        say.answer(finding, estimates, settings, missing),
        say.evidence(estimates, settings),
        advice=say.ADVICE if pull.value > 0 else (),
        limits=say.LIMITS,
        effect=largest([pull], settings.tolerance),
        able=able,
    )


def own_pulls(estimates: Estimates, direction: Direction, tolerance: float) -> list[Estimate]:
    """The languages shown to have a pull of their own beyond the tolerance, the largest first."""
    return shown(estimates.by("language", PULL, direction=direction), tolerance)


def _missing(estimates: Estimates, pull: Estimate, direction: Direction, tolerance: float) -> str:
    if pull.n < LEAST_LANGUAGES:
        languages = "language" if pull.n == 1 else "languages"
        return f"only {pull.n} {languages}, at least {LEAST_LANGUAGES} are needed"
    semantic, cultural = (estimates.one(name, direction=direction) for name in RATES[:2])
    least = CHANCE["M_sem"] + tolerance
    # Where meaning wins no more than chance, a missing pull is no merit. A shown pull counts, if the right
    # image or the cultural one wins more than chance: the encoder knows something.
    if not (shows_bias(pull, tolerance) and max(semantic.low, cultural.low) > least):
        known = pull.n - len(say.unknown(estimates, direction))
        if semantic.low <= least:
            share = f"{semantic.value:.0%} of trials"
            return f"the right image wins {share}, not shown to be above chance, {CHANCE['M_sem']:.0%}"
        if known < KNOWN * pull.n:
            where = f"in only {known} of {pull.n} languages"
            return f"the right image is shown to win more often than by chance {where}"
    if _ties_decide(estimates, direction, tolerance):
        return f"{say.tied(estimates, direction)}, and they decide the finding"
    return ""


def _ties_decide(estimates: Estimates, direction: Direction, tolerance: float) -> bool:
    """Whether the finding would differ if ties were decided otherwise."""
    given = (None, TO_CULTURE, FROM_CULTURE)
    pulls = [estimates.maybe(MEAN_PULL, direction=direction, ties=ties) for ties in given]
    findings = {
        (decide(pull, tolerance=tolerance), shows_bias(pull, tolerance) and pull.value > 0)
        for pull in pulls
        if pull
    }
    return len(findings) > 1
