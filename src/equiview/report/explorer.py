"""The explorer's data: every ranked list of every run, in pieces a page can open one at a time.

A page of 3,600 queries by 100 ranks and several runs holds a million places. They are kept as columns of
small integers, a few dozen queries to a piece, each piece compressed by itself; the page's script inflates
the piece a reader asks for. Byte planes and differences of scores are there because they compress well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits import installed
from equiview.audits.execute import view_of
from equiview.data.languages import TIERS, languages
from equiview.data.lists import RankedLists
from equiview.data.run import Run
from equiview.report import colours
from equiview.report.disputed import Example, example_of
from equiview.report.embed import Pictures, packed, packed_json
from equiview.report.words import shown_languages

DEPTH = 50
"""Most ranks of a list that a page shows; of many systems fewer, so that it stays small."""
PLACES = 200
"""Ranks that all systems have together, at most."""
QUERIES_A_PIECE = 64
ITEMS_A_PIECE = 2048
ATTRIBUTES = ("language", "tier", "country")
NOTHING = 0xFFFFFF  # the item of a rank that a list does not reach
LEVELS = 65535


@dataclass(frozen=True)
class Explorer:
    """One audit's lists on one benchmark; `pieces` are (element id, compressed text).

    `depth` is how many ranks of a list it shows; `example` is the query on which its systems differ most.
    """

    id: str
    audit: str
    queries: int
    depth: int
    pieces: tuple[tuple[str, str], ...]
    example: Example | None


def explorers_of(runs: Sequence[Run], pictures: Pictures) -> list[Explorer]:
    """An explorer for each audit that observed lists, of the runs over the same items.

    Pictures of queries and items are added to `pictures`.
    """
    groups: dict[tuple[str, str], list[tuple[Run, RankedLists]]] = {}
    for run in runs:
        for audit in run.manifest.audits:
            lists = lists_of(run, audit)
            if lists is not None:
                groups.setdefault((audit, run.manifest.benchmark.fingerprint), []).append((run, lists))
    names = list(dict.fromkeys(run.name for run in runs))
    return [
        _explorer(f"explorer-{place}", audit, members, names, pictures)
        for place, ((audit, _), members) in enumerate(groups.items())
    ]


def lists_of(run: Run, audit: str) -> RankedLists | None:
    """The ranked lists of one audit of a run.

    None when it has none, is not installed or failed, or when the run's observations were not kept.
    """
    known = installed(audit)
    failed = any(failure.audit == audit for failure in run.failures)
    kept = any((run.folder / "observations").glob(f"{audit}.*"))
    return known.explore(view_of(run, audit)) if known and kept and not failed else None


def _explorer(
    identity: str,
    audit: str,
    runs: Sequence[tuple[Run, RankedLists]],
    names: Sequence[str],
    pictures: Pictures,
) -> Explorer:
    queries = runs[0][1].queries
    place = queries.select("query_id").with_row_index("query")
    depth = min(DEPTH, max(PLACES // len(runs), 10))
    whole = [lists.rankings.join(place, on="query_id").sort("query", "rank") for _, lists in runs]
    ranked = [rows.filter(pl.col("rank") <= depth) for rows in whole]
    items = _mentioned([lists.items for _, lists in runs], ranked)
    numbers = items.select("item_id").with_row_index("item")
    item_attributes = {name: _coded(items[name]) for name in ATTRIBUTES if name in items.columns}
    query_attributes = {name: _coded(queries[name]) for name in ATTRIBUTES if name in queries.columns}

    pieces: list[tuple[str, str]] = []
    systems = []
    firsts = [_first_right(rows, len(queries)) for rows in whole]
    for index, ((run, _), rows, first) in enumerate(zip(runs, ranked, firsts, strict=True)):
        lists = Lists.of(rows.join(numbers, on="item_id", maintain_order="left"), len(queries))
        systems.append(_system(run, names, lists, first, item_attributes))
        pieces += [(f"{identity}-lists-{index}-{i}", packed(part)) for i, part in enumerate(lists.pieces())]
    for name, (_, places) in item_attributes.items():
        pieces.append((f"{identity}-{name}", packed(places.astype("<u2").tobytes())))
    pieces += _pieces(f"{identity}-texts", items["text"].to_list(), ITEMS_A_PIECE)
    pictured = {
        of: pictures.add_all(table["picture"]) if "picture" in table.columns else None
        for of, table in (("queries", queries), ("items", items))
    }
    named = [part["language"][0] for part in (item_attributes, query_attributes) if "language" in part]
    codes = sorted({code for values in named for code in values} & shown_languages().keys())
    meta = {
        "queries": queries["label"].to_list(),
        "asked": {
            name: {"values": values, "codes": places.tolist()}
            for name, (values, places) in query_attributes.items()
        },
        "runs": systems,
        "attributes": {name: values for name, (values, _) in item_attributes.items()},
        "languages": {code: shown_languages()[code][:2] for code in codes},
        "pictured": pictured,
        "sizes": {"queries": QUERIES_A_PIECE, "items": ITEMS_A_PIECE},
    }
    pieces.append((f"{identity}-meta", packed_json(meta)))
    shown = {run.name: rows for (run, _), rows in zip(runs, ranked, strict=True)}
    example = example_of(audit, shown, np.stack(firsts), queries, items)
    return Explorer(identity, audit, len(queries), depth, tuple(pieces), example)


def _first_right(rows: pl.DataFrame, n_queries: int) -> NDArray[np.int64]:
    """The rank of each query's first right item, `(n_queries,)`, 0 where its list holds none."""
    right = rows.filter(pl.col("relevant")).group_by("query", maintain_order=True).agg(pl.col("rank").min())
    first = np.zeros(n_queries, dtype=np.int64)
    first[right["query"].to_numpy()] = right["rank"].to_numpy()
    return first


