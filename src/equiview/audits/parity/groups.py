"""Parity among groups of images: accuracy of each, gaps within a language, and the parts of gaps across."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import FOR_QUANTILE, Replicates, Rows
from equiview.audits.judging import ALPHA
from equiview.audits.parity.alike import add_alike
from equiview.audits.parity.answers import Answers, Correct, Floats, applied
from equiview.audits.parity.balanced import DIRECTION, balanced
from equiview.audits.parity.gaps import VERDICT, Gaps, group_gaps
from equiview.audits.parity.tasks import DIRECTIONS, JUDGED, PEOPLE, PLACES, metric_of
from equiview.data.metric import Quantity, quantity
from equiview.metrics import gap_parts
from equiview.stats import holm

COLUMNS_AT_ONCE = 400
"""Columns bootstrapped at once, which limits memory."""
LOOK_ALIKE = 1.5
"""How many times as large as the other a side may be where candidates are not balanced."""
PARTS = ("across languages", "within the language", "within the pivot")
Members = NDArray[np.bool_]


@dataclass(frozen=True)
class Cell:
    """Images of a group, perhaps within another group; `keys` say which."""

    keys: dict[str, str]
    members: Members


@dataclass(frozen=True)
class Contrast:
    """Group a against group b, perhaps within another group; `keys` say which."""

    keys: dict[str, str]
    a: Members
    b: Members

    @property
    def family(self) -> str:
        """The family of its tests; the verdict reads those of people and places, but none within another."""
        return VERDICT if self.keys["attribute"] in JUDGED and "within" not in self.keys else "group gap"


def value_order(answers: Answers, task: str) -> dict[str, list[str]]:
    """The values of each attribute that images of a task have, in the order of its prompts or the alphabet.

    The images are those asked about in every language: on these groups are compared.
    """
    order = {}
    for (name,), part in answers.groups_in(task).group_by("attribute", maintain_order=True):
        prompted = answers["prompts"].filter(task=name)["value"].unique(maintain_order=True).to_list()
        present = set(part["value"])
        order[str(name)] = [v for v in prompted if v in present] + sorted(present - set(prompted))
    return order


def add_groups(rows: Rows, answers: Answers, able: dict[str, set[str]]) -> None:
    """Estimates of every group, task and language.

    Matching is broken down by group only from image to text: the other direction has the same images, and of
    it only gaps that are shown are added. `able` are the languages with enough skill at each task: only there
    groups are judged.
    """
    for task, correct in answers.tasks.items():
        order = value_order(answers, task)
        if task == DIRECTIONS[1]:
            _add_found_by_text(rows, answers, correct, order, able[task])
            continue
        if not order:
            continue
        members = _members(answers, answers.groups_in(task), order)
        cells = list(_cells(order, members))
        pairs = [pair for pair in _contrasts(order, members) if pair.a.any() and pair.b.any()]
        masks = [cell.members for cell in cells] + [mask for pair in pairs for mask in (pair.a, pair.b)]
        accuracy = _GroupAccuracy(answers, correct, masks)
        for cell in cells:
            if cell.members.any():
                _add_cell(rows, answers, task, cell, accuracy)
        changes: dict[tuple[tuple[str, str], ...], list[Replicates]] = {}
        for pair in pairs:
            if pair.keys["attribute"] in PLACES and "within" not in pair.keys and task not in DIRECTIONS:
                add_alike(rows, answers, task, correct, pair.keys, (pair.a, pair.b))
            change = _add_contrast(rows, answers, task, pair, accuracy, able[task])
            if change is not None and "within" in pair.keys:
                keys = tuple((key, value) for key, value in pair.keys.items() if key != "within_group")
                changes.setdefault(keys, []).append(change)
        _add_mean_amplification(rows, answers, task, changes)
        if task == DIRECTION:
            for name, values in order.items():
                _add_balanced(rows, answers, answers.groups.filter(attribute=name), values, able[task])


def _add_found_by_text(
    rows: Rows, answers: Answers, correct: Correct, order: dict[str, list[str]], able: set[str]
) -> None:
    """Gaps of people in how often their images are found by text, those shown to exceed the tolerance.

    All images are candidates, so that a group of more is found less often for that alone: gaps against a side
    `LOOK_ALIKE` times as large as the other show nothing.
    """
    settings = answers.settings
    order = {name: values for name, values in order.items() if name in PEOPLE}
    members = _members(answers, answers.groups_in(DIRECTIONS[1]), order)
    found: list[tuple[Quantity, Gaps, int, bool]] = []
    for pair in _contrasts(order, members):
        sizes = int(pair.a.sum()), int(pair.b.sum())
        if "within" in pair.keys or min(sizes) < settings.least:
            continue
        gaps = group_gaps(correct.matrix, pair.a, pair.b, settings.tolerance)
        for place, language in enumerate(correct.names):
            worse, other = sizes if gaps.value[place] < 0 else sizes[::-1]
            wanted = quantity("group gap", None, task=DIRECTIONS[1], language=language, **pair.keys)
            if language in able:
                found.append((wanted, gaps, place, worse <= LOOK_ALIKE * other))
    p_values = holm([gaps.p[place] for _, gaps, place, _ in found if gaps.p is not None]) if found else ()
    for (wanted, gaps, place, comparable), p in zip(found, p_values, strict=True):
        beyond = gaps.low[place] > settings.tolerance or gaps.high[place] < -settings.tolerance
        if comparable and beyond and p <= ALPHA:
            gaps.add(rows, place, wanted, judged=None)


def _members(
    answers: Answers, groups: pl.DataFrame, order: dict[str, list[str]]
) -> dict[tuple[str, str], Members]:
    """The images with each value of each attribute, in the order of the answers."""
    members: dict[tuple[str, str], Members] = {}
    for name, names in order.items():
        labels = dict(groups.filter(attribute=name).select("query_id", "value").iter_rows())
        of_image = np.asarray([labels.get(image) for image in answers.ids], dtype=object)
        members |= {(name, value): np.asarray(of_image == value) for value in names}
    return members


def _cells(order: dict[str, list[str]], members: dict[tuple[str, str], Members]) -> Iterator[Cell]:
    """Every value of every attribute, and those of two-valued attributes within each value of another."""
    for (name, value), mask in members.items():
        yield Cell({"attribute": name, "group": value}, mask)
    for name in (name for name, values in order.items() if len(values) == 2):
        for (other, within), mask in members.items():
            if other != name:
                for value in order[name]:
                    keys = {"attribute": name, "group": value, "within": other, "within_group": within}
                    yield Cell(keys, mask & members[name, value])


def _contrasts(order: dict[str, list[str]], members: dict[tuple[str, str], Members]) -> Iterator[Contrast]:
    """The two values of an attribute that has two; else each value against all others."""
    for name, values in order.items():
        if len(values) == 2:
            first, second = (members[name, value] for value in values)
            keys = {"attribute": name, "group": values[0], "against": values[1]}
            yield Contrast(keys, first, second)
            for (other, within), mask in members.items():
                if other != name:
                    inside = {"within": other, "within_group": within}
                    yield Contrast(keys | inside, first & mask, second & mask)
        elif len(values) > 2:
            labelled = np.any([members[name, value] for value in values], axis=0)
            for value in values:
                mask = members[name, value]
                keys = {"attribute": name, "group": value, "against": "the rest"}
                yield Contrast(keys, mask, labelled & ~mask)


class _GroupAccuracy:
    """Accuracy by language of sets of images, and the sets' shares of all images, from the same draws."""

    def __init__(self, answers: Answers, correct: Correct, masks: list[Members]) -> None:
        self.correct = correct
        wide = len(correct.names)
        distinct = list({mask.tobytes(): mask for mask in masks if mask.any()}.items())
        step = max(1, COLUMNS_AT_ONCE // (wide + 1))
        self._accuracy: dict[bytes, Replicates] = {}
        self._share: dict[bytes, Replicates] = {}
        for start in range(0, len(distinct), step):
            block = distinct[start : start + step]
            columns = [np.where(mask[:, None], correct.matrix, np.nan) for _, mask in block]
            # A group's share of the images varies between replicates as well.
            shares = np.stack([mask for _, mask in block], axis=1)
            columns.append(np.where(correct.asked_in_all[:, None], shares, np.nan))
            means = answers.replicates(np.concatenate(columns, axis=1))
            for place, (name, _) in enumerate(block):
                self._accuracy[name] = means[place * wide : (place + 1) * wide]
                self._share[name] = means[len(block) * wide + place]

    def of(self, mask: Members) -> Replicates:
        """Accuracy of these images in each language."""
        return self._accuracy[mask.tobytes()]

    def share(self, mask: Members) -> Replicates:
        """Their share of all images asked about."""
        return self._share[mask.tobytes()]


def _add_cell(rows: Rows, answers: Answers, task: str, cell: Cell, accuracy: _GroupAccuracy) -> None:
    of_cell, n = accuracy.of(cell.members), int(cell.members.sum())
    (metric, k), enough = metric_of(task), n >= answers.settings.least
    for place, language in enumerate(accuracy.correct.names):
        wanted = quantity(metric, k, task=task, language=language, **cell.keys)
        rows.add(wanted, of_cell[place], n, answers.chance_of(task), judged=enough)


def _add_contrast(
    rows: Rows, answers: Answers, task: str, pair: Contrast, accuracy: _GroupAccuracy, able: set[str]
) -> Replicates | None:
    """Gap of two groups in each language, how much larger it is than the pivot's, and the gap across.

    Returns how much larger, `(n_languages,)`; None if a group is too small to judge. In matching all images
    are candidates, so that gaps depend on group sizes as well: the verdict reads those of `_add_balanced`.
    """
    n, smaller = int((pair.a | pair.b).sum()), int(min(pair.a.sum(), pair.b.sum()))
    enough = smaller >= answers.settings.least
    pivot, matrix = answers.pivot_of(task), accuracy.correct.matrix
    gaps = group_gaps(matrix, pair.a, pair.b, answers.settings.tolerance)
    drawn = accuracy.of(pair.a).gap(accuracy.of(pair.b))
    sizes = applied(np.abs, drawn)
    for place, language in enumerate(accuracy.correct.names):
        keys = {"task": task, "language": language, **pair.keys}
        judged = (None if task == DIRECTION else language in able) if enough else False
        wanted = quantity("group gap", None, **keys)
        gaps.add(rows, place, wanted, drawn.draws[:FOR_QUANTILE], judged=judged, family=pair.family)
        if place != pivot:
            more = sizes[place].gap(sizes[pivot])
            rows.add(quantity("amplification", None, **keys), more, n, 0.0, judged=enough)
    if not enough:
        return None
    if "within" not in pair.keys:
        _add_cross_gaps(rows, task, pair, accuracy, pivot)
    return Replicates(sizes.value - sizes.value[pivot], sizes.draws - sizes.draws[:, [pivot]])


def _add_mean_amplification(
    rows: Rows, answers: Answers, task: str, changes: dict[tuple[tuple[str, str], ...], list[Replicates]]
) -> None:
    """Amplification averaged over the groups within which gaps are large enough to judge (F, section 5.3)."""
    pivot = answers.pivot_of(task)
    n = int(answers.tasks[task].asked_in_all.sum())
    for keys, parts in changes.items():
        value = np.mean([part.value for part in parts], axis=0)
        mean = Replicates(value, np.mean([part.draws for part in parts], axis=0))
        for place, language in enumerate(answers.tasks[task].names):
            if place != pivot:
                wanted = quantity("mean amplification", None, task=task, language=language, **dict(keys))
                rows.add(wanted, mean[place], n, 0.0)


def _add_balanced(
    rows: Rows, answers: Answers, groups: pl.DataFrame, values: list[str], able: set[str]
) -> None:
    """Recall of each group among equally many candidates of every group, and its gaps, tested."""
    measured = balanced(answers, groups, values)
    if measured is None:
        return
    correct, chance = measured
    order = {str(groups["attribute"][0]): values}
    members = _members(answers, groups, order)
    asked = correct.asked_in_all
    for cell in _cells(order, {key: mask & asked for key, mask in members.items() if (mask & asked).any()}):
        accuracy = answers.replicates(correct.matrix[cell.members])
        for place, language in enumerate(correct.names):
            wanted = quantity("balanced R", 1, task=DIRECTION, language=language, **cell.keys)
            rows.add(wanted, accuracy[place], int(cell.members.sum()), chance, judged=True)
    for pair in _contrasts(order, {key: mask & asked for key, mask in members.items()}):
        if not pair.a.any() or not pair.b.any():
            continue  # too few images to be a group of candidates
        gaps = group_gaps(correct.matrix, pair.a, pair.b, answers.settings.tolerance)
        enough = min(pair.a.sum(), pair.b.sum()) >= answers.settings.least
        sides = (np.where(mask[:, None], correct.matrix, np.nan) for mask in (pair.a, pair.b))
        of_a, of_b = (answers.replicates(side, FOR_QUANTILE).draws for side in sides)
        for place, language in enumerate(correct.names):
            wanted = quantity("balanced group gap", None, task=DIRECTION, language=language, **pair.keys)
            judged = bool(enough and language in able)
            gaps.add(rows, place, wanted, of_a - of_b, judged=judged, family=pair.family)


def _add_cross_gaps(rows: Rows, task: str, pair: Contrast, accuracy: _GroupAccuracy, pivot: int) -> None:
    """Group a in a language against b in the pivot: the gap, its three parts and their bound (Prop. 3)."""
    parts = _cross_parts(pair, accuracy, pivot)
    n = int((pair.a | pair.b).sum())
    for place, language in enumerate(accuracy.correct.names):
        if place == pivot:
            continue
        keys = {"task": task, "language": language, **pair.keys}
        of_language = parts[place]
        rows.add(quantity("cross gap", None, **keys), applied(_sum, of_language), n, 0.0, judged=True)
        for part, name in enumerate(PARTS):
            wanted = quantity("part of cross gap", None, **keys, part=name)
            rows.add(wanted, of_language[part], n, 0.0, judged=True)
        bound = applied(_sum, applied(np.abs, of_language))
        rows.add(quantity("bound of cross gap", None, **keys), bound, n, judged=True)


def _cross_parts(pair: Contrast, accuracy: _GroupAccuracy, pivot: int) -> Replicates:
    """The parts of the gap between group a in each language and b in the pivot, `(n_languages, 3)`."""
    both, matrix = pair.a | pair.b, accuracy.correct.matrix
    value = [
        gap_parts(matrix[both, place], matrix[both, pivot], pair.a[both]) for place in range(matrix.shape[1])
    ]
    of_a, of_b = accuracy.of(pair.a).draws, accuracy.of(pair.b).draws
    share_a, share_b = accuracy.share(pair.a).draws, accuracy.share(pair.b).draws
    p = (share_a / (share_a + share_b))[:, None]
    of_both, gaps = p * of_a + (1 - p) * of_b, of_a - of_b
    within_pivot = np.broadcast_to(p * gaps[:, [pivot]], gaps.shape)
    draws = [of_both - of_both[:, [pivot]], (1 - p) * gaps, within_pivot]
    return Replicates(np.stack(value), np.stack(draws, axis=-1))


def _sum(parts: Floats) -> Floats:
    return np.asarray(parts.sum(axis=-1))
