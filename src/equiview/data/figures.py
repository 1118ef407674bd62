"""Figures as data: what is drawn, of which table, and what to see in it. How it is drawn is the report's.

A figure always carries its table, so the numbers stand beside the picture and any renderer can draw it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from equiview.data.roles import OF_PALETTES, Role
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.tables import write_bytes

Mark = Literal["bars", "stacked", "lines", "points", "scatter", "heatmap"]


@dataclass(frozen=True)
class Chart:
    """A chart of a tidy table: one row a mark.

    `x`, `y`, `color`, `low`, `high`, `marker` and `label` name columns of `table`. `low` and `high` are the
    ends of an interval around `y`; `marker` is a second value drawn as a tick at the same x; `label` is said
    on hovering; `picture` holds encoded images shown on hovering. `reference` draws level lines, by label; a
    heat map with one, or with values below 0, has a scale with two sides, centred there. `points` says that
    values are differences of shares, shown times 100.

    `roles` says what categories of `color` stand for, each of which has one colour in every figure. Others
    have the colour of their place in `domain`: the categories there may be, in order, whether or not `table`
    has rows of each. Without a domain, the categories of all figures with the same column of colours and the
    same roles count: those with a role first, then in alphabetical order. With `by_subject` the categories
    are the systems of a page, which have colours of their own.
    """

    name: str
    title: str
    see: str
    table: pl.DataFrame
    mark: Mark
    x: str
    y: str
    x_title: str
    y_title: str
    color: str | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    by_subject: bool = False
    domain: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    marker: str | None = None
    label: str | None = None
    picture: str | None = None
    percent: bool = False
    points: bool = False
    log: bool = False
    fit: bool = False
    reference: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = (self.x, self.y, self.color, self.low, self.high, self.marker, self.label, self.picture)
        missing = {name for name in named if name is not None} - set(self.table.columns)
        if missing or not len(self.table):
            raise InputError(f"figure {self.name!r}: empty table or missing columns {sorted(missing)}")
        object.__setattr__(self, "domain", tuple(self.domain))


@dataclass(frozen=True)
class Gallery:
    """Pictures with what was returned for each, as a reader of the system would see it.

    `table` has a row for each returned thing: `group` (which list), `heading` of the list, `rank`, and any of
    `text`, `language`, `tier`, `score`, `correct`, `note`, `item_picture` (encoded). `pictures` holds the
    encoded query picture of each group.
    """

    name: str
    title: str
    see: str
    table: pl.DataFrame
    pictures: Mapping[str, bytes]


Figure = Chart | Gallery


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure as JSON, whole or not at all; the same figure gives the same bytes."""
    content: dict[str, Any] = {"kind": type(figure).__name__.lower()}
    content |= {key: value for key, value in asdict(figure).items() if key not in {"table", "pictures"}}
    content["table"] = {column.name: [_plain(value) for value in column] for column in figure.table}
    content["types"] = {name: str(dtype) for name, dtype in figure.table.schema.items()}
    if isinstance(figure, Gallery):
        content["pictures"] = {key: _plain(value) for key, value in figure.pictures.items()}
    write_bytes(json.dumps(content, ensure_ascii=False, indent=0).encode(), path)


def read_figure(path: Path) -> Figure:
    """Read what `write_figure` wrote."""
    try:
        return _figure(json.loads(content_of(path)))
    except InputError:
        raise
    except Exception as error:  # a file that was changed by hand can hold anything
        said = f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: cannot be read as a figure ({said}); run the audit again") from None


def _figure(content: dict[str, Any]) -> Figure:
    binary = {name for name, dtype in content.pop("types").items() if dtype == "Binary"}
    columns = {
        name: [None if value is None else base64.b64decode(value) for value in values]
        if name in binary
        else values
        for name, values in content.pop("table").items()
    }
    table = pl.DataFrame(columns, infer_schema_length=None, strict=False)
    if content.pop("kind") == "chart":
        if "palette" in content:  # written before there were roles
            content["roles"] = OF_PALETTES.get(content.pop("palette"), {})
        return Chart(**content, table=table)
    pictures = {key: base64.b64decode(value) for key, value in content.pop("pictures").items()}
    return Gallery(**content, table=table, pictures=pictures)


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
