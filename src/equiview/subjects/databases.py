"""Live vector databases: what they return for vectors that are given, as result lists.

    qdrant:PLACE,collection=NAME,queries=DIR    Qdrant, a server's address or the folder of its embedded mode
    lancedb:PLACE,table=NAME,queries=DIR        LanceDB, the folder or address of a database

The database holds the items (captions); DIR holds the queries' vectors, `images.npy` beside `images.csv`, as
for `embeddings:DIR`. `id=FIELD` names the field that holds an item's id in the benchmark (default `id`), and
`vector=NAME` one of several vectors. The database searches as it is set up, approximately if so: that is what
its users get.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.data.arguments import split_argument
from equiview.data.errors import InputError
from equiview.subjects._checkpoint import require
from equiview.subjects.base import encoder
from equiview.subjects.embeddings import Embeddings
from equiview.subjects.finished import ResultLists, fitting

DEPTH = 100
TOGETHER = 64
"""Queries sent in one request."""
Found = list[tuple[str, float]]


class Database(ResultLists):
    """Result lists of a database; a kind says how it is opened and searched."""

    scheme: str
    collection_option: str

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        allowed = (self.collection_option, "queries", "id", "depth", "vector")
        self.place, options = split_argument(argument, self.scheme, allowed)
        for name in (self.collection_option, "queries"):
            if not self.place or name not in options:
                raise InputError(
                    f"subject {self.scheme!r} is typed {self.scheme}:PLACE,{self.collection_option}=NAME,"
                    f"queries=DIR; {name if self.place else 'PLACE'} is missing"
                )
        self.collection = options[self.collection_option]
        self.queries = Embeddings(options["queries"])
        self.field = options.get("id", "id")
        self.vector = options.get("vector")
        self.source = f"{self.scheme}:{self.place}, {self.collection}"
        if not options.get("depth", "1").isdecimal() or options.get("depth") == "0":
            raise InputError(
                f"{self.scheme!r}: depth is {options['depth']!r}; expected a whole number from 1"
            )
        self.depth = int(options.get("depth", DEPTH))

    @property
    def fingerprint(self) -> str:
        """A hash of what is asked and of how many items there are; a database may change all the same."""
        what = f"{self.scheme}\0{self.place}\0{self.collection}\0{self.queries.fingerprint}\0{self.count()}"
        return hashlib.sha256(f"{what}\0{self.depth}".encode()).hexdigest()[:16]

    def on(self, benchmark: Benchmark, depth: int | None = None) -> pl.DataFrame:
        """Ask for every image of the benchmark; as many results as the database and `depth` allow."""
        images = benchmark.images
        vectors = self.queries.embed(images)
        most = min(self.depth, depth or self.depth, self.count())
        rows = []
        for start in range(0, len(images), TOGETHER):
            part = np.ascontiguousarray(vectors[start : start + TOGETHER], dtype=np.float32)
            for place, found in enumerate(self.search(part, most), start=start):
                rows += [(images.ids[place], rank, *one) for rank, one in enumerate(found, start=1)]
        columns = {"query_id": pl.String, "rank": pl.Int32, "item_id": pl.String, "score": pl.Float64}
        lists = pl.DataFrame(rows, schema=columns, orient="row").with_row_index("row", offset=1)
        return fitting(lists, benchmark, self.source)

    @abstractmethod
    def count(self) -> int:
        """How many items it holds."""

    @abstractmethod
    def search(self, vectors: NDArray[np.float32], depth: int) -> list[Found]:
        """For each vector the ids and scores of the best `depth` items, best first."""

    def named(self, fields: Any) -> str:
        """The id of an item among its fields; InputError when it has none."""
        if self.field not in (fields or {}):
            have = ", ".join(fields or {}) or "none"
            raise InputError(
                f"{self.source}: items have no field {self.field!r} (they have: {have}); use id=FIELD"
            )
        return str(fields[self.field])


@encoder("qdrant", usage=("qdrant:PLACE,collection=NAME,queries=DIR",), about="lists of a Qdrant collection")
class Qdrant(Database):
    """Result lists of a Qdrant collection."""

    scheme, collection_option = "qdrant", "collection"

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        module = require("qdrant_client", "qdrant")
        self.models = module.models
        place = Path(self.place).expanduser()
        if "://" in self.place:
            self.client = module.QdrantClient(url=self.place)
        elif place.is_dir():
            self.client = module.QdrantClient(path=str(place))
        else:
            raise InputError(f"{self.place}: neither a folder nor an address such as http://localhost:6333")
        if not self.client.collection_exists(self.collection):
            have = ", ".join(one.name for one in self.client.get_collections().collections) or "none"
            raise InputError(f"{self.place}: has no collection {self.collection!r} (it has: {have})")

    def count(self) -> int:
        """How many points the collection holds."""
        return int(self.client.count(self.collection).count)

    def search(self, vectors: NDArray[np.float32], depth: int) -> list[Found]:
        """The nearest points of each vector, by the collection's own distance."""
        asked = [
            self.models.QueryRequest(
                query=vector.tolist(), limit=depth, with_payload=[self.field], using=self.vector
            )
            for vector in vectors
        ]
        answers = self.client.query_batch_points(self.collection, requests=asked)
        return [
            [(self.named(point.payload), float(point.score)) for point in answer.points] for answer in answers
        ]


@encoder("lancedb", usage=("lancedb:PLACE,table=NAME,queries=DIR",), about="lists of a LanceDB table")
class LanceDB(Database):
    """Result lists of a LanceDB table, by cosine; a score is one less the distance."""

    scheme, collection_option = "lancedb", "table"

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        module = require("lancedb", "lancedb")
        if "://" not in self.place and not Path(self.place).expanduser().is_dir():
            raise InputError(f"{self.place}: no such folder")
        database = module.connect(self.place)
        try:
            self.table = database.open_table(self.collection)
        except (ValueError, FileNotFoundError, RuntimeError):
            raise InputError(f"{self.place}: has no table {self.collection!r}") from None

    def count(self) -> int:
        """How many rows the table holds."""
        return int(self.table.count_rows())

    def search(self, vectors: NDArray[np.float32], depth: int) -> list[Found]:
        """The nearest rows of each vector."""
        if self.field not in self.table.schema.names:
            self.named(dict.fromkeys(self.table.schema.names))
        made = []
        for vector in vectors:
            found = self.table.search(vector, vector_column_name=self.vector).distance_type("cosine")
            rows = found.limit(depth).select([self.field, "_distance"]).to_list()
            made.append([(self.named(row), 1 - float(row["_distance"])) for row in rows])
        return made
