"""Items: the images or the texts of a benchmark, one row each, with their attributes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.labels import checked_labels
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_bytes, hash_files
from equiview.io.pictures import decoded, encoded
from equiview.io.progress import Progress, silent
from equiview.io.tables import Column, Schema

if TYPE_CHECKING:
    from PIL.Image import Image

SMALL = 8192
"""Bytes up to which an encoded picture is its own thumbnail."""

ATTRIBUTES = (
    *("image_id", "query_id", "item_id", "landmark_id", "image", "slot", "split", "locale", "language"),
    *("tier", "concept", "shows", "country", "region", "income_quartile"),
    *("gender", "race", "age", "skin", "group"),
)
"""Columns of images and texts, beyond those that they must have, that benchmarks and audits look for."""
IMAGES = Schema(
    "images",
    (
        Column("id", pl.String, "a distinct name of the image", unique=True),
        Column("path", pl.String, "file of the picture", nullable=True, optional=True),
        Column("picture", pl.Binary, "the encoded picture itself", nullable=True, optional=True),
    ),
    ATTRIBUTES,
)
TEXTS = Schema(
    "texts",
    (
        Column("id", pl.String, "a distinct name of the text", unique=True),
        Column("text", pl.String, "the text"),
        Column("language", pl.String, "its language, as an ISO 639 code such as 'sw'"),
    ),
    tuple(name for name in ATTRIBUTES if name != "language"),
)
ANY = Schema("any", (), tuple({**IMAGES.dtypes, **TEXTS.dtypes, **dict.fromkeys(ATTRIBUTES)}))
"""A table of images or texts of which nothing is expected yet."""


def with_pictures(table: pl.DataFrame) -> pl.DataFrame:
    """`table` with the pictures that Hugging Face's `datasets` writes as the usual columns.

    It writes a column `image` of `{bytes, path}`, either of which may be null; a column `picture` may be like
    that too. It becomes `picture` and, where there are no bytes, `path`.

    >>> table = pl.DataFrame({"id": ["a"], "image": [{"bytes": b"JPEG", "path": None}]})
    >>> with_pictures(table).to_dicts()
    [{'id': 'a', 'picture': b'JPEG', 'path': None}]
    """
    for name in ("picture", "image"):
        dtype = table.schema.get(name)
        parts = dtype.to_schema() if isinstance(dtype, pl.Struct) else {}
        if parts.get("bytes") != pl.Binary:
            continue
        content = pl.col(name).struct.field("bytes")
        columns = [content.alias("picture")]
        if "path" in parts and "path" not in table.columns:  # beside bytes it is of the machine that wrote it
            path = pl.col(name).struct.field("path").cast(pl.String)
            columns.append(pl.when(content.is_null()).then(path).alias("path"))
        return table.with_columns(columns).drop({name} - {"picture"})
    return table


@dataclass(frozen=True)
class Items:
    """Images or texts in a fixed order, one or more. Inside equiview an item is its row number.

    `table` has `id`, and for texts `text` and `language`, for images `picture` (encoded bytes) or `path`;
    every further column is an attribute (tier, country, concept, group, ...). Images without a stored picture
    may be drawn when they are asked for: `draw` takes an id and gives the encoded picture, always the same.
    `kept` are labels of attributes that stay although they look like missing values, such as Namibia's code
    NA; None where the user has no way to name any.
    """

    kind: Literal["image", "text"]
    table: pl.DataFrame
    source: str = "items"
    draw: Callable[[str], bytes] | None = None
    kept: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        schema = IMAGES if self.kind == "image" else TEXTS
        object.__setattr__(self, "table", schema.check(self.table, self.source))
        if not len(self.table):
            raise InputError(f"{self.source}: holds no {self.kind}; at least one is needed")
        if self.kind == "text":
            self._check_texts()

    def _check_texts(self) -> None:
        blank = self.table["text"].str.strip_chars().eq("").arg_true()
        if len(blank):
            raise InputError(
                f"{self.source}: column 'text', row {blank[0] + 1}: text {self.ids[blank[0]]!r} is empty "
                f"({len(blank)} of {len(self)} are); leave it out"
            )
        # ' en' beside 'en' would be a language of its own, and a line break in a name splits what is printed.
        odd = ~self.table["language"].str.contains(r"^[^\s\p{Cc}]([^\n\r\t\p{Cc}]*[^\s\p{Cc}])?$")
        if odd.any():
            row = odd.arg_true()[0]
            raise InputError(
                f"{self.source}: column 'language', row {row + 1}: {self.table['language'][row]!r} is no "
                "name of a language; it must not be empty, begin or end with a space, nor hold a line break"
            )

    def __len__(self) -> int:
        return len(self.table)

    @property
    def ids(self) -> pl.Series:
        """The ids in row order."""
        return self.table["id"]

    def attribute(self, name: str) -> pl.Series:
        """One attribute in row order; InputError if the items do not have it."""
        if name not in self.table.columns:
            names = ", ".join(self.table.columns)
            raise InputError(f"{self.source}: {self.kind}s have no attribute {name!r}; they have: {names}")
        return self.table[name]

    def labels(self, name: str, unknown: Collection[str] = (), setting: str = "") -> pl.Series:
        """An attribute as labels of groups, null where none is known.

        InputError for what looks like a missing value, unless it is `kept` or `unknown`, and for two
        spellings of one label (`equiview.data.labels`). `setting` is what names unknown labels.
        """
        keep = (
            {} if self.kept is None else {"keep": "keep it as a label (keep=NA after the benchmark's name)"}
        )
        return checked_labels(
            self.attribute(name).cast(pl.String), self.source, unknown, setting, kept=self.kept or (), **keep
        )

    def rows_of(self, ids: pl.Series) -> pl.Series:
        """The row number of each id, null for an id that no item has.

        >>> images = Items("image", pl.DataFrame({"id": ["a", "b"]}))
        >>> images.rows_of(pl.Series(["b", "c"])).to_list()
        [1, None]
        """
        rows = pl.DataFrame({"id": self.ids}).with_row_index("row").cast({"row": pl.Int64})
        return pl.DataFrame({"id": ids.cast(pl.String)}).join(
            rows, on="id", how="left", maintain_order="left"
        )["row"]

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> Items:
        """The items of these row numbers, in that order."""
        return replace(self, table=self.table[np.asarray(rows, dtype=np.int64)])

    @property
    def texts(self) -> list[str]:
        """The strings of text items, in row order."""
        return self.attribute("text").to_list()

    def pictures(self, rows: Iterable[int] | None = None) -> list[Image]:
        """Decode the pictures of `rows` (all by default) as RGB; InputError names a row that fails.

        Rotated as their EXIF says, the first frame of several, transparent parts on white.
        """
        chosen = range(len(self)) if rows is None else rows
        return [self._picture(row) for row in chosen]

    def encoded(self, row: int) -> bytes:
        """The picture of a row as it is stored, not decoded; InputError if there is none."""
        if "picture" in self.table.columns and self.table["picture"][row] is not None:
            return bytes(self.table["picture"][row])
        if "path" not in self.table.columns or self.table["path"][row] is None:
            if self.draw is not None:
                return self.draw(self.ids[row])
            raise self._no_picture(row)
        try:
            return content_of(Path(self.table["path"][row]))
        except InputError as error:
            raise self._unreadable(row, error) from None

    def _no_picture(self, row: int) -> InputError:
        return InputError(f"{self.source}, row {row + 1}: image {self.ids[row]!r} has no picture and no path")

    def _unreadable(self, row: int, error: Exception) -> InputError:
        return InputError(
            f"{self.source}, row {row + 1}: picture of {self.ids[row]!r} cannot be read ({error})"
        )

    def _picture(self, row: int) -> Image:
        content = self.encoded(row)
        try:
            return decoded(content)
        except ValueError as error:
            raise self._unreadable(row, error) from None

    def thumbnail(self, row: int, side: int = 96) -> bytes | None:
        """A picture small enough to keep with results, or None if the image has none that can be read.

        A stored picture that is small already is returned unchanged; others become WebP of at most `side`
        pixels, once: all systems are shown with the same.
        """
        if (row, side) not in self._thumbnails:
            self._thumbnails[row, side] = self._thumbnail(row, side)
        return self._thumbnails[row, side]

    @cached_property
    def _thumbnails(self) -> dict[tuple[int, int], bytes | None]:
        return {}

    def _thumbnail(self, row: int, side: int) -> bytes | None:
        stored = self.table["picture"][row] if "picture" in self.table.columns else None
        if stored is not None and len(stored) <= SMALL:
            return bytes(stored)
        filed = "path" in self.table.columns and self.table["path"][row] is not None
        if stored is None and not filed and self.draw is None:
            return None
        try:
            image = self._picture(row)
        except InputError:  # who needs the picture itself has said so; results are as good without it
            return None
        image.thumbnail((side, side))
        return encoded(image, "WEBP", quality=75)

    def hash_pictures(self, progress: Progress = silent) -> list[bytes | InputError]:
        """A hash of each picture as it is stored, or why it cannot be read; computed once.

        `progress` is told only where the files are so many or large that it takes long.
        """
        hashes: list[bytes | InputError] | None = self.__dict__.get("_hashes")
        if hashes is None:
            hashes = self._picture_hashes(progress)
            object.__setattr__(self, "_hashes", hashes)
        return hashes

    def _picture_hashes(self, progress: Progress) -> list[bytes | InputError]:
        hashes: list[bytes | InputError] = []
        filed: dict[int, str] = {}
        missing = [None] * len(self)
        stored = self.table["picture"] if "picture" in self.table.columns else missing
        paths = self.table["path"] if "path" in self.table.columns else missing
        for row, (picture, path) in enumerate(zip(stored, paths, strict=True)):
            if picture is None and path is not None:
                filed[row] = path
            drawn = self.draw(self.ids[row]) if self.draw and picture is None and path is None else None
            content = picture if drawn is None else drawn
            hashes.append(self._no_picture(row) if content is None else hash_bytes(content))
        for row, found in zip(filed, hash_files(list(filed.values()), progress), strict=True):
            hashes[row] = self._unreadable(row, found) if isinstance(found, OSError) else found
        return hashes

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that the items hold, in order: pictures by content, wherever they are stored."""
        parts: list[object] = [self.kind, *(self.kept or ())]
        hashed = {"path", "picture"} if self.kind == "image" else set()
        known = self.hash_pictures() if hashed else []
        pictures = ["" if isinstance(entry, InputError) else entry.hex() for entry in known]
        if any(pictures):
            parts += ["picture", *pictures]
        for name in sorted(set(self.table.columns) - hashed):
            column = self.table[name]
            if column.dtype == pl.Binary:
                content = fingerprint(*map(fingerprint, column))
            else:
                content = json.dumps(column.to_list(), default=str)  # tells a null from the word "None"
            parts += [name, column.dtype, content]
        return fingerprint(*parts)


def blind_order(ids: pl.Series) -> NDArray[np.int64]:
    """The row numbers in an order unrelated to what the items are: by a hash of the id, `(n_items,)`.

    Equal scores are in row order, and a name that several languages share word for word scores equally in
    all of them; in the reader's order the first language would always win. It depends on the ids alone, so
    that the first few are the same examples for every system.
    """
    keys = [hash_bytes(str(name).encode()) for name in ids]
    return np.asarray(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
