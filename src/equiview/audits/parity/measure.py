"""From answers to numbers: accuracy by language, gaps of languages and their spread; groups follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.audits.parity.answers import Answers, Correct, Floats, applied
from equiview.audits.parity.groups import group_estimates
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import DIRECTIONS, metric_of
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS, languages
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.data.values import ValueColumn, Values, column
from equiview.metrics import cross_lingual_gaps, gini, gini_of_rows
from equiview.stats import sign_flip_test

BLIND_DRAWS = 200
"""Shuffles of languages within images behind the floor of a spread."""


def values(observations: Observations, settings: ParitySettings) -> Values:
    """Of each image: correctness by task and language, its mean over languages and tiers, its mean gap."""
    return _values(Answers(observations, settings))


def _values(answers: Answers) -> Values:
    columns: list[ValueColumn] = []
    for task, correct in answers.tasks.items():
        for k, at_k in _at_cutoffs(answers, task):
            metric, chance = metric_of(task)[0], answers.chance_of(task, k)
            for keys, table in _parts_of(at_k):
                columns.append(column(metric, _row_means(table), k=k, chance=chance, task=task, **keys))
        pivot = answers.pivot_of(task)
        others = np.delete(correct.matrix, pivot, axis=1)
        gap = correct.matrix[:, pivot] - _row_means(others)
        columns.append(column("gap to pivot", gap, chance=0.0, task=task))
    return Values.of(answers.ids, columns)


def _at_cutoffs(answers: Answers, task: str) -> Iterator[tuple[int | None, Correct]]:
    """Correctness at each cutoff that is not beyond the candidates; classification has none."""
    if task not in DIRECTIONS:
        yield None, answers.tasks[task]
        return
    fewest = int(answers.matches["candidates"].min())  # type: ignore[arg-type]
    for k in answers.settings.cutoffs:
        if k <= fewest:
            yield k, answers.recall(task, k)


def _parts_of(correct: Correct) -> Iterator[tuple[dict[str, str], Floats]]:
    """All languages, those of each tier, and each language, by keys."""
    yield {}, correct.matrix
    tier_of = dict(languages().select("code", "tier").iter_rows())
    for tier in TIERS:
        in_tier = [tier_of.get(language) == tier for language in correct.names]
        if any(in_tier):
            yield {"tier": tier}, correct.matrix[:, in_tier]
    for place, language in enumerate(correct.names):
        yield {"language": language}, correct.matrix[:, [place]]


def _row_means(table: Floats) -> Floats:
    """Mean of each row over what was asked, nan where nothing was."""
    asked = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(asked, table, 0).sum(axis=1) / asked.sum(axis=1))


def measure(observations: Observations, settings: ParitySettings) -> Estimates:
    """Accuracies beside chance; gaps of languages and their spread; gaps of groups within and across them."""
    answers = Answers(observations, settings)
    rows = Rows()
    for task, correct in answers.tasks.items():
        accuracy = answers.replicates(correct.matrix)
        _add_spread(rows, task, correct, accuracy, settings)
        _add_gaps(rows, task, correct, accuracy, settings)
        if task not in DIRECTIONS:
            _add_paraphrases(rows, answers, task)
    return joined(
        [
            summarise(_values(answers), settings),
            rows.estimates(),
            group_estimates(answers, observations["groups"], observations["prompts"]),
        ]
    )


def _range(accuracy: Floats) -> Floats:
    return np.asarray(accuracy.max(axis=-1) - accuracy.min(axis=-1))


def _sd(accuracy: Floats) -> Floats:
    return np.asarray(accuracy.std(axis=-1))


def _gini(accuracy: Floats) -> Floats:
    return np.asarray(gini(accuracy)) if accuracy.ndim == 1 else gini_of_rows(accuracy)


SPREADS: dict[str, Callable[[Floats], Floats]] = {"range": _range, "sd": _sd, "Gini": _gini}


def _add_spread(
    rows: Rows, task: str, correct: Correct, accuracy: Replicates, settings: ParitySettings
) -> None:
    """Range, standard deviation and Gini over languages, beside what languages that are alike would show."""
    n = len(correct.matrix)
    blind = _blind_accuracy(correct, settings.seed_of(f"blind.{task}"))
    for name, function in SPREADS.items():
        if name == "Gini" and not accuracy.value.any():
            continue  # nothing correct in any language: the range says so
        floor = float(np.nanmean(function(blind))) if len(blind) else None
        spread = applied(function, accuracy)
        rows.add(quantity(f"{name} over languages", task=task), spread, n, floor)
    for name, place in (("lowest", accuracy.value.argmin()), ("highest", accuracy.value.argmax())):
        wanted = quantity(f"{name} language", task=task, language=correct.names[place])
        rows.add(wanted, accuracy[place], n)


def _blind_accuracy(correct: Correct, seed: int) -> Floats:
    """Accuracy by language when languages are shuffled within images, `(BLIND_DRAWS, n_languages)`.

    It is over the images that were asked about in all languages, and empty where there are none.
    """
    asked = correct.matrix[correct.asked_in_all]
    rng = np.random.default_rng(seed)
    draws = BLIND_DRAWS if len(asked) else 0
    return np.asarray([rng.permuted(asked, axis=1).mean(axis=0) for _ in range(draws)])


def _add_gaps(
    rows: Rows, task: str, correct: Correct, accuracy: Replicates, settings: ParitySettings
) -> None:
    """Gaps to the pivot with paired p values, and gaps of all pairs of languages."""
    names, n = correct.names, correct.n
    pivot = names.index(settings.pivot)
    gaps = replace(accuracy[[pivot]].gap(accuracy), value=cross_lingual_gaps(correct.matrix, pivot))
    p = _paired_p(correct, pivot, settings, settings.seed_of(task))
    for place, language in enumerate(names):
        if place != pivot:
            wanted = quantity("gap to pivot", task=task, language=language, other=settings.pivot)
            fewer = int(min(n[place], n[pivot]))
            rows.add(wanted, gaps[place], fewer, 0.0, p=p.get(language), family="gap to pivot")
    for a, first in enumerate(names):
        for b in range(a + 1, len(names)):
            wanted = quantity("gap", task=task, language=first, other=names[b])
            rows.add(wanted, accuracy[a].gap(accuracy[b]), int(min(n[a], n[b])), 0.0)


def _paired_p(correct: Correct, pivot: int, settings: ParitySettings, seed: int) -> dict[str, float]:
    """The p value of each language's gap to the pivot, in pairs of answers about one image.

    Empty when some language shares no image with the pivot: there is nothing to pair.
    """
    others = [place for place in range(len(correct.names)) if place != pivot]
    differences = correct.matrix[:, [pivot]] - correct.matrix[:, others]
    if np.isnan(differences).all(axis=0).any():
        return {}
    p: NDArray[np.float64] = sign_flip_test(differences, replicates=settings.replicates, seed=seed)
    return {correct.names[place]: float(value) for place, value in zip(others, p, strict=True)}


def _add_paraphrases(rows: Rows, answers: Answers, task: str) -> None:
    """Accuracy by paraphrase, and how far paraphrases of one language lie apart."""
    by_language = answers.by_paraphrase(task)
    accuracy = answers.replicates(np.concatenate([c.matrix for c in by_language.values()], axis=1))
    first = 0
    for language, correct in by_language.items():
        of_language = accuracy[first : first + len(correct.names)]
        first += len(correct.names)
        keys, n = {"task": task, "language": language}, int(correct.asked_in_all.sum())
        for place, paraphrase in enumerate(correct.names):
            wanted = quantity("accuracy", None, **keys, paraphrase=paraphrase)
            rows.add(wanted, of_language[place], n, answers.chance_of(task))
        if len(correct.names) > 1:
            spread = applied(_range, of_language)
            rows.add(quantity("range over paraphrases", None, **keys), spread, n)
