"""Parity put into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from equiview.audits.judging import finding_of
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import DIRECTIONS, accuracy_name, classified, metric_of, tasks_of, title_of
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Verdict

PEOPLE = ("gender", "race", "age", "skin")
"""Attributes of people: unequal accuracy among them is bias, while among kinds of things it need not be."""
ALPHA = 0.05
LIMITS = (
    "Equal accuracy is not good accuracy, and unequal accuracy may come from captions that say less.",
    "A language may be ranked evenly in a mixed pool and still find nothing in its own: prevalence cannot "
    "see that, R@1 within the language can.",
)
LABELS = (
    "Labels of gender, race and age were given by onlookers; they are not what the people pictured say of "
    "themselves.",
    "The prompts that come with equiview were not checked by native speakers of their languages.",
)


def judge(estimates: Estimates, settings: ParitySettings) -> Verdict:
    """Biased when a gap to the pivot, or of people, exceeds `tolerance` and is told apart after Holm.

    A gap between languages must also exceed the range over paraphrases of either language, where there are.
    Fair when the intervals of all gaps lie within the tolerance.
    """
    tasks = tasks_of(estimates)
    gaps = [gap for task in tasks for gap in _language_gaps(estimates, task)]
    people = [gap for task in tasks for gap in _people_gaps(estimates, task)]
    large = [gap for gap in gaps if _exceeds(gap, max(settings.tolerance, _rewording(estimates, gap)))]
    unfair = [gap for gap in people if _exceeds(gap, settings.tolerance)]
    level = all(-settings.tolerance <= gap.low and gap.high <= settings.tolerance for gap in [*gaps, *people])
    finding = finding_of(biased=bool(large or unfair), fair=level)
    first = _spread(estimates, tasks[0])
    answer = {
        "biased": f"Yes: {' '.join(filter(None, [_languages(large, gaps, settings), _worst_group(unfair)]))}",
        "fair": f"No: all gaps are within {settings.tolerance:.0%}, intervals included. {first}",
        "unclear": f"Not decided at gaps of {settings.tolerance:.0%}. {first}",
    }[finding]
    evidence = [
        *(_spread(estimates, task) for task in tasks),
        *(_worst(estimates, task) for task in tasks if task in DIRECTIONS),
        *(_paraphrases(estimates, task) for task in classified(tasks)),
        _too_few(estimates),
    ]
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(dict.fromkeys(line for line in evidence if line and line not in answer)),
        advice=_advice(large, unfair),
        limits=LIMITS + (LABELS if classified(tasks) else ()),
    )


def _language_gaps(estimates: Estimates, task: str) -> Estimates:
    return estimates.by(("language", "other"), "gap to pivot", task=task)


def _people_gaps(estimates: Estimates, task: str) -> list[Estimate]:
    """Gaps of groups of people within a language that are over enough images."""
    gaps = estimates.by(("language", "attribute", "group", "against"), "group gap", task=task)
    return [gap for gap in gaps if gap.judged and gap.quantity.keys["attribute"] in PEOPLE]


def _rewording(estimates: Estimates, gap: Estimate) -> float:
    """How far paraphrases differ in the one of a gap's two languages in which they differ more."""
    keys = gap.quantity.keys
    ranges = [
        estimates.maybe("range over paraphrases", task=keys["task"], language=keys[name])
        for name in ("language", "other")
    ]
    return max((spread.value for spread in ranges if spread is not None), default=0.0)


def _exceeds(gap: Estimate, limit: float) -> bool:
    return abs(gap.value) > limit and gap.p_holm is not None and gap.p_holm <= ALPHA


def _largest(gaps: Sequence[Estimate], *ties: str) -> Estimate:
    """The gap of the largest size; of equal ones the first by the keys `ties`."""
    return min(gaps, key=lambda gap: (-abs(gap.value), *(gap.quantity.keys[key] for key in ties)))


def _size(gap: Estimate) -> Estimate:
    """The gap without its sign."""
    if gap.value >= 0:
        return gap
    return replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def _languages(large: Sequence[Estimate], gaps: Sequence[Estimate], settings: ParitySettings) -> str:
    if not large:
        return ""
    gap = _largest(large, "task", "language")
    task, language = gap.quantity.keys["task"], gap.quantity.keys["language"]
    side = "worse" if gap.value > 0 else "better"
    count, of = (sum(entry.quantity.keys["task"] == task for entry in some) for some in (large, gaps))
    return (
        f"{language_name(language)} is served {side} than {language_name(settings.pivot)} by "
        f"{_size(gap):.1%} in {accuracy_name(task)}, {title_of(task)}; {count} of {of} languages "
        f"differ by more than {settings.tolerance:.0%}."
    )


def _worst_group(unfair: Sequence[Estimate]) -> str:
    if not unfair:
        return ""
    gap = _largest(unfair, "task", "language", "group")
    keys = gap.quantity.keys
    side = "less" if gap.value < 0 else "more"
    return (
        f"Asked for {keys['task']} in {language_name(keys['language'])}, images labelled {keys['group']} are "
        f"answered correctly {side} often than {keys['against']} by {_size(gap):.1%}."
    )


def _spread(estimates: Estimates, task: str) -> str:
    spread = estimates.one("range over languages", task=task)
    low, high = (
        next(iter(estimates.by("language", f"{end} language", task=task))) for end in ("lowest", "highest")
    )
    chance = "" if spread.chance is None else f", {spread.chance:.1%} if languages were alike"
    return (
        f"{accuracy_name(task)}, {title_of(task)}: from {language_name(low.quantity.keys['language'])} "
        f"{low.value:.1%} to {language_name(high.quantity.keys['language'])} {high.value:.1%}, a range of "
        f"{spread:.1%}{chance}."
    )


def _worst(estimates: Estimates, task: str) -> str:
    by_language = [
        (row.value, row.quantity.keys["language"])
        for row in estimates.by("language", *metric_of(task), task=task)
    ]
    if len(by_language) < 4:
        return ""
    least = ", ".join(f"{language_name(language)} {value:.0%}" for value, language in sorted(by_language)[:4])
    return f"Worst served, by R@1 within the language, {title_of(task)}: {least}."


def _paraphrases(estimates: Estimates, task: str) -> str:
    ranges = [row.value for row in estimates.by("language", "range over paraphrases", task=task)]
    if not ranges:
        return ""
    spread, mean = estimates.one("range over languages", task=task).value, float(np.mean(ranges))
    word = "less than" if spread <= mean else "more than"
    return (
        f"Wordings of one language differ by {mean:.1%} on average in {task}, languages by {spread:.1%}: "
        f"{word} how one asks."
    )


def _too_few(estimates: Estimates) -> str:
    accuracies = ("R", "accuracy")
    cells = {
        tuple(row.quantity.keys.get(key) for key in ("attribute", "group", "within", "within_group"))
        for row in estimates
        if row.judged is False and row.quantity.metric in accuracies
    }
    if not cells:
        return ""
    return f"{len(cells)} groups have too few images to judge; their numbers are given and not judged."


def _advice(large: Sequence[Estimate], unfair: Sequence[Estimate]) -> tuple[str, ...]:
    advice = []
    if large:
        advice.append(
            "Align the texts of the worst languages to the pivot's (distillation on parallel captions), and "
            "measure again on captions that were not used for it."
        )
    if unfair:
        advice.append("Do not use the system to sort images of people by these labels.")
    return tuple(advice)
