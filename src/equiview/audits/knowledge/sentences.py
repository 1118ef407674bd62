"""Knowledge put into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from equiview.audits.knowledge.consistency import CONSISTENCY, OVER, UNDEFINED
from equiview.audits.knowledge.lost import LOST, SAME, SAMPLING
from equiview.audits.knowledge.measure import ACCURACY, ADVANTAGE, READ, SHIFT, UNREAD
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.knowledge.tables import SETTINGS
from equiview.audits.saying import (
    NAMED,
    by_how_much,
    by_side,
    filled,
    in_points,
    language_of,
    levels,
    limit,
    listed,
    named,
    of_many,
    opening,
    with_capital,
    with_interval,
    without_capital,
)
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding

LIMITS = (
    "The same question may be harder in one language because its translation is worse.",
    "With multiple choice a fact counts as known that could not be said without the options.",
)
NOT_READ = "{:.0%} of the replies could not be read and count as wrong."
ADVICE = (
    "For weaker languages, ask the model to translate the question into its strongest language and to reason "
    "there (setting prompt=cot-english), and measure again.",
)


def unskilled(accuracy: Estimate, settings: KnowledgeSettings) -> str:
    """That no language is answered better than by chance."""
    return (
        f"in no language is more answered correctly ({accuracy.value:.0%} on average) than what the same "
        f"letters get right when they are dealt to other questions, and {limit(settings.tolerance)}"
    )


def repeats_needed(estimates: Estimates) -> str:
    """That lost consistency cannot be told from sampling."""
    lost = estimates.one(LOST)
    return (
        f"accuracy is alike in all languages, and {with_interval(lost)} of consistency are missing to the "
        "same knowledge in every language; whether languages or sampling take that cannot be judged: "
        "ask with repeats=3, which takes two more requests a question, or at temperature 0"
    )


def unread_decide(doubtful: Mapping[str, float]) -> str:
    """That what would be shown rests on replies that could not be read."""
    most = sorted(doubtful.items(), key=lambda item: (-item[1], item[0]))[:NAMED]
    where = listed(f"{share:.0%} in {language_name(code)}" for code, share in most if share)
    return (
        f"of the replies {where} could not be read, as letters of another script cannot, and were they right "
        "no difference would be shown: look at them, and ask for answers that can be read (setting prompts)"
    )


def biased(estimates: Estimates, gaps: Sequence[Estimate], lost: Sequence[Estimate], *, among: int) -> str:
    """The largest differences that show bias, of `among` that are judged; what is lost only where none does.

    `every` says them all.
    """
    sides = by_side([gap for gap in gaps if gap.quantity.metric == SHIFT], "less", "more")
    claims = [
        f"questions in {named(some, _by, most=1)} are answered correctly {side} often than the same "
        f"questions in the other languages{of_many(among)}"
        for side, some in sides[:1]
    ]
    claims += [f"{side} often those in {named(some, _by, most=1)}" for side, some in sides[1:]]
    claims = claims or [_advantage(gap) for gap in gaps]
    claims = claims or [without_capital(_shared(estimates)), *filter(None, [_most_lost(lost)])]
    return f"Yes: {'; '.join(claims)}."


def every(gaps: Sequence[Estimate], lost: Sequence[Estimate]) -> Iterator[str]:
    """All that shows bias, as lines of evidence."""
    for side, some in by_side([gap for gap in gaps if gap.quantity.metric == SHIFT], "Less", "More"):
        yield f"{side} often than in the other languages: {named(some, _by, most=len(some))}."
    yield filled("{}.", filter(None, [with_capital(_most_lost(lost))]))


def _by(shift: Estimate) -> str:
    return f"by {by_how_much(shift.of_many())}"


def _most_lost(lost: Sequence[Estimate]) -> str:
    most = [f"{language_of(row)} ({in_points(row.value)})" for row in lost if row.keys][:NAMED]
    return filled("most consistency is lost in {}", most)


def otherwise(finding: Finding, estimates: Estimates, settings: KnowledgeSettings) -> str:
    """That accuracy is alike in all languages, or that this is not shown either."""
    gap, lost = limit(settings.tolerance), limit(settings.lost_tolerance)
    said = f"accuracy in no language is off that in the others by more than {gap}, intervals included"
    if finding == "unclear":
        said = f"no difference of accuracy is shown to exceed {gap} and no lost consistency {lost}, "
        said += "and not all are shown to be within"
        return f"{opening(finding)}: {said}."
    return f"{opening(finding)}: {said}. {_shared(estimates)}."


def evidence(estimates: Estimates, answer: str) -> Iterator[str]:
    """What the answer rests on."""
    yield _settings(estimates)
    shared = _shared(estimates)
    yield "" if shared[1:] in answer else f"{shared}."
    rows = sorted(estimates.by("language", ACCURACY), key=lambda row: (row.value, language_of(row)))
    if len(rows) >= 2 * NAMED:
        yield f"Fewest right answers: {levels(rows[:NAMED])}; most: {levels(rows[-1:])}."
    if gap := estimates.maybe(ADVANTAGE.metric):
        yield f"{with_capital(_advantage(gap))}."
    yield _reading(estimates)
    if cells := estimates.maybe(UNDEFINED):
        yield (
            f"In {cells.value:.0f} of {cells.n} pairs of region and language nothing is right in one of the "
            "two; they are left out of the consistency."
        )


def _advantage(gap: Estimate) -> str:
    side = "more" if gap.value > 0 else "less"
    return (
        f"questions about a place are answered correctly {side} often in its own language than in those of "
        f"other places, by {by_how_much(gap)}"
    )


def _shared(estimates: Estimates) -> str:
    """How much of what is right in one language is right in another, and what that would be by itself."""
    measured, same = (estimates.maybe(metric, over=OVER) for metric in (CONSISTENCY, SAME))
    if measured is None or same is None:
        return "In some language nothing is answered correctly"
    sampling = estimates.maybe(SAMPLING)
    taken = f"; {in_points(sampling.value)} are lost to sampling" if sampling and sampling.value else ""
    return (
        f"Of what is right in one language {measured.value:.0%} is right in another; if the same facts were "
        f"known in every language that would be {same.value:.0%}, and if languages knew nothing of each "
        f"other {measured.chance or 0.0:.0%}{taken}"
    )


def _settings(estimates: Estimates) -> str:
    numbers = [f"{name} {row:.1%}" for name in SETTINGS if (row := estimates.maybe(ACCURACY, setting=name))]
    if overall := estimates.maybe(CONSISTENCY):
        numbers.append(f"consistency of local languages with the others {overall:.1%}")
    return filled("As T reports it (asked in English, in the local language, in any other): {}.", numbers)


def _reading(estimates: Estimates) -> str:
    by_rule = ", ".join(
        f"{row.keys['rule']} {row.value:.1%}" for row in estimates.by("rule", READ) if row.value
    )
    most = max(estimates.by("language", UNREAD), key=lambda row: row.value)
    where = f" (most in {language_of(most)}, {most.value:.1%})" if most.value else ""
    return f"Replies read by rule: {by_rule or 'none'}; unread {estimates.one(UNREAD).value:.1%}{where}."
