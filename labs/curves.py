"""Tables and pictures of the curves that show what bias does as its cause is turned up."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from sources import ROOT

RESULTS = ROOT / "labs" / "results"
IMAGES = ROOT / "docs" / "images"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
Row = dict[str, float]


def read_rows(name: str) -> list[Row]:
    """What an earlier run of a curve measured; nothing where there was none."""
    path = RESULTS / f"{name}.csv"
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return [{column: float(value) for column, value in row.items()} for row in csv.DictReader(file)]


def write_rows(name: str, rows: Sequence[Mapping[str, object]]) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def draw_spread(
    name: str,
    x: Sequence[float],
    lines: dict[str, Sequence[Sequence[float]]],
    *,
    title: str,
    across: str,
    up: str,
    level: tuple[float, str] | None = None,
) -> Path:
    """As `draw_lines`, of several values at each x: their mean, and a point for each."""
    means = {label: [sum(values) / len(values) for values in y] for label, y in lines.items()}
    return draw_lines(name, x, means, title=title, across=across, up=up, level=level, points=lines)


def draw_lines(
    name: str,
    x: Sequence[float],
    lines: dict[str, Sequence[float]],
    *,
    title: str,
    across: str,
    up: str,
    level: tuple[float, str] | None = None,
    points: dict[str, Sequence[Sequence[float]]] | None = None,
) -> Path:
    """An SVG of lines over `x`, each named at its right end; `level` is a dotted line and its name.

    `points` are further values of a line at each x.
    """
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "equiview", "svg.fonttype": "path", "font.size": 10})
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    axes.margins(x=0.12)
    for colour, (label, y) in zip(COLOURS, lines.items(), strict=False):
        axes.plot(x, y, "o-", color=colour, markersize=4)
        for place, values in zip(x, (points or {}).get(label, ()), strict=False):
            axes.plot([place] * len(values), values, "_", color=colour, alpha=0.6)
    if level is not None:
        axes.margins(y=0.1)
        axes.axhline(level[0], color="#777777", linestyle=":", linewidth=1)
        axes.annotate(level[1], (x[-1], level[0]), color="#777777", va="top", ha="right")
    else:
        axes.set_ylim(bottom=0)
    for (label, _), place, colour in zip(lines.items(), _apart(axes, lines), COLOURS, strict=False):
        axes.annotate(f"  {label}", (x[-1], place), color=colour, va="center")
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def _apart(axes, lines: Mapping[str, Sequence[float]]) -> list[float]:
    """Heights of the lines' names, near their ends and far enough apart to be read."""
    ends = [y[-1] for y in lines.values()]
    low, high = axes.get_ylim()
    least = 0.06 * (high - low)
    places = list(ends)
    order = sorted(range(len(ends)), key=ends.__getitem__)
    for below, above in pairwise(order):
        places[above] = max(places[above], places[below] + least)
    return places
