"""Live vector databases: the results that they return for query vectors, as result lists.

    qdrant:PLACE,collection=NAME,queries=DIR    in qdrant.py
    lancedb:PLACE,table=NAME,queries=DIR        in lancedb.py
    pgvector:DSN,table=NAME,queries=DIR         in pgvector.py
    milvus:PLACE,collection=NAME,queries=DIR    in milvus.py

The database holds the items (captions); DIR holds the queries' vectors, `images.npy` beside `images.csv`, as
for `embeddings:DIR`. `id=FIELD` names the field that holds an item's id in the benchmark (default `id`),
`vector=NAME` one of several vectors, and `depth=K` cuts the lists. The database searches as it is set up, by
its own metric, and approximately if it is set up so: that is what its users get. Where DIR holds the items'
vectors too, `texts.npy` beside `texts.csv`, an audit can say what an exact search would have given.

A kind of database is a `Database` with one method, `opened`, which yields a `Collection`. Nothing is ever
written to it.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.data.arguments import split_argument
from equiview.errors import InputError, unknown_name
from equiview.io.fingerprint import fingerprint
from equiview.search import by_distance, ready
from equiview.subjects.encoders.embeddings import Embeddings
from equiview.subjects.lists.base import ResultLists, depth_option, fitting

SECRET = re.compile(
    r"(?i)://[^?#]*:[^?#]*@|^https?://[^/]*@|(key|token|secret|passw(or)?d|pwd|signature)\s*="
)
"""A password or a key in an address; a user name alone, as in postgresql://me@host, is allowed."""
TOGETHER = 64
"""Queries sent in one request."""
METRICS = ("cosine", "dot", "euclidean", "manhattan")
Hits = list[tuple[Any, float]]
"""Ids and scores of one list, best first: the higher the score the better."""


@dataclass(frozen=True)
class Collection:
    """An opened collection: its size, its metric and its search function."""

    count: int
    width: int
    metric: str
    """The metric that it ranks by, one of METRICS."""
    search: Callable[[NDArray[np.float32], int], Iterable[Hits]]
    """For each vector the ids and scores of its top k items, k being the second argument."""


