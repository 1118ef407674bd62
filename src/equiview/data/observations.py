"""Observations: what happened when a subject met a benchmark, as named tables, before any judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equiview.data.stamped import read_stamped, write_stamped
from equiview.errors import InputError
from equiview.io.tables import Schema


@dataclass(frozen=True)
class Observations:
    """The tables one audit observed, by name. Everything after observation needs only these."""

    tables: Mapping[str, pl.DataFrame]

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self.tables:
            have = ", ".join(sorted(self.tables))
            raise InputError(f"the observations have no table {name!r}; they have: {have}")
        return self.tables[name]

    def write(self, folder: Path, audit: str) -> list[Path]:
        """Write each table to `folder/AUDIT.TABLE.parquet` and return the paths."""
        paths = []
        for name, table in sorted(self.tables.items()):
            paths.append(folder / f"{audit}.{name}.parquet")
            write_stamped(table, paths[-1], f"observations/{audit}.{name}")
        return paths

    @classmethod
    def read(cls, folder: Path, audit: str, schemas: Mapping[str, Schema]) -> Observations:
        """Read and check the tables that `schemas` names; an optional one that is missing is empty."""
        paths = {name: folder / f"{audit}.{name}.parquet" for name in schemas}
        return cls(
            {
                name: schema.table()
                if schema.optional and not paths[name].exists()
                else read_stamped(paths[name], schema)
                for name, schema in schemas.items()
            }
        )
