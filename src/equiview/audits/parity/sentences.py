"""Parity put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from equiview.audits.judging import excludes_bias
from equiview.audits.parity.alike import SAME
from equiview.audits.parity.coverage import COVERAGE, about_coverage, about_left_out
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import (
    DIRECTIONS,
    JUDGED,
    NAMED,
    PEOPLE,
    PLACES,
    SIDES,
    accuracy_name,
    classified,
    metric_of,
    pivot_of,
    title_of,
)
from equiview.audits.saying import (
    by_how_much,
    filled,
    in_points,
    language_of,
    limit,
    not_decided,
    of_many,
    too_few_of,
    with_interval,
)
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Finding

LIMITS = (
    "Equal accuracy is not good accuracy, and unequal accuracy may come from captions that say less.",
    "A language may be ranked evenly in a mixed pool and still find nothing in its own: prevalence cannot "
    "see that, R@1 within the language can.",
)
LABELS = (
    "Labels of gender, race and age were given by onlookers; they are not what the people pictured say of "
    "themselves."
)
OTHER_THINGS = (
    "A gap of places counts where it remains over the same things by name; things of one name may still be "
    "harder to tell in one place than in another."
)
UNCHECKED = "The prompts that come with equiview were not checked by native speakers of their languages."
ALIGN = (
    "Align the texts of the worst languages to the pivot's: `equiview mitigate distill SUBJECT --benchmark "
    "BENCHMARK --out DIR` learns from parallel captions, and keeps others to judge it by."
)
DO_NOT_SORT = "Do not use the system to sort images of people by these labels."
SHOW_PLACES = (
    "Train on pictures of these things from the places that are served worse, and measure again on others of "
    "them; look first whether the names mean the same things there."
)
WORST = 4


def biased(
    large: Sequence[Estimate],
    unfair: Sequence[Estimate],
    gaps: Sequence[Estimate],
    people: Sequence[Estimate],
    settings: ParitySettings,
) -> str:
    """The largest gap between languages and between people, of those that show bias, of all judged."""
    claims = []
    if large:
        gap = _largest(large, "task", "language")
        task = gap.keys["task"]
        side = "worse" if gap.value > 0 else "better"
        count, of = (sum(entry.keys["task"] == task for entry in some) for some in (large, gaps))
        claims.append(
            f"{language_of(gap)} is served {side} than {language_name(gap.keys['other'])} by "
            f"{_by_most(gap, len(gaps))} in {accuracy_name(task)}, {title_of(task)}; {count} of {of} "
            f"languages differ from it by more than {limit(settings.tolerance)}."
        )
    if unfair:
        gap = _largest(unfair, "task", "language", "group")
        task = gap.keys["task"]
        side = "less" if gap.value < 0 else "more"
        asked = "Matched with captions, as many of each group," if task in DIRECTIONS else f"Asked for {task}"
        claims.append(
            f"{asked} in {language_of(gap)}, images labelled {gap.keys['group']} are answered correctly "
            f"{side} often than {gap.keys['against']} by {_by_most(gap, len(people)).rstrip(',')}."
        )
    return f"Yes: {' '.join(claims)}"


def otherwise(
    finding: Finding,
    able: Sequence[str],
    gaps: Sequence[Estimate],
    people: Sequence[Estimate],
    unjudged: Sequence[str],
    settings: ParitySettings,
) -> str:
    """That all gaps are small, or that this is not shown either."""
    within = limit(settings.tolerance)
    if finding == "unclear":
        open_gaps = not all(excludes_bias(gap, settings.tolerance) for gap in (*gaps, *people))
        reasons = [*(["not all of them are shown to be within it"] if open_gaps else []), *unjudged]
        return not_decided(f"no gap is shown to exceed {within}, but {'; '.join(reasons)}")
    attributes = {gap.keys["attribute"] for gap in people}
    kinds = " and ".join(
        kind for kind, of in (("people", PEOPLE), ("places", PLACES)) if attributes.intersection(of)
    )
    pivots = _names(gap.keys["other"] for gap in gaps)
    compared = [f"all gaps to {pivots}"] * bool(gaps) + [f"all between groups of {kinds}"] * bool(kinds)
    claim = ", and ".join(compared) + "," * (len(compared) - 1)
    alone = ", where groups are not compared" if kinds else ""
    titles = "; ".join(title_of(task) + alone * (task == DIRECTIONS[1]) for task in able)
    return f"No: {claim} are within {within}, intervals included ({titles})."


def advice_on(unfair: Sequence[Estimate]) -> Iterator[str]:
    """What to do about the gaps of groups that show bias."""
    attributes = {gap.keys["attribute"] for gap in unfair}
    if attributes.intersection(PEOPLE):
        yield DO_NOT_SORT
    if attributes.intersection(PLACES):
        yield SHOW_PLACES


def limits_of(tasks: Sequence[str], groups: Sequence[Estimate]) -> Iterator[str]:
    """What limits the answers of these zero-shot tasks, and what these gaps of groups say."""
    if set(tasks) - {NAMED}:
        yield LABELS
    if any(gap.keys["attribute"] in PLACES for gap in groups):
        yield OTHER_THINGS
    if tasks:
        yield UNCHECKED


def unskilled(tasks: Sequence[str], settings: ParitySettings) -> str:
    """That no task is done better than by chance."""
    return (
        f"in no language is the encoder shown to be more than {limit(settings.tolerance)} better than "
        f"chance at {_titles(tasks)}"
    )


def nothing_compared(estimates: Estimates, tasks: Sequence[str], settings: ParitySettings) -> str:
    """That there are neither two languages nor two groups with enough images."""
    if all(len(estimates.by("language", "skill", task=task)) == 1 for task in tasks):
        return f"there is one language, and no two groups of people or places have {settings.least} images"
    pivots = _names(pivot for task in tasks if (pivot := pivot_of(estimates, task))) or "the pivot"
    return f"no language shares {settings.least} images with {pivots}"


def unjudged(estimates: Estimates, able: Sequence[str], settings: ParitySettings) -> list[str]:
    """Languages and groups of people that tasks do not judge: too few images, or no prompt asks for them."""
    reasons: dict[str, list[str]] = {}
    for task in able:
        for reason in (*_unjudged_people(estimates, task, settings), _lone(estimates, task, settings)):
            reasons.setdefault(reason, []).append(task)
    return [f"{reason} ({_titles(tasks)})" for reason, tasks in reasons.items() if reason]


def within(crossed: Sequence[Estimate], among: int) -> Iterator[str]:
    """The largest of the gaps that are shown within other groups; nothing where there is none."""
    if crossed:
        gap = crossed[0]
        keys, often = gap.keys, "less often" if gap.value < 0 else "more often"
        yield (
            f"within groups one is: among {keys['within']} {keys['within_group']!r}, asked in "
            f"{language_of(gap)}, {keys['attribute']} {keys['group']!r} is answered correctly {often} than "
            f"{keys['against']!r} by {_by_most(gap, among).rstrip(',')} ({title_of(keys['task'])})"
        )


def found_by_text(rows: Iterable[Estimate]) -> Iterator[str]:
    """The largest gap in how often images of people are found by text; nothing where none is shown."""
    if gaps := list(rows):
        gap = _largest(gaps, "language", "group")
        often = "less often" if gap.value < 0 else "more often"
        yield (
            f"matched in {language_of(gap)}, images labelled {gap.keys['group']} are found {often} than "
            f"{gap.keys['against']} by {by_how_much(gap)} ({title_of(DIRECTIONS[1])})"
        )


def _unjudged_people(estimates: Estimates, task: str, settings: ParitySettings) -> Iterator[str]:
    few: dict[str, int] = {}
    for row in estimates.by(("attribute", "group"), COVERAGE, task=task):
        attribute, group, compared = row.keys["attribute"], row.keys["group"], round(row.value * row.n)
        if row.judged or attribute not in JUDGED:
            continue
        if attribute == task and not compared:
            yield f"no prompt asks for {task} {group!r}, the label of {row.n} images"
        else:
            few[f"{attribute} {group!r}"] = compared
    if few:
        yield too_few_of("images of", few, settings.least)


def _lone(estimates: Estimates, task: str, settings: ParitySettings) -> str:
    """Languages that share too few images with the pivot."""
    pivot = pivot_of(estimates, task)
    if len(estimates.by("language", "skill", task=task)) == 1:
        return ""
    shared = {
        row.keys["language"]: row.n for row in estimates.by(("language", "other"), "gap to pivot", task=task)
    }
    languages = [row for row in estimates.by("language", "skill", task=task) if row.keys["language"] != pivot]
    few = {language_of(row): shared.get(row.keys["language"], 0) for row in languages}
    few = {name: n for name, n in few.items() if n < settings.least}
    with_pivot = f"images shared with {language_name(pivot) if pivot else 'the pivot'} by"
    return too_few_of(with_pivot, few, settings.least) if few else ""


def evidence(
    estimates: Estimates,
    tasks: Sequence[str],
    able: Sequence[str],
    unjudged: Sequence[str],
    settings: ParitySettings,
) -> Iterator[str]:
    """What the answer rests on: every task, and what was not judged."""
    yield from (f"Not judged: {reason}." for reason in unjudged)
    yield about_coverage(estimates, common=settings.common)
    yield from about_left_out(estimates)
    yield from (_spread(estimates, task) for task in tasks)
    for task in tasks:
        if task in DIRECTIONS:
            yield _worst_served(estimates, task)
    yield from (_same_things(estimates, task) for task in classified(tasks))
    yield from (_paraphrases(estimates, task) for task in classified(tasks))
    if able:
        yield filled(
            "Not judged, because the encoder is in no language shown to be more than "
            f"{limit(settings.tolerance)} better than chance at it: {{}}.",
            (title_of(task) for task in tasks if task not in able),
            "; ",
        )
    few = {
        tuple(row.keys.get(key) for key in ("attribute", "group", "within", "within_group"))
        for row in estimates
        if row.judged is False and row.quantity.metric in ("R", "accuracy")
    }
    if few:
        yield f"{len(few)} groups have too few images to judge; their numbers are given and not judged."
    for task in tasks:
        for row in estimates.by("attribute", COVERAGE, task=task):
            if unknown := row.n - round(row.value * row.n):
                yield (
                    f"{unknown:,} of {row.n:,} images are in no group of {row.keys['attribute']}: they have "
                    f"no label, or one that does not say which ({title_of(task)})."
                )


def _same_things(estimates: Estimates, task: str) -> str:
    """The largest gap of places over the same things; "" where there is none."""
    rows = [row for row in estimates.by(SIDES, SAME, task=task) if row.judged]
    if not rows:
        return ""
    gap = _largest(rows, "language", "group")
    return (
        f"As if all places showed equally much of each thing, the largest of {len(rows)} gaps is that of "
        f"{gap.keys['group']} against {gap.keys['against']} in {language_of(gap)}: "
        f"{with_interval(gap, '+.1f')}."
    )


def _names(codes: Iterable[str]) -> str:
    return " and ".join(language_name(code) for code in dict.fromkeys(codes))


def _titles(tasks: Sequence[str]) -> str:
    return "; ".join(title_of(task) for task in tasks)


def _largest(gaps: Sequence[Estimate], *ties: str) -> Estimate:
    """The gap of the largest size; of equal ones the first by the keys `ties`."""
    return min(gaps, key=lambda gap: (-abs(gap.value), *(gap.keys[key] for key in ties)))


def _spread(estimates: Estimates, task: str) -> str:
    spread = estimates.maybe("range over languages", task=task)
    if spread is None:
        (row,) = estimates.by("language", *metric_of(task), task=task)
        return f"{accuracy_name(task)}, {title_of(task)}: {row:.1%} in {language_of(row)}, the only language."
    n = len(estimates.by("language", *metric_of(task), task=task))
    low, high = (_end_of(estimates, task, which, n) for which in ("lowest", "highest"))
    alike = ""
    if spread.p is not None:
        alike = f", {in_points(spread.chance or 0.0)} if languages were alike (p = {spread.p:.3f})"
    return (
        f"{accuracy_name(task)}, {title_of(task)}: from {low} to {high}; a range of "
        f"{with_interval(spread)}{alike}."
    )


def _end_of(estimates: Estimates, task: str, which: str, n: int) -> str:
    """The language of lowest or highest accuracy of `n`, with an interval that holds for all of them."""
    language = next(iter(estimates.by("language", f"{which} language", task=task))).keys["language"]
    row = estimates.one(*metric_of(task), task=task, language=language)
    return f"{language_of(row)} {row.of_many():.1%}{of_many(n, which)}"


def _worst_served(estimates: Estimates, task: str) -> str:
    """The languages that are shown to be served worse than the pivot, worst first."""
    gaps = [gap for gap in estimates.by(("language", "other"), "gap to pivot", task=task) if gap.judged]
    worse = sorted((gap for gap in gaps if gap.of_many().low > 0), key=lambda gap: -gap.value)
    worst = (estimates.one(*metric_of(task), task=task, language=gap.keys["language"]) for gap in worse)
    of = (
        f"of {len(worse)} languages shown to be served worse than {_names(gap.keys['other'] for gap in gaps)}"
    )
    return filled(
        f"Worst served, by R@1 within the language, {title_of(task)}, {of}: {{}}.",
        (f"{language_of(row)} {row.value:.0%}" for row in list(worst)[:WORST]),
    )


def _by_most(gap: Estimate, among: int) -> str:
    """The size of the largest of `among` gaps, as part of a sentence."""
    return by_how_much(gap.of_many()) + (f"{of_many(among)}," if among > 1 else "")


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
