"""Compare runs in pairs: the same queries put to two subjects, and the difference tested."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits import AUDITS
from equiview.audits.execute import settings_of, view_of
from equiview.data.comparison import AFTER, BASE, BEFORE
from equiview.data.headline import Headline
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.data.values import Values
from equiview.errors import InputError
from equiview.stats import bootstrap_means, holm, interval, resampled_test, sign_flip_test, spread_test
from equiview.stats.means import LEAST
from equiview.studies.alike import alike, told_apart

FREE = ("seed", "replicates")
"""Settings that compared runs may differ in: values of queries do not depend on them, or only by chance."""


DRAWS = 2_000
"""Draws behind the p value of a spread; its tail is fitted, so that more of them are not needed."""

LEARNT = 2.0
"""How much a query moves a classifier's mean confidence in all, beside what it does where it is tested: the
mean is a product of what is learnt and what is tested, so that both move it alike."""


class Options(TypedDict):
    """How intervals and tests resample: clusters of queries, number of replicates, seed."""

    clusters: NDArray[np.int64]
    replicates: int
    seed: int


def compare(runs: Sequence[Run], *, against: Run | None = None) -> pl.DataFrame:
    """Every pair of runs over the same items, by the headlines of each audit that both have.

    With `against`, only the pairs of that run (a) with each of the others (b): k - 1 pairs instead of
    k (k - 1) / 2, so that fewer tests are corrected for.

    One row an audit, pair and headline, addressed by metric, k and keys. `difference` is b minus a, with its
    95% interval (queries resampled together) and the p value of a paired test; `p_holm` is corrected over
    the pairs of its headline. InputError when no two runs are over the same items and share an audit,
    two are of one subject, or two answer an audit's question with different settings (but for `FREE`).
    """
    return paired(runs_against(runs, against), against)


def paired(runs: Sequence[Run], against: Run | None) -> pl.DataFrame:
    """As `compare`, for runs that `runs_against` has ordered."""
    if len(runs) < 2:
        raise InputError("comparing needs at least two runs")
    rows: list[dict[str, Any]] = []
    for audit, members in alike(runs, "comparing needs different subjects"):
        pairs = _pairs(members, against)
        for a, b in pairs:
            _check_settings(audit, members[a], members[b])
        known = AUDITS.get(audit) if pairs else None
        tables = (
            [known.values(view_of(run, audit), settings_of(run, audit)) for run in members] if known else []
        )
        for a, b in pairs:
            both = (members[a], members[b])
            rows += _pair(audit, both, *_shared(audit, both, tables[a], tables[b]))
    if not rows:
        over = "; ".join(f"{run.folder}: {run.manifest.benchmark.name}" for run in runs)
        with_it = "" if against is None else f" with {against.folder}"
        raise InputError(f"only runs over the same items, with an audit in common, compare{with_it} ({over})")
    table = pl.from_dicts(rows, infer_schema_length=None, schema_overrides=BEFORE | AFTER)
    keys = [name for name in table.columns if name not in BASE]
    family = pl.struct("audit", "metric", "k", *keys)
    corrected = pl.col("p").map_batches(holm, return_dtype=pl.Float64, is_elementwise=False).over(family)
    return table.with_columns(corrected.alias("p_holm")).select(*BEFORE, *keys, *AFTER)


def runs_against(runs: Sequence[Run], against: Run | None) -> list[Run]:
    """The runs, `against` first and each folder once; those of one name are told apart by their folders."""
    if against is None:
        return told_apart(runs)
    return told_apart(list({run.folder.resolve(): run for run in (against, *runs)}.values()))


def _pairs(runs: Sequence[Run], against: Run | None) -> list[tuple[int, int]]:
    """Places of the runs to compare: all pairs, or those of `against`, which comes first."""
    if against is None:
        return list(combinations(range(len(runs)), 2))
    here = against.folder.resolve()
    first = [place for place, run in enumerate(runs) if run.folder.resolve() == here]
    return [(a, b) for a in first for b in range(len(runs)) if a != b]


def _check_settings(audit: str, a: Run, b: Run) -> None:
    """InputError when two runs of an audit differ in a setting that can change what a query's values mean."""
    first, second = (settings_of(run, audit).model_dump(mode="json") for run in (a, b))
    for name in first:
        content = {run.manifest.files.get(f"{audit}.{name}") for run in (a, b)}
        same = len(content) == 1 if None not in content else first[name] == second[name]
        if name not in FREE and not same:
            if first[name] == second[name]:
                raise InputError(
                    f"audit {audit!r} was run with {name} {json.dumps(first[name])} in {a.folder} and in "
                    f"{b.folder}, and the file changed between them; run one of them again"
                )
            raise InputError(
                f"audit {audit!r} was run with {name} {json.dumps(first[name])} in {a.folder} and "
                f"{json.dumps(second[name])} in {b.folder}; run one of them again with the other's setting"
            )


def _shared(audit: str, runs: tuple[Run, Run], first: Values, second: Values) -> tuple[Values, Values]:
    """The values of two runs over the queries that both have, rows in the order of the first."""
    places = (
        first.rows.with_row_index("at")
        .join(second.rows.select("query_id").with_row_index("other"), on="query_id", maintain_order="left")
        .select("at", "other")
    )
    if not len(places):
        raise InputError(f"runs {runs[0].name!r} and {runs[1].name!r} share no query of audit {audit!r}")
    at, other = (places[name].to_numpy() for name in ("at", "other"))
    return (
        Values(first.rows[at], first.columns, first.matrix[at], first.shared),
        Values(second.rows[other], second.columns, second.matrix[other], second.shared),
    )


