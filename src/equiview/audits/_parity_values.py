"""What answers say of parity: one number per image and metric, then intervals, gaps of languages, spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._parity_answers import DIRECTIONS, Answers, ParitySettings, replicates_of
from equiview.audits._parity_groups import group_rows
from equiview.audits._parity_rows import Rows, holm_rows
from equiview.audits._summary import column_name, keys_of, summarise
from equiview.audits.base import Values
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS, languages
from equiview.data.observations import Observations
from equiview.data.seeds import seed_for
from equiview.metrics import gini
from equiview.stats import sign_flip_test

BLIND_DRAWS = 200
"""Shuffles of languages within images behind the floor of a spread."""
Floats = NDArray[np.float64]


def values(observations: Observations, settings: ParitySettings) -> Values:
    """Of each image: correctness by task and language, its mean over languages and tiers, its mean gap."""
    return _values(Answers(observations, settings))


def _values(answers: Answers) -> Values:
    made: dict[str, Floats] = {}
    tiers = dict(languages().select("code", "tier").iter_rows())
    for task, (codes, matrix) in answers.tables.items():
        metric = answers.metric_of(task)
        pivot = codes.index(answers.settings.pivot)
        columns = {metric: matrix}
        if task in DIRECTIONS:
            most = int(answers.matches["candidates"].min())  # type: ignore[arg-type]
            columns = {f"R@{k}": answers.at(task, k)[1] for k in answers.settings.cutoffs if k <= most}
        for name, table in columns.items():
            made[column_name(name, task=task)] = _mean(table)
            for tier in TIERS:
                of_tier = [tiers.get(code) == tier for code in codes]
                if any(of_tier):
                    made[column_name(name, task=task, tier=tier)] = _mean(table[:, of_tier])
            for at, code in enumerate(codes):
                made[column_name(name, task=task, language=code)] = table[:, at]
        others = np.delete(matrix, pivot, axis=1)
        made[column_name("gap to pivot", task=task)] = matrix[:, pivot] - _mean(others)
    wide = pl.DataFrame({"query_id": answers.ids, "cluster": answers.ids} | made)
    return Values(wide.with_columns(pl.col(list(made)).fill_nan(None)))


def _mean(table: Floats) -> Floats:
    """Mean of each row over what was asked, nan where nothing was."""
    asked = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(asked, table, 0).sum(axis=1) / asked.sum(axis=1))


def measure(observations: Observations, settings: ParitySettings) -> Estimates:
    """Accuracies beside chance; gaps of languages and their spread; gaps of groups within and across them."""
    answers = Answers(observations, settings)
    found = _values(answers)
    chance = {}
    for name in found.metrics:
        metric, keys = keys_of(name)
        if metric == "gap to pivot":
            chance[name] = 0.0
        else:
            k = int(metric.partition("@")[2] or 1)
            chance[name] = answers.chance_of(keys["task"], k)
    parts: list[Estimates | None] = [summarise("parity", found, chance, settings)]
    gaps: list[tuple[dict[str, Any], float]] = []
    for task, (codes, matrix) in answers.tables.items():
        rows = Rows("parity")
        replicates = replicates_of(matrix, settings)
        _spread(rows, task, codes, matrix, replicates, settings)
        gaps += _gaps(rows, task, codes, matrix, replicates, settings)
        _paraphrases(rows, answers, task, settings)
        parts.append(rows.estimates())
    parts.append(holm_rows("parity", "gap to pivot", gaps))
    grouped = group_rows(answers, observations["groups"], observations["prompts"])
    return Estimates.concat([part for part in [*parts, *grouped] if part is not None])


def _spread(
    rows: Rows, task: str, codes: list[str], matrix: Floats, replicates: Floats, settings: ParitySettings
) -> None:
    """Range, standard deviation and Gini over languages, beside what languages that are alike would show."""
    n = len(matrix)
    accuracy = np.nanmean(matrix, axis=0)
    asked = matrix[~np.isnan(matrix).any(axis=1)]
    rng = np.random.default_rng(seed_for(settings.seed, f"parity.blind.{task}"))
    blind = np.asarray(
        [rng.permuted(asked, axis=1).mean(axis=0) for _ in range(BLIND_DRAWS if len(asked) else 0)]
    )
    for name, function in (("range", _range), ("sd", _sd), ("Gini", _gini)):
        if name == "Gini" and not accuracy.any():
            continue  # nothing right in any language: the range says so
        floor = float(np.nanmean(function(blind))) if len(blind) else None
        value = gini(accuracy) if name == "Gini" else float(function(accuracy[None])[0])
        rows.add(f"{name} over languages", value, function(replicates), n, floor, task=task)
    for name, at in (("lowest", int(accuracy.argmin())), ("highest", int(accuracy.argmax()))):
        rows.add(f"{name} language", accuracy[at], replicates[:, at], n, None, task=task, language=codes[at])


def _range(table: Floats) -> Floats:
    return np.asarray(table.max(axis=1) - table.min(axis=1))


def _sd(table: Floats) -> Floats:
    return np.asarray(table.std(axis=1))


def _gini(table: Floats) -> Floats:
    n = table.shape[1]
    weights = 2 * np.arange(1, n + 1) - n - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sort(table, axis=1) @ weights / (n * table.sum(axis=1)))


def _gaps(
    rows: Rows, task: str, codes: list[str], matrix: Floats, replicates: Floats, settings: ParitySettings
) -> list[tuple[dict[str, Any], float]]:
    """Gaps to the pivot with paired p values, which are returned, and gaps of all pairs of languages."""
    accuracy = np.nanmean(matrix, axis=0)
    n = (~np.isnan(matrix)).sum(axis=0)
    pivot = codes.index(settings.pivot)
    others = [at for at in range(len(codes)) if at != pivot]
    for at in others:
        gap = replicates[:, pivot] - replicates[:, at]
        rows.add(
            "gap to pivot", accuracy[pivot] - accuracy[at], gap, min(n[at], n[pivot]), 0.0,
            task=task, language=codes[at], other=settings.pivot,
        )  # fmt: skip
    for a in range(len(codes)):
        for b in range(a + 1, len(codes)):
            rows.add(
                "gap", accuracy[a] - accuracy[b], replicates[:, a] - replicates[:, b], min(n[a], n[b]), 0.0,
                task=task, language=codes[a], other=codes[b],
            )  # fmt: skip
    differences = matrix[:, [pivot]] - matrix[:, others]
    if np.isnan(differences).all(axis=0).any():
        return []  # some language shares no image with the pivot: there is nothing to pair
    p = sign_flip_test(
        differences, replicates=settings.replicates, seed=seed_for(settings.seed, f"parity.{task}")
    )
    return [
        ({"task": task, "language": codes[at], "other": settings.pivot, "n": int(n[at])}, float(value))
        for at, value in zip(others, p, strict=True)
    ]


def _paraphrases(rows: Rows, answers: Answers, task: str, settings: ParitySettings) -> None:
    """Accuracy by paraphrase, and how far paraphrases of one language lie apart."""
    if task in DIRECTIONS:
        return
    asked = answers.paraphrased(task)
    every = replicates_of(np.concatenate([matrix for _, matrix in asked.values()], axis=1), settings)
    first = 0
    for code, (names, matrix) in asked.items():
        replicates = every[:, first : first + len(names)]
        first += len(names)
        accuracy, n = np.nanmean(matrix, axis=0), int((~np.isnan(matrix)).all(axis=1).sum())
        for at, name in enumerate(names):
            keys = {"task": task, "language": code, "paraphrase": name}
            rows.add("accuracy", accuracy[at], replicates[:, at], n, answers.chance_of(task), **keys)
        if len(names) > 1:
            rows.add(
                "range over paraphrases", _range(accuracy[None])[0], _range(replicates), n, None,
                task=task, language=code,
            )  # fmt: skip
