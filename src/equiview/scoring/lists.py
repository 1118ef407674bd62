"""Result lists one after the other: their scores as numbers, and their documents when these are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice, repeat
from operator import itemgetter, methodcaller
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.scoring.read import columns_of, of_mappings
from equiview.subjects.lists.finished import read_lists


@dataclass(frozen=True)
class Hits:
    """Relevant documents that are in their lists: the list of each, ascending, its score, and its name."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    documents: NDArray[np.object_]


class Lists(ABC):
    """Lists of `queries`, of `lengths` `(n_lists,)`, their scores one after the other, up to `ends`."""

    def __init__(self, queries: list[Any], lengths: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        self.queries, self.lengths, self.scores, self.ends = queries, lengths, scores, np.cumsum(lengths)

    @abstractmethod
    def of(self, queries: list[Any]) -> Self:
        """The lists of these queries alone, which are some of its own, in its order."""

    @abstractmethod
    def documents(self, row: int) -> list[Any]:
        """The documents of a list, as they are given."""

    @abstractmethod
    def hits(self, relevant: list[Any]) -> Hits:
        """What each list has of the documents that are relevant to its query."""

    @abstractmethod
    def best(self, block: slice, order: NDArray[np.int64] | None, k: int) -> list[Any]:
        """Documents at the places of `order` `(n, k)`, list by list; without it the first `k` of each."""

    def check(self) -> None:
        """InputError for no list, and for a score that is no finite number."""
        if not self.queries:
            raise InputError("the run has no list")
        bad = ~np.isfinite(self.scores)
        if bad.any():
            cell = int(bad.argmax())
            row = int(np.searchsorted(self.ends, cell, side="right"))
            document = self.documents(row)[cell - int(self.ends[row] - self.lengths[row])]
            raise InputError(
                f"query {self.queries[row]!r}: the score of document {document!r} is {self.scores[cell]}; "
                "a list needs finite numbers"
            )

    def table(self, block: slice) -> NDArray[np.float64]:
        """Scores `(n_lists, longest)` of some lists, those that are shorter filled up with -inf."""
        lengths = self.lengths[block]
        flat = self.scores[self.ends[block.start] - lengths[0] : self.ends[block.stop - 1]]
        width = int(lengths.max())
        if len(flat) == len(lengths) * width:
            return flat.reshape(len(lengths), width)
        table = np.full((len(lengths), width), -np.inf)
        table[np.arange(width) < lengths[:, None]] = flat
        return table


def lists_of(run: Any) -> Lists:
    """The lists of a run in whichever form it is given."""
    if of_mappings(run):
        return OfDictionaries(dict(run))
    if isinstance(run, str | Path):
        table = read_lists(Path(run).expanduser())
    else:
        table = columns_of(run, "run", ("query_id",), ("item_id", "doc_id"), ("rank", "score"))
    score = -pl.col("rank") if "rank" in table.columns else pl.col("score")
    try:
        table = table.select("query_id", "item_id", score=score.cast(pl.Float64))
    except pl.exceptions.PolarsError:
        raise InputError("the table of run: ranks and scores must be numbers") from None
    return OfTable(_query_by_query(table))


class OfDictionaries(Lists):
    """Lists as `{query: {document: score}}`."""

    def __init__(self, run: dict[Any, Mapping[Any, float]]) -> None:
        self.run = run
        lengths = np.fromiter(map(len, run.values()), np.int64, len(run))
        numbers = chain.from_iterable(map(methodcaller("values"), run.values()))
        try:
            scores = np.fromiter(numbers, np.float64, int(lengths.sum()))
        except (TypeError, ValueError):
            raise self._no_number() from None
        super().__init__(list(run), lengths, scores)

    def of(self, queries: list[Any]) -> Self:
        """The lists of these queries alone."""
        return self if queries == self.queries else type(self)({query: self.run[query] for query in queries})

    def documents(self, row: int) -> list[Any]:
        """The documents of a list, as they are given."""
        return list(self.run[self.queries[row]])

    def hits(self, relevant: list[Any]) -> Hits:
        """What each list has of the documents that are relevant to its query."""
        counts = np.fromiter(map(len, relevant), np.int64, len(relevant))
        pairs = zip(self.run.values(), relevant, strict=True)
        looked_up = chain.from_iterable(map(own.get, some, repeat(np.nan)) for own, some in pairs)
        found = np.fromiter(looked_up, np.float64, int(counts.sum()))
        there = np.flatnonzero(~np.isnan(found))
        asked = np.fromiter(chain.from_iterable(relevant), np.object_, len(found))
        return Hits(np.repeat(np.arange(len(counts)), counts)[there], found[there], asked[there])

    def best(self, block: slice, order: NDArray[np.int64] | None, k: int) -> list[Any]:
        """The documents of the best scores."""
        some = map(self.run.__getitem__, self.queries[block])
        if order is None:
            return list(chain.from_iterable(map(islice, some, repeat(k))))
        # One more place, since itemgetter gives no tuple for one alone.
        picked = (itemgetter(*at, 0)(list(own))[:-1] for own, at in zip(some, order.tolist(), strict=True))
        return list(chain.from_iterable(picked))

    def _no_number(self) -> InputError:
        for query, found in self.run.items():
            for document, score in found.items():
                try:
                    float(score)
                except (TypeError, ValueError):
                    return InputError(f"query {query!r}: the score of document {document!r} is {score!r}")
        raise AssertionError("every score is a number")


class OfTable(Lists):
    """Lists as a table of query_id, item_id and score, query by query."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        runs = rows["query_id"].rle().struct.unnest()
        super().__init__(
            runs["value"].to_list(), runs["len"].cast(pl.Int64).to_numpy(), rows["score"].to_numpy()
        )

    def of(self, queries: list[Any]) -> Self:
        """The lists of these queries alone."""
        return (
            self
            if queries == self.queries
            else type(self)(self.rows.filter(pl.col("query_id").is_in(queries)))
        )

    def documents(self, row: int) -> list[Any]:
        """The documents of a list, as they are given."""
        start = int(self.ends[row] - self.lengths[row])
        return self.rows["item_id"].slice(start, int(self.lengths[row])).to_list()

    def hits(self, relevant: list[Any]) -> Hits:
        """What each list has of the documents that are relevant to its query."""
        counts = list(map(len, relevant))
        queries = pl.Series(self.queries, dtype=pl.String).gather(np.repeat(np.arange(len(counts)), counts))
        items = pl.Series(list(map(str, chain.from_iterable(relevant))), dtype=pl.String)
        pairs = pl.DataFrame({"query_id": queries, "item_id": items})
        numbered = self.rows.with_row_index("cell")
        found = numbered.join(pairs, on=["query_id", "item_id"], how="semi").sort("cell")
        cells = found["cell"].to_numpy()
        rows = np.searchsorted(self.ends, cells, side="right")
        return Hits(rows, self.scores[cells], found["item_id"].to_numpy())

    def best(self, block: slice, order: NDArray[np.int64] | None, k: int) -> list[Any]:
        """The documents of the best scores."""
        places = np.arange(k)[None] if order is None else order
        cells = (self.ends[block] - self.lengths[block])[:, None] + places
        return self.rows["item_id"].gather(cells.ravel()).to_list()


def _query_by_query(table: pl.DataFrame) -> pl.DataFrame:
    """The rows query by query, in the order of their first. InputError for a document twice in a list."""
    queries, items = table["query_id"], table["item_id"]
    # Where all hashes differ, so do all pairs, which is soon seen.
    if (queries.hash(1) ^ items.hash(2)).n_unique() < len(table):
        twice = table.filter(pl.struct("query_id", "item_id").is_duplicated())
        if len(twice):
            query, item = twice.row(0)[:2]
            raise InputError(f"query {query!r}: document {item!r} stands there twice")
    if len(queries.rle()) == queries.n_unique():
        return table
    return table.sort(pl.int_range(pl.len()).min().over("query_id"), maintain_order=True)
