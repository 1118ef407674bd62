"""From answers to numbers: accuracy by language, gaps of languages and their spread; groups follow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equiview.audits.base import once
from equiview.audits.estimating import FOR_QUANTILE, Rows, joined, mean_known, summarise
from equiview.audits.parity.answers import Answers, Correct, Floats, applied
from equiview.audits.parity.coverage import add_coverage, add_group_coverage, add_left_out
from equiview.audits.parity.gaps import VERDICT, paired_gaps
from equiview.audits.parity.groups import add_groups
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.spread import add_spread, range_of
from equiview.audits.parity.tasks import DIRECTIONS, metric_of
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS, tier_by_code
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.stats import Proportions, wilson_interval

ACCURACIES = ("R", "accuracy", "balanced R", "lowest language", "highest language")


@once
def values(answers: Answers, settings: ParitySettings) -> Values:
    """Of each image: correctness by task and language, its mean over languages and tiers, its mean gap."""
    columns: list[ValueColumn] = []
    for task, correct in answers.tasks.items():
        for k, at_k in _at_cutoffs(answers, task):
            metric, chance = metric_of(task)[0], answers.chance_of(task, k)
            for keys, table in _parts_of(at_k):
                columns.append(
                    column(metric, mean_known(table, axis=1), k=k, chance=chance, task=task, **keys)
                )
        if len(correct.names) > 1:
            pivot = answers.pivot_of(task)
            gap = correct.matrix[:, pivot] - mean_known(np.delete(correct.matrix, pivot, axis=1), axis=1)
            columns.append(column("gap to pivot", gap, chance=0.0, task=task))
    return Values.of(answers.ids, columns)


def _at_cutoffs(answers: Answers, task: str) -> Iterator[tuple[int | None, Correct]]:
    """Correctness at each cutoff up to the number of candidates; classification has no cutoff."""
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
    tiers = tier_by_code()
    for tier in TIERS:
        in_tier = [tiers.get(language) == tier for language in correct.names]
        if any(in_tier):
            yield {"tier": tier}, correct.matrix[:, in_tier]
    for place, language in enumerate(correct.names):
        yield {"language": language}, correct.matrix[:, [place]]


def measure(answers: Answers, settings: ParitySettings) -> Estimates:
    """Accuracies beside chance; gaps of languages and their spread; gaps of groups within and across them."""
    rows = Rows()
    able: dict[str, set[str]] = {}
    for task, correct in answers.tasks.items():
        accuracy = answers.replicates(correct.matrix)
        able[task] = _add_skill(rows, answers, task)
        if len(correct.names) > 1:
            add_spread(rows, task, correct, accuracy, settings)
        _add_gaps(rows, answers, task, judged=bool(able[task]))
        if task not in DIRECTIONS:
            _add_paraphrases(rows, answers, task)
    add_coverage(rows, answers["coverage"])
    add_group_coverage(rows, answers)
    add_left_out(rows, answers["left_out"])
    add_groups(rows, answers, able)
    return _with_ends(joined([summarise(values(answers, settings), settings), rows.estimates()]))


def _with_ends(estimates: Estimates) -> Estimates:
    """Wilson's interval for an accuracy of 0 or 1, where all replicates are equal."""
    table = estimates.table
    at = (table["metric"].is_in(ACCURACIES) & table["value"].is_in([0.0, 1.0])).arg_true()
    low, high = wilson_interval(table["value"][at].to_numpy(), table["n"][at].to_numpy())
    ends = {"low": table["low"].scatter(at, low), "high": table["high"].scatter(at, high)}
    return Estimates(table.with_columns(**ends), estimates.source)


def _add_skill(rows: Rows, answers: Answers, task: str) -> set[str]:
    """Skill: accuracy less blind accuracy in each language. Returns the languages with enough skill to judge.

    These have enough images, and the whole interval of their skill is above the tolerance. In others,
    accuracies could not differ by more than the tolerance, so that equal ones say nothing.
    """
    correct, blind = answers.tasks[task], answers.blind_accuracy(task)
    accuracy, asked = Proportions.of(correct.matrix), (~np.isnan(correct.matrix)).sum(axis=0)
    low, high = wilson_interval(accuracy.value, accuracy.n)
    able = set()
    for place, language in enumerate(correct.names):
        floor, n = blind[language], int(asked[place])
        judged = bool(n >= answers.settings.least and low[place] - floor > answers.settings.tolerance)
        ends = accuracy.value[place] - floor, low[place] - floor, high[place] - floor
        rows.add_known(quantity("skill", task=task, language=language), ends, n, 0.0, judged=judged)
        if judged:
            able.add(language)
    return able


def _add_gaps(rows: Rows, answers: Answers, task: str, *, judged: bool) -> None:
    """Gaps to the pivot, tested, and gaps of all pairs of languages, each over the images that both have."""
    correct, settings = answers.tasks[task], answers.settings
    matrix, names, pivot = correct.matrix, correct.names, answers.pivot_of(task)
    asked = ~np.isnan(matrix)
    for first, name in enumerate(names):
        shared = np.flatnonzero((asked[:, [first]] & asked).any(axis=0))
        others = shared[shared != first] if first == pivot else shared[shared > first]
        if not len(others):
            continue
        margin = settings.tolerance if first == pivot else None
        gaps = paired_gaps(matrix[:, [first]], matrix[:, others], margin)
        draws = None
        if first == pivot and judged:
            draws = answers.replicates(matrix[:, [first]] - matrix[:, others], FOR_QUANTILE).draws
        for place, other in enumerate(others):
            if first == pivot:
                enough = judged and bool(gaps.n[place] >= settings.least)
                wanted = quantity("gap to pivot", task=task, language=names[other], other=name)
                gaps.add(rows, place, wanted, draws, judged=enough, family=VERDICT)
            if other > first:
                gaps.add(rows, place, quantity("gap", task=task, language=name, other=names[other]))


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
            spread = applied(range_of, of_language)
            rows.add(quantity("range over paraphrases", None, **keys), spread, n)
