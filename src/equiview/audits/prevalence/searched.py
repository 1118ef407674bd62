"""What the search in use changed: its lists of some queries, beside exact lists of the same queries.

Ours; P searched approximately and does not say what that changed. The difference is of one index, which is
kept as it is: what varies is which queries are asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.audits.prevalence.exposure import FARTHEST, LOG_RATIO
from equiview.audits.prevalence.lists import Integers, Lists
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.searching import EXACT, recall_columns
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import DIFFERENCE, Metric, quantity
from equiview.data.observations import Observations
from equiview.data.values import ValueColumn, Values, column

EFFECT = "search effect on {}"
COMPARED = {"exposure": "points", "DLBKL": "nats", "LBKL": "nats", "Accuracy": "points", "NDCG": "points"}
"""Quantities of a list whose change is measured, with its unit."""
EFFECT_ON_RATIO = EFFECT.format(LOG_RATIO)
EFFECTS = tuple(
    Metric(
        EFFECT.format(name),
        f"{name} by lists of the search in use, less that by exact lists of the same queries; 0 is no change",
        unit=unit,
        range=DIFFERENCE if unit == "points" else (None, None),
    )
    for name, unit in {**COMPARED, LOG_RATIO: "nats"}.items()
)
REPLICATES = 2000
"""Bootstrap replicates that tell the quantile of a largest deviation to two digits."""
UNSEEN = 3.0
"""Of n queries with no change, up to this many of n may have one (rule of three)."""


Columns = Callable[[Lists], Iterable[ValueColumn]]


def search_effect(lists: Lists, settings: PrevalenceSettings, columns_of: Columns) -> Estimates | None:
    """Recall of the search against an exact one, and what it does to the audit's numbers, in pairs.

    None where no query was searched exactly as well. A change is of what the audit's own lists give less what
    exact lists give, over the same queries; `columns_of` makes the audit's numbers of lists.
    """
    if lists.observations.tables.get(EXACT.name) is None or lists[EXACT.name].is_empty():
        return None
    found, exact = _both(lists, settings)
    depth = min(found.depth, exact.depth)
    groups: dict[str, tuple[Sequence[str], Integers]] = {"language": (lists.codes, lists.language.of_item)}
    if lists.tier is not None:
        groups["tier"] = (lists.tier.names, lists.tier.of_item)
    if lists.group is not None:
        groups["group"] = (lists.group.names, lists.group.of_item)
    cutoffs = sorted({k for k in (*lists.judged_at, *lists.cutoffs, depth) if k <= depth})
    recall = recall_columns(found.ranked, exact.ranked, cutoffs, groups)
    changes = list(_changes(found, exact, columns_of))
    parts = [summarise(Values.of(found.query_ids, columns), settings) for columns in (recall, changes)]
    return joined([parts[0], _to_both_sides(parts[1]), _of_ratios(found, exact, settings)])


def _to_both_sides(changes: Estimates) -> Estimates:
    """Where no list changed, the interval is of how many may: those may change to either side."""
    none = (pl.col("value") == 0) & (pl.col("low") == 0)
    ends = [
        pl.when(none).then(-pl.col(f"high{of}")).otherwise(f"low{of}").alias(f"low{of}")
        for of in ("", "_all")
    ]
    return Estimates(changes.table.with_columns(ends))


def allowing(row: Estimate, estimates: Estimates) -> Estimate:
    """A log exposure ratio whose interval holds what lists in use say, and what exact ones would say.

    Its ends are moved outwards by those of the search's effect; without an end where that is not known.
    """
    effect = estimates.maybe(EFFECT_ON_RATIO, row.quantity.k, **row.keys)
    if effect is None or not effect.has_interval:
        return replace(row, low=-math.inf, high=math.inf, low_all=-math.inf, high_all=math.inf)
    unseen, ends = math.log1p(UNSEEN / effect.n), effect.of_many()
    more, less = max(0.0, ends.high) + unseen, min(0.0, ends.low) - unseen
    both = (
        None if row.low_all is None else row.low_all - more,
        None if row.high_all is None else row.high_all - less,
    )
    return replace(row, low=row.low - more, high=row.high - less, low_all=both[0], high_all=both[1])


def _both(lists: Lists, settings: PrevalenceSettings) -> tuple[Lists, Lists]:
    """The lists in use, and exact ones, of the queries that have both; equally deep."""
    tables = dict(lists.observations.tables)
    exact = tables.pop(EXACT.name)
    used = tables["rankings"].filter(pl.col("query_id").is_in(exact["query_id"].unique().implode()))
    least = min(int(used["rank"].max()), int(exact["rank"].max()))  # type: ignore[arg-type]
    parts = (table.filter(pl.col("rank") <= least) for table in (used, exact))
    found, best = (Lists(Observations({**tables, "rankings": part}), settings) for part in parts)
    return found, best


def _changes(found: Lists, exact: Lists, columns_of: Columns) -> Iterator[ValueColumn]:
    """What each query's quantities are by the lists in use, less what they are by exact ones."""
    ours, theirs = ([*columns_of(lists), *_hits(lists)] for lists in (found, exact))
    for used, best in zip(ours, theirs, strict=True):
        wanted, change = used.quantity, used.values - best.values
        if np.isnan(change).all():  # of a language in which no sampled image has a caption
            continue
        if wanted.metric in COMPARED and wanted.keys.get("ideal") != "retrieved":
            name = EFFECT.format(wanted.metric)
            yield ValueColumn(replace(wanted, metric=name), change)


