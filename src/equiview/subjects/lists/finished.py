"""`run:FILE`: a finished run, the result lists of a system that cannot be run again.

FILE is a TREC run (`query Q0 item rank score tag`), or a table (`equiview.io.tables`) with `query_id`,
`rank`, `item_id` and, if the system gives them, `score`. The lists released with P (`query_id`,
`result_rank`, `result_id`, `lang`, `caption_idx` and `score`) are read too: their items are named
`RESULT-LANG-IDX`, as captions of Crossmodal-3600 are. Items, their languages and what is relevant come from
a benchmark, such as `run:FILE` or `folder:DIR`.

Options: `depth=K` cuts every list at rank K; `partial=yes` audits the queries that have a list and
excludes the others.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks import Benchmark
from equiview.data.arguments import split_argument
from equiview.errors import InputError
from equiview.io.files import read_lines
from equiview.io.fingerprint import fingerprint
from equiview.io.notices import notice
from equiview.io.remote import local
from equiview.io.tables import Column, Schema, checksum, is_table, read_table
from equiview.subjects.lists.base import ResultLists, depth_option, fitting

OPTIONS = ("depth", "partial", "items", "qrels", "queries", "keep")
"""Its own, and those that it has as a benchmark."""
QUERY = Column("query_id", pl.String, "what was asked")
LISTS = Schema(
    "run",
    (
        QUERY,
        Column("rank", pl.Int32, "place in the list, from 1"),
        Column("item_id", pl.String, "the item at that rank"),
        Column("score", pl.Float64, "how well the system thinks it fits", optional=True),
    ),
)
RELEASED = Schema(
    "released run",
    (
        QUERY,
        Column("result_rank", pl.Int32, "place in the list"),
        Column("result_id", pl.String, "the image whose caption is at that rank"),
        Column("lang", pl.String, "the caption's language", optional=True),
        Column("caption_idx", pl.Int32, "which caption of that image and language", optional=True),
    ),
)
"""The lists released with P."""


class FinishedRun(ResultLists):
    """Result lists read from a file in place of a model.

    `table` has query_id, rank (from 1, without gaps), item_id, score and row (in the file, from 1).
    """

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, options = split_argument(
            argument, "run", ("depth", "partial", "items", "qrels", "queries", "keep")
        )
        if not name:
            raise InputError("subject 'run' needs a file: run:FILE")
        self.path = local(name)
        self.source = str(self.path)
        depth = depth_option(options, "run")
        self.partial = options.get("partial", "no") == "yes"
        self.table = read_lists(self.path)
        if depth is not None:
            self.table = self.table.filter(pl.col("rank") <= depth)

    @property
    def fingerprint(self) -> str:
        """A hash of the file, of the depth read, and of whether lists may be missing."""
        return fingerprint(checksum(self.path), self.table["rank"].max(), self.partial)

    def lists(self, benchmark: Benchmark, k: int | None = None) -> pl.DataFrame:
        """The lists as far as rank `k`, all equally deep, queries in order of the benchmark's images.

        InputError for a query or an item that the benchmark does not have, for lists of unequal depth, and
        for an image without a list.
        """
        table = self.table if k is None else self.table.filter(pl.col("rank") <= k)
        return fitting(table, benchmark, self.source, partial=self.partial)


def read_lists(path: Path) -> pl.DataFrame:
    """The lists of a file in any of the formats, checked: query_id, rank, item_id, score, row.

    InputError names the row of a rank or an item that a query has twice, of a gap, and of a missing value.
    Ranks that count from 0 are made to count from 1. Without scores, a rank's score is its negative.
    """
    lists = _table(path) if is_table(path) and not _is_trec(path) else _trec(path)
    if not len(lists):
        raise InputError(f"{path}: holds no result")
    lists = lists.with_row_index("row", offset=1).with_columns(pl.col("row").cast(pl.Int64))
    if "score" not in lists.columns:
        lists = lists.with_columns(score=-pl.col("rank").cast(pl.Float64))
    if (bad := lists.filter(~pl.col("score").is_finite())).height:
        raise InputError(f"{path}, row {bad['row'][0]}: score {bad['score'][0]} is not a number")
    if lists["rank"].min() == 0:
        lists = lists.with_columns(pl.col("rank") + 1)
    for column in ("rank", "item_id"):
        twice = lists.filter(pl.struct("query_id", column).is_duplicated())
        if len(twice):
            first = twice.row(0, named=True)
            same = twice.filter((pl.col("query_id") == first["query_id"]) & (pl.col(column) == first[column]))
            raise InputError(
                f"{path}, rows {same['row'][0]} and {same['row'][1]}: query {first['query_id']!r} has "
                f"{column} {first[column]!r} twice"
            )
    ordered = lists.sort("query_id", "rank")
    expected = pl.int_range(1, pl.len() + 1).over("query_id")
    gaps = ordered.with_columns(expected=expected).filter(pl.col("rank") != pl.col("expected"))
    if len(gaps):
        first = gaps.sort("row").row(0, named=True)
        raise InputError(
            f"{path}, row {first['row']}: query {first['query_id']!r} has rank {first['rank']}, but not all "
            "the ranks before it"
        )
    rising = ordered.filter(pl.col("score") > pl.col("score").shift(1).over("query_id"))
    if len(rising):
        first = rising.row(0, named=True)
        notice(
            f"{path}: scores rise with rank in {rising['query_id'].n_unique()} of "
            f"{ordered['query_id'].n_unique()} lists (row {first['row']}: query {first['query_id']!r}, rank "
            f"{first['rank']}); ranks are taken as they are, so check them unless scores are distances"
        )
    return lists.select("query_id", "rank", "item_id", "score", "row")


def _table(path: Path) -> pl.DataFrame:
    raw = read_table(path, Schema("run", (), tuple(LISTS.dtypes | RELEASED.dtypes)))
    if "result_id" in raw.columns:
        raw = RELEASED.check(raw, str(path))
        raw = raw.with_columns(rank=pl.col("result_rank"), item_id=pl.col("result_id"))
        if "lang" in raw.columns:
            index = pl.col("caption_idx").cast(pl.String) if "caption_idx" in raw.columns else pl.lit("1")
            raw = raw.with_columns(item_id=pl.concat_str("item_id", "lang", index, separator="-"))
    return LISTS.check(raw, str(path)).select(name for name in LISTS.dtypes if name in raw.columns)


def _is_trec(path: Path) -> bool:
    """Whether a file named as a table is a TREC run, divided by tabs."""
    if path.suffix.lower() != ".tsv":
        return False
    first = next(iter(read_lines(path, saved_anyhow=True)), "").split("\t")
    return len(first) == 6 and first[1] == "Q0"


def _trec(path: Path) -> pl.DataFrame:
    rows = []
    for number, line in enumerate(read_lines(path, saved_anyhow=True), start=1):
        parts = line.split()
        if len(parts) != 6:
            six = "a TREC run has 6: query Q0 item rank score tag"
            raise InputError(f"{path}, line {number}: has {len(parts)} columns; {six}")
        rows.append((parts[0], parts[3], parts[2], parts[4]))
    columns = dict.fromkeys(LISTS.dtypes, pl.String)
    return LISTS.check(pl.DataFrame(rows, schema=columns, orient="row"), str(path))
