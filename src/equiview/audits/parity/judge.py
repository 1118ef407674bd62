"""Parity put into words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from equiview.audits.judging import decide, in_points, largest, shows_bias, with_interval
from equiview.audits.parity.coverage import about_coverage, warning_of
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import (
    DIRECTIONS,
    PEOPLE,
    accuracy_name,
    classified,
    metric_of,
    pivot_of,
    tasks_of,
    title_of,
)
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Verdict

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
    """Biased when a gap to the pivot, or of people, is shown to exceed the tolerance (Holm over all of them).

    A gap between languages must also exceed the range over paraphrases of either language, where there are.
    Fair when the intervals of all gaps lie within the tolerance. Unclear where no task is done better than
    blind by more than the tolerance, or there are too few images.
    """
    tasks = tasks_of(estimates)
    able = [task for task in tasks if any(row.judged for row in estimates.by("language", "skill", task=task))]
    gaps = [
        gap for task in able for gap in _beside_rewording(estimates, task, _language_gaps(estimates, task))
    ]
    people = [gap for task in able for gap in _people_gaps(estimates, task)]
    large, unfair = ([gap for gap in some if shows_bias(gap, settings.tolerance)] for some in (gaps, people))
    missing = _missing(estimates, tasks, able, gaps, settings)
    finding = decide(*gaps, *people, tolerance=settings.tolerance, missing=missing)
    answer = {
        "biased": f"Yes: {' '.join(filter(None, [_languages(large, gaps, settings), _worst_group(unfair)]))}",
        "fair": f"No: {_level(able, gaps, people, settings)}",
        "unclear": f"Not decided: {missing or _undecided(settings)}.",
    }[finding]
    evidence = [
        about_coverage(estimates, common=settings.common),
        *(_spread(estimates, task) for task in tasks),
        *(_worst(estimates, task) for task in tasks if task in DIRECTIONS),
        *(_paraphrases(estimates, task) for task in classified(tasks)),
        _not_done(tasks, able, settings),
        _too_few(estimates),
    ]
    return Verdict(
        finding=finding,
        answer=answer + warning_of(estimates, common=settings.common),
        evidence=tuple(dict.fromkeys(line for line in evidence if line and line not in answer)),
        advice=_advice(large, unfair),
        limits=LIMITS + (LABELS if classified(tasks) else ()),
        effect=largest([*gaps, *people], settings.tolerance),
    )


def _language_gaps(estimates: Estimates, task: str) -> list[Estimate]:
    """Gaps to the pivot that are over enough images."""
    return [gap for gap in estimates.by(("language", "other"), "gap to pivot", task=task) if gap.judged]


def _people_gaps(estimates: Estimates, task: str) -> list[Estimate]:
    """Gaps of groups of people within a language that are over enough images."""
    metric = "balanced group gap" if task in DIRECTIONS else "group gap"
    gaps = estimates.by(("language", "attribute", "group", "against"), metric, task=task)
    return [gap for gap in gaps if gap.judged and gap.quantity.keys["attribute"] in PEOPLE]


def _beside_rewording(estimates: Estimates, task: str, gaps: Sequence[Estimate]) -> list[Estimate]:
    """The gaps, not told apart where they are no larger than what rewording does within either language."""
    ranges = {
        row.quantity.keys["language"]: row.value
        for row in estimates.by("language", "range over paraphrases", task=task)
    }
    limits = [max(ranges.get(gap.quantity.keys[key], 0.0) for key in ("language", "other")) for gap in gaps]
    return [
        gap if abs(gap.value) > limit else replace(gap, p_holm=1.0)
        for gap, limit in zip(gaps, limits, strict=True)
    ]


def _missing(
    estimates: Estimates,
    tasks: Sequence[str],
    able: Sequence[str],
    gaps: Sequence[Estimate],
    settings: ParitySettings,
) -> str:
    """What is missing for any judgement, or nothing."""
    most = max(row.n for task in tasks for row in estimates.by("language", "skill", task=task))
    if most < settings.least:
        return f"only {most} images, at least {settings.least} are needed"
    if not able:
        return (
            f"in no language is the encoder shown to be more than {_limit(settings)} better than "
            f"chance at {_listed(tasks)}"
        )
    if not gaps:
        return f"no language shares {settings.least} images with {_pivots(able, estimates)}"
    return ""


def _undecided(settings: ParitySettings) -> str:
    return f"no gap is shown to exceed {_limit(settings)}, and not all of them are shown to be within it"


def _limit(settings: ParitySettings) -> str:
    return in_points(settings.tolerance, ".3g")


def _level(
    able: Sequence[str], gaps: Sequence[Estimate], people: Sequence[Estimate], settings: ParitySettings
) -> str:
    """What a fair verdict claims."""
    pivots = _named(gap.quantity.keys["other"] for gap in gaps)
    groups = ", and all between groups of people," if people else ""
    return (
        f"all gaps to {pivots}{groups} are within {_limit(settings)}, intervals included ({_listed(able)})."
    )


def _pivots(tasks: Sequence[str], estimates: Estimates) -> str:
    return _named(pivot for task in tasks if (pivot := pivot_of(estimates, task))) or "the pivot"


def _named(codes: Iterable[str]) -> str:
    return " and ".join(language_name(code) for code in dict.fromkeys(codes))


def _listed(tasks: Sequence[str]) -> str:
    return "; ".join(title_of(task) for task in tasks)


def _not_done(tasks: Sequence[str], able: Sequence[str], settings: ParitySettings) -> str:
    left = [task for task in tasks if task not in able]
    if not left or not able:
        return ""
    return (
        f"Not judged, because the encoder is in no language shown to be more than {_limit(settings)} "
        f"better than chance at it: {_listed(left)}."
    )


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
        f"{language_name(language)} is served {side} than {language_name(gap.quantity.keys['other'])} by "
        f"{with_interval(_size(gap))} in {accuracy_name(task)}, {title_of(task)}; {count} of {of} languages "
        f"differ from it by more than {_limit(settings)}."
    )


def _worst_group(unfair: Sequence[Estimate]) -> str:
    if not unfair:
        return ""
    gap = _largest(unfair, "task", "language", "group")
    keys = gap.quantity.keys
    side = "less" if gap.value < 0 else "more"
    asked = (
        "Matched with captions, as many of each group,"
        if keys["task"] in DIRECTIONS
        else f"Asked for {keys['task']}"
    )
    return (
        f"{asked} in {language_name(keys['language'])}, images labelled {keys['group']} are "
        f"answered correctly {side} often than {keys['against']} by {with_interval(_size(gap))}."
    )


def _spread(estimates: Estimates, task: str) -> str:
    spread = estimates.one("range over languages", task=task)
    low, high = (
        next(iter(estimates.by("language", f"{end} language", task=task))) for end in ("lowest", "highest")
    )
    alike = ""
    if spread.p is not None:
        alike = f", {in_points(spread.chance or 0.0)} if languages were alike (p = {spread.p:.3f})"
    return (
        f"{accuracy_name(task)}, {title_of(task)}: from {language_name(low.quantity.keys['language'])} "
        f"{low.value:.1%} to {language_name(high.quantity.keys['language'])} {high.value:.1%}, a range of "
        f"{with_interval(spread)}{alike}."
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
        f"Wordings of one language differ by {in_points(mean)} on average in {task}, languages by "
        f"{in_points(spread)}: {word} how one asks."
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
