"""An audit's figures as the page shows them: those of several runs joined, each with its table beside it.

A chart without colours becomes one chart with a colour for each run; a coloured chart is drawn
once a run, side by side on the same scale and in the same colours. The numbers travel with the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from equiview.audits.saying import listed
from equiview.data.figures import Chart, Figure, Gallery
from equiview.io.pictures import data_uri
from equiview.report import charts
from equiview.report.embed import DIGITS, Pictures, columns, packed_json, small
from equiview.report.scales import HeatScale, heat_scale
from equiview.report.words import language, number

SUBJECT = "subject"
F = TypeVar("F", Chart, Gallery)
Groups: TypeAlias = list[tuple[tuple[str, ...], Figure]]


@dataclass(frozen=True)
class Panel:
    """One drawing: of the runs named, which have exactly the same, or of all of them where none is named."""

    subjects: tuple[str, ...]
    lists: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Block:
    """A figure on the page: its panels, and its payload, which the page's script reads.

    `alike` names runs that have exactly the numbers of others and are not drawn again. `again` is the (id,
    title) of a block above that has all of these numbers; there are then no panels.
    """

    id: str
    kind: str
    title: str
    see: str
    panels: tuple[Panel, ...]
    payload: str
    rows: int
    alike: tuple[str, ...] = ()
    again: tuple[str, str] | None = None


class Shown:
    """The figures of a page so far, so that none is drawn twice."""

    def __init__(self) -> None:
        self._shown: list[tuple[str, str, Groups]] = []

    def find(self, groups: Groups) -> tuple[str, str] | None:
        """The (id, title) of a figure with the same numbers of the same runs."""
        for identity, title, others in self._shown:
            if len(others) == len(groups) and all(
                names == theirs and same(figure, other)
                for (names, figure), (theirs, other) in zip(groups, others, strict=True)
            ):
                return identity, title
        return None

    def add(self, identity: str, title: str, groups: Groups) -> None:
        """Remember a figure that is drawn."""
        self._shown.append((identity, title, groups))


def blocks(
    audit: str, figures: Sequence[tuple[str, Figure]], pictures: Pictures, before: Shown | None = None
) -> list[Block]:
    """The figures of one audit, given as (subject, figure), in the order in which they first appear.

    Charts come with their domains (`with_domains` over the page). Pictures shown on hovering are added to
    `pictures`, and the figures to those that stand `before`.
    """
    before = Shown() if before is None else before
    subjects = list(dict.fromkeys(subject for subject, _ in figures))
    shown = []
    for name in dict.fromkeys(figure.name for _, figure in figures):
        identity = "-".join(("figure", audit, name)).replace(".", "-").replace(" ", "-")
        groups = grouped([(subject, figure) for subject, figure in figures if figure.name == name])
        first = groups[0][1]
        if (again := before.find(groups)) is not None:
            shown.append(Block(identity, "again", first.title, first.see, (), "", 0, again=again))
            continue
        before.add(identity, first.title, groups)
        drawn = [(names, figure) for names, figure in groups if isinstance(figure, Chart)]
        if drawn:
            shown.append(_chart_block(identity, drawn, subjects, pictures))
        else:
            lists = [(names, figure) for names, figure in groups if isinstance(figure, Gallery)]
            shown.append(_gallery_block(identity, lists))
    return shown


def grouped(figures: Sequence[tuple[str, Figure]]) -> list[tuple[tuple[str, ...], Figure]]:
    """Figures that differ, each with all the subjects that have it (systems of one image tower, say)."""
    groups: list[tuple[list[str], Figure]] = []
    for subject, figure in figures:
        names = next((names for names, other in groups if same(figure, other)), None)
        if names is None:
            groups.append(([subject], figure))
        else:
            names.append(subject)
    return [(tuple(names), figure) for names, figure in groups]


WORDS = {"name", "title", "see", "x_title", "y_title", "domain"}
"""What two figures of the same numbers may say differently."""


def same(figure: Figure, other: Figure) -> bool:
    """Whether two figures are drawn alike of the same numbers, to what a page carries of them."""
    if type(figure) is not type(other) or figure.table.schema != other.table.schema:
        return False
    rest = [field.name for field in fields(figure) if field.name not in WORDS | {"table"}]
    if len(figure.table) != len(other.table) or any(
        getattr(figure, name) != getattr(other, name) for name in rest
    ):
        return False
    return all(map(_same_column, figure.table, other.table))


def _same_column(column: pl.Series, other: pl.Series) -> bool:
    if column.dtype.is_float():
        return np.allclose(column.to_numpy(), other.to_numpy(), rtol=10.0**-DIGITS, atol=0.0, equal_nan=True)
    return column.equals(other)


def joined(drawn: Sequence[tuple[str, Chart]]) -> Chart | None:
    """One chart of several runs' charts, coloured by run; None when they must stay apart."""
    first = drawn[0][1]
    alone = all(chart.color is None and chart.mark in {"bars", "lines", "points"} for _, chart in drawn)
    same = {(chart.mark, chart.x, chart.y, tuple(sorted(chart.reference.items()))) for _, chart in drawn}
    if len(drawn) < 2 or not alone or len(same) > 1:
        return None
    # Bars of many categories and runs would be slivers: points say the same.
    mark = "points" if first.mark == "bars" else first.mark
    return replace(first, table=_stacked(drawn), color=SUBJECT, by_subject=True, mark=mark)