class Database(ResultLists):
    """Result lists of a collection of a database."""

    scheme: ClassVar[str]
    title: ClassVar[str]
    holder: ClassVar[str] = "collection"
    """Its word for a set of items, which is also the name of the option."""
    extra_options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        allowed = (self.holder, "queries", "id", "depth", "vector", *self.extra_options)
        self.place, self.options = split_argument(argument, self.scheme, allowed)
        for name in (self.holder, "queries"):
            if not self.place or name not in self.options:
                raise InputError(
                    f"subject {self.scheme!r} is typed {self.scheme}:PLACE,{self.holder}=NAME,queries=DIR; "
                    f"{name if self.place else 'PLACE'} is missing"
                )
        if SECRET.search(self.place):
            raise InputError(
                f"subject {self.scheme!r}: the address holds a password or key, which a run would keep; "
                "give it in the environment as docs/finished-runs.md says"
            )
        self.collection = self.options[self.holder]
        self.queries = Embeddings(self.options["queries"])
        self.field = self.options.get("id", "id")
        self.source = f"{self.scheme}:{self.place}, {self.holder} {self.collection!r}"
        self.depth = depth_option(self.options, self.scheme)
        with self.opened() as held:
            self.count, self.width, self.metric = held.count, held.width, held.metric
        if not self.count:
            raise InputError(f"{self.source}: holds nothing")

    @abstractmethod
    def opened(self) -> AbstractContextManager[Collection]:
        """The collection for as long as it is needed; InputError says what is missing."""

    @property
    def about(self) -> str:
        """The collection, its size and its metric, as the run keeps them."""
        return (
            f"lists of the {self.title} {self.holder} {self.collection!r}: {self.count:,} items, "
            f"{self.width} wide, ranked by {self.metric}"
        )

    @property
    def fingerprint(self) -> str:
        """A hash of the query and of the collection's size and metric; changed items are not noticed."""
        return fingerprint(self.argument, self.queries.fingerprint, self.count, self.width, self.metric)

    def lists(self, benchmark: Benchmark, k: int | None = None) -> pl.DataFrame:
        """Ask for every image of the benchmark; as many results as the database and `k` allow.

        InputError for vectors of another width than the items', for lists with fewer results than asked for,
        with an item twice or without an id, and for an item that the benchmark does not have.
        """
        images = benchmark.images
        vectors = self.queries.embed(images)
        if vectors.shape[1] != self.width:
            raise InputError(
                f"{self.queries.folder / 'images.npy'}: vectors are {vectors.shape[1]} wide, those of "
                f"{self.source} are {self.width}; both must come from one model"
            )
        depth = min(wanted for wanted in (self.depth, k, self.count) if wanted is not None)
        texts = benchmark.need_texts()
        known = set(texts.ids)
        rows: list[tuple[str, int, str, float]] = []
        with self.opened() as held:
            for start in range(0, len(images), TOGETHER):
                part = np.ascontiguousarray(vectors[start : start + TOGETHER], dtype=np.float32)
                for query, hits in zip(images.ids[start:], held.search(part, depth), strict=False):
                    names = self._names(query, hits, depth)
                    if strange := [name for name in names if name not in known]:
                        raise InputError(
                            f"{self.source}: query {query!r}, rank {names.index(strange[0]) + 1}: item "
                            f"{strange[0]!r} is not in {texts.source}; is {self.field!r} the field of the "
                            "benchmark's ids (id=FIELD)?"
                        )
                    rows += [
                        (query, rank, name, hits[rank - 1][1]) for rank, name in enumerate(names, start=1)
                    ]
        columns = {"query_id": pl.String, "rank": pl.Int32, "item_id": pl.String, "score": pl.Float64}
        lists = pl.DataFrame(rows, schema=columns, orient="row").with_row_index("row", offset=1)
        return fitting(lists, benchmark, self.source)

    def vectors(self, benchmark: Benchmark) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Of the folder of the queries, if it has the texts' vectors too; by the database's metric."""
        if self.metric == "manhattan" or not os.path.lexists(self.queries.folder / "texts.npy"):
            return None
        images, texts = (self.queries.embed(items) for items in (benchmark.images, benchmark.need_texts()))
        if images.shape[1] != texts.shape[1]:
            raise InputError(
                f"{self.queries.folder}: images.npy is {images.shape[1]} wide, texts.npy {texts.shape[1]}; "
                "both must come from one model, or leave out texts.npy"
            )
        if self.metric == "euclidean":
            return by_distance(images, texts)
        return ready(images, self.metric), ready(texts, self.metric)

    def _names(self, query: str, hits: Hits, depth: int) -> list[str]:
        """The ids of a list, checked."""
        where = f"{self.source}: query {query!r}"
        if len(hits) < depth:
            raise InputError(
                f"{where}: {len(hits)} results came back for the {depth} asked for, of {self.count} items; "
                f"let its index search wider, or ask for fewer with depth={max(len(hits), 1)}"
            )
        names: dict[str, int] = {}
        for rank, (name, score) in enumerate(hits, start=1):
            if name is None:
                raise InputError(f"{where}, rank {rank}: the item has no {self.field!r}")
            if not isfinite(score):
                raise InputError(f"{where}, rank {rank}: score {score} is not a number")
            if names.setdefault(str(name), rank) != rank:
                raise InputError(f"{where}: item {name!r} is at ranks {names[str(name)]} and {rank}")
        return list(names)

    def one_of(self, kind: str, name: str | None, known: Iterable[str]) -> str:
        """`name` if it is known, or the only one there is if none was given; InputError otherwise."""
        names = list(known)
        if name is None and len(names) == 1:
            return names[0]
        if name is None:
            have = ", ".join(map(repr, names)) or "none"
            raise InputError(f"{self.source}: which {kind} is to be searched? {kind}=NAME, of these: {have}")
        if name not in names:
            raise InputError(f"{self.place}: {unknown_name(kind, name, names)}")
        return name

    def chosen_metric(self, indexed: str | None) -> str:
        """The metric of the index; where there is none, the option's, or cosine."""
        wanted = self.options.get("metric")
        if wanted is not None and wanted not in METRICS:
            raise InputError(f"{self.scheme!r}: {unknown_name('metric', wanted, METRICS)}")
        if wanted is not None and indexed is not None and wanted != indexed:
            raise InputError(f"{self.source}: its index ranks by {indexed}; metric={wanted} would not use it")
        return indexed or wanted or "cosine"

    @contextmanager
    def reached(self, *failures: type[Exception]) -> Iterator[None]:
        """Within, a failure of the database becomes an InputError in one line."""
        try:
            yield
        except InputError:
            raise
        except failures as error:
            reason = " ".join(str(getattr(error, "message", "") or error).split()) or type(error).__name__
            raise InputError(f"{self.source}: {reason}") from None
