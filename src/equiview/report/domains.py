"""Which categories a column of colours has, over all figures shown together, so that each has one colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from equiview.data.figures import Chart, Figure

Shared = tuple[tuple[tuple[str, str], ...], str]
"""The roles and the column of colours of charts that share a domain."""


def categories(chart: Chart) -> pl.Series:
    """The category of each row of a chart that has a column of colours."""
    assert chart.color is not None
    return chart.table[chart.color].cast(pl.String).fill_null("–")


def ordered(chart: Chart, names: Iterable[str]) -> tuple[str, ...]:
    """The chart's domain, then those of `names` that it lacks: first those with a role, in its order."""
    known = list(chart.roles)

    def place(name: str) -> tuple[int, str]:
        return (known.index(name) if name in known else len(known), name)

    return tuple(dict.fromkeys((*chart.domain, *sorted(set(names), key=place))))


def with_domains(figures: Sequence[Figure]) -> list[Figure]:
    """The figures of one page, each chart with its domain filled in.

    A chart that declares a domain keeps it; others with the same roles and column of colours share theirs.
    """
    seen: dict[Shared, set[str]] = {}
    for figure in figures:
        if isinstance(figure, Chart) and (key := _key(figure)):
            seen.setdefault(key, set()).update(categories(figure))
    return [
        replace(figure, domain=ordered(figure, seen[key]))
        if isinstance(figure, Chart) and (key := _key(figure))
        else figure
        for figure in figures
    ]


def _key(chart: Chart) -> Shared | None:
    """What charts that share a domain have in common; None for one that has no use for it, or its own."""
    given = chart.color is None or chart.mark == "heatmap" or chart.by_subject or chart.domain
    return None if given or chart.color is None else (tuple(chart.roles.items()), chart.color)
