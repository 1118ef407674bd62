"""Which categories a column of colours has, over all figures shown together, so that each has one colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from equiview.data.figures import Chart, Figure
from equiview.report import colours


def categories(chart: Chart) -> pl.Series:
    """The category of each row of a chart that has a column of colours."""
    assert chart.color is not None
    return chart.table[chart.color].cast(pl.String).fill_null("–")


def ordered(chart: Chart, names: Iterable[str]) -> tuple[str, ...]:
    """The chart's domain, then those of `names` that it lacks, tiers and outcomes from first to last."""
    known = {"tier": list(colours.TIERS), "outcome": list(colours.OUTCOMES)}.get(chart.palette, [])

    def place(name: str) -> tuple[int, str]:
        short = colours.outcome(name) if chart.palette == "outcome" else name
        return (known.index(short) if short in known else len(known), name)

    return tuple(dict.fromkeys((*chart.domain, *sorted(set(names), key=place))))


def with_domains(figures: Sequence[Figure]) -> list[Figure]:
    """The figures of one page, each chart with its domain filled in.

    A chart that declares a domain keeps it; others with the same palette and column of colours share theirs.
    """
    seen: dict[tuple[str, str], set[str]] = {}
    for figure in figures:
        if isinstance(figure, Chart) and (key := _key(figure)):
            seen.setdefault(key, set()).update(categories(figure))
    return [
        replace(figure, domain=ordered(figure, seen[key]))
        if isinstance(figure, Chart) and (key := _key(figure))
        else figure
        for figure in figures
    ]


def _key(chart: Chart) -> tuple[str, str] | None:
    """What charts that share a domain have in common; None for one that has no use for it, or its own."""
    given = chart.color is None or chart.mark == "heatmap" or chart.palette == "subject" or chart.domain
    return None if given or chart.color is None else (chart.palette, chart.color)
