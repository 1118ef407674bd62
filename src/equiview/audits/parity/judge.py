"""Whether accuracy is equal across languages, and across people within a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from equiview.audits.judging import decide, largest, shown, shows_bias, verdict
from equiview.audits.parity import sentences as say
from equiview.audits.parity.alike import SAME
from equiview.audits.parity.coverage import warning_of
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import DIRECTIONS, JUDGED, PEOPLE, PLACES, SIDES, classified, tasks_of
from equiview.audits.saying import not_decided, too_few
from equiview.data.estimates import Estimate, Estimates
from equiview.data.verdict import Verdict


def judge(estimates: Estimates, settings: ParitySettings) -> Verdict:
    """Biased when a gap to the pivot, or of people, is shown to exceed the tolerance (Holm over all of them).

    A gap between languages must also exceed the range over paraphrases of either language, where there are.
    Fair when the intervals of all gaps lie within the tolerance, no language or group of people is too small
    to judge or without a prompt, and none is shown to be treated unequally within another group, or to be
    found unequally by text, where candidates cannot be balanced. Unclear where no task is done better than
    blind by more than the tolerance, or there are too few images.
    """
    tasks = tasks_of(estimates)
    able = [task for task in tasks if any(row.judged for row in estimates.by("language", "skill", task=task))]
    gaps = [gap for task in able for gap in _language_gaps(estimates, task)]
    people = [gap for task in able for gap in _people_gaps(estimates, task, settings.tolerance)]
    # They forbid "fair" and show no bias by themselves: that is for the gaps as they are.
    alike = [replace(row, p_holm=1.0) for task in able for row in same_things(estimates, task)]
    large, unfair = ([gap for gap in some if shows_bias(gap, settings.tolerance)] for some in (gaps, people))
    alone = all(len(estimates.by("language", "skill", task=task)) == 1 for task in able)
    missing = _missing(estimates, tasks, able, people if alone else gaps, settings)
    crossed = [gap for task in able for gap in _within_groups(estimates, task)]
    inside = shown(crossed, settings.tolerance)
    unjudged = [
        *say.unjudged(estimates, able, settings),
        *say.within(inside, len(crossed)),
        *say.found_by_text(estimates.by(SIDES, "group gap", task=DIRECTIONS[1])),
    ]
    finding = decide(*gaps, *people, *alike, tolerance=settings.tolerance, missing=missing, unjudged=unjudged)
    if missing:
        answer = not_decided(missing)
    elif finding == "biased":
        answer = say.biased(large, unfair, gaps, people, settings)
    else:
        answer = say.otherwise(finding, able, gaps, people, unjudged, settings)
    return verdict(
        finding,
        answer + warning_of(estimates, common=settings.common),
        say.evidence(estimates, tasks, able, unjudged if finding == "biased" else [], settings),
        advice=(*((say.ALIGN,) if large else ()), *say.advice_on(unfair)),
        limits=(*say.LIMITS, *say.limits_of(classified(tasks), people)),
        effect=largest([*gaps, *people], settings.tolerance),
        able=not missing,
    )


def _language_gaps(estimates: Estimates, task: str) -> list[Estimate]:
    """Gaps to the pivot over enough images; one that rewording in either language reaches shows nothing."""
    ranges = {
        row.keys["language"]: row.value
        for row in estimates.by("language", "range over paraphrases", task=task)
    }
    gaps = []
    for gap in estimates.by(("language", "other"), "gap to pivot", task=task):
        rewording = max(ranges.get(gap.keys[key], 0.0) for key in ("language", "other"))
        if gap.judged:
            gaps.append(gap if abs(gap.value) > rewording else replace(gap, p_holm=1.0))
    return gaps


def _people_gaps(estimates: Estimates, task: str, tolerance: float) -> list[Estimate]:
    """Gaps of groups of people and places within a language that are over enough images.

    One of places that is not beyond the tolerance over the same things, on the same side, shows nothing.
    """
    alike = {_sides(row): row for row in same_things(estimates, task)}
    gaps = []
    for gap in estimates.by(SIDES, _group_gap(task), task=task):
        if not gap.judged or gap.keys["attribute"] not in JUDGED:
            continue
        if gap.keys["attribute"] in PLACES and task not in DIRECTIONS:
            same = alike.get(_sides(gap))
            kept = same is not None and same.value * np.sign(gap.value) > tolerance
            gaps.append(gap if kept else replace(gap, p_holm=1.0))
        else:
            gaps.append(gap)
    return gaps


def _within_groups(estimates: Estimates, task: str) -> list[Estimate]:
    """Gaps of groups of people within groups of people: opposite ones cancel in the gap of all.

    They are tested apart, as many as they are, so that they show no bias by themselves.
    """
    metric = _group_gap(task)
    rows = estimates.by((*SIDES, "within", "within_group"), metric, task=task)
    return [row for row in rows if row.judged and {row.keys["attribute"], row.keys["within"]} <= set(PEOPLE)]


def same_things(estimates: Estimates, task: str) -> list[Estimate]:
    """Gaps of places over the same things, of a task, that are over enough images."""
    return [row for row in estimates.by(SIDES, SAME, task=task) if row.judged]


def _group_gap(task: str) -> str:
    return "balanced group gap" if task in DIRECTIONS else "group gap"


def _sides(gap: Estimate) -> tuple[str, ...]:
    return tuple(gap.keys[name] for name in SIDES)


def _missing(
    estimates: Estimates,
    tasks: Sequence[str],
    able: Sequence[str],
    gaps: Sequence[Estimate],
    settings: ParitySettings,
) -> str:
    most = max(row.n for task in tasks for row in estimates.by("language", "skill", task=task))
    if most < settings.least:
        return too_few(most, "images", settings.least)
    if not able:
        return say.unskilled(tasks, settings)
    if not gaps:
        return say.nothing_compared(estimates, able, settings)
    return ""
