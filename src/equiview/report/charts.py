"""Charts as plotly reads them: plain dictionaries, built without plotly, drawn by the page's script.

Colours of ground, grid and letters are not here: the page sets them, and again when its theme changes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from equiview.data.figures import Chart
from equiview.report import colours
from equiview.report.domains import categories, ordered
from equiview.report.scales import HeatScale, heat_scale, in_points
from equiview.report.words import number

FEW = 40  # labelled points up to which labels are drawn beside them, where there is room
MANY = 12  # categories beyond which a narrow screen lays a chart on its side

MARKUP = re.compile("[&<>]")
LEGEND_PLACE = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}

Spec = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """The rows of one colour."""

    name: str
    colour: str
    symbol: str
    rows: list[int]
    table: pl.DataFrame


def spec(chart: Chart, subjects: Sequence[str] = (), heat: HeatScale | None = None) -> Spec:
    """A chart as `{data, layout, flip, cards}`.

    `subjects` fixes the colours of audited systems, `heat` the scale of a heat map. `flip` says that a narrow
    screen should lay the chart on its side; `cards` holds, row by row, the lines shown for marks that have
    pictures.
    """
    chart = in_points(chart)
    coloured = series(chart, subjects)
    if chart.mark == "heatmap":
        data = [_heatmap(chart, heat or heat_scale([chart]))]
    else:
        draw = {"bars": _bars, "stacked": _bars, "lines": _lines, "points": _points, "scatter": _scatter}
        data = [trace for rows in coloured for trace in draw[chart.mark](chart, rows)]
    if chart.marker:
        data.append(_markers(chart, chart.marker))
    categories = _categories(chart.table[chart.x])
    pictured = chart.picture is not None and chart.mark == "scatter"
    return {
        "data": data,
        "layout": _layout(chart, coloured, categories),
        "flip": chart.mark in {"bars", "stacked", "points"} and len(categories or ()) > MANY,
        "cards": [hover(chart, row) for row in chart.table.iter_rows(named=True)] if pictured else [],
    }


def series(chart: Chart, subjects: Sequence[str] = ()) -> list[Series]:
    """The chart's rows by colour, in the order of its domain, or of `subjects` where colours are systems."""
    if chart.color is None or chart.mark == "heatmap":
        lone = colours.GROUPS[0]
        return [Series(chart.y_title, lone, "circle", list(range(len(chart.table))), chart.table)]
    names = categories(chart)
    order = list(subjects) if chart.by_subject else []
    order += [name for name in ordered(chart, names) if name not in order]
    rows = {name: (names == name).arg_true().to_list() for name in order}
    return [
        Series(
            name,
            colours.subject_colour(name, order)
            if chart.by_subject
            else colours.colour_of(name, order, chart.roles),
            colours.symbol_of(name, order),
            rows[name],
            chart.table[rows[name]],
        )
        for name in order
        if rows[name]
    ]


EQUAL = 1e-9
"""Values that differ by a smaller share of the largest are equal but for rounding."""


def fitted(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float] | None:
    """Slope, intercept and Pearson's r of the least-squares line; None where there is no line to draw.

    >>> tuple(round(v, 6) for v in fitted([0, 1, 2], [1, 3, 5]))
    (2.0, 1.0, 1.0)
    >>> fitted([-0.1, -0.1, -0.1 + 1e-17], [1, 2, 3])
    """
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(xs) & np.isfinite(ys)
    xs, ys = xs[kept], ys[kept]
    if len(xs) < 3 or any(np.ptp(values) <= EQUAL * np.abs(values).max() for values in (xs, ys)):
        return None
    slope, intercept = np.polyfit(xs, ys, 1)
    return float(slope), float(intercept), float(np.corrcoef(xs, ys)[0, 1])


def hover(chart: Chart, row: dict[str, Any]) -> list[str]:
    """The lines shown when the pointer is over a mark."""
    unit = "share" if chart.percent else ""
    lines = [str(row[chart.label])] if chart.label and row[chart.label] is not None else []
    if chart.color and chart.mark != "heatmap" and not any(str(row[chart.color]) in line for line in lines):
        lines.append(str(row[chart.color]))
    x, y = row[chart.x], row[chart.y]
    if chart.picture is None or chart.mark != "scatter":
        lines.append(f"{chart.x_title}: {number(x)}")
        value = f"{chart.y_title}: {number(y, unit)}"
        if chart.low and chart.high and row[chart.low] is not None and row[chart.high] is not None:
            value += f" [{number(row[chart.low], unit)}, {number(row[chart.high], unit)}]"
        lines.append(value)
    if chart.marker and row[chart.marker] is not None:
        lines.append(f"{title_of(chart.marker)}: {number(row[chart.marker], unit)}")
    if chart.mark == "heatmap" and chart.color:
        lines.append(f"{title_of(chart.color)}: {number(row[chart.color], unit)}")
    return lines


