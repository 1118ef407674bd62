"""`pgvector:DSN,table=NAME,queries=DIR`: the lists of a PostgreSQL table with a pgvector column.

DSN is an address or `host=... dbname=...`, without its password, which PGPASSWORD or `.pgpass` holds. Rows
are named by the column `id`, or `id=COLUMN`; `vector=COLUMN` is one of several columns of vectors. A table is
ranked by the metric of its index; without one, every search names its own, which is `metric=cosine` here
unless another is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.extras import require
from equiview.subjects.lists.databases import Collection, Database, Hits

OPERATORS = {"cosine": "<=>", "dot": "<#>", "euclidean": "<->", "manhattan": "<+>"}
METRIC_OF = {"cosine": "cosine", "ip": "dot", "l2": "euclidean", "l1": "manhattan"}
COLUMNS = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS name,
       n.nspname, c.relname, c.oid, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.atttypmod
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_type t ON t.oid = a.atttypid
WHERE t.typname IN ('vector', 'halfvec') AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT a.attisdropped
ORDER BY 1, a.attnum
"""
INDEXES = """
SELECT DISTINCT split_part(o.opcname, '_', 2) FROM pg_index i JOIN pg_opclass o ON o.oid = i.indclass[0]
WHERE i.indrelid = %s AND i.indkey[0] = %s AND i.indisvalid AND o.opcname ~ '^(vector|halfvec)_.*_ops$'
"""


class Pgvector(Database):
    """Result lists of a PostgreSQL table, by the metric of its index."""

    scheme, title, holder, extra_options = "pgvector", "pgvector", "table", ("metric",)
    packages = ("psycopg",)

    @contextmanager
    def opened(self) -> Iterator[Collection]:
        """Connect for reading alone."""
        psycopg = require("psycopg", "pgvector")
        with self.reached(psycopg.Error), closing(psycopg.connect(self.place)) as connection:
            connection.read_only = True
            yield self._collection(connection, psycopg.sql)

    def _collection(self, connection: Any, sql: Any) -> Collection:
        columns = connection.execute(COLUMNS).fetchall()
        name = self.one_of(self.holder, self.collection, dict.fromkeys(row[0] for row in columns))
        mine = {row[4]: row[1:] for row in columns if row[0] == name}
        column = self.one_of("vector", self.options.get("vector"), mine)
        schema, relation, oid, _, number, kind, width = mine[column]
        names = "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped"
        self.one_of("column", self.field, [row[0] for row in connection.execute(names, [oid])])
        indexed = [METRIC_OF[row[0]] for row in connection.execute(INDEXES, [oid, number])]
        metric = self.options.get("metric") if self.options.get("metric") in indexed else None
        if metric is None:
            metric = self.chosen_metric(self.one_of("metric", None, indexed) if indexed else None)
        parts = {
            "id": sql.Identifier(self.field),
            "vector": sql.Identifier(column),
            "table": sql.Identifier(schema, relation),
            "distance": sql.SQL(OPERATORS[metric]),
            "kind": sql.SQL(kind),
        }
        counted = sql.SQL("SELECT count({vector}), min(vector_dims({vector})) FROM {table}").format(**parts)
        count, narrowest = connection.execute(counted).fetchone()
        query = sql.SQL(
            "SELECT {id}, {vector} {distance} %(vector)s::{kind} AS distance FROM {table} "
            "ORDER BY distance LIMIT %(depth)s"
        ).format(**parts)
        most = 1 if metric == "cosine" else 0

        def search(vectors: NDArray[np.float32], depth: int) -> Iterator[Hits]:
            for vector in vectors:
                parameters = {"vector": str(vector.tolist()), "depth": depth}
                rows = connection.execute(query, parameters).fetchall()
                yield [(row[0], most - float("nan" if row[1] is None else row[1])) for row in rows]

        return Collection(count, width if width > 0 else narrowest or 0, metric, search)
