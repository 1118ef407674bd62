"""Knowledge put into words: whether what is answered depends on the language of the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from equiview.audits.judging import decide, in_points, largest, shows_bias, with_interval
from equiview.audits.knowledge.consistency import CONSISTENCY, LOST, OVER, SAME, UNDEFINED
from equiview.audits.knowledge.measure import ACCURACY, ADVANTAGE, READ, SHIFT, SKILL, UNREAD
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.knowledge.tables import SETTINGS
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Effect, Finding, Verdict

LIMITS = (
    "The same question may be harder in one language because its translation is worse.",
    "A model that answers at random what it half knows loses consistency too; ask the same questions twice "
    "in one language to see how much of it that is.",
    "With multiple choice a fact counts as known that could not be said without the options.",
)
ADVICE = (
    "For weaker languages, ask the model to translate the question into its strongest language and to reason "
    "there (setting prompt=cot-english), and measure again.",
)
NAMED = 3
"""Languages that the answer names."""
UNREAD_SHARE = 0.02
"""Share of replies unread from which this is said in the limits."""


@dataclass(frozen=True)
class Effects:
    """What the verdict reads: differences of accuracy, and consistency lost, each with its tolerance."""

    gaps: tuple[Estimate, ...]
    lost: tuple[Estimate, ...]
    settings: KnowledgeSettings

    @property
    def finding(self) -> Finding:
        """Biased where either shows it, fair where both exclude it."""
        findings = {
            decide(*self.gaps, tolerance=self.settings.tolerance),
            decide(*self.lost, tolerance=self.settings.lost_tolerance),
        }
        return "biased" if "biased" in findings else "fair" if findings == {"fair"} else "unclear"

    @property
    def plotted(self) -> Effect | None:
        """The effect that shows bias; where none does, that which is largest beside its tolerance."""
        gap = largest(self.gaps, self.settings.tolerance)
        lost = largest(self.lost, self.settings.lost_tolerance)
        if gap is None or lost is None or self.shown_gaps:
            return gap or lost
        if self.shown_lost:
            return lost
        sizes = {entry.quantity: abs(entry.value) for entry in (*self.gaps, *self.lost)}
        return max((gap, lost), key=lambda effect: sizes[effect.quantity] / effect.tolerance)

    @property
    def shown_gaps(self) -> list[Estimate]:
        """Differences of accuracy that show bias, largest first."""
        shown = [gap for gap in self.gaps if shows_bias(gap, self.settings.tolerance)]
        return sorted(shown, key=lambda gap: -abs(gap.value))

    @property
    def shown_lost(self) -> list[Estimate]:
        """Losses of consistency that show bias, largest first."""
        shown = [lost for lost in self.lost if shows_bias(lost, self.settings.lost_tolerance)]
        return sorted(shown, key=lambda lost: -lost.value)


def judge(estimates: Estimates, settings: KnowledgeSettings) -> Verdict:
    """Biased where a language's accuracy, the local advantage or lost consistency exceeds its tolerance.

    Fair where the intervals of all lie within. Unclear with too few questions, and where in no language more
    is answered correctly than by chance and the tolerance.
    """
    missing = _missing(estimates, settings)
    effects = _effects(estimates, settings)
    finding = "unclear" if missing else effects.finding
    answer = {
        "biased": f"Yes: {'; '.join(_claims(effects, estimates))}.",
        "fair": f"No: accuracy in no language is off that in the others by more than "
        f"{_points(settings.tolerance)}, intervals included. {_shared(estimates)}.",
        "unclear": f"Not decided: {missing or _undecided(settings, estimates)}.",
    }[finding]
    evidence = (
        _settings(estimates),
        "" if _shared(estimates)[1:] in answer else f"{_shared(estimates)}.",
        _levels(estimates),
        _local(estimates),
        _reading(estimates),
        _undefined(estimates),
    )
    unread = estimates.one(UNREAD).value
    trouble = (f"{unread:.0%} of the replies could not be read and count as wrong.",)
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(line for line in evidence if line and line not in answer),
        advice=ADVICE if finding == "biased" else (),
        limits=(trouble if unread > UNREAD_SHARE else ()) + LIMITS,
        effect=None if missing else effects.plotted,
    )


def _effects(estimates: Estimates, settings: KnowledgeSettings) -> Effects:
    advantage = estimates.maybe(ADVANTAGE.metric)
    gaps = [*estimates.by("language", SHIFT), *([advantage] if advantage else [])]
    overall = estimates.maybe(LOST)
    lost = [*([overall] if overall else []), *estimates.by("language", LOST)]
    return Effects(
        tuple(gap for gap in gaps if gap.judged),
        tuple(_at_least_none(entry) for entry in lost if entry.judged),
        settings,
    )


def _at_least_none(lost: Estimate) -> Estimate:
    """Lost consistency as an effect: languages that share more than knowledge, such as guesses, lose none."""
    return replace(lost, low=max(lost.low, 0.0), high=max(lost.high, 0.0))


def _missing(estimates: Estimates, settings: KnowledgeSettings) -> str:
    """What is missing for a judgement, or nothing."""
    n = estimates.one(ACCURACY).n
    if n < settings.least:
        return f"only {n} questions, at least {settings.least} are needed"
    able = any(skill.low > settings.tolerance for skill in estimates.by("language", SKILL.metric))
    if not able:
        chance = estimates.one(ACCURACY).chance or 0.0
        return (
            f"in no language is more answered correctly than by chance ({chance:.0%}) and "
            f"{_points(settings.tolerance)}"
        )
    return ""


def _claims(effects: Effects, estimates: Estimates) -> list[str]:
    shifts = [gap for gap in effects.shown_gaps if gap.quantity.metric == SHIFT]
    advantage = [gap for gap in effects.shown_gaps if gap.quantity.metric == ADVANTAGE.metric]
    claims = [
        f"questions in {_named(some)} are answered correctly {side} often than the same questions in the "
        "other languages"
        for side, some in (
            ("less", [shift for shift in shifts if shift.value < 0]),
            ("more", [shift for shift in shifts if shift.value > 0]),
        )
        if some
    ]
    claims += [_advantage(gap) for gap in advantage]
    if effects.shown_lost:
        shared = _shared(estimates)
        claims.append(shared[0].lower() + shared[1:] + _least_shared(effects.shown_lost))
    return claims


def _named(shifts: Sequence[Estimate]) -> str:
    names = [f"{_name(shift)} (by {with_interval(_size(shift))})" for shift in shifts[:NAMED]]
    more = [f"{len(shifts) - NAMED} more"] if len(shifts) > NAMED else []
    *most, last = [*names, *more]
    return f"{', '.join(most)} and {last}" if most else last


def _size(gap: Estimate) -> Estimate:
    """The gap without its sign."""
    return gap if gap.value >= 0 else replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def _name(row: Estimate) -> str:
    return language_name(row.quantity.keys["language"])


def _points(tolerance: float) -> str:
    return in_points(tolerance, ".3g")


def _advantage(gap: Estimate) -> str:
    side = "more" if gap.value > 0 else "less"
    return (
        f"questions about a place are answered correctly {side} often in its own language than in those of "
        f"other places, by {with_interval(_size(gap))}"
    )


def _shared(estimates: Estimates) -> str:
    """How much of what is right in one language is right in another, and what that would be by itself."""
    measured, same = (estimates.maybe(metric, over=OVER) for metric in (CONSISTENCY, SAME))
    if measured is None or same is None:
        return "In some language nothing is answered correctly"
    return (
        f"Of what is right in one language {measured.value:.0%} is right in another; if the same facts were "
        f"known in every language that would be {same.value:.0%}, and if languages knew nothing of each "
        f"other {measured.chance or 0.0:.0%}"
    )


def _least_shared(lost: Sequence[Estimate]) -> str:
    of_language = [entry for entry in lost if entry.quantity.keys]
    if not of_language:
        return ""
    names = ", ".join(f"{_name(entry)} ({in_points(entry.value)})" for entry in of_language[:NAMED])
    return f"; most is lost in {names}"


def _undecided(settings: KnowledgeSettings, estimates: Estimates) -> str:
    return (
        f"no difference of accuracy is shown to exceed {_points(settings.tolerance)} and no lost consistency "
        f"{_points(settings.lost_tolerance)}, and not all are shown to be within. {_shared(estimates)}"
    )


def _settings(estimates: Estimates) -> str:
    rows = [(name, estimates.maybe(ACCURACY, setting=name)) for name in SETTINGS]
    numbers = [f"{name} {row:.1%}" for name, row in rows if row is not None]
    overall = estimates.maybe(CONSISTENCY)
    if overall is not None:
        numbers.append(f"consistency of local languages with the others {overall:.1%}")
    if not numbers:
        return ""
    return f"As T reports it (asked in English, in the local language, in any other): {', '.join(numbers)}."


def _levels(estimates: Estimates) -> str:
    rows = sorted(estimates.by("language", ACCURACY), key=lambda row: (row.value, _name(row)))
    if len(rows) < 2 * NAMED:
        return ""
    least = ", ".join(f"{_name(row)} {row.value:.0%}" for row in rows[:NAMED])
    return f"Fewest right answers: {least}; most: {_name(rows[-1])} {rows[-1].value:.0%}."


def _local(estimates: Estimates) -> str:
    gap = estimates.maybe(ADVANTAGE.metric)
    if gap is None:
        return ""
    said = _advantage(gap)
    return f"{said[0].upper()}{said[1:]}."


def _reading(estimates: Estimates) -> str:
    shares = {row.quantity.keys["rule"]: row.value for row in estimates.by("rule", READ)}
    by_rule = ", ".join(f"{rule} {share:.1%}" for rule, share in shares.items() if share)
    unread = sorted(estimates.by("language", UNREAD), key=lambda row: -row.value)
    most = f" (most in {_name(unread[0])}, {unread[0].value:.1%})" if unread[0].value else ""
    return f"Replies read by rule: {by_rule or 'none'}; unread {estimates.one(UNREAD).value:.1%}{most}."


def _undefined(estimates: Estimates) -> str:
    cells = estimates.maybe(UNDEFINED)
    if cells is None:
        return ""
    return (
        f"In {cells.value:.0f} of {cells.n} pairs of region and language nothing is right in one of the two; "
        "they are left out of the consistency."
    )
