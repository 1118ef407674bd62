"""Whether what is answered depends on the language of the question; `sentences` says it in words."""

from __future__ import annotations

from collections.abc import Iterable

from equiview.audits.judging import at_least_none, decide, largest, shown, shows_bias, together, verdict
from equiview.audits.knowledge import sentences as say
from equiview.audits.knowledge.consistency import LOST
from equiview.audits.knowledge.measure import ACCURACY, ADVANTAGE, SHIFT, SKILL, UNREAD
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.saying import not_decided, too_few
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Effect, Verdict

UNREAD_SHARE = 0.02
"""Share of unread replies above which the limits mention it."""


def judge(estimates: Estimates, settings: KnowledgeSettings) -> Verdict:
    """Biased where a language's accuracy, the local advantage or lost consistency exceeds its tolerance.

    Fair where the intervals of all lie within. Unclear with too few questions, and where in no language more
    is answered correctly than by chance and the tolerance. Languages that share guesses as well lose none.
    """
    gaps = _judged([*estimates.by("language", SHIFT), estimates.maybe(ADVANTAGE.metric)])
    lost = _judged([estimates.maybe(LOST), *estimates.by("language", LOST)])
    kinds = ((gaps, settings.tolerance), (list(map(at_least_none, lost)), settings.lost_tolerance))
    missing = _missing(estimates, settings)
    finding = together(decide(*rows, tolerance=limit, missing=missing) for rows, limit in kinds)
    if missing:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(estimates, *(shown(rows, limit) for rows, limit in kinds))
    else:
        answer = say.otherwise(finding, estimates, settings)
    unread = estimates.one(UNREAD).value
    return verdict(
        finding,
        answer,
        say.evidence(estimates, answer),
        advice=say.ADVICE,
        limits=(say.NOT_READ.format(unread), *say.LIMITS) if unread > UNREAD_SHARE else say.LIMITS,
        effect=None if missing else _plotted(kinds),
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
