"""What there is by name: subjects, models, benchmarks, audits, makers and providers of images.

It is read from `equiview.ours`: what lists things must not load them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from equiview.data.registry import Registry
from equiview.errors import unknown_name
from equiview.ours import audits, benchmarks, makers, models, providers, subjects

if TYPE_CHECKING:
    import polars as pl

Row: TypeAlias = dict[str, str | float | None]


def catalogue(kind: str = "") -> dict[str, pl.DataFrame]:
    """What there is, a table for each kind of thing, or for `kind`: subjects, models, benchmarks, audits, ...

    A benchmark that comes along is ready; of a published one it says where its files are, or where to get
    them. InputError for another kind.
    """
    import polars as pl

    return {name: pl.DataFrame(rows) for name, rows in listed(kind).items()}


def listed(kind: str = "") -> dict[str, list[Row]]:
    """The rows of `catalogue`, by their columns."""
    kinds: dict[str, Callable[[], list[Row]]] = {
        "subjects": lambda: _entries(subjects.SUBJECTS),
        "models": models.models,
        "benchmarks": lambda: [
            row | {"ready": _ready(str(row["name"]).partition(":")[0])}
            for row in _entries(benchmarks.BENCHMARKS)
        ],
        "audits": lambda: _entries(audits.AUDITS),
        "makers": lambda: _entries(makers.MAKERS),
        "providers": lambda: _entries(providers.PROVIDERS),
    }
    if kind and kind not in kinds:
        raise unknown_name("list", kind, kinds)
    return {name: rows() for name, rows in kinds.items() if name == (kind or name)}


def _entries(registry: Registry[Any]) -> list[Row]:
    return [
        {"name": use, "what it is": entry.about} for entry in registry.all().values() for use in entry.usage
    ]


def _ready(name: str) -> str:
    if name not in benchmarks.SOURCES:
        return "with what you name" if name in {"folder", "run"} else "yes"
    if os.environ.get("EQUIVIEW_DATA"):
        from equiview.benchmarks.release import release_of

        ready, where = release_of(name).ready()
        if ready:
            return f"yes, in {where}"
    return f"no: {benchmarks.SOURCES[name]}"
