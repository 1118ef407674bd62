"""Figures for print: the page's charts and lists as vector graphics, in the same colours.

Needs matplotlib (`pip install 'equiview[figures]'`). The same figure gives the same bytes: no dates, fixed
salts. PDF embeds its fonts as TrueType, which publishers ask for; SVG draws its letters as shapes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.languages import languages
from equiview.errors import InputError
from equiview.report import colours
from equiview.report.charts import FEW, MANY, Series, fitted, series, title_of
from equiview.report.scales import heat_scale, in_points
from equiview.report.words import number

FORMATS: tuple[Literal["svg", "pdf"], ...] = ("svg", "pdf")
COLUMN, PAGE = 3.4, 7.0  # widths of one column and of a page, in inches
INK, PALE = "#1c2126", "#d5dadf"
SYMBOLS = dict(
    zip(colours.SYMBOLS, ("o", "D", "s", "^", "P", "*", "v", "X", "h", "p", "<", ">"), strict=True)
)
# DejaVu comes with matplotlib; the others are used where they are installed.
SCRIPTS = (
    "",
    " Arabic",
    " Hebrew",
    " Devanagari",
    " Bengali",
    " Telugu",
    " Thai",
    " CJK JP",
    " CJK SC",
    " CJK KR",
)
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7),
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "equiview",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.03,
}


def render(figure: Figure, format: Literal["svg", "pdf"], subjects: Sequence[str] = ()) -> bytes:
    """A figure as an SVG or PDF file's content; InputError when matplotlib is not installed."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Sheet
    except ImportError:
        raise InputError("figures for print need matplotlib: pip install 'equiview[figures]'") from None
    with mpl.rc_context(STYLE | {"font.family": _families()}), warnings.catch_warnings():
        # A script without an installed font shows as boxes; that is no reason to lose the figure.
        warnings.filterwarnings("ignore", message="Glyph .* missing|.*[Ff]ont.*")
        if isinstance(figure, Gallery):
            sheet = _gallery(figure, Sheet)
        else:
            crowded = figure.table[figure.x].dtype == pl.String and figure.table[figure.x].n_unique() > MANY
            wide = crowded or figure.mark == "scatter"
            sheet = Sheet(figsize=(PAGE if wide else COLUMN, 2.6))
            _chart(figure, sheet.subplots(), subjects)
        dates = {"Date": None} if format == "svg" else {"CreationDate": None, "ModDate": None}
        content = io.BytesIO()
        sheet.savefig(content, format=format, metadata=dates)
    return content.getvalue()


def _families() -> list[str]:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for script in SCRIPTS if (name := f"Noto Sans{script}") in installed)]