def title_of(column: str) -> str:
    """A column's name as words.

    >>> title_of("value_a"), title_of("p_holm")
    ('value a', 'p (Holm)')
    """
    return column.replace("_holm", " (Holm)").replace("_", " ")


def _safe(text: object) -> str:
    """Plotly reads some markup in its texts; captions are never markup."""
    said = "" if text is None else str(text)
    return html.escape(said, quote=False) if MARKUP.search(said) else said


def _values(column: pl.Series) -> list[Any]:
    if column.dtype.is_numeric():
        return [None if v is None or not np.isfinite(v) else v for v in column]
    return [_safe(value) for value in column.cast(pl.String)]


def _categories(column: pl.Series) -> list[str] | None:
    if column.dtype.is_numeric():
        return None
    return [_safe(value) for value in column.cast(pl.String).unique(maintain_order=True)]


def _base(chart: Chart, rows: Series) -> Spec:
    name, x, y = _safe(rows.name), _values(rows.table[chart.x]), _values(rows.table[chart.y])
    lines = ["<br>".join(map(_safe, hover(chart, row))) for row in rows.table.iter_rows(named=True)]
    return {"name": name, "x": x, "y": y, "hovertext": lines, "hoverinfo": "text", "legendgroup": name}


def _errors(chart: Chart, rows: Series) -> Spec | None:
    if not (chart.low and chart.high):
        return None
    y = rows.table[chart.y].cast(pl.Float64)
    above, below = (rows.table[chart.high] - y).clip(0), (y - rows.table[chart.low]).clip(0)
    ends = {"array": _values(above.fill_null(0)), "arrayminus": _values(below.fill_null(0))}
    return {"type": "data", "symmetric": False, **ends, "thickness": 1.25, "width": 2}


def _bars(chart: Chart, rows: Series) -> list[Spec]:
    errors = _errors(chart, rows) if chart.mark == "bars" else None
    trace = _base(chart, rows) | {"type": "bar", "marker": {"color": rows.colour}}
    return [trace | ({"error_y": errors} if errors else {})]


def _points(chart: Chart, rows: Series) -> list[Spec]:
    marker = {"color": rows.colour, "symbol": rows.symbol, "size": 8}
    trace = _base(chart, rows) | {"type": "scatter", "mode": "markers", "marker": marker}
    if errors := _errors(chart, rows):
        trace["error_y"] = errors | {"color": rows.colour}
    return [trace]


