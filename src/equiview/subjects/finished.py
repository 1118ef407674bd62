"""`run:FILE`: a finished run, the result lists of a system that nobody lets us touch.

FILE is a TREC run (`query Q0 item rank score tag`), or a table (`.csv`, `.parquet`) with `query_id`, `rank`,
`item_id` and, if the system gives them, `score`. The lists released with P, `query_id`, `result_rank`,
`result_id`, `lang`, `caption_idx` and `score`, are read too: their items are named `RESULT-LANG-IDX`, as
captions of Crossmodal-3600 are. Items, their languages and what is relevant come from a benchmark, such as
`run:FILE` or `folder:DIR`.

Options: `depth=K` cuts every list at rank K; `partial=yes` audits the queries that have a list and lets the
others be.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.release import read_lines
from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.languages import tiers_of
from equiview.data.observations import Observations
from equiview.data.progress import Progress, silent
from equiview.data.tables import Column, Schema, checksum, read_table
from equiview.errors import InputError
from equiview.subjects.base import Encoder, encoder

if TYPE_CHECKING:
    from PIL.Image import Image

LISTS = Schema(
    "run",
    (
        Column("query_id", pl.String, "what was asked"),
        Column("rank", pl.Int32, "place in the list, from 1"),
        Column("item_id", pl.String, "what stands there"),
        Column("score", pl.Float64, "how well the system thinks it fits", optional=True),
    ),
)
RELEASED = {"result_rank": "rank", "result_id": "item_id"}
"""Columns of the lists released with P, by what they are called here."""


class ResultLists(Encoder):
    kind = "result lists"

    def lists(self, benchmark: Benchmark, k: int | None = None) -> pl.DataFrame:
        return self.on(benchmark, k)

    """A system that is known by the lists it returns: it has no vectors, so only audits of lists apply."""

    source: str
    """What to call it in an error: a file, a database."""

    @abstractmethod
    def on(self, benchmark: Benchmark, depth: int | None = None) -> pl.DataFrame:
        """The lists as far as rank `depth`: query_id, rank, item_id, score; equally deep, by image."""

    def embed(self, items: Items, progress: Progress = silent) -> NoReturn:
        """There are lists here and no vectors."""
        raise InputError(
            f"{self.source}: gives result lists and no vectors; this audit needs a model or embeddings:DIR"
        )

    def encode_images(self, images: Sequence[Image]) -> NoReturn:
        """There is no model here to encode with."""
        raise InputError(f"{self.source}: gives result lists and cannot encode images")

    def encode_texts(self, texts: Sequence[str]) -> NoReturn:
        """There is no model here to encode with."""
        raise InputError(f"{self.source}: gives result lists and cannot encode texts")


@encoder("run", usage=("run:FILE",), about="a finished run: TREC, .csv or .parquet lists of any system")
class FinishedRun(ResultLists):
    """Result lists read from a file in place of a model.

    `lists` has query_id, rank (from 1, without gaps), item_id, score and row (in the file, from 1).
    """

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, options = split_argument(argument, "run", ("depth", "partial", "items", "qrels", "queries"))
        if not name:
            raise InputError("subject 'run' needs a file: run:FILE")
        self.path = Path(name).expanduser()
        self.source = str(self.path)
        depth = options.get("depth")
        if depth is not None and not (depth.isdecimal() and int(depth)):
            raise InputError(f"'run': depth is {depth!r}; expected a whole number from 1")
        self.partial = options.get("partial", "no") == "yes"
        self.lists = read_lists(self.path)
        if depth is not None:
            self.lists = self.lists.filter(pl.col("rank") <= int(depth))

    @property
    def fingerprint(self) -> str:
        """A hash of the file, of how far it is read and of what may be missing."""
        whole = f"{checksum(self.path)}:{self._deepest}:{self.partial}"
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    @property
    def _deepest(self) -> int:
        return int(max(self.lists["rank"].to_list()))

    def on(self, benchmark: Benchmark, depth: int | None = None) -> pl.DataFrame:
        """The lists as far as rank `depth`, all equally deep, queries in order of the benchmark's images.

        InputError for a query or an item that the benchmark does not have, for lists of unequal depth, and
        for an image without a list.
        """
        lists = self.lists if depth is None else self.lists.filter(pl.col("rank") <= depth)
        return fitting(lists, benchmark, self.source, partial=self.partial)


def fitting(lists: pl.DataFrame, benchmark: Benchmark, source: str, *, partial: bool = False) -> pl.DataFrame:
    """`lists` if they are of this benchmark and equally deep, queries in order of its images.

    InputError for a query or an item that the benchmark does not have, for lists of unequal depth, and for
    an image without a list unless `partial`.
    """
    for column, items in (("query_id", benchmark.images), ("item_id", benchmark.texts)):
        strangers = lists.filter(~pl.col(column).is_in(items.ids.implode()))
        if len(strangers):
            first = strangers.row(0, named=True)
            raise InputError(
                f"{source}, row {first['row']}: {column} {first[column]!r} is not in {items.source} "
                f"({strangers[column].n_unique()} such ids)"
            )
    depths = lists.group_by("query_id", maintain_order=True).agg(pl.col("rank").max())
    deepest = max(depths["rank"].to_list())
    shallow = depths.filter(pl.col("rank") < deepest).sort("rank", maintain_order=True)
    if len(shallow):
        query, least = shallow.row(0)
        raise InputError(
            f"{source}: query {query!r} has {least} ranks, others have {deepest}; lists must be equally "
            f"deep, so cut them all with the option depth={least}"
        )
    unanswered = benchmark.images.ids.filter(~benchmark.images.ids.is_in(depths["query_id"].implode()))
    if len(unanswered) and not partial:
        raise InputError(
            f"{source}: has no list for {unanswered[0]!r} ({len(unanswered)} of {len(benchmark.images)} "
            "queries have none); the option partial=yes audits the others"
        )
    places = pl.DataFrame({"query_id": benchmark.images.ids}).with_row_index("place")
    return lists.join(places, on="query_id").sort("place", "rank").drop("place")


def read_lists(path: Path) -> pl.DataFrame:
    """The lists of a file in any of the formats, checked: query_id, rank, item_id, score, row.

    InputError names the row of a rank or an item that a query has twice, of a gap, and of a missing value.
    Ranks that count from 0 are made to count from 1. Without scores, a rank's score is its negative.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    lists = _table(path) if path.suffix in {".csv", ".parquet"} else _trec(path)
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
    return lists.select("query_id", "rank", "item_id", "score", "row")