def _chart_block(
    identity: str,
    groups: Sequence[tuple[tuple[str, ...], Chart]],
    subjects: Sequence[str],
    pictures: Pictures,
) -> Block:
    first = groups[0][1]
    together = joined([(names[0], chart) for names, chart in groups])
    shown = [((), together)] if together else _titled(groups)
    table = _stacked([(listed(names), chart) for names, chart in groups])
    heat = heat_scale([chart for _, chart in shown]) if first.mark == "heatmap" else None
    payload = {
        "panels": [_panel(chart, subjects, pictures, heat) for _, chart in shown],
        "shared": len(shown) > 1,
        "table": columns(table),
    }
    return Block(
        identity,
        "chart",
        first.title,
        first.see if together else " ".join(dict.fromkeys(chart.see for _, chart in groups)),
        tuple(Panel(names) for names, _ in shown),
        packed_json(payload),
        len(table),
        tuple(
            f"{listed(names[1:])}: exactly the same as {names[0]}" for names, _ in groups if len(names) > 1
        ),
    )


def _panel(
    chart: Chart, subjects: Sequence[str], pictures: Pictures, heat: HeatScale | None
) -> dict[str, Any]:
    spec = charts.spec(chart, subjects, heat)
    if spec["cards"] and chart.picture:
        numbers = [pictures.add(content) for content in chart.table[chart.picture]]
        spec["cards"] = [
            {"lines": lines, "picture": number} for lines, number in zip(spec["cards"], numbers, strict=True)
        ]
    return spec


def _gallery_block(identity: str, groups: Sequence[tuple[tuple[str, ...], Gallery]]) -> Block:
    panels = tuple(Panel(names, tuple(_lists(gallery))) for names, gallery in _titled(groups))
    table = _stacked([(listed(names), gallery) for names, gallery in groups])
    first = groups[0][1]
    payload = packed_json({"panels": [], "shared": False, "table": columns(table)})
    return Block(identity, "gallery", first.title, first.see, panels, payload, len(table))


def _titled(groups: Sequence[tuple[tuple[str, ...], F]]) -> list[tuple[tuple[str, ...], F]]:
    """Groups with whom to name above each: nobody where there is one system."""
    alone = sum(len(names) for names, _ in groups) == 1
    return [(() if alone else names, figure) for names, figure in groups]


def _stacked(figures: Sequence[tuple[str, Figure]]) -> pl.DataFrame:
    if len(figures) == 1:
        return figures[0][1].table
    parts = [figure.table.select(pl.lit(subject).alias(SUBJECT), pl.all()) for subject, figure in figures]
    return pl.concat(parts, how="diagonal_relaxed")


def _lists(gallery: Gallery) -> list[dict[str, Any]]:
    lists = []
    for (group,), rows in gallery.table.group_by(["group"], maintain_order=True):
        entries = list(map(entry_of, rows.sort("rank", maintain_order=True).iter_rows(named=True)))
        lists.append(
            {
                "heading": str(rows["heading"][0]) if "heading" in rows.columns else str(group),
                "picture": shown_picture(gallery.pictures.get(str(group))),
                "entries": entries,
                "pictorial": any(entry["picture"] for entry in entries),
            }
        )
    return lists


def shown_picture(picture: bytes | None) -> str | None:
    """A picture as a page shows it, as a data URI."""
    return None if picture is None else data_uri(small(picture))


def entry_of(row: dict[str, Any]) -> dict[str, Any]:
    """An entry of a list, of a row with rank, text, language, tier, score, correct, note and item_picture."""
    code = row.get("language")
    name, direction, tier = language(code or "")
    return {
        "rank": row["rank"],
        "text": row.get("text"),
        "language": code,
        "language_name": name,
        "direction": direction,
        "tier": row.get("tier") or tier,
        "score": None if row.get("score") is None else number(float(row["score"])),
        "correct": row.get("correct"),
        "note": row.get("note"),
        "picture": shown_picture(row.get("item_picture")),
        "winner": bool(row["winner"]) if "winner" in row else row["rank"] == 1,
    }
