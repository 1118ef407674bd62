"""Charts become specs that plotly accepts and that hold the chart's numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import polars as pl
import pytest
from report_runs import EVIL, estimates, figures_of_every_kind

from equiview.data.figures import Chart
from equiview.data.roles import TIER_ROLES
from equiview.report import charts, figures
from equiview.report.colours import SUBJECTS, TIERS
from equiview.report.embed import Pictures

EVERY = [figure for figure in figures_of_every_kind(estimates(0.5), 0.5) if isinstance(figure, Chart)]


def inked(value: Any) -> Any:
    return json.loads(json.dumps(value).replace('"ink"', '"#000000"'))


@pytest.mark.parametrize("chart", EVERY, ids=lambda chart: chart.name)
def test_plotly_accepts_every_chart(chart: Chart) -> None:
    spec = inked(charts.spec(chart))
    drawn = go.Figure(spec["data"], spec["layout"])
    assert len(drawn.data) >= 1


def test_every_mark_is_tried_here() -> None:
    assert {chart.mark for chart in EVERY} == {"bars", "stacked", "lines", "points", "scatter", "heatmap"}


def simple(**other: Any) -> Chart:
    table = pl.DataFrame(
        {"tier": ["low", "high"], "y": [0.2, 0.5], "lo": [0.1, 0.4], "hi": [0.4, 0.6], "web": [0.3, 0.9]}
    )
    given = {"mark": "bars", "x": "tier", "y": "y", "x_title": "tier", "y_title": "share"} | other
    return Chart(name="c", title="t", see="s", table=table, **given)


def test_intervals_are_error_bars_measured_from_the_value() -> None:
    trace = charts.spec(simple(low="lo", high="hi"))["data"][0]
    assert trace["error_y"]["array"] == pytest.approx([0.2, 0.1])
    assert trace["error_y"]["arrayminus"] == pytest.approx([0.1, 0.1])
    assert "0.200 [0.100, 0.400]" in trace["hovertext"][0]


def test_tiers_have_their_colours_and_subjects_the_page_s_order() -> None:
    tiers = charts.spec(simple(color="tier", roles=TIER_ROLES))["data"]
    assert {trace["name"]: trace["marker"]["color"] for trace in tiers} == {
        t: TIERS[t] for t in ("low", "high")
    }
    subjects = charts.spec(simple(color="tier", by_subject=True), subjects=["other", "low"])["data"]
    assert subjects[0]["marker"]["color"] == SUBJECTS[1]


def test_marker_and_reference_lines_are_drawn() -> None:
    spec = charts.spec(simple(marker="web", reference={"even": 0.25}))
    assert spec["data"][-1]["y"] == [0.3, 0.9]
    assert spec["layout"]["shapes"][0]["y0"] == 0.25
    assert spec["layout"]["annotations"][0]["text"] == "even"


def test_fit_says_r() -> None:
    table = pl.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]})
    chart = Chart("c", "t", "s", table, "scatter", "x", "y", "x", "y", fit=True)
    line = charts.spec(chart)["data"][1]
    assert (line["x"], line["name"]) == ([0.0, 2.0], "fit, r = 1.00")
    assert line["y"] == pytest.approx([1, 5])


def test_captions_are_never_markup() -> None:
    table = pl.DataFrame({"x": [EVIL, "b"], "y": [1.0, 2.0]})
    chart = Chart("c", EVIL, EVIL, table, "bars", "x", "y", EVIL, EVIL, label="x", reference={EVIL: 1.0})
    assert "<script" not in json.dumps(charts.spec(chart))


def test_nan_becomes_a_gap_and_not_broken_json() -> None:
    table = pl.DataFrame({"x": ["a", "b"], "y": [float("nan"), float("inf")]})
    spec = charts.spec(Chart("c", "t", "s", table, "bars", "x", "y", "x", "y"))
    assert spec["data"][0]["y"] == [None, None]
    json.dumps(spec, allow_nan=False)


def test_plain_charts_of_several_runs_become_one_and_coloured_ones_stay_apart() -> None:
    plain = figures.joined([("a", simple()), ("b", simple())])
    assert plain is not None
    assert (plain.color, plain.by_subject, len(plain.table)) == ("subject", True, 4)
    coloured = simple(color="tier", roles=TIER_ROLES)
    assert figures.joined([("a", coloured), ("b", coloured)]) is None
    other = simple(color="tier", roles=TIER_ROLES, x_title="another tier", percent=True)
    block = figures.blocks("audit", [("a", coloured), ("b", other)], Pictures())[0]
    assert [panel.subjects for panel in block.panels] == [("a",), ("b",)]


def test_panels_with_exactly_the_same_numbers_are_drawn_once_and_say_for_whom() -> None:
    coloured, plain = simple(color="tier", roles=TIER_ROLES), simple()
    higher = replace(plain, table=plain.table.with_columns(pl.col("y") + 0.1))
    (block,) = figures.blocks("audit", [("a", coloured), ("b", coloured), ("c", coloured)], Pictures())
    assert ([panel.subjects for panel in block.panels], block.rows) == ([("a", "b", "c")], 2)
    (block,) = figures.blocks("audit", [("a", plain), ("b", higher), ("c", plain)], Pictures())
    assert ([panel.subjects for panel in block.panels], block.rows) == ([()], 4)
    assert block.alike == ("c: exactly the same as a",)


def test_a_figure_of_another_audit_with_the_same_numbers_is_not_drawn_again() -> None:
    before = figures.Shown()
    first = simple(color="tier", roles=TIER_ROLES)
    again = replace(first, name="other", title="o", see="other words", y_title="another share")
    figures.blocks("one", [("a", first)], Pictures(), before)
    (block,) = figures.blocks("two", [("a", again)], Pictures(), before)
    assert (block.again, block.panels, block.payload) == (("figure-one-c", "t"), (), "")
    (block,) = figures.blocks("two", [("b", again)], Pictures(), before)
    assert block.again is None


def test_a_picture_shown_in_many_places_is_carried_once() -> None:
    pictures = Pictures()
    assert [pictures.add(content) for content in (b"one", b"two", b"one", None)] == [0, 1, 0, None]
    assert [name for name, _ in pictures.pieces()] == ["pictures-0"]
