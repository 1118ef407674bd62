"""Tables of runs and studies as files, each with its name and its schema version in the file's metadata.

Names are those of `equiview schema`, where it has the table.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.errors import InputError
from equiview.io.tables import Schema, parquet_metadata, read_table, write_parquet

SCHEMA_VERSION = 3
"""Of what is in a run's folder, and of what the command line prints as JSON. 3: runs have names."""
READ = (2, SCHEMA_VERSION)
"""Versions that are read; runs of version 2 have no name for display and are otherwise the same."""
NAME, VERSION = "equiview.schema", "equiview.schema_version"
"""Keys of a Parquet file's metadata."""


def write_stamped(table: pl.DataFrame, path: Path, name: str) -> None:
    """Write a table whole or not at all; the same table gives the same bytes."""
    write_parquet(table, path, {NAME: name, VERSION: str(SCHEMA_VERSION)})


def read_stamped(path: Path, schema: Schema) -> pl.DataFrame:
    """Read a table and check it; InputError as for `read_table`, and by name for a version that is not read.

    A file that says none is of the version before.
    """
    said = parquet_metadata(path).get(VERSION, str(min(READ)))
    if refused := refusal(int(said) if said.isascii() and said.isdigit() else said):
        raise InputError(f"{path}: {refused}")
    return read_table(path, schema)


def refusal(version: object) -> str:
    """Why what is of a version is not read, and what to do; "" where it is read.

    >>> refusal(SCHEMA_VERSION)
    ''
    """
    if version in READ:
        return ""
    newer = isinstance(version, int) and version > SCHEMA_VERSION
    what = "install a newer equiview" if newer else "audit the subject again"
    return (
        f"it is of schema version {version}, and this equiview reads {' and '.join(map(str, READ))}; {what}"
    )
