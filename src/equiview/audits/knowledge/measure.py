"""What answers say: one number for each question, then accuracy, consistency and differences of languages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from equiview.audits.base import once
from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.audits.knowledge.answers import Answered, Floats
from equiview.audits.knowledge.consistency import BOTH, add_consistency, pair_columns
from equiview.audits.knowledge.reading import RULES
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.stats import beyond_p, mean_interval

ACCURACY, SHIFT, UNREAD, READ = "accuracy", "shift", "unread", "read"
UNANSWERED = "unanswered"
ADVANTAGE, SKILL = quantity("local advantage"), quantity("skill")
VERDICT = "verdict"
"""The family of all tests that the verdict reads; they are corrected together."""
TESTED = (SHIFT, ADVANTAGE.metric)


@once
def values(answered: Answered, settings: KnowledgeSettings) -> Values:
    """Of each question: right answers by setting, language and region, differences, what was unread."""
    columns = [*_accuracies(answered), *_reading(answered), *_differences(answered), *pair_columns(answered)]
    asked = [entry for entry in columns if not np.isnan(entry.values).all()]
    return Values.of(answered.question_ids, asked, answered.image)


def measure(answered: Answered, settings: KnowledgeSettings) -> Estimates:
    """Accuracy and shares with intervals; consistency with its floor; the differences that are judged."""
    per_question = values(answered, settings)
    plain = per_question.select(lambda entry: entry.metric not in {*TESTED, BOTH})
    rows = Rows()
    _add_differences(rows, per_question, settings)
    add_consistency(rows, answered, settings, family=VERDICT)
    return joined([_within_range(summarise(plain, settings)), rows.estimates()])


def _accuracies(answered: Answered) -> Iterator[ValueColumn]:
    mean, chance = answered.correct.mean(axis=1), answered.chance
    yield column(ACCURACY, mean, chance=float(chance.mean()))
    yield column(SKILL.metric, answered.known.mean(axis=1))
    if answered.english >= 0:
        yield _accuracy(answered.correct[:, answered.english], chance, setting="EN")
    yield _accuracy(answered.local, chance, setting="LOC")
    yield _accuracy(answered.foreign, chance, setting="GLO")
    for place, language in enumerate(answered.languages):
        yield _accuracy(answered.correct[:, place], chance, language=language)
        yield column(SKILL.metric, answered.known[:, place], language=language)
    for region in answered.regions:
        inside = answered.region == region
        yield _accuracy(np.where(inside, mean, np.nan), chance, region=answered.languages[region])


def _accuracy(correct: Floats, chance: Floats, **keys: str) -> ValueColumn:
    asked = ~np.isnan(correct)
    floor = float(chance[asked].mean()) if asked.any() else None
    return ValueColumn(quantity(ACCURACY, None, **keys), correct, floor)


def _reading(answered: Answered) -> Iterator[ValueColumn]:
    """The share of replies that no rule read, by language too, that were none, and that each rule read."""
    unread = (answered.rules == RULES[-1]).astype(np.float64)
    yield column(UNREAD, unread.mean(axis=1))
    for place, language in enumerate(answered.languages):
        yield column(UNREAD, unread[:, place], language=language)
    if (silent := answered.unanswered).any():
        for place, language in enumerate(answered.languages):
            yield column(UNANSWERED, silent[:, place].astype(np.float64), language=language)
    for rule in RULES[:-1]:
        yield column(READ, (answered.rules == rule).mean(axis=1), rule=rule)


def _differences(answered: Answered) -> Iterator[ValueColumn]:
    for place, language in enumerate(answered.languages):
        yield column(SHIFT, answered.shifts[:, place], language=language)
    yield ValueColumn(ADVANTAGE, answered.local_advantage)


def _add_differences(rows: Rows, per_question: Values, settings: KnowledgeSettings) -> None:
    """Shifts and the local advantage, each tested to be beyond the tolerance."""
    tested = per_question.select(lambda entry: entry.metric in TESTED)
    intervals = mean_interval(tested.matrix, clusters=tested.clusters)
    measured = Replicates.of(tested.matrix, settings, "differences", tested.clusters)
    for place, wanted in enumerate(tested.quantities):
        n, clusters = int(intervals.n[place]), int(intervals.n_clusters[place])
        judged = n >= settings.least
        ends = (intervals.value[place], intervals.low[place], intervals.high[place])
        draws = measured.draws[:, place]
        p = beyond_p(float(ends[0]), draws, settings.tolerance, clusters) if judged else None
        among = "differences" if judged else ""
        rows.add_known(wanted, ends, n, p=p, judged=judged, family=VERDICT, draws=draws, among=among)


def _within_range(estimates: Estimates) -> Estimates:
    """GLO is a weighted mean, whose interval may leave the range of a share."""
    share = pl.col("metric") == ACCURACY
    ends = [pl.when(share).then(pl.col(end).clip(0, 1)).otherwise(end).alias(end) for end in ("low", "high")]
    return Estimates(estimates.table.with_columns(ends))
