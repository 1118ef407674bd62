"""Whether what is answered depends on the language of the question; `sentences` says it in words."""

from __future__ import annotations

from collections.abc import Iterable

from equiview.audits.judging import at_least_none, decide, largest, shown, shows_bias, together, verdict
from equiview.audits.knowledge import sentences as say
from equiview.audits.knowledge.lost import LOST, SAMPLING
from equiview.audits.knowledge.measure import ACCURACY, ADVANTAGE, SHIFT, SKILL, UNREAD
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.knowledge.unread import doubtful, parted
from equiview.audits.saying import not_decided, too_few
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Effect, Verdict

UNREAD_SHARE = 0.02
"""Share of unread replies above which the limits mention it."""


def judge(estimates: Estimates, settings: KnowledgeSettings) -> Verdict:
    """Biased where a language's accuracy, the local advantage or lost consistency exceeds its tolerance.

    Fair where the intervals of all lie within. Unclear with too few questions, and where in no language more
    is answered correctly than by luck and the tolerance. That consistency is lost to languages can be shown
    only where it is known how much is lost to sampling; and nothing where it rests on replies that could not
    be read being wrong.
    """
    tolerance, lost_tolerance = settings.tolerance, settings.lost_tolerance
    differences = _judged([*estimates.by("language", SHIFT), estimates.maybe(ADVANTAGE.metric)])
    losses = _judged([estimates.maybe(LOST), *estimates.by("language", LOST)])
    gaps, of_reading = parted(differences, tolerance, estimates)
    lost, lost_in_reading = parted(list(map(at_least_none, losses)), lost_tolerance, estimates)
    missing = _missing(estimates, settings)
    of_gaps = decide(*gaps, tolerance=tolerance, missing=missing, unjudged=of_reading)
    of_lost = decide(*lost, tolerance=lost_tolerance, missing=missing, unjudged=lost_in_reading)
    apart = estimates.maybe(SAMPLING) is not None
    found = shown(gaps, tolerance), shown(lost, lost_tolerance) if apart else []
    if not apart:  # sampled answers lose consistency too
        of_lost = "fair" if of_lost == "fair" else "unclear"
    finding = together((of_gaps, of_lost))
    if missing:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(estimates, *found, among=len(gaps))
    elif of_reading or (apart and lost_in_reading):
        answer = not_decided(say.unread_decide(doubtful(estimates)))
    elif of_gaps == "fair" and of_lost == "unclear" and not apart:
        answer = not_decided(say.repeats_needed(estimates))
    else:
        answer = say.otherwise(finding, estimates, settings)
    unread = estimates.one(UNREAD).value
    kinds = [(gaps, tolerance), (lost, lost_tolerance)]
    return verdict(
        finding,
        answer,
        [*(say.every(*found) if finding == "biased" else ()), *say.evidence(estimates, answer)],
        advice=say.ADVICE,
        limits=(say.NOT_READ.format(unread), *say.LIMITS) if unread > UNREAD_SHARE else say.LIMITS,
        effect=None if missing else _plotted(kinds if apart or of_lost == "fair" else kinds[:1]),
        able=not missing,
    )


def _judged(rows: Iterable[Estimate | None]) -> list[Estimate]:
    return [row for row in rows if row and row.judged]


def _plotted(kinds: Iterable[tuple[list[Estimate], float]]) -> Effect | None:
    """A difference that shows bias, else a loss that does, else what is largest beside its tolerance."""
    order: dict[Effect, tuple[bool, float]] = {}
    for rows, tolerance in kinds:
        if effect := largest(rows, tolerance):
            row = next(row for row in rows if row.quantity == effect.quantity)
            biased = shows_bias(row, tolerance)
            order[effect] = biased, 0.0 if biased else abs(row.value) / tolerance
    return max(order, key=lambda effect: order[effect], default=None)


def _missing(estimates: Estimates, settings: KnowledgeSettings) -> str:
    accuracy = estimates.one(ACCURACY)
    if accuracy.n < settings.least:
        return too_few(accuracy.n, "questions", settings.least)
    if not any(skill.low > settings.tolerance for skill in estimates.by("language", SKILL.metric)):
        return say.unskilled(accuracy, settings)
    return ""
