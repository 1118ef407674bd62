"""`run:FILE` as a benchmark: the files next to a finished run, by which its lists can be judged.

Next to FILE, or where the options say:

- `items=` `items.csv`: `item_id` (or `id`), `language`; if known `text`, `tier`, and `image_id`
  or `query_id`, the query that the item is relevant to;
- `qrels=` `qrels.txt` or `FILE.qrels`: TREC judgements (`query 0 item relevance`), needed if the items do
  not say what they are relevant to;
- `queries=` `queries.csv`: `query_id` (or `id`) and, if there are pictures, `path`; by default
  the queries that an item is relevant to.

`keep=NA` keeps NA as a label (`folder:DIR`). Tables may be in any form that `equiview.io.tables` reads.
"""

from __future__ import annotations

import re
from dataclasses import replace
from glob import escape
from pathlib import Path

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.folder import KEEP, image_table, kept_labels
from equiview.benchmarks.release import seek
from equiview.data.arguments import split_argument
from equiview.data.items import ANY, TEXTS, Items
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.io.files import read_lines
from equiview.io.notices import notice
from equiview.io.remote import local
from equiview.io.tables import Column, Schema, read_table, table_named

OPTIONS = ("items", "qrels", "queries", KEEP, "depth", "partial")
NAMED = Schema(
    "items",
    (
        Column("item_id", pl.String, "the caption, as the lists name it"),
        Column("language", pl.String, "the language of that caption, as an ISO 639 code such as 'sw'"),
    ),
)
"""What a table of items needs that does not call them `id`."""


def finished(argument: str) -> Benchmark:
    """Read the files next to the run; InputError says which file is missing, or which row is wrong."""
    name, options = split_argument(argument, "run", OPTIONS)
    if not name:
        raise InputError("benchmark 'run' needs the file of a run: run:FILE")
    run = local(name)
    kept = kept_labels(options)
    texts = replace(_items(_items_file(run, options)), kept=kept)
    pairs = _judgements(run, options, texts)
    images = replace(_queries(run, options, pairs, texts), kept=kept)
    rows = {}
    for column, items in (("query_id", images), ("item_id", texts)):
        rows[column] = items.rows_of(pairs[column])
        if rows[column].null_count():
            row = rows[column].is_null().arg_true()[0]
            raise InputError(
                f"{pairs['source'][row]}, row {pairs['row'][row]}: {column} {pairs[column][row]!r} is not in "
                f"{items.source}"
            )
    if len(unjudged := images.ids.filter(~images.ids.is_in(pairs["query_id"].implode()))):
        notice(
            f"{images.source}: nothing is relevant to {len(unjudged)} of {len(images)} queries, "
            f"as {unjudged[0]!r}"
        )
    return Benchmark(
        name=f"run-{run.stem}",
        images=images,
        texts=texts,
        relevance=Relevance.from_pairs(
            rows["query_id"], rows["item_id"], n_queries=len(images), n_items=len(texts)
        ),
        about=f"{len(images):,} queries and {len(texts):,} items next to a finished run",
    )


def _table(run: Path, options: dict[str, str], name: str) -> Path | None:
    """The table that the option `name` names, or the one of that name next to the run."""
    return local(options[name]) if name in options else table_named(run.parent, name)


def _items_file(run: Path, options: dict[str, str]) -> Path:
    path = _table(run, options, "items")
    if path is None:
        raise InputError(
            f"{run.parent}: holds no items.csv nor another such table; name it: run:{run},items=FILE"
        )
    return path


def _items(path: Path) -> Items:
    table = read_table(path, ANY)
    if "id" not in table.columns:
        table = NAMED.check(table, str(path)).rename({"item_id": "id"})
    if "text" not in table.columns:
        table = table.with_columns(text=pl.col("id").cast(pl.String))
    return Items("text", TEXTS.check(table, str(path)), str(path))


def _queries(run: Path, options: dict[str, str], pairs: pl.DataFrame, texts: Items) -> Items:
    """The queries of `queries.csv`, paths made absolute, or those that some item is relevant to."""
    path = _table(run, options, "queries")
    if path is None:
        source = next(iter(pairs["source"]), texts.source)
        return Items("image", pairs.select(id="query_id").unique(maintain_order=True), source)
    return image_table(path)


def _judgements(run: Path, options: dict[str, str], texts: Items) -> pl.DataFrame:
    """Relevant pairs: query_id, item_id, and the source and row (from 1) that say so."""
    patterns = ("qrels.txt", f"{escape(run.stem)}.qrels", f"{escape(run.name)}.qrels")
    path = local(options["qrels"]) if "qrels" in options else seek(run.parent, *patterns)
    if path is None:
        return _judgements_of_items(run, texts)
    return read_qrels(path)


def read_qrels(path: Path) -> pl.DataFrame:
    """Relevant pairs of a file of TREC judgements: query_id, item_id, and the source and row that say so."""
    rows = []
    for number, line in enumerate(read_lines(path, saved_anyhow=True), start=1):
        parts = line.split()
        if len(parts) != 4 or not re.fullmatch(r"-?[0-9]{1,9}", parts[3]):
            raise InputError(f"{path}, line {number}: expected `query 0 item relevance`, got {line[:60]!r}")
        if int(parts[3]) > 0:
            rows.append((parts[0], parts[2], str(path), number))
    if not rows:
        raise InputError(f"{path}: judges nothing to be relevant")
    schema = {"query_id": pl.String, "item_id": pl.String, "source": pl.String, "row": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _judgements_of_items(run: Path, texts: Items) -> pl.DataFrame:
    """Relevant pairs by the items' own column `query_id` or `image_id`."""
    columns = [name for name in ("query_id", "image_id") if name in texts.table.columns]
    if not columns:
        raise InputError(
            f"{run.parent}: nothing says what is relevant: holds no qrels.txt nor {run.stem}.qrels, and "
            f"{texts.source} has no column query_id or image_id"
        )
    named = Schema("items", (Column(columns[0], pl.String, "the query it is relevant to", nullable=True),))
    pairs = named.check(texts.table, texts.source).select(
        pl.col(columns[0]).alias("query_id"),
        pl.col("id").alias("item_id"),
        pl.lit(texts.source).alias("source"),
        row=pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
    )
    return pairs.drop_nulls("query_id")
