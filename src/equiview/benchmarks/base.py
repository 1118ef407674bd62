"""What a benchmark is, and how one is added.

A benchmark knows items and what counts as relevant. It knows nothing of models. To add one, write a function
that returns a `Benchmark` and decorate it::

    @benchmark("mine", about="my photographs")
    def mine(argument: str) -> Benchmark:
        return Benchmark("mine", images=..., texts=..., relevance=...)

`argument` is what a user types after the colon, as in `folder:photos`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from equiview.data.items import Items
from equiview.data.registry import Registry
from equiview.data.relevance import Relevance
from equiview.errors import InputError


@dataclass(frozen=True)
class Benchmark:
    """Images, texts, which texts are right for which image, and where all that comes from.

    `relevance` has the images as queries and the texts as items. `tables` holds what else an audit may need
    (trials, questions, boxes), by name.
    """

    name: str
    images: Items
    texts: Items
    relevance: Relevance
    about: str = ""
    source: str = ""
    licence: str = ""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (self.relevance.n_queries, self.relevance.n_items)
        if shape != (len(self.images), len(self.texts)):
            raise InputError(
                f"benchmark {self.name!r}: relevance is over {shape[0]} images and {shape[1]} texts, "
                f"but there are {len(self.images)} and {len(self.texts)}"
            )

    def need_texts(self) -> Items:
        return self.texts

    def need_relevance(self) -> Relevance:
        return self.relevance

    @property
    def counts(self) -> dict[str, int]:
        return {"images": len(self.images), "texts": len(self.texts)}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything in it: two runs are comparable when theirs agree."""
        digest = hashlib.sha256(self.images.fingerprint.encode() + self.texts.fingerprint.encode())
        digest.update(self.relevance.queries.tobytes() + self.relevance.items.tobytes())
        for name in sorted(self.tables):
            digest.update(f"{name}\0{self.tables[name].write_csv()}".encode())
        return digest.hexdigest()[:16]


BENCHMARKS: Registry[Callable[[str], Benchmark]] = Registry("benchmark", "equiview.benchmarks")
benchmark = BENCHMARKS.register


def load_benchmark(name: str) -> Benchmark:
    """The benchmark a user names as `NAME` or `NAME:ARGUMENT`."""
    scheme, _, argument = name.partition(":")
    return BENCHMARKS.get(scheme)(argument)


def same_image(images: Items, texts: Items, column: str = "image_id") -> Relevance:
    """Relevance by the texts' own `image_id`; InputError names a text whose image is absent."""
    known = pl.DataFrame(
        {column: images.ids, "image": range(len(images))}, schema_overrides={"image": pl.Int64}
    )
    wanted = texts.attribute(column)
    rows = pl.DataFrame({column: wanted.cast(pl.String)}).join(known, on=column, how="left")["image"]
    if rows.null_count():
        row = rows.is_null().arg_true()[0]
        raise InputError(
            f"{texts.source}: column {column!r}, row {row + 1}: text {texts.ids[row]!r} is of image "
            f"{wanted[row]!r}, which is not among the images ({images.source})"
        )
    return Relevance.from_pairs(rows.to_numpy(), range(len(texts)), n_queries=len(images), n_items=len(texts))