def _hits(lists: Lists) -> Iterator[ValueColumn]:
    """Whether a right caption of each language stands among the first; nan where the query has none of it."""
    owned = lists.targets.select("query_id", "language").unique()
    for place, code in enumerate(lists.codes):
        asked = lists.query_ids.is_in(owned.filter(language=code)["query_id"].implode()).to_numpy()
        of_code = lists.language.of_item[lists.ranked] == place
        for k in lists.judged_at:
            hit = (lists.relevant & of_code)[:, :k].any(axis=1)
            yield column("Accuracy", np.where(asked, hit, np.nan), k=k, language=code)


def _of_ratios(found: Lists, exact: Lists, settings: PrevalenceSettings) -> Estimates | None:
    """The change of the logarithm of each exposure ratio, by which the verdict's intervals are widened."""
    rows, n = Rows(), len(found.query_ids)
    for key, (grouping, cutoffs) in found.exposed.items():
        parts = [
            lists.exposures[key].by_query for lists in (found, exact)
        ]  # each (2, cutoffs, queries, groups)
        flat = np.concatenate([part.transpose(2, 0, 1, 3).reshape(n, -1) for part in parts], axis=1)
        drawn = Replicates.of(flat, settings, f"search effect.{key}", most=REPLICATES)
        shape = (2, 2, len(cutoffs), len(grouping.names))
        value = _shift(drawn.value.reshape(1, *shape))[0]
        draws = _shift(drawn.draws.reshape(-1, *shape))
        for place, k in enumerate(cutoffs):
            for at, name in enumerate(grouping.names):
                if math.isnan(value[place, at]):
                    continue
                rows.add(
                    quantity(EFFECT_ON_RATIO, k, **{key: name}),
                    Replicates(value[place, at], draws[:, place, at]),
                    n,
                    among=f"{EFFECT_ON_RATIO}, {key}",
                )
    return rows.estimates()


def _shift(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The difference of log ratios, `(n, cutoffs, groups)`, of mean exposures by both searches."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ours, theirs = (means[:, side, 0] / means[:, side, 1] for side in (0, 1))
    ours, theirs = (np.log(np.clip(ratio, 1 / FARTHEST, FARTHEST)) for ratio in (ours, theirs))
    return np.asarray(ours - theirs)