def _lines(chart: Chart, rows: Series) -> list[Spec]:
    line = _base(chart, rows) | {
        "type": "scatter",
        "mode": "lines+markers" if len(rows.table) <= 30 else "lines",
        "line": {"color": rows.colour, "width": 2},
        "marker": {"color": rows.colour, "symbol": rows.symbol, "size": 6},
    }
    if not (chart.low and chart.high):
        return [line]
    edge: Spec = {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    edge |= {"x": line["x"], "legendgroup": line["legendgroup"]}
    fill = {"fill": "tonexty", "fillcolor": colours.translucent(rows.colour, 0.2)}
    lower = edge | {"y": _values(rows.table[chart.low])}
    upper = edge | {"y": _values(rows.table[chart.high])} | fill
    return [lower, upper, line]


def _scatter(chart: Chart, rows: Series) -> list[Spec]:
    many = len(chart.table) > 400
    marker = {"color": rows.colour, "symbol": rows.symbol, "size": 5 if many else 9, "opacity": 0.85}
    trace = _base(chart, rows) | {"type": "scatter", "mode": "markers", "marker": marker}
    if chart.picture:
        trace |= {"customdata": rows.rows, "hoverinfo": "none"}
        del trace["hovertext"]
    elif chart.label and len(chart.table) <= FEW:
        trace |= {"mode": "markers+text", "textposition": "top center", "cliponaxis": False}
        trace["text"] = [_safe(word) for word in rows.table[chart.label]]
    traces = [trace]
    if errors := _errors(chart, rows):
        trace["error_y"] = errors | {"color": rows.colour}
    line = fitted(trace["x"], trace["y"]) if chart.fit and chart.table[chart.x].dtype.is_numeric() else None
    if line:
        slope, intercept, r = line
        known = [x for x in trace["x"] if x is not None]
        ends = [min(known), max(known)]
        name = "fit," if chart.color is None else f"{trace['name']}:"
        fit: Spec = {"type": "scatter", "mode": "lines", "name": f"{name} r = {number(r)}"}
        fit |= {"x": ends, "y": [slope * x + intercept for x in ends]}
        traces.append(
            fit | {"line": {"color": rows.colour, "dash": "dot", "width": 1.5}, "hoverinfo": "skip"}
        )
    return traces


def _heatmap(chart: Chart, heat: HeatScale) -> Spec:
    value = chart.color or chart.y
    columns, rows = (
        _categories(column) or _values(column.unique(maintain_order=True))
        for column in (chart.table[chart.x], chart.table[chart.y])
    )
    keys = zip(_values(chart.table[chart.x]), _values(chart.table[chart.y]), strict=True)
    cells = {
        key: (row[value], "<br>".join(map(_safe, hover(chart, row))))
        for key, row in zip(keys, chart.table.iter_rows(named=True), strict=True)
    }
    empty = (None, "")
    last = len(heat.colours) - 1
    return {
        "type": "heatmap",
        "x": columns,
        "y": rows,
        "z": [[cells.get((x, y), empty)[0] for x in columns] for y in rows],
        "text": [[cells.get((x, y), empty)[1] for x in columns] for y in rows],
        "hoverinfo": "text",
        "colorscale": [[place / last, colour] for place, colour in enumerate(heat.colours)],
        "zmin": heat.low,
        "zmax": heat.high,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickformat": ".0%" if chart.percent else ""},
    }


def _markers(chart: Chart, column: str) -> Spec:
    """The second value of each x, as a tick across it."""
    rows = chart.table.unique([chart.x, column], maintain_order=True)
    look = {"symbol": "line-ew", "size": 11, "color": "ink", "line": {"width": 2, "color": "ink"}}
    places = {"x": _values(rows[chart.x]), "y": _values(rows[column])}
    about = {"type": "scatter", "mode": "markers", "name": title_of(column)}
    return about | places | {"hoverinfo": "skip", "marker": look}


def _layout(chart: Chart, coloured: list[Series], categories: list[str] | None) -> Spec:
    once = chart.table[chart.x].n_unique() == len(chart.table)
    barmode = "stack" if chart.mark == "stacked" else "overlay" if once else "group"
    x_axis: Spec = {"title": {"text": _safe(chart.x_title)}, "automargin": True, "zeroline": False}
    if categories is not None:
        x_axis |= {"type": "category", "categoryorder": "array", "categoryarray": categories}
        # One tick a category: a language must not vanish because its neighbours need room.
        x_axis |= {"tickmode": "array", "tickvals": categories, "ticktext": categories, "showgrid": False}
    y_axis: Spec = {"title": {"text": _safe(chart.y_title)}, "automargin": True, "zeroline": False}
    if chart.mark == "heatmap":
        y_axis |= {"autorange": "reversed", "showgrid": False}
        x_axis |= {"showgrid": False}
    if chart.percent and chart.mark != "heatmap":
        y_axis["tickformat"] = ".0%"
    if chart.log:
        y_axis |= {"type": "log", "dtick": 1}
    elif chart.mark in {"bars", "stacked"}:
        y_axis["rangemode"] = "tozero"
    levels = {} if chart.mark == "heatmap" else chart.reference
    named = chart.color is not None or chart.marker is not None or chart.fit
    return {
        "barmode": barmode,
        # Thin bars with gaps shimmer: a hundred ranks are drawn as one surface.
        "bargap": 0.25 if categories or len(chart.table[chart.x].unique()) <= MANY else 0,
        "height": 380,
        "margin": {"l": 8, "r": 12, "t": 12, "b": 8},
        "hovermode": "closest",
        # Points of several series at one place are drawn beside each other.
        "scattermode": "group" if chart.mark == "points" and categories and not once else "overlay",
        "scattergap": 0.35,
        "showlegend": named and chart.mark != "heatmap",
        "legend": LEGEND_PLACE | {"itemsizing": "constant"},
        "xaxis": x_axis,
        "yaxis": y_axis,
        "shapes": [_reference_line(value) for value in levels.values()],
        "annotations": [_reference_word(label, value, chart.log) for label, value in levels.items()],
    }


def _reference_line(value: float) -> Spec:
    place = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": value, "y1": value}
    return place | {"line": {"color": "ink", "width": 1, "dash": "dash"}, "layer": "below"}


def _reference_word(label: str, value: float, log: bool) -> Spec:
    # Annotations, unlike shapes, take the exponent on a logarithmic axis.
    level = float(np.log10(value)) if log and value > 0 else value
    place = {"xref": "paper", "x": 1, "xanchor": "right", "yref": "y", "y": level, "yanchor": "bottom"}
    return place | {"text": _safe(label), "showarrow": False, "font": {"size": 11}}
