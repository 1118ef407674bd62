"""Tables as JSON Lines: an object on each line, a column for each field that any of them has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from equiview.errors import InputError
from equiview.io.delimited import column_names
from equiview.io.files import kind_of, read_json_lines

SCALARS: dict[frozenset[type], pl.DataType] = {
    frozenset({str}): pl.String(),
    frozenset({bool}): pl.Boolean(),
    frozenset({int}): pl.Int64(),
    frozenset({float}): pl.Float64(),
    frozenset({int, float}): pl.Float64(),
    frozenset({str, int}): pl.String(),  # names, some of which are numbers
}
"""The type of a column by the kinds of its values."""
NESTED = (frozenset({list}), frozenset({dict}))


def read_records(path: Path) -> pl.DataFrame:
    """The table of a `.jsonl` or `.ndjson` file: a field that a line lacks, or leaves empty, is null.

    InputError names the line that is no object, and the first whose field is of another kind.
    """
    numbers, rows = [], []
    for number, row in read_json_lines(path, saved_anyhow=True):
        numbers.append(number)
        rows.append(row)
    written = list(dict.fromkeys(name for row in rows for name in row))
    columns = [
        _column(name, [row.get(of) for row in rows], numbers, path)
        for name, of in zip(column_names(written, str(path)), written, strict=True)
    ]
    return pl.DataFrame(columns)


def _column(name: str, values: list[Any], numbers: list[int], path: Path) -> pl.Series:
    values = [None if value == "" else value for value in values]
    kinds = frozenset(type(value) for value in values if value is not None)
    try:
        if kinds in SCALARS:
            dtype = SCALARS[kinds]
            if dtype == pl.String:
                values = [None if value is None else str(value) for value in values]
            return pl.Series(name, values, dtype=dtype)
        if not kinds:
            return pl.Series(name, values, dtype=pl.String)
        if kinds in NESTED:
            return pl.Series(name, values)
    except (pl.exceptions.PolarsError, TypeError, OverflowError, ValueError):
        raise InputError(
            f"{path}: field {name!r} holds values that do not fit into one column; write them alike in all "
            "lines"
        ) from None
    first = next(value for value in values if value is not None)
    odd = next(row for row, value in enumerate(values) if value is not None and _differ(value, first))
    raise InputError(
        f"{path}, line {numbers[odd]}: field {name!r} is {kind_of(values[odd])}, but {kind_of(first)} "
        "before; write it alike in all lines"
    )


def _differ(value: Any, other: Any) -> bool:
    return type(value) is not type(other) and frozenset({type(value), type(other)}) not in SCALARS
