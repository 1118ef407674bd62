"""Scales: gaps in points, and one scale for the heat maps of a figure, two-sided where values have signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.figures import Chart
from equiview.report import colours


@dataclass(frozen=True)
class HeatScale:
    """The values of the first and the last colour; `centre` is in the middle of a scale with two sides."""

    low: float
    high: float
    centre: float | None

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours from low to high."""
        return colours.SEQUENCE if self.centre is None else colours.DIVERGING


def in_points(chart: Chart) -> Chart:
    """The chart with differences of shares times 100; one that is not in points is returned as it is."""
    if not chart.points:
        return chart
    heat = chart.mark == "heatmap"
    scaled = {chart.color or chart.y} if heat else {chart.y, chart.low, chart.high, chart.marker}
    scaled |= {chart.low, chart.high} if heat else set()
    named = [name for name in scaled if name is not None]
    return replace(
        chart,
        table=chart.table.with_columns(pl.col(name) * 100 for name in named),
        reference={label: 100 * value for label, value in chart.reference.items()},
        y_title=chart.y_title if heat else f"{chart.y_title} (points)",
        percent=False,
        points=False,
    )


def heat_scale(charts: Sequence[Chart]) -> HeatScale:
    """One scale for the heat maps of one figure: of two sides if one has a reference or values below 0."""
    values = np.concatenate([_heat(chart) for chart in charts])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    references = [value for chart in charts for value in in_points(chart).reference.values()]
    if low >= 0 and not references:
        return HeatScale(low, high if high > low else low + 1.0, None)
    centre = references[0] if references else 0.0
    reach = max(abs(low - centre), abs(high - centre)) or 1.0
    return HeatScale(centre - reach, centre + reach, centre)


def _heat(chart: Chart) -> NDArray[np.float64]:
    """The finite values of a heat map."""
    chart = in_points(chart)
    values = chart.table[chart.color or chart.y].cast(pl.Float64).drop_nulls().to_numpy()
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)
