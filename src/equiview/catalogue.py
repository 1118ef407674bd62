"""What there is by name: subjects, models, benchmarks, audits, makers and providers of images.

A kind of thing is imported when it is asked for: what lists them must not load what audits them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from equiview.data.registry import Registry
from equiview.errors import unknown_name


def catalogue(kind: str = "") -> dict[str, pl.DataFrame]:
    """What there is, a table for each kind of thing, or for `kind`: subjects, models, benchmarks, audits, ...

    A benchmark that comes along is ready; of a published one it says where its files are, or where to get
    them. InputError for another kind.
    """
    kinds: dict[str, Callable[[], pl.DataFrame]] = {
        "subjects": _subjects,
        "models": _models,
        "benchmarks": _benchmarks,
        "audits": _audits,
        "makers": _makers,
        "providers": _providers,
    }
    if kind and kind not in kinds:
        raise unknown_name("list", kind, kinds)
    return {name: table() for name, table in kinds.items() if name == (kind or name)}


def _subjects() -> pl.DataFrame:
    from equiview.subjects import SUBJECTS

    return _entries(SUBJECTS)


def _models() -> pl.DataFrame:
    from equiview.subjects.known import known_models

    return known_models()


def _benchmarks() -> pl.DataFrame:
    from equiview.benchmarks import BENCHMARKS

    schemes = pl.col("name").str.split(":").list.first()
    return _entries(BENCHMARKS).with_columns(ready=schemes.map_elements(_ready, return_dtype=pl.String))


def _audits() -> pl.DataFrame:
    from equiview.audits import AUDITS

    return _entries(AUDITS)


def _makers() -> pl.DataFrame:
    from equiview.making import MAKERS

    return _entries(MAKERS)


def _providers() -> pl.DataFrame:
    from equiview.build.xcm.providers import PROVIDERS

    return _entries(PROVIDERS)


def _entries(registry: Registry[Any]) -> pl.DataFrame:
    rows = [(use, entry.about) for entry in registry.all().values() for use in entry.usage]
    return pl.DataFrame(rows, schema=["name", "what it is"], orient="row")


def _ready(name: str) -> str:
    from equiview.benchmarks.release import RELEASES

    if name not in RELEASES:
        return "with what you name" if name in {"folder", "run"} else "yes"
    ready, where = RELEASES[name].ready()
    return f"yes, in {where}" if ready else f"no: {RELEASES[name].source}"
