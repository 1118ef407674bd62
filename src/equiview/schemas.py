"""JSON schemas: a run's files, the rows of its tables, what is printed as JSON, audit.toml.

A row's columns past those of its schema are keys, which are text.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from pydantic import TypeAdapter

from equiview.auditfile import AuditFile
from equiview.audits import AUDITS
from equiview.data import estimates
from equiview.data.manifest import Manifest
from equiview.data.run import Failure
from equiview.data.stamped import SCHEMA_VERSION
from equiview.data.verdict import Verdict
from equiview.errors import unknown_name
from equiview.io.tables import Column, Schema
from equiview.report.tables import COMPARISON
from equiview.scoring import Sums
from equiview.studies.gate import CHECKED

DRAFT = "https://json-schema.org/draft/2020-12/schema"
KEY = {"type": ["string", "null"], "description": "a key: what the row is about"}


def schemas(name: str = "") -> dict[str, Any]:
    """The schema of that name, or all of them by name; InputError for an unknown one."""
    models: dict[str, TypeAdapter[Any]] = {
        "manifest": TypeAdapter(Manifest),
        "verdicts": TypeAdapter(list[Verdict]),
        "failures": TypeAdapter(list[Failure]),
        "audit.toml": TypeAdapter(AuditFile),
        "sums": TypeAdapter(Sums),
    }
    found = {key: model.json_schema() for key, model in models.items()}
    found["estimates"] = _rows(estimates.SCHEMA, keys=True)
    found["comparison"] = _rows(COMPARISON, keys=True)
    found["gate"] = _gate()
    for audit, entry in AUDITS.all().items():
        for table, schema in entry.value.schemas.items():
            found[f"observations/{audit}.{table}"] = _rows(schema, keys=True)
    stamped = {key: _stamped(key, schema) for key, schema in found.items()}
    if name and name not in stamped:
        raise unknown_name("schema", name, stamped)
    return stamped[name] if name else {"schema_version": SCHEMA_VERSION, "schemas": stamped}


def _stamped(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": DRAFT, "title": name, "x-schema-version": SCHEMA_VERSION} | {
        key: value for key, value in schema.items() if key != "title"
    }


def _rows(schema: Schema, *, keys: bool) -> dict[str, Any]:
    """The schema of the rows of a table, as a list of objects."""
    columns = {column.name: _column(column) for column in schema.columns}
    needed = [column.name for column in schema.columns if not column.optional]
    row = {"type": "object", "properties": columns, "required": needed}
    return {"type": "array", "items": row | {"additionalProperties": KEY if keys else False}}


def _column(column: Column) -> dict[str, Any]:
    kind = _type(column.dtype)
    if column.nullable and "type" in kind:
        kind = kind | {"type": [kind["type"], "null"]}
    return kind | {"description": column.about}


def _type(dtype: Any) -> dict[str, Any]:
    """What a value is in JSON; infinities are null there."""
    if isinstance(dtype, pl.List):
        return {"type": "array", "items": _type(dtype.inner)}
    if dtype.is_integer():
        return {"type": "integer"}
    if dtype.is_float():
        return {"type": "number"}
    return {"type": "boolean"} if dtype == pl.Boolean else {"type": "string"}


def _gate() -> dict[str, Any]:
    row = {name: {"type": [_type(dtype())["type"], "null"]} for name, dtype in CHECKED.items()}
    rows = {
        "type": "array",
        "items": {"type": "object", "properties": row, "required": list(row), "additionalProperties": False},
    }
    fields = {"schema_version": {"const": SCHEMA_VERSION}, "passed": {"type": "boolean"}, "rows": rows}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
