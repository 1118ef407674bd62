"""Parity among groups of images: accuracy of each, gaps within a language, and the parts of gaps across."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._parity_answers import DIRECTIONS, Answers, replicates_of
from equiview.audits._parity_rows import Rows, holm_rows, wald_p
from equiview.data.estimates import Estimates
from equiview.metrics import gap_parts

COLUMNS_AT_ONCE = 400
PARTS = ("across languages", "within the language", "within the pivot")
Floats = NDArray[np.float64]
Members = NDArray[np.bool_]


@dataclass(frozen=True)
class Contrast:
    """Group a against group b, within some part of the images; `keys` say which."""

    keys: dict[str, str]
    a: Members
    b: Members


def few(n: int, least: int) -> str:
    """What is added to the name of a metric that is over too few images to judge.

    >>> few(12, 30), few(30, 30)
    (' (too few)', '')
    """
    return " (too few)" if n < least else ""


def value_order(groups: pl.DataFrame, prompts: pl.DataFrame) -> dict[str, list[str]]:
    """The values of each attribute that images have, in the order of its prompts, or of the alphabet."""
    made = {}
    for (name,), part in groups.group_by("attribute", maintain_order=True):
        known = prompts.filter(task=name)["value"].unique(maintain_order=True).to_list()
        there = set(part["value"])
        made[str(name)] = [v for v in known if v in there] + sorted(there - set(known))
    return made


def group_rows(answers: Answers, groups: pl.DataFrame, prompts: pl.DataFrame) -> list[Estimates | None]:
    """Estimates of every group, task and language; nothing when images have no attribute.

    Matching is broken down from image to text alone: the other direction has the same images.
    """
    order = value_order(groups, prompts)
    members = _members(answers, groups, order)
    cells = list(_cells(order, members))
    contrasts = list(_contrasts(order, members))
    parts: list[Estimates | None] = []
    tests: list[tuple[dict[str, Any], float]] = []
    for task, (codes, matrix) in answers.tables.items():
        if task == DIRECTIONS[1] or not cells:
            continue
        # Where languages have images of their own, groups are compared on those that all of them share.
        asked = np.asarray(~np.isnan(matrix).any(axis=1))
        masks = [mask & asked for _, mask in cells]
        masks += [mask & asked for contrast in contrasts for mask in (contrast.a, contrast.b)]
        replicates = _Replicates(answers, matrix, masks)
        rows = Rows("parity")
        for keys, mask in cells:
            own = mask & asked
            if own.any():
                name = answers.metric_of(task) + few(int(own.sum()), answers.settings.least)
                for at, code in enumerate(codes):
                    rows.add(
                        name, matrix[own, at].mean(), replicates.of(own)[:, at], int(own.sum()),
                        answers.chance_of(task), task=task, language=code, **keys,
                    )  # fmt: skip
        for contrast in contrasts:
            tests += _contrast_rows(rows, answers, task, contrast, asked, replicates)
        parts.append(rows.estimates())
    return [*parts, holm_rows("parity", "group gap", tests)]


def _members(
    answers: Answers, groups: pl.DataFrame, order: dict[str, list[str]]
) -> dict[tuple[str, str], Members]:
    """Which images, in the order of the answers, have which value of which attribute."""
    made: dict[tuple[str, str], Members] = {}
    for name, known in order.items():
        labels = dict(groups.filter(attribute=name).select("query_id", "value").iter_rows())
        value = np.asarray([labels.get(image) for image in answers.ids], dtype=object)
        made |= {(name, one): np.asarray(value == one, dtype=bool) for one in known}
    return made


def _cells(
    order: dict[str, list[str]], members: dict[tuple[str, str], Members]
) -> Iterator[tuple[dict[str, str], Members]]:
    """Every value of every attribute, and those of two-valued attributes within each value of another."""
    for (name, value), mask in members.items():
        yield {"attribute": name, "group": value}, mask
    for name in (name for name, known in order.items() if len(known) == 2):
        for (other, within), mask in members.items():
            if other != name:
                for value in order[name]:
                    keys = {"attribute": name, "group": value, "within": f"{other}={within}"}
                    yield keys, mask & members[name, value]


def _contrasts(order: dict[str, list[str]], members: dict[tuple[str, str], Members]) -> Iterator[Contrast]:
    """The two values of an attribute that has two; else each value against all others."""
    for name, known in order.items():
        if len(known) == 2:
            first, second = (members[name, value] for value in known)
            keys = {"attribute": name, "group": known[0], "against": known[1]}
            yield Contrast(keys, first, second)
            for (other, within), mask in members.items():
                if other != name:
                    yield Contrast(keys | {"within": f"{other}={within}"}, first & mask, second & mask)
        elif len(known) > 2:
            labelled = np.any([members[name, value] for value in known], axis=0)
            for value in known:
                own = members[name, value]
                yield Contrast(
                    {"attribute": name, "group": value, "against": "the rest"}, own, labelled & ~own
                )


class _Replicates:
    """Replicate accuracies `(replicates, n_languages)` of sets of images, all from the same draws."""

    def __init__(self, answers: Answers, matrix: Floats, masks: list[Members]) -> None:
        wide = matrix.shape[1]
        distinct = {mask.tobytes(): mask for mask in masks if mask.any()}
        asked = np.asarray(~np.isnan(matrix).any(axis=1))
        step = max(1, COLUMNS_AT_ONCE // (wide + 1))
        self.found: dict[bytes, Floats] = {}
        self.shares: dict[bytes, Floats] = {}
        names = list(distinct)
        for start in range(0, len(names), step):
            some = [distinct[name] for name in names[start : start + step]]
            columns = [np.where(mask[:, None], matrix, np.nan) for mask in some]
            # How large a share of the images a group is varies from draw to draw as well.
            columns.append(np.where(asked[:, None], np.stack(some, axis=1), np.nan))
            means = replicates_of(np.concatenate(columns, axis=1), answers.settings)
            for at, name in enumerate(names[start : start + step]):
                self.found[name] = means[:, at * wide : (at + 1) * wide]
                self.shares[name] = means[:, len(some) * wide + at]

    def of(self, mask: Members) -> Floats:
        return self.found[mask.tobytes()]

    def share(self, mask: Members) -> Floats:
        """Of all images asked."""
        return self.shares[mask.tobytes()]


def _contrast_rows(
    rows: Rows, answers: Answers, task: str, contrast: Contrast, asked: Members, replicates: _Replicates
) -> list[tuple[dict[str, Any], float]]:
    """Gap of two groups in each language, whether the pivot's is smaller, and the gap across; returns p."""
    codes, matrix = answers.tables[task]
    a, b = contrast.a & asked, contrast.b & asked
    if not a.any() or not b.any():
        return []
    smaller, n = int(min(a.sum(), b.sum())), int(a.sum() + b.sum())
    note = few(smaller, answers.settings.least)
    pivot = codes.index(answers.settings.pivot)
    of_a, of_b = replicates.of(a), replicates.of(b)
    gaps = matrix[a].mean(axis=0) - matrix[b].mean(axis=0)
    drawn = of_a - of_b
    tests = []
    for at, code in enumerate(codes):
        keys = {"task": task, "language": code, **contrast.keys}
        rows.add(f"group gap{note}", gaps[at], drawn[:, at], n, 0.0, **keys)
        if not note:
            tests.append((keys | {"n": n}, wald_p(float(gaps[at]), drawn[:, at])))
        if at != pivot:
            more = abs(gaps[at]) - abs(gaps[pivot])
            spread = np.abs(drawn[:, at]) - np.abs(drawn[:, pivot])
            rows.add(f"amplification{note}", more, spread, n, 0.0, **keys)
    if "within" not in contrast.keys and not note:
        share_a, share_b = replicates.share(a), replicates.share(b)
        p = share_a / (share_a + share_b)
        for at, code in enumerate(codes):
            if at != pivot:
                keys = {"task": task, "language": code, **contrast.keys}
                _decomposed(rows, matrix[:, at], matrix[:, pivot], (a, b), p, (of_a, of_b), (at, pivot), keys)
    return tests


