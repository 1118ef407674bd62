"""`lancedb:PLACE,table=NAME,queries=DIR`: the lists of a LanceDB table.

PLACE is the folder or address of a database. Rows are named by the column `id`, or `id=COLUMN`;
`vector=COLUMN` is one of several columns of vectors. A table is ranked by the metric of its index; without
one, every search names its own, which is `metric=cosine` here unless another is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.lists.databases import Collection, Database, Hits

METRIC_OF = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}


class LanceDB(Database):
    """Result lists of a LanceDB table, by the metric of its index."""

    scheme, title, holder, extra_options = "lancedb", "LanceDB", "table", ("metric",)
    packages = ("lancedb",)

    @contextmanager
    def opened(self) -> Iterator[Collection]:
        """Open the table; there is nothing to close."""
        module = require("lancedb", "lancedb")
        place = self.place if "://" in self.place else str(Path(self.place).expanduser())
        if "://" not in place and not Path(place).is_dir():
            raise InputError(f"{self.place}: no such folder")
        with self.reached(ValueError, RuntimeError, OSError):
            yield self._collection(module.connect(place))

    def _collection(self, database: Any) -> Collection:
        table = database.open_table(self.one_of(self.holder, self.collection, _tables(database)))
        fields = {field.name: field.type for field in table.schema}
        self.one_of("column", self.field, fields)
        wide = {name: int(kind.list_size) for name, kind in fields.items() if hasattr(kind, "list_size")}
        column = self.one_of("vector", self.options.get("vector"), wide)
        indexed = None
        for index in table.list_indices():
            if index.columns == [column] and (statistics := table.index_stats(index.name)) is not None:
                indexed = METRIC_OF.get(statistics.distance_type or "", statistics.distance_type)
        metric = self.chosen_metric(indexed)
        theirs = {ours: name for name, ours in METRIC_OF.items()}
        if metric not in theirs:
            raise InputError(f"{self.source}: LanceDB does not rank by {metric}")
        most = 0 if metric == "euclidean" else 1

        def search(vectors: NDArray[np.float32], depth: int) -> Iterator[Hits]:
            for vector in vectors:
                query = table.search(vector, vector_column_name=column).distance_type(theirs[metric])
                rows = query.limit(depth).select([self.field, "_distance"]).to_list()
                yield [(row[self.field], most - float(row["_distance"])) for row in rows]

        return Collection(int(table.count_rows()), wide[column], metric, search)


def _tables(database: Any) -> list[str]:
    """Names of all tables, page by page; older versions of LanceDB have another method."""
    if not hasattr(database, "list_tables"):
        return list(database.table_names(limit=10_000))
    page = database.list_tables()
    names = list(page.tables)
    while page.page_token:
        page = database.list_tables(page_token=page.page_token)
        names += page.tables
    return names
