"""`qdrant:PLACE,collection=NAME,queries=DIR`: the lists of a Qdrant collection.

PLACE is a server's address, its key in QDRANT_API_KEY, or the folder of the embedded mode. Points are named
by their payload's field `id`, or `id=FIELD`; `vector=NAME` is one of several named vectors.
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

METRIC_OF = {"Cosine": "cosine", "Dot": "dot", "Euclid": "euclidean", "Manhattan": "manhattan"}


class Qdrant(Database):
    """Result lists of a Qdrant collection, by the distance it was made with."""

    scheme, title, packages = "qdrant", "Qdrant", ("qdrant-client",)

    @contextmanager
    def opened(self) -> Iterator[Collection]:
        """Open the folder or reach the server, and close it afterwards."""
        module = require("qdrant_client", "qdrant")
        failed = require("qdrant_client.http.exceptions", "qdrant").ApiException
        place = Path(self.place).expanduser()
        if "://" not in self.place and not place.is_dir():
            raise InputError(f"{self.place}: neither a folder nor an address such as http://localhost:6333")
        with self.reached(failed, ConnectionError, RuntimeError):
            if "://" in self.place:
                # Its version check would warn from another thread of failures that are errors here.
                address = {"url": self.place, "api_key": os.environ.get("QDRANT_API_KEY")}
                client = module.QdrantClient(**address, check_compatibility=False)
            else:
                client = module.QdrantClient(path=str(place))
            with closing(client):
                yield self._collection(client, module.models)

    def _collection(self, client: Any, models: Any) -> Collection:
        names = [entry.name for entry in client.get_collections().collections]
        name = self.one_of(self.holder, self.collection, names)
        vectors = client.get_collection(name).config.params.vectors
        using = self.options.get("vector")
        if isinstance(vectors, dict):
            using = self.one_of("vector", using, vectors)
            vectors = vectors[using]
        elif using is not None or vectors is None:
            using = self.one_of("vector", using, ())
        if vectors.multivector_config is not None:
            raise InputError(f"{self.source}: holds several vectors for each item; one is needed")
        metric = METRIC_OF[vectors.distance.value]
        sign = 1 if metric in {"cosine", "dot"} else -1
        for point in client.scroll(name, limit=1, with_payload=True)[0]:
            self.one_of("field", self.field, point.payload or ())

        def search(queries: NDArray[np.float32], depth: int) -> list[Hits]:
            same = {"limit": depth, "with_payload": [self.field], "using": using}
            requests = [models.QueryRequest(query=vector.tolist(), **same) for vector in queries]
            return [
                [((point.payload or {}).get(self.field), sign * point.score) for point in answer.points]
                for answer in client.query_batch_points(name, requests=requests)
            ]

        return Collection(int(client.count(name).count), int(vectors.size), metric, search)