def _table(path: Path) -> pl.DataFrame:
    raw = read_table(path, Schema("run", (Column("query_id", pl.String, "what was asked"),)))
    if "result_id" in raw.columns:
        raw = raw.rename(RELEASED)
        if "lang" in raw.columns:
            index = pl.col("caption_idx").cast(pl.String) if "caption_idx" in raw.columns else pl.lit("1")
            raw = raw.with_columns(item_id=pl.concat_str("item_id", "lang", index, separator="-"))
    return LISTS.check(raw, str(path)).select(name for name in LISTS_COLUMNS if name in raw.columns)


LISTS_COLUMNS = [column.name for column in LISTS.columns]


def _trec(path: Path) -> pl.DataFrame:
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split()
        if len(parts) != 6:
            raise InputError(
                f"{path}, line {number}: has {len(parts)} columns; a TREC run has 6: "
                "query Q0 item rank score tag"
            )
        rows.append((parts[0], parts[3], parts[2], parts[4]))
    columns = dict.fromkeys(LISTS_COLUMNS, pl.String)
    return LISTS.check(pl.DataFrame(rows, schema=columns, orient="row"), str(path))


def prevalence_observations(
    run: ResultLists, benchmark: Benchmark, depth: int | None = None, progress: Progress = silent
) -> Observations:
    """What the prevalence audit observes, from a finished run in place of a model.

    The table `targets` names the captions that are right for each image, but their `language_rank` is null:
    where a caption stands among those of its language alone is not known of a list that was cut.
    """
    lists = run.on(benchmark, depth)
    progress("reading lists", 1, 1)
    images, texts, relevance = benchmark.images, benchmark.texts, benchmark.relevance
    right = pl.DataFrame({"query_id": images.ids[relevance.queries], "item_id": texts.ids[relevance.items]})
    items = texts.table.rename({"id": "item_id"})
    if "tier" not in items.columns:
        items = items.with_columns(tiers_of(items["language"], texts.source))
    asked = lists["query_id"].unique(maintain_order=True)
    rows = {name: row for row, name in enumerate(images.ids)}
    pictures = [images.thumbnail(rows[name]) for name in asked]
    labels = right.join(
        items.filter(pl.col("language") == "en"), on="item_id", how="inner", maintain_order="left"
    ).unique("query_id", keep="first", maintain_order=True)
    described = pl.DataFrame({"query_id": asked, "picture": pl.Series(pictures, dtype=pl.Binary)}).join(
        labels.select("query_id", label="text"), on="query_id", how="left", maintain_order="left"
    )
    return Observations(
        "prevalence",
        {
            "queries": described.select("query_id", "label", "picture"),
            "items": items.select("item_id", "text", "language", "tier"),
            "rankings": lists.select("query_id", "rank", "item_id", pl.col("score").cast(pl.Float32))
            .join(
                right.with_columns(relevant=True),
                on=["query_id", "item_id"],
                how="left",
                maintain_order="left",
            )
            .with_columns(pl.col("relevant").fill_null(False)),
            "targets": right.filter(pl.col("query_id").is_in(asked.implode())).with_columns(
                language_rank=pl.lit(None, dtype=pl.Int32)
            ),
        },
    )
