"""The difference of two systems over the same queries, and the test of it; of many pairs at once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from equiview.data.headline import Headline
from equiview.data.metric import Quantity
from equiview.data.values import Values
from equiview.stats import bootstrap_means, interval, resampled_test, sign_flip_test, spread_tests
from equiview.stats.means import LEAST

DRAWS = 2_000
"""Draws behind the p value of a spread; its tail is fitted, so that more of them are not needed."""

LEARNT = 2.0
"""How much a query moves a classifier's mean confidence in all, beside what it does where it is tested: the
mean is a product of what is learnt and what is tested, so that both move it alike."""

TOGETHER, PAIRS = 64, 256
"""Columns that are resampled, and pairs that are tested, at once, so that few tables are held."""

Pair = tuple[int, int]
Row = dict[str, Any]
Key = tuple[int, bytes]
"""A system, and what a pair leaves out of it."""
Floats = NDArray[np.float64]


class Options(TypedDict):
    """How intervals and tests resample: clusters of queries, number of replicates, seed."""

    clusters: NDArray[np.int64]
    replicates: int
    seed: int


def difference(
    headline: Headline, first: Values, second: Values, *, replicates: int, seed: int, share: float = 0.0
) -> Row:
    """A headline for two systems over the same queries, its difference, and the test of it.

    Returns value_a, value_b, difference (b minus a; None where both are infinite), low, high, p and n. The
    interval is that of the headline itself, computed again for every replicate of the queries. The p value
    tests what each query adds to the difference, to first order at the pooled means: the differences of its
    values weighted by the headline's slopes. For a mean that is the paired difference itself. Of a headline
    that is not smooth, such as a range, the values are as published, low and high are None, and p tests what
    lies beyond each system's own floor (`spread_test`). Where a column was asked of no query that both have,
    or of such a headline no query has all, n alone is given, as 0. Of a headline whose columns come from
    models trained on the other queries (`Headline.tested`), each column over a `share` of them, the columns
    are what varies (`resampled_test`).
    """
    (row,) = differences(headline, (first, second), [(0, 1)], replicates=replicates, seed=seed, share=share)
    return row


def differences(
    headline: Headline,
    systems: Sequence[Values],
    pairs: Sequence[Pair],
    *,
    replicates: int,
    seed: int,
    share: float = 0.0,
) -> list[Row]:
    """As `difference`, for pairs of `systems` over the same queries in the same order.

    Each row is the same as for its pair alone; what pairs have in common is computed once.
    """
    together: dict[tuple[Quantity, ...], list[Pair]] = {}
    for pair, columns in zip(pairs, headline.columns_of(systems, pairs), strict=True):
        together.setdefault(columns, []).append(pair)
    rows: dict[Pair, Row] = {}
    options = Options(clusters=systems[0].clusters, replicates=replicates, seed=seed)
    for columns, some in together.items():
        if headline.tested:
            found = [_by_column(headline, columns, systems[a], systems[b], share) for a, b in some]
        else:
            tables = {place: systems[place].at(*columns) for pair in some for place in pair}
            if headline.smooth:
                found = _smooth(headline, tables, some, options)
                found = _over_shared(found, headline, systems, some, options)
            else:
                found = _spreads(headline, tables, some, options)
        rows.update(zip(some, found, strict=True))
    return [rows[pair] for pair in pairs]


def _smooth(
    headline: Headline, tables: dict[int, Floats], pairs: Sequence[Pair], options: Options
) -> list[Row]:
    """Those of a headline that is smooth."""
    masks = [np.isnan(tables[a]) | np.isnan(tables[b]) for a, b in pairs]
    names = [hashlib.blake2b(np.packbits(mask).tobytes()).digest() for mask in masks]
    whole = [not mask.all(axis=0).any() for mask in masks]
    left: dict[Key, Floats] = {}  # each system's table, less what a pair leaves out of it
    for pair, mask, name, able in zip(pairs, masks, names, whole, strict=True):
        for place in pair:
            if able and (place, name) not in left:
                left[place, name] = np.where(mask, np.nan, tables[place])
    drawn = _replicates(headline, left, options)
    few = {  # clusters, too few to give an interval
        name: len(np.unique(options["clusters"][~mask.all(axis=1)])) < LEAST
        for name, mask in dict(zip(names, masks, strict=True)).items()
    }
    rows: list[Row] = []
    added, places, weighed = [], [], []
    for (first, second), mask, name, able in zip(pairs, masks, names, whole, strict=True):
        if not able:
            rows.append({"n": 0})
            continue
        a, b = (first, name), (second, name)
        each, weights, row = _measured(headline, left[a], left[b], ~mask)
        with np.errstate(invalid="ignore"):
            shifts = drawn[b] - drawn[a]
        # Infinity less infinity is undefined: where all replicates are, there is no value and no interval.
        low, high = (None, None) if few[name] or np.isnan(shifts).all() else map(float, interval(shifts))
        added.append(each)
        places.append((a, b))
        weighed.append(weights)
        rows.append(row | {"low": low, "high": high, "p": None, "n": int(np.count_nonzero(~np.isnan(each)))})
    tested = [row for row in rows if row["n"]]
    for start in range(0, len(tested), PAIRS):
        part = slice(start, start + PAIRS)
        made_of = _made_of(left, places[part], weighed[part])
        p = sign_flip_test(np.stack(added[part], axis=1), **options, tail="saddlepoint", made_of=made_of)
        for row, value in zip(tested[part], p, strict=True):
            row["p"] = float(value)
    return rows


def _made_of(
    tables: Mapping[Key, Floats], pairs: Sequence[tuple[Key, Key]], weighed: Sequence[Floats]
) -> tuple[Floats, Floats] | None:
    """What queries add to all pairs, as columns of the systems and weights; None where pairs are few."""
    keys = {key: place for place, key in enumerate(dict.fromkeys(key for pair in pairs for key in pair))}
    width = len(weighed[0])
    if width * len(keys) >= len(pairs):
        return None
    weights = np.zeros((len(keys), width, len(pairs)))
    for place, ((a, b), of_pair) in enumerate(zip(pairs, weighed, strict=True)):
        weights[keys[a], :, place], weights[keys[b], :, place] = -of_pair, of_pair
    return np.nan_to_num(np.hstack([tables[key] for key in keys])), weights.reshape(-1, len(pairs))


def _measured(
    headline: Headline, a: Floats, b: Floats, asked: NDArray[np.bool_]
) -> tuple[Floats, Floats, Row]:
    """What each query adds to the difference, to first order, by which weights of columns; and the values."""
    slopes = headline.slopes(np.nanmean((a + b) / 2, axis=0))
    if not np.isfinite(slopes).all():  # infinite for both: there is no difference to test
        slopes = np.zeros_like(slopes)
    # A column that few queries were asked of weighs more of each: the mean is then the headline's slope.
    weights = slopes * asked.any(axis=1).sum() / asked.sum(axis=0)
    each = np.where(asked.any(axis=1), np.where(asked, b - a, 0.0) @ weights, np.nan)
    of_a, of_b = (float(headline.combine(np.nanmean(table, axis=0))) for table in (a, b))
    shift = None if math.isnan(of_b - of_a) else of_b - of_a
    return each, weights, {"value_a": of_a, "value_b": of_b, "difference": shift}


def _replicates(headline: Headline, tables: dict[Key, Floats], options: Options) -> dict[Key, Floats]:
    """The headline in every replicate, `(replicates,)`, for each table; their draws are the same."""
    drawn = {}
    keys = list(tables)
    width = next((table.shape[1] for table in tables.values()), 1)
    size = max(1, TOGETHER // width)
    for start in range(0, len(keys), size):
        some = keys[start : start + size]
        means = bootstrap_means(np.hstack([tables[key] for key in some]), **options)
        for place, key in enumerate(some):
            drawn[key] = headline.combine(means[:, place * width : (place + 1) * width])
    return drawn


def _over_shared(
    rows: list[Row], headline: Headline, systems: Sequence[Values], pairs: Sequence[Pair], options: Options
) -> list[Row]:
    """The rows with ends of an interval and p values that hold over what queries share, such as captions.

    A difference counts as shown where it is over queries and over what they share: the larger p value, and
    the outer ends. As they are where the values do not say what is shared.
    """
    for index in range(max((len(systems[place].shared) for pair in pairs for place in pair), default=0)):
        both = [
            (row, (a, b))
            for row, (a, b) in zip(rows, pairs, strict=True)
            if row["n"]
            and index < min(len(systems[a].shared), len(systems[b].shared))
            and len(systems[a].shared[index].rows) == len(systems[b].shared[index].rows)
            and headline.columns(systems[a].shared[index], systems[b].shared[index])
        ]
        used = sorted({place for _, pair in both for place in pair})
        at = {place: number for number, place in enumerate(used)}
        others = differences(
            headline,
            [systems[place].shared[index] for place in used],
            [(at[a], at[b]) for _, (a, b) in both],
            replicates=options["replicates"],
            seed=options["seed"],
        ) if both else []  # fmt: skip
        for (row, _), other in zip(both, others, strict=True):
            for name, outer in (("low", min), ("high", max)):
                known = row[name] is not None and other[name] is not None
                row[name] = outer(row[name], other[name]) if known else None
            row["p"] = max(row["p"], other["p"])
    return rows


def _by_column(
    headline: Headline, columns: tuple[Quantity, ...], first: Values, second: Values, share: float
) -> Row:
    """The same for columns that come from models trained on the other queries."""
    of_a, of_b = (float(np.nanmean(values.at(headline.quantity))) for values in (first, second))
    by_column = (np.nanmean(values.at(*columns), axis=0) for values in (second, first))
    _, low, high, p = resampled_test(np.subtract(*by_column), share, influence=LEARNT)
    shift = of_b - of_a
    asked = ~(np.isnan(first.at(headline.quantity)) | np.isnan(second.at(headline.quantity)))
    return {
        "value_a": of_a,
        "value_b": of_b,
        "difference": shift,
        "low": min(low, shift),
        "high": max(high, shift),
        "p": p,
        "n": int(asked.sum()),
    }


def _spreads(
    headline: Headline, tables: dict[int, Floats], pairs: Sequence[Pair], options: Options
) -> list[Row]:
    """The same for a headline that is not smooth, over queries that have all its columns in both systems."""
    rows: list[Row] = []
    for a, b in pairs:
        whole = ~(np.isnan(tables[a]) | np.isnan(tables[b])).any(axis=1)
        if not whole.any():
            rows.append({"n": 0})
            continue
        of_a, of_b = (float(headline.combine(tables[place][whole].mean(axis=0))) for place in (a, b))
        number = {"value_a": of_a, "value_b": of_b, "difference": of_b - of_a, "low": None, "high": None}
        rows.append(number | {"p": None, "n": int(whole.sum())})
    tested = [(row, pair) for row, pair in zip(rows, pairs, strict=True) if row["n"]]
    p = spread_tests(
        tables,
        [pair for _, pair in tested],
        headline.combine,
        clusters=options["clusters"],
        replicates=min(options["replicates"], DRAWS),
        seed=options["seed"],
    )
    for (row, _), value in zip(tested, p, strict=True):
        row["p"] = value
    return rows