def _decomposed(
    rows: Rows,
    here: Floats,
    there: Floats,
    masks: tuple[Members, Members],
    p: Floats,
    drawn: tuple[Floats, Floats],
    columns: tuple[int, int],
    keys: dict[str, str],
) -> None:
    """Group a in a language against b in the pivot: the gap, its three parts and their bound (Prop. 3)."""
    (a, b), (of_a, of_b), (at, pivot) = masks, drawn, columns
    both = a | b
    parts = gap_parts(here[both], there[both], a[both].astype(np.int64))
    accuracy = {column: p * of_a[:, column] + (1 - p) * of_b[:, column] for column in columns}
    replicates = (
        accuracy[at] - accuracy[pivot],
        (1 - p) * (of_a[:, at] - of_b[:, at]),
        p * (of_a[:, pivot] - of_b[:, pivot]),
    )
    n = int(both.sum())
    rows.add("cross gap", parts.sum(), np.sum(replicates, axis=0), n, 0.0, **keys)
    for name, value, one in zip(PARTS, parts, replicates, strict=True):
        rows.add("part of cross gap", value, one, n, 0.0, part=name, **keys)
    rows.add("bound of cross gap", np.abs(parts).sum(), np.sum(np.abs(replicates), axis=0), n, None, **keys)
