"""What a benchmark is, and how one is added.

A benchmark knows items and what counts as relevant. It knows nothing of models. To add one, write a function
that returns a `Benchmark` and decorate it::

    @benchmark("mine", about="my photographs")
    def mine(argument: str) -> Benchmark:
        return Benchmark("mine", images=..., texts=..., relevance=...)

`argument` is what a user types after the colon, as in `folder:photos`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import polars as pl

from equiview.data.items import Items
from equiview.data.languages import read_languages
from equiview.data.registry import Registry
from equiview.data.relevance import Relevance
from equiview.errors import InputError, NotApplicableError
from equiview.io.fingerprint import fingerprint
from equiview.io.notices import notice
from equiview.io.tables import Column, Schema
from equiview.ours import benchmarks as ours


@dataclass(frozen=True)
class Benchmark:
    """Images and, where there are any, texts, which texts are relevant to which image, and further tables.

    `relevance` has the images as queries and the texts as items. A set of labelled images has neither texts
    nor relevance. `tables` holds what else an audit may need (trials, questions, objects) by name, and
    `schemas` the columns of each; a table is checked when the benchmark is made. `schemas` may describe
    tables that this benchmark does not have. Languages of texts and in columns `language` are read by their
    codes, however they are written (`equiview.data.languages.read_languages`).

    Raises InputError for relevance without texts or of another size, for a table without a schema, and for a
    table that does not satisfy its schema.

    >>> faces = Benchmark("faces", Items("image", pl.DataFrame({"id": ["a", "b"]})))
    >>> faces.counts
    {'images': 2}
    >>> faces.need_texts()
    Traceback (most recent call last):
    ...
    equiview.errors.NotApplicableError: benchmark 'faces' has no texts, which this audit needs
    """

    name: str
    images: Items
    texts: Items | None = None
    relevance: Relevance | None = None
    about: str = ""
    source: str = ""
    licence: str = ""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Width and height in pixels that annotations state of images, by id; no part of the fingerprint."""

    def __post_init__(self) -> None:
        self._check_relevance()
        checked = {}
        for table, frame in self.tables.items():
            if table not in self.schemas:
                raise InputError(
                    f"benchmark {self.name!r}: table {table!r} has no schema; a benchmark says of each "
                    "of its tables which columns it has"
                )
            source = f"benchmark {self.name!r}, table {table!r}"
            checked[table] = _in_known_languages(self.schemas[table].check(frame, source), source)
        object.__setattr__(self, "tables", checked)
        if self.texts is not None:
            texts = _in_known_languages(self.texts.table, self.texts.source)
            if texts is not self.texts.table:
                object.__setattr__(self, "texts", replace(self.texts, table=texts))

    def _check_relevance(self) -> None:
        if self.relevance is None:
            return
        if self.texts is None:
            raise InputError(f"benchmark {self.name!r} has relevance but no texts; add the texts")
        shape = (self.relevance.n_queries, self.relevance.n_items)
        if shape != (len(self.images), len(self.texts)):
            raise InputError(
                f"benchmark {self.name!r}: relevance is over {shape[0]} images and {shape[1]} texts, "
                f"but there are {len(self.images)} and {len(self.texts)}"
            )

    def need_texts(self) -> Items:
        """The texts; InputError if there are none."""
        if self.texts is None:
            raise self._missing("texts")
        return self.texts

    def need_relevance(self) -> Relevance:
        """Which texts are relevant to which image; InputError if that is not known."""
        if self.relevance is None:
            raise self._missing("relevance judgements")
        return self.relevance

    def need_table(self, name: str, schema: Schema) -> pl.DataFrame:
        """A table that satisfies `schema`; InputError if there is none, or if it does not."""
        if name not in self.tables:
            raise self._missing(f"table {name!r}", having(schema))
        if self.schemas[name] == schema:
            return self.tables[name]
        return schema.check(self.tables[name], f"benchmark {self.name!r}, table {name!r}")

    def _missing(self, what: str, known: str = "") -> InputError:
        has = f"; --benchmark {known} has it, and comes with equiview" if known else ""
        return NotApplicableError(f"benchmark {self.name!r} has no {what}, which this audit needs{has}")

    @property
    def counts(self) -> dict[str, int]:
        """How much it holds, by name: images, texts if there are any, then the rows of each table."""
        texts = {} if self.texts is None else {"texts": len(self.texts)}
        return {
            "images": len(self.images),
            **texts,
            **{name: len(rows) for name, rows in self.tables.items()},
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything in it: two runs are comparable when theirs are equal."""
        parts: list[object] = [self.images.fingerprint]
        if self.texts is not None:
            parts.append(self.texts.fingerprint)
        if self.relevance is not None:
            parts += [self.relevance.queries.tobytes(), self.relevance.items.tobytes()]
        for name in sorted(self.tables):
            parts += [name, _written(self.tables[name])]
        return fingerprint(*parts)


def _in_known_languages(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """A table with its languages by their codes; the same object where they are so already."""
    if table.schema.get("language") != pl.String:
        return table
    labels = table["language"]
    languages = read_languages(labels, source)
    return table if languages is labels else table.with_columns(languages)


def _written(table: pl.DataFrame) -> str:
    """A table as text; CSV has no way to write lists."""
    nested = any(dtype.is_nested() for dtype in table.dtypes)
    return table.write_ndjson() if nested else table.write_csv()


BENCHMARKS: Registry[Callable[[str], Benchmark]] = ours.BENCHMARKS
benchmark = BENCHMARKS.register


def load_benchmark(name: str) -> Benchmark:
    """The benchmark a user names as `NAME` or `NAME:ARGUMENT`."""
    scheme, _, argument = name.partition(":")
    if scheme not in BENCHMARKS.all() and os.path.lexists(scheme):
        use = "folder" if os.path.isdir(scheme) else "run"
        what = "images and texts in a folder are" if use == "folder" else "items beside result lists are"
        raise InputError(f"{name!r} is a path; {what} {use}:{name}")
    return BENCHMARKS.get(scheme)(argument)


def embedded() -> dict[str, Callable[[str], Benchmark]]:
    """The benchmarks that come with equiview, which need no argument, by name."""
    return {
        name: entry.value
        for name, entry in BENCHMARKS.all().items()
        if entry.usage[0].partition("[")[0] == name and entry.value.__module__.startswith(f"{__package__}.")
    }


def having(schema: Schema) -> str:
    """The first embedded benchmark that has a table of this schema, "" where none has.

    >>> from equiview.benchmarks.landmarks import LANDMARKS
    >>> having(LANDMARKS)
    'pictograms-flags'
    """
    return next(
        (name for name, tables in _embedded_tables().items() if tables.get(schema.name) == schema), ""
    )


@cache
def _embedded_tables() -> dict[str, dict[str, Schema]]:
    """The schemas of the tables of each embedded benchmark."""
    read = {name: load("") for name, load in embedded().items()}
    return {name: {table: known.schemas[table] for table in known.tables} for name, known in read.items()}


IMAGE_ID = Schema("texts", (Column("image_id", pl.String, "the image that the text is of"),))


def same_image(images: Items, texts: Items) -> Relevance:
    """Each text is relevant to the image that its `image_id` names.

    InputError names the first text whose image is not among the images. Images without a text are counted.
    """
    image_ids = IMAGE_ID.check(texts.table, texts.source)["image_id"]
    rows = images.rows_of(image_ids)
    if rows.null_count():
        row = rows.is_null().arg_true()[0]
        raise InputError(
            f"{texts.source}: column 'image_id', row {row + 1}: text {texts.ids[row]!r} is of image "
            f"{image_ids[row]!r}, which is not among the images ({images.source})"
        )
    if len(bare := images.ids.filter(~images.ids.is_in(image_ids.implode()))):
        notice(f"{texts.source}: {len(bare)} of {len(images)} images have no text, as {bare[0]!r}")
    return Relevance.from_pairs(rows, range(len(texts)), n_queries=len(images), n_items=len(texts))


def same_attribute(images: Items, texts: Items, name: str) -> Relevance:
    """Each text is relevant to all images that share its value of an attribute, such as `concept`.

    >>> images = Items("image", pl.DataFrame({"id": ["a", "b"], "concept": ["hat", "doll"]}))
    >>> texts = pl.DataFrame({"id": ["1"], "text": ["kofia"], "language": ["sw"], "concept": ["hat"]})
    >>> same_attribute(images, Items("text", texts), "concept").counts.tolist()
    [1, 0]
    """
    image_rows = pl.DataFrame({name: images.labels(name)}).with_row_index("image")
    text_rows = pl.DataFrame({name: texts.labels(name)}).with_row_index("text")
    pairs = image_rows.join(text_rows, on=name, maintain_order="left")
    return Relevance.from_pairs(pairs["image"], pairs["text"], n_queries=len(images), n_items=len(texts))
