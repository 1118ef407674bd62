"""Scores and consistency as tables of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from equiview.audits.memory.consistency import CONSISTENCY
from equiview.data.estimates import Estimates
from equiview.errors import InputError

SETTINGS = ("EN", "LOC", "GLO")


def table_2(estimates: Estimates) -> pl.DataFrame:
    """EN, LOC, GLO, consistency and language adherence in percent, as in T's Table 2."""
    wanted = [
        *(estimates.maybe("score", setting=setting) for setting in SETTINGS),
        estimates.maybe(CONSISTENCY),
        estimates.maybe("language adherence"),
    ]
    numbers = [None if row is None else round(100 * row.value, 1) for row in wanted]
    names = (*SETTINGS, "Consist.", "LangAd (%)")
    return pl.DataFrame([dict(zip(names, numbers, strict=True))], schema=dict.fromkeys(names, pl.Float64))


def table_5(estimates: Estimates) -> pl.DataFrame:
    """EN, LOC, GLO and consistency with each of two translators, as in T's Table 5; EN is shared.

    InputError for a run with one translator.
    """
    if estimates.maybe(CONSISTENCY, variant="second translator") is None:
        raise InputError("the run has one translator; give another by the setting 'second_translator'")
    rows = []
    for translator, variant in (("first", None), ("second", "second translator")):
        numbers = {
            setting: estimates.maybe("score", setting=setting, variant=variant)
            for setting in SETTINGS
            if setting != "EN" or not variant
        }
        values = {name: None if row is None else round(row.value, 4) for name, row in numbers.items()}
        consistency = round(estimates.one(CONSISTENCY, variant=variant).value, 3)
        rows.append({"translator": translator, **values, "Consist.": consistency})
    types = {"translator": pl.String, **dict.fromkeys((*SETTINGS, "Consist."), pl.Float64)}
    return pl.DataFrame(rows, schema=types)


TABLES: Mapping[str, Callable[[Estimates], pl.DataFrame]] = {"table-2": table_2, "table-5": table_5}
