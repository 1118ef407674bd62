"""`milvus:PLACE,collection=NAME,queries=DIR`: the lists of a Milvus collection.

PLACE is a server's address, its token in MILVUS_TOKEN, or the file of the embedded mode, Milvus Lite. Items
are named by the field `id`, or `id=FIELD`; `vector=FIELD` is one of several fields of vectors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.lists.databases import Collection, Database, Hits

METRIC_OF = {"COSINE": "cosine", "IP": "dot", "L2": "euclidean"}
DENSE = {"FLOAT_VECTOR", "FLOAT16_VECTOR", "BFLOAT16_VECTOR"}


class Milvus(Database):
    """Result lists of a Milvus collection, by the metric of its index."""

    scheme, title, packages = "milvus", "Milvus", ("pymilvus", "milvus-lite")

    @contextmanager
    def opened(self) -> Iterator[Collection]:
        """Open the file or reach the server, and close it afterwards."""
        module = require("pymilvus", "milvus")
        failed = require("pymilvus.exceptions", "milvus").MilvusException
        place = self.place if "://" in self.place else str(Path(self.place).expanduser())
        if "://" not in place and not (place.endswith(".db") and Path(place).exists()):
            raise InputError(
                f"{self.place}: neither a .db file nor an address such as http://localhost:19530"
            )
        if "://" not in place:
            require("milvus_lite", "milvus")
        with (
            self.reached(failed, ConnectionError),
            closing(module.MilvusClient(uri=place, token=os.environ.get("MILVUS_TOKEN", ""))) as client,
        ):
            yield self._collection(client)

    def _collection(self, client: Any) -> Collection:
        name = self.one_of(self.holder, self.collection, client.list_collections())
        described = client.describe_collection(name)
        fields = {field["name"]: field for field in described["fields"]}
        dense = [key for key, field in fields.items() if field["type"].name in DENSE]
        column = self.one_of("vector", self.options.get("vector"), dense)
        indexes = [client.describe_index(name, index) for index in client.list_indexes(name)]
        metrics = [index["metric_type"] for index in indexes if index["field_name"] == column]
        if not metrics or metrics[0] not in METRIC_OF:
            raise InputError(
                f"{self.source}: {column!r} has no index by cosine, IP or L2, which Milvus needs"
            )
        if "://" not in self.place:
            client.load_collection(name)  # a server's collections are loaded by its administrators
        if client.get_load_state(name)["state"].name != "Loaded":
            raise InputError(f"{self.source}: is not loaded; load it, so that it can be searched")
        count = int(client.query(name, filter="", output_fields=["count(*)"])[0]["count(*)"])
        if count and self.field not in fields:
            # A field that the schema does not name can still be there in each item.
            some = client.query(name, filter="", limit=1, output_fields=["*"])
            self.one_of("field", self.field, {key: None for item in some for key in item} or fields)
        metric = METRIC_OF[metrics[0]]
        sign = -1 if metric == "euclidean" else 1

        def search(vectors: NDArray[np.float32], depth: int) -> Iterator[Hits]:
            settings = {"anns_field": column, "limit": depth, "output_fields": [self.field]}
            for hits in client.search(name, data=vectors.tolist(), **settings):
                yield [(hit["entity"].get(self.field), sign * float(hit["distance"])) for hit in hits]

        return Collection(count, int(fields[column]["params"]["dim"]), metric, search)
