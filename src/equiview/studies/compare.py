"""Compare runs in pairs: the same queries put to two subjects, and the difference tested."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from equiview.audits import AUDITS
from equiview.audits.execute import settings_of, view_of
from equiview.data.comparison import AFTER, BASE, BEFORE
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.data.values import Values
from equiview.errors import InputError
from equiview.stats import holm
from equiview.studies.alike import alike, told_apart
from equiview.studies.differences import differences

FREE = ("seed", "replicates")
"""Settings that compared runs may differ in: values of queries do not depend on them, or only by chance."""
ONCE = "comparing needs different subjects"
Rows: TypeAlias = list[dict[str, Any]]
Early: TypeAlias = Mapping[tuple[str, tuple[tuple[Path, str], ...]], Rows]
"""Rows of some audits, by the audit and the folders and names of the runs that it compares."""


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


def paired(runs: Sequence[Run], against: Run | None, early: Early | None = None) -> pl.DataFrame:
    """As `compare`, for runs that `runs_against` has ordered; `early` rows are not made again."""
    if len(runs) < 2:
        raise InputError("comparing needs at least two runs")
    early, rows = early or {}, list[dict[str, Any]]()
    for audit, members in alike(runs, ONCE):
        known = early.get((audit, _named(members)))
        rows += _rows_of(audit, members, against) if known is None else known
    if not rows:
        over = "; ".join(f"{run.folder}: {run.manifest.benchmark.name}" for run in runs)
        with_it = "" if against is None else f" with {against.folder}"
        raise InputError(f"only runs over the same items, with an audit in common, compare{with_it} ({over})")
    table = pl.from_dicts(rows, infer_schema_length=None, schema_overrides=BEFORE | AFTER)
    keys = [name for name in table.columns if name not in BASE]
    family = pl.struct("audit", "metric", "k", *keys)
    corrected = pl.col("p").map_batches(holm, return_dtype=pl.Float64, is_elementwise=False).over(family)
    return table.with_columns(corrected.alias("p_holm")).select(*BEFORE, *keys, *AFTER)


def compared(runs: Sequence[Run]) -> Early:
    """The rows of these runs, for `paired` of more runs, which are of other audits or items."""
    return {(audit, _named(members)): _rows_of(audit, members, None) for audit, members in alike(runs, ONCE)}


def _named(runs: Sequence[Run]) -> tuple[tuple[Path, str], ...]:
    return tuple((run.folder, run.name) for run in runs)


def _rows_of(audit: str, members: Sequence[Run], against: Run | None) -> Rows:
    """The rows of one audit, of the runs that have it."""
    pairs = _pairs(members, against)
    if not pairs:
        return []
    for a, b in pairs:
        _check_settings(audit, members[a], members[b])
    known = AUDITS.get(audit)
    tables = [known.values(view_of(run, audit), settings_of(run, audit)) for run in members]
    return list(_pairs_of(audit, members, tables, pairs))


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


def _pairs_of(
    audit: str, runs: Sequence[Run], tables: Sequence[Values], pairs: Sequence[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """A row for each headline that two runs both have, and each pair of them, pair by pair."""
    ids = [list(table.rows["query_id"]) for table in tables]
    same = [ids.index(each) for each in ids]  # the first system with the same queries in the same order
    together: dict[int, list[tuple[int, int]]] = {}
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for a, b in pairs:
        if same[a] == same[b]:
            together.setdefault(same[a], []).append((a, b))
        else:
            shared = _shared(audit, (runs[a], runs[b]), tables[a], tables[b])
            (found[a, b],) = _of_headlines(audit, runs, shared, [(0, 1)], [(a, b)])
    for some in together.values():
        found |= zip(some, _of_headlines(audit, runs, tables, some, some), strict=True)
    for pair in pairs:
        yield from found[pair]


def _of_headlines(
    audit: str,
    runs: Sequence[Run],
    systems: Sequence[Values],
    pairs: Sequence[tuple[int, int]],
    of: Sequence[tuple[int, int]],
) -> list[list[dict[str, Any]]]:
    """For each pair of systems its rows; `of` are the places of their runs."""
    first = runs[of[0][0]]
    rows: list[list[dict[str, Any]]] = [[] for _ in pairs]
    asked = [False] * len(pairs)
    by_setting: dict[tuple[int, int], list[int]] = {}  # replicates and seed are those of a pair's first run
    for place, (a, _) in enumerate(of):
        manifest = runs[a].manifest
        by_setting.setdefault((manifest.settings[audit]["replicates"], manifest.seed), []).append(place)
    for headline in AUDITS.get(audit).headlines:
        share = getattr(settings_of(first, audit), headline.tested) if headline.tested else 0.0
        for (replicates, seed), places in by_setting.items():
            columns = headline.columns_of(systems, [pairs[place] for place in places])
            able = [place for place, found in zip(places, columns, strict=True) if found]
            if not able:
                continue
            tested = differences(
                headline,
                systems,
                [pairs[place] for place in able],
                replicates=replicates,
                seed=seed_for(seed, f"{audit}.compare"),
                share=share,
            )
            about = {"metric": headline.quantity.metric, "k": headline.quantity.k} | headline.quantity.keys
            for place, row in zip(able, tested, strict=True):
                asked[place] = True
                if row["n"]:
                    first_name, second_name = (runs[at].name for at in of[place])
                    named = {"audit": audit, "a": first_name, "b": second_name}
                    rows[place].append(named | about | row)
    for place, answered in enumerate(asked):
        if not answered:
            names = " and ".join(repr(runs[at].name) for at in of[place])
            raise InputError(f"runs {names} share no headline of audit {audit!r}")
    return rows


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
