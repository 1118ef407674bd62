"""An audit's figures as the page shows them: those of several runs joined, each with its table beside it.

A chart without colours becomes one chart with a colour for each run; a coloured chart is drawn
once a run, side by side on the same scale and in the same colours. The numbers travel with the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from equiview.data.figures import Chart, Figure, Gallery
from equiview.io.pictures import data_uri
from equiview.report import charts
from equiview.report.embed import Pictures, columns, packed_json, small
from equiview.report.scales import HeatScale, heat_scale
from equiview.report.words import language, number

SUBJECT = "subject"


@dataclass(frozen=True)
class Panel:
    """One drawing: of one run, or of all of them when `subject` is empty."""

    subject: str
    lists: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Block:
    """A figure as the page's template needs it; `payload` is its drawing and table, compressed."""

    id: str
    kind: str
    title: str
    see: str
    panels: tuple[Panel, ...]
    payload: str
    rows: int


def blocks(audit: str, figures: Sequence[tuple[str, Figure]], pictures: Pictures) -> list[Block]:
    """The figures of one audit, given as (subject, figure), in the order in which they first appear.

    Charts come with their domains (`with_domains` over the page). Pictures shown on hovering are added to
    `pictures`.
    """
    subjects = list(dict.fromkeys(subject for subject, _ in figures))
    shown = []
    for name in dict.fromkeys(figure.name for _, figure in figures):
        same = [(subject, figure) for subject, figure in figures if figure.name == name]
        identity = "-".join(("figure", audit, name)).replace(".", "-").replace(" ", "-")
        drawn = [(subject, figure) for subject, figure in same if isinstance(figure, Chart)]
        if drawn:
            shown.append(_chart_block(identity, drawn, subjects, pictures))
        else:
            lists = [(subject, figure) for subject, figure in same if isinstance(figure, Gallery)]
            shown.append(_gallery_block(identity, lists))
    return shown


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
    identity: str, drawn: Sequence[tuple[str, Chart]], subjects: Sequence[str], pictures: Pictures
) -> Block:
    first = drawn[0][1]
    together = joined(drawn)
    apart = [(subject if len(drawn) > 1 else "", chart) for subject, chart in drawn]
    shown = [("", together)] if together else apart
    table = together.table if together else _stacked(drawn)
    heat = heat_scale([chart for _, chart in shown]) if first.mark == "heatmap" else None
    payload = {
        "panels": [_panel(chart, subjects, pictures, heat) for _, chart in shown],
        "shared": len(shown) > 1,
        "table": columns(table),
    }
    panels = tuple(Panel(subject) for subject, _ in shown)
    see = " ".join(dict.fromkeys(chart.see for _, chart in drawn)) if together is None else first.see
    return Block(identity, "chart", first.title, see, panels, packed_json(payload), len(table))


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


def _gallery_block(identity: str, lists: Sequence[tuple[str, Gallery]]) -> Block:
    panels = tuple(
        Panel(subject if len(lists) > 1 else "", tuple(_lists(gallery))) for subject, gallery in lists
    )
    table = _stacked(lists)
    first = lists[0][1]
    payload = packed_json({"panels": [], "shared": False, "table": columns(table)})
    return Block(identity, "gallery", first.title, first.see, panels, payload, len(table))


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