def _chart(chart: Chart, axes: Any, subjects: Sequence[str]) -> None:
    chart = in_points(chart)
    coloured = series(chart, subjects)
    places = _places(chart)
    bars = dict.fromkeys(("bars", "stacked"), _bars)
    draw = bars | {"lines": _lines, "points": _points, "scatter": _scatter, "heatmap": _heatmap}
    draw[chart.mark](chart, axes, coloured, places)
    if chart.marker:
        rows = chart.table.unique([chart.x, chart.marker], maintain_order=True)
        look = {"color": INK, "ms": 6, "mew": 1.2, "label": title_of(chart.marker)}
        axes.plot(_x(rows, chart, places), rows[chart.marker], "_", **look)
    for label, value in ({} if chart.mark == "heatmap" else chart.reference).items():
        axes.axhline(value, color=INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
        axes.text(1, value, label, transform=axes.get_yaxis_transform(), ha="right", va="bottom", fontsize=6)
    axes.set_xlabel(chart.x_title)
    axes.set_ylabel(chart.y_title)
    if places and chart.mark != "heatmap":
        axes.set_xticks(list(places.values()), list(places), rotation=90 if len(places) > 6 else 0)
    if chart.mark != "heatmap":
        axes.grid(axis="both" if not places else "y")
        if chart.log:
            axes.set_yscale("log")
        if chart.percent:
            axes.yaxis.set_major_formatter(_percent)
    handles, words = axes.get_legend_handles_labels()
    if (chart.color or chart.marker or chart.fit) and handles:
        widest = 0.42 + 0.047 * max(map(len, words))  # inches
        columns = min(4, max(1, int((axes.figure.get_figwidth() - 0.55) // widest)))
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handlelength=1.4
        )


def _percent(value: float, _: object) -> str:
    return f"{100 * value:g}%"


def _places(chart: Chart) -> dict[str, int]:
    column = chart.table[chart.x]
    if column.dtype.is_numeric():
        return {}
    return {str(name): place for place, name in enumerate(column.cast(pl.String).unique(maintain_order=True))}


def _x(rows: pl.DataFrame, chart: Chart, places: dict[str, int]) -> list[float]:
    column = rows[chart.x]
    return [places[str(name)] for name in column] if places else column.cast(pl.Float64).to_list()


def _ends(chart: Chart, rows: pl.DataFrame) -> list[list[float]] | None:
    if not (chart.low and chart.high):
        return None
    below = (rows[chart.y] - rows[chart.low]).clip(0).fill_null(0)
    above = (rows[chart.high] - rows[chart.y]).clip(0).fill_null(0)
    return [below.to_list(), above.to_list()]


def _bars(chart: Chart, axes: Any, coloured: list[Series], places: dict[str, int]) -> None:
    once = chart.table[chart.x].n_unique() == len(chart.table)
    stacked = chart.mark == "stacked"
    dense = not places and chart.table[chart.x].n_unique() > MANY
    total = 1.0 if dense else 0.75
    share = total if stacked or once else total / len(coloured)
    ground: dict[float, float] = {}
    for index, rows in enumerate(coloured):
        x = _x(rows.table, chart, places)
        y = rows.table[chart.y].fill_null(0.0).to_list()
        shift = 0 if stacked or once else (index - (len(coloured) - 1) / 2) * share
        bottom = [ground.get(place, 0.0) if stacked else 0.0 for place in x]
        errors = {} if stacked else {"yerr": _ends(chart, rows.table)}
        # A line of the same colour closes the seams between bars that touch.
        look = {"color": rows.colour, "edgecolor": rows.colour if dense else "none", "linewidth": 0.2}
        axes.bar([place + shift for place in x], y, share, bottom=bottom, label=rows.name,
                 error_kw={"elinewidth": 0.7, "ecolor": INK}, **look, **errors)  # fmt: skip
        for place, value in zip(x, y, strict=True):
            ground[place] = ground.get(place, 0.0) + value


def _points(chart: Chart, axes: Any, coloured: list[Series], places: dict[str, int]) -> None:
    for rows in coloured:
        x, y = _x(rows.table, chart, places), rows.table[chart.y].to_list()
        look = {"fmt": SYMBOLS[rows.symbol], "color": rows.colour, "ms": 3.2, "elinewidth": 0.8}
        axes.errorbar(x, y, _ends(chart, rows.table), label=rows.name, **look)


def _lines(chart: Chart, axes: Any, coloured: list[Series], places: dict[str, int]) -> None:
    for rows in coloured:
        x = _x(rows.table, chart, places)
        style = f"{SYMBOLS[rows.symbol]}-" if len(x) <= FEW else "-"
        axes.plot(x, rows.table[chart.y], style, color=rows.colour, ms=3, label=rows.name)
        if chart.low and chart.high:
            ends = rows.table.select(pl.col(chart.low, chart.high).cast(pl.Float64)).to_numpy()
            # null becomes nan: no band there
            axes.fill_between(x, *ends.T, color=rows.colour, alpha=0.2, linewidth=0)


def _scatter(chart: Chart, axes: Any, coloured: list[Series], places: dict[str, int]) -> None:
    small = len(chart.table) > 400
    for rows in coloured:
        x, y = _x(rows.table, chart, places), rows.table[chart.y].to_list()
        axes.scatter(x, y, 4 if small else 14, marker=SYMBOLS[rows.symbol], color=rows.colour, alpha=0.85,
                     linewidths=0, label=rows.name, rasterized=len(chart.table) > 4000)  # fmt: skip
        if chart.label and len(chart.table) <= FEW:
            for place, value, word in zip(x, y, rows.table[chart.label], strict=True):
                axes.annotate(
                    str(word), (place, value), (0, 3), textcoords="offset points", ha="center", fontsize=6
                )
        line = fitted(x, y) if chart.fit and not places else None
        if line:
            slope, intercept, r = line
            ends = [min(x), max(x)]
            axes.plot(ends, [slope * end + intercept for end in ends], ":", color=rows.colour, linewidth=1,
                      label=f"r = {number(r)}")  # fmt: skip


def _heatmap(chart: Chart, axes: Any, _: list[Series], places: dict[str, int]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    value = chart.color or chart.y
    x_names = [str(name) for name in chart.table[chart.x].unique(maintain_order=True)]
    y_names = [str(name) for name in chart.table[chart.y].unique(maintain_order=True)]
    grid = [[float("nan")] * len(x_names) for _ in y_names]
    for row in chart.table.iter_rows(named=True):
        if row[value] is not None:
            grid[y_names.index(str(row[chart.y]))][x_names.index(str(row[chart.x]))] = float(row[value])
    heat = heat_scale([chart])
    scale = LinearSegmentedColormap.from_list("equiview", heat.colours)
    shown = axes.imshow(grid, cmap=scale, aspect="auto", vmin=heat.low, vmax=heat.high)
    axes.set_xticks(range(len(x_names)), x_names, rotation=90 if len(x_names) > 6 else 0)
    axes.set_yticks(range(len(y_names)), y_names)
    bar = axes.figure.colorbar(shown, ax=axes)
    bar.outline.set_visible(False)
    if chart.percent:
        bar.ax.yaxis.set_major_formatter(_percent)


def _gallery(gallery: Gallery, sheet_class: Any) -> Any:
    """A column for each list: what was asked on top, what came back under it."""
    groups = [rows for _, rows in gallery.table.group_by(["group"], maintain_order=True)]
    longest = max(len(rows) for rows in groups)
    pictorial = "item_picture" in gallery.table.columns
    height = 1.7 * len(groups) if pictorial else 1.1 + 0.17 * longest
    width = PAGE if pictorial else min(PAGE, 2.4 * len(groups))
    sheet = sheet_class(figsize=(width, height))
    if pictorial:
        panes = sheet.subplots(len(groups), longest + 1, squeeze=False)
        for pane, rows in zip(panes, groups, strict=True):
            _triplet(gallery, rows, pane)
    else:
        panes = sheet.subplots(2, len(groups), squeeze=False, height_ratios=[1, 0.2 * longest])
        for index, rows in enumerate(groups):
            _asked(gallery, rows, panes[0][index])
            _list(rows, panes[1][index])
    return sheet


def _asked(gallery: Gallery, rows: pl.DataFrame, pane: Any) -> None:
    pane.axis("off")
    shown = gallery.pictures.get(str(rows["group"][0]))
    if shown is not None:
        pane.imshow(_pixels(shown))
    heading = str(rows["heading"][0]) if "heading" in rows.columns else str(rows["group"][0])
    pane.set_title(_short(heading, 44), fontsize=7)


def _list(rows: pl.DataFrame, pane: Any) -> None:
    pane.axis("off")
    tiers = dict(zip(languages()["code"], languages()["tier"], strict=True))
    for index, row in enumerate(rows.sort("rank").iter_rows(named=True)):
        code = row.get("language")
        tier = row.get("tier") or tiers.get(code or "", "")
        at = {"transform": pane.transAxes, "va": "top", "fontsize": 6.5}
        y = 1 - index / len(rows)
        mark = {True: "✓", False: "✗", None: ""}[row.get("correct")]
        pane.text(0.0, y, f"{row['rank']}", ha="right", color=INK, **at)
        pane.text(0.04, y, code or "", color=colours.TIERS.get(tier, INK), fontweight="bold", **at)
        pane.text(0.15, y, mark, **at)
        pane.text(0.21, y, _short(str(row.get("text") or row.get("note") or ""), 30), **at)


def _triplet(gallery: Gallery, rows: pl.DataFrame, panes: Any) -> None:
    _asked(gallery, rows, panes[0])
    for pane in panes[1:]:
        pane.axis("off")
    for index, row in enumerate(rows.sort("rank").iter_rows(named=True)):
        pane = panes[index + 1]
        if row.get("item_picture") is not None:
            pane.imshow(_pixels(row["item_picture"]))
        score = "" if row.get("score") is None else f" {number(float(row['score']))}"
        words = f"{row.get('note') or row.get('text') or ''}{score}"
        won = bool(row["winner"]) if "winner" in row else index == 0
        pane.set_title(f"★ {words}" if won else words, fontsize=7, fontweight="bold" if won else "normal")


def _pixels(content: bytes) -> Any:
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(content)) as opened:
        return np.asarray(opened.convert("RGB"))


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