def _pair(audit: str, runs: tuple[Run, Run], first: Values, second: Values) -> Iterator[dict[str, Any]]:
    """A row for each headline that two runs both have; their values are over the same queries."""
    a, b = runs
    headlines = [headline for headline in AUDITS.get(audit).headlines if headline.columns(first, second)]
    if not headlines:
        raise InputError(f"runs {a.name!r} and {b.name!r} share no headline of audit {audit!r}")
    replicates = a.manifest.settings[audit]["replicates"]
    seed = seed_for(a.manifest.seed, f"{audit}.compare")
    for headline in headlines:
        share = getattr(settings_of(a, audit), headline.tested) if headline.tested else 0.0
        tested = difference(headline, first, second, replicates=replicates, seed=seed, share=share)
        if tested["n"]:
            about = {"metric": headline.quantity.metric, "k": headline.quantity.k} | headline.quantity.keys
            yield {"audit": audit, "a": a.name, "b": b.name} | about | tested


def difference(
    headline: Headline, first: Values, second: Values, *, replicates: int, seed: int, share: float = 0.0
) -> dict[str, Any]:
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
    columns = headline.columns(first, second)
    if headline.tested:
        return _by_column(headline, first, second, share)
    tables = [values.at(*columns) for values in (first, second)]
    if not headline.smooth:
        return _spread(headline, *tables, clusters=first.clusters, replicates=replicates, seed=seed)
    unpaired = np.isnan(tables[0]) | np.isnan(tables[1])
    a, b = (np.where(unpaired, np.nan, table) for table in tables)
    asked = ~unpaired
    if not asked.any(axis=0).all():
        return {"n": 0}
    slopes = headline.slopes(np.nanmean((a + b) / 2, axis=0))
    if not np.isfinite(slopes).all():  # infinite for both: there is no difference to test
        slopes = np.zeros_like(slopes)
    # A column that few queries were asked of weighs more of each, so that the mean is the headline's slope.
    weights = slopes * asked.any(axis=1).sum() / asked.sum(axis=0)
    added = np.where(asked.any(axis=1), np.where(asked, b - a, 0.0) @ weights, np.nan)
    options: Options = {"clusters": first.clusters, "replicates": replicates, "seed": seed}
    draws = bootstrap_means(np.hstack([a, b]), **options)
    of_a, of_b = (float(headline.combine(np.nanmean(table, axis=0))) for table in (a, b))
    width = a.shape[1]
    with np.errstate(invalid="ignore"):
        differences = headline.combine(draws[:, width:]) - headline.combine(draws[:, :width])
    # Infinity less infinity is undefined: where all replicates are, there is no value and no interval.
    # Too few clusters give no interval either.
    few = len(np.unique(first.clusters[~np.isnan(added)])) < LEAST
    low, high = (None, None) if few or np.isnan(differences).all() else map(float, interval(differences))
    tested = {
        "value_a": of_a,
        "value_b": of_b,
        "difference": None if math.isnan(of_b - of_a) else of_b - of_a,
        "low": low,
        "high": high,
        "p": float(sign_flip_test(added, **options, tail="saddlepoint")),
        "n": int(np.count_nonzero(~np.isnan(added))),
    }
    return tested | _over_shared(tested, headline, first, second, replicates=replicates, seed=seed)


def _over_shared(
    tested: dict[str, Any], headline: Headline, first: Values, second: Values, *, replicates: int, seed: int
) -> dict[str, Any]:
    """The p value and ends of an interval that hold over what queries share as well, such as captions.

    A difference counts as shown where it is over queries and over what they share: the larger p value, and
    the outer ends. The same as `tested` where the values do not say what is shared.
    """
    combined = {name: tested[name] for name in ("low", "high", "p")}
    for a, b in zip(first.shared, second.shared, strict=False):
        if len(a.rows) == len(b.rows) and headline.columns(a, b):
            other = difference(headline, a, b, replicates=replicates, seed=seed)
            for name, outer in (("low", min), ("high", max)):
                known = combined[name] is not None and other[name] is not None
                combined[name] = outer(combined[name], other[name]) if known else None
            combined["p"] = max(combined["p"], other["p"])
    return combined


def _by_column(headline: Headline, first: Values, second: Values, share: float) -> dict[str, Any]:
    """The same for columns that come from models trained on the other queries."""
    columns = headline.columns(first, second)
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


def _spread(
    headline: Headline,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    *,
    clusters: NDArray[np.int64],
    replicates: int,
    seed: int,
) -> dict[str, Any]:
    """The same for a headline that is not smooth, over queries that have all its columns in both systems."""
    whole = ~(np.isnan(a) | np.isnan(b)).any(axis=1)
    if not whole.any():
        return {"n": 0}
    of_a, of_b = (float(headline.combine(table[whole].mean(axis=0))) for table in (a, b))
    draws = min(replicates, DRAWS)
    p = spread_test(a, b, headline.combine, clusters=clusters, replicates=draws, seed=seed)
    number = {"value_a": of_a, "value_b": of_b, "difference": of_b - of_a, "low": None, "high": None}
    return number | {"p": p, "n": int(whole.sum())}
