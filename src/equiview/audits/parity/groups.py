"""Parity among groups of images: accuracy of each, gaps within a language, and the parts of gaps across."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates, Rows
from equiview.audits.parity.answers import Answers, Correct, Floats, applied
from equiview.audits.parity.tasks import DIRECTIONS, metric_of
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.metrics import gap_parts, group_rate_gaps
from equiview.stats import wald_p

COLUMNS_AT_ONCE = 400
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


def value_order(groups: pl.DataFrame, prompts: pl.DataFrame) -> dict[str, list[str]]:
    """The values of each attribute that images have, in the order of its prompts, or of the alphabet."""
    order = {}
    for (name,), part in groups.group_by("attribute", maintain_order=True):
        prompted = prompts.filter(task=name)["value"].unique(maintain_order=True).to_list()
        present = set(part["value"])
        order[str(name)] = [v for v in prompted if v in present] + sorted(present - set(prompted))
    return order


def group_estimates(answers: Answers, groups: pl.DataFrame, prompts: pl.DataFrame) -> Estimates | None:
    """Estimates of every group, task and language; None when images have no attribute.

    Matching is broken down from image to text alone: the other direction has the same images.
    """
    order = value_order(groups, prompts)
    members = _members(answers, groups, order)
    cells, contrasts = list(_cells(order, members)), list(_contrasts(order, members))
    rows = Rows()
    for task, correct in answers.tasks.items():
        if task == DIRECTIONS[1] or not cells:
            continue
        # Where languages have images of their own, groups are compared on those that all of them share.
        asked = correct.asked_in_all
        shared = [Cell(cell.keys, cell.members & asked) for cell in cells]
        pairs = [Contrast(pair.keys, pair.a & asked, pair.b & asked) for pair in contrasts]
        masks = [cell.members for cell in shared] + [mask for pair in pairs for mask in (pair.a, pair.b)]
        accuracy = _GroupAccuracy(answers, correct, masks)
        for cell in shared:
            if cell.members.any():
                _add_cell(rows, answers, task, cell, accuracy)
        for pair in pairs:
            if pair.a.any() and pair.b.any():
                _add_contrast(rows, answers, task, pair, accuracy)
    return rows.estimates()


def _members(
    answers: Answers, groups: pl.DataFrame, order: dict[str, list[str]]
) -> dict[tuple[str, str], Members]:
    """Which images, in the order of the answers, have which value of which attribute."""
    members: dict[tuple[str, str], Members] = {}
    for name, names in order.items():
        labels = dict(groups.filter(attribute=name).select("query_id", "value").iter_rows())
        of_image = np.asarray([labels.get(image) for image in answers.ids], dtype=object)
        members |= {(name, value): np.asarray(of_image == value, dtype=bool) for value in names}
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
            # How large a share of the images a group is varies from draw to draw as well.
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


def _add_contrast(rows: Rows, answers: Answers, task: str, pair: Contrast, accuracy: _GroupAccuracy) -> None:
    """Gap of two groups in each language, how much larger it is than the pivot's, and the gap across."""
    both = pair.a | pair.b
    n, smaller = int(both.sum()), int(min(pair.a.sum(), pair.b.sum()))
    enough = smaller >= answers.settings.least
    pivot = answers.pivot_of(task)
    drawn = accuracy.of(pair.a).gap(accuracy.of(pair.b))
    gaps = replace(drawn, value=group_rate_gaps(accuracy.correct.matrix[both], pair.a[both]))
    sizes = applied(np.abs, gaps)
    p = wald_p(gaps.value, gaps.draws).tolist() if enough else [None] * len(gaps.value)
    for place, language in enumerate(accuracy.correct.names):
        keys = {"task": task, "language": language, **pair.keys}
        wanted = quantity("group gap", None, **keys)
        rows.add(wanted, gaps[place], n, 0.0, p=p[place], judged=enough, family="group gap")
        if place != pivot:
            more = sizes[place].gap(sizes[pivot])
            rows.add(quantity("amplification", None, **keys), more, n, 0.0, judged=enough)
    if enough and "within" not in pair.keys:
        _add_cross_gaps(rows, task, pair, accuracy, pivot)


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