def _mentioned(tables: Sequence[pl.DataFrame], ranked: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The items that any list holds, in the order of first mention, so that a query's texts lie together."""
    parts = [rows.select("query", "rank", "item_id", run=pl.lit(index)) for index, rows in enumerate(ranked)]
    first = pl.concat(parts).sort("query", "rank", "run").unique("item_id", maintain_order=True, keep="first")
    known = pl.concat(tables, how="diagonal_relaxed").unique("item_id", maintain_order=True, keep="first")
    return first.select("item_id").join(known, on="item_id", how="left", maintain_order="left")


def _coded(column: pl.Series) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct values, and each row's place among them."""
    values = sorted(column.drop_nulls().unique().to_list())
    if column.name == "language":
        order = {code: index for index, code in enumerate(languages()["code"])}
        values.sort(key=lambda code: (order.get(code, len(order)), code))
    elif column.name == "tier":
        values.sort(key=lambda tier: (TIERS.index(tier) if tier in TIERS else len(TIERS), tier))
    places = {value: index for index, value in enumerate(values)}
    return values, np.asarray([places.get(value, LEVELS) for value in column], dtype=np.int64)


@dataclass(frozen=True)
class Lists:
    """The lists of one run, `(n_queries, depth)`: items by number, scores in 65,536 levels, what is right."""

    items: NDArray[np.int64]
    levels: NDArray[np.int64]
    right: NDArray[np.bool_]
    low: float
    high: float

    @classmethod
    def of(cls, rows: pl.DataFrame, n_queries: int) -> Lists:
        """Fill the grid from rows of query, rank, item, score, relevant."""
        query, rank = rows["query"].to_numpy(), rows["rank"].to_numpy() - 1
        shape = (n_queries, int(rank.max(initial=-1)) + 1)
        items = np.full(shape, NOTHING, dtype=np.int64)
        levels = np.zeros(shape, dtype=np.int64)
        right = np.zeros(shape, dtype=np.bool_)
        score = rows["score"].to_numpy().astype(np.float64)
        low, high = (float(score.min()), float(score.max())) if len(score) else (0.0, 0.0)
        items[query, rank] = rows["item"].to_numpy()
        levels[query, rank] = np.rint((score - low) / ((high - low) or 1.0) * LEVELS)
        right[query, rank] = rows["relevant"].fill_null(False).to_numpy()
        return cls(items, levels, right, low, high)

    def pieces(self) -> Iterator[bytes]:
        """Some queries a piece: three byte planes of items, two of score differences, one of right."""
        steps = np.diff(self.levels, axis=1, prepend=0) & LEVELS
        for start in range(0, len(self.items), QUERIES_A_PIECE):
            rows = slice(start, start + QUERIES_A_PIECE)
            planes = [self.items[rows] >> shift & 255 for shift in (0, 8, 16)]
            planes += [steps[rows] >> shift & 255 for shift in (0, 8)]
            yield b"".join(plane.astype(np.uint8).tobytes() for plane in (*planes, self.right[rows]))


def _system(
    run: Run,
    names: Sequence[str],
    lists: Lists,
    first_right: NDArray[np.int64],
    item_attributes: dict[str, Any],
) -> dict[str, Any]:
    first = lists.items[:, 0] if lists.items.shape[1] else np.full(len(lists.items), NOTHING)
    first_language = None
    if "language" in item_attributes:
        codes = item_attributes["language"][1]
        first_language = [int(codes[item]) if item != NOTHING else LEVELS for item in first]
    return {
        "name": run.name,
        "colour": colours.subject_colour(run.name, names),
        "depth": lists.items.shape[1],
        "low": lists.low,
        "high": lists.high,
        "firstRight": first_right.tolist(),
        "firstLanguage": first_language,
    }


def _pieces(identity: str, values: Sequence[Any], size: int) -> list[tuple[str, str]]:
    parts = [values[start : start + size] for start in range(0, len(values), size)]
    return [
        (f"{identity}-{i}", packed(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode()))
        for i, part in enumerate(parts)
    ]
