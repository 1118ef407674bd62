"""Figures for print: every kind, as vector files that repeat byte by byte."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Literal

import polars as pl
import pytest
from report_runs import estimates, figures_of_every_kind

from equiview.data.figures import Chart, Figure
from equiview.errors import InputError
from equiview.report.paper import render

EVERY = figures_of_every_kind(estimates(0.5), 0.5)


@pytest.mark.parametrize("figure", EVERY, ids=lambda figure: figure.name)
def test_every_figure_is_drawn_the_same_twice(figure: Figure) -> None:
    # Both formats are tried on every other figure each: drawing takes most of a second.
    format: Literal["svg", "pdf"] = "svg" if EVERY.index(figure) % 2 else "pdf"
    drawn = render(figure, format)
    assert drawn.startswith(b"<?xml" if format == "svg" else b"%PDF")
    assert drawn == render(figure, format)


@pytest.mark.parametrize(("format", "date"), [("svg", rb"<dc:date>"), ("pdf", rb"/CreationDate|/ModDate")])
def test_files_hold_no_date_and_pdf_embeds_truetype(format: Literal["svg", "pdf"], date: bytes) -> None:
    drawn = render(EVERY[0], format)
    assert not re.search(date, drawn)
    assert b"/Type3" not in drawn


def width_of(figure: Figure) -> float:
    return float(re.search(rb'width="([\d.]+)pt"', render(figure, "svg"))[1])  # type: ignore[index]


def test_a_legend_of_long_words_does_not_widen_the_figure() -> None:
    chart = next(figure for figure in EVERY if figure.name == "depth")
    assert isinstance(chart, Chart)
    assert chart.color is not None
    kinds = chart.table[chart.color].unique(maintain_order=True)
    longer = {kind: f"{kind}, of many long words" for kind in kinds}
    table = chart.table.with_columns(pl.col(chart.color).replace(longer))
    assert width_of(replace(chart, table=table)) < 1.1 * width_of(chart)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"equiview\[figures\]"):
        render(EVERY[0], "svg")
