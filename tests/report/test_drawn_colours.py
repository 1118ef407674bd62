"""The colours that figures of several systems are drawn in: one for a category, on the page and in print."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from several_systems import (
    of_captions,
    of_faces,
    of_people,
    of_places,
    of_quiz,
    of_removals,
    of_trials,
    of_world,
)

from equiview.audits import AUDITS
from equiview.data.figures import Chart, Figure
from equiview.data.run import Run
from equiview.report import colours, page
from equiview.report.domains import with_domains
from equiview.report.embed import Pictures
from equiview.report.figures import Block, Shown, blocks
from equiview.report.opening import cards
from equiview.report.page import _figures
from equiview.report.paper import render

if TYPE_CHECKING:
    from browser import Page

LEGENDS = """return [...document.querySelectorAll(".plot")].map((plot) => [plot.closest("figure").id,
  [...plot.querySelectorAll(".legend .traces")].map((entry) => {
    const mark = entry.querySelector(".legendpoints path, .legendbar path, .layers .legendundefined path");
    const word = entry.querySelector(".legendtext").dataset.unformatted;
    return [word, mark ? getComputedStyle(mark).fill : null];
  }).filter(([word, colour]) => colour)]);"""
HEATS = """return [...document.querySelectorAll(".plot")].flatMap((plot) => {
  const { type, zmin, zmax, colorscale } = plot._fullData[0];
  return type === "heatmap" ? [[plot.closest("figure").id, [zmin, zmax, colorscale[0][1]]]] : []; });"""
PAGES = {
    "world": of_world,
    "trials": of_trials,
    "faces": of_faces,
    "quiz": of_quiz,
    "people": of_people,
    "captions": of_captions,
    "places": of_places,
    "removals": of_removals,
}


Panels = list[tuple[str, dict[str, str]]]
"""Of each panel drawn: its figure, and the colour of each category in its legend."""
Heats = list[tuple[str, Any]]
Read = tuple[list[Run], Panels, Heats]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Run]]:
    """The runs of a page, made once."""
    return cache(lambda name: PAGES[name](tmp_path_factory.mktemp(name)))


@pytest.fixture(scope="module")
def drawn(
    made: Callable[[str], list[Run]], window: Page, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Read]:
    """The runs of a page and what is drawn on it, opened once."""
    folder = tmp_path_factory.mktemp("pages")
    return cache(lambda name: (made(name), *read(window, made(name), folder / f"{name}.html")))


@pytest.fixture(params=PAGES)
def shown(request: pytest.FixtureRequest, drawn: Callable[[str], Read]) -> Read:
    """The runs of one page, and what is drawn on it."""
    return drawn(request.param)


def figures_of(run: Run) -> list[Figure]:
    return with_domains([figure for audit in run.manifest.audits for figure in run.figures(audit)])


def coloured(run: Run) -> list[Chart]:
    return [
        figure
        for figure in figures_of(run)
        if isinstance(figure, Chart) and figure.color is not None and figure.mark != "heatmap"
    ]


def hexadecimal(colour: str) -> str:
    red, green, blue = colour.removeprefix("rgb(").removesuffix(")").split(", ")
    return f"#{int(red):02x}{int(green):02x}{int(blue):02x}"


def read(window: Page, runs: list[Run], path: Path) -> tuple[Panels, Heats]:
    """What is drawn on the page of these runs."""
    path.write_bytes(page(runs))
    window.open(path)
    assert window.problems() == []
    legends = window.run(LEGENDS)
    return [(name, {word: hexadecimal(c) for word, c in entries}) for name, entries in legends], window.run(
        HEATS
    )


def test_a_category_has_one_colour_in_every_panel_and_figure(shown: Read) -> None:
    runs, panels, _ = shown
    seen: dict[str, set[str]] = {}
    for _, legend in panels:
        for word, colour in legend.items():
            seen.setdefault(word, set()).add(colour)
    assert {word: found for word, found in seen.items() if len(found) > 1} == {}
    shown_blocks = blocks_of(runs)
    for chart in coloured(runs[0]):
        (block,) = (block for block in shown_blocks if block.id.endswith(f"-{chart.name}"))
        drawn = sum(name == block.id for name, legend in panels if legend)
        assert drawn == len(block.panels), "every panel of a coloured chart has its legend"
        assert sum(len(panel.subjects) for panel in block.panels) in (0, len(runs))


def blocks_of(runs: list[Run]) -> list[Block]:
    """The figures of the page of these runs."""
    drawn, before = _figures(runs, cards(runs)), Shown()
    return [block for audit, of in drawn.items() for block in blocks(audit, of, Pictures(), before)]


def test_print_has_the_colours_of_the_page(shown: Read) -> None:
    runs, panels, _ = shown
    charts = [chart for chart in coloured(runs[-1]) if chart.mark != "scatter"]
    categories = {str(word) for chart in charts for word in chart.table[chart.color or ""]}
    on_page = {word: c for _, legend in panels for word, c in legend.items() if word in categories}
    # Drawing takes most of a second: one chart of each kind.
    for chart in {(chart.color, chart.domain, chart.mark): chart for chart in charts}.values():
        words = {str(word) for word in chart.table[chart.color or ""]}
        svg = render(chart, "svg", [runs[-1].name]).decode()
        assert {word for word in words if on_page[word] not in svg} == set(), chart.name
        others = {on_page[word] for word in on_page.keys() - words} - {on_page[word] for word in words}
        assert {colour for colour in others if colour in svg} == set(), chart.name


def test_heat_maps_of_one_figure_share_one_scale(shown: Read) -> None:
    runs, _, heats = shown
    scales: dict[str, list[Any]] = {}
    for name, scale in heats:
        scales.setdefault(name, []).append(scale)
    assert {name: found for name, found in scales.items() if found[1:] != found[:-1]} == {}
    panels = {block.id: len(block.panels) for block in blocks_of(runs)}
    for name, (low, high, first) in ((name, found[0]) for name, found in scales.items()):
        signed = "parity-gap-by-pair" in name
        assert (first == colours.DIVERGING[0]) is signed
        assert (low == -high) is signed
        assert len(scales[name]) == panels[name]


def test_the_gap_that_is_beyond_the_tolerance_looks_so_in_every_panel(drawn: Callable[[str], Read]) -> None:
    _, seen, _ = drawn("world")
    panels = [legend for name, legend in seen if "gap-to-pivot-text-to-image" in name]
    skewed, _, even = panels
    assert list(skewed) != list(even), "the systems are told apart"
    assert {word.split()[0] for word in even} == {"not"}
    expected = {"not": colours.GROUPS[0], "exceeds": colours.GROUPS[1]}
    for legend in panels:
        assert {word.split()[0]: colour for word, colour in legend.items()}.items() <= expected.items()


def test_every_audit_that_comes_along_is_read_here(made: Callable[[str], list[Run]]) -> None:
    read_here = {audit for name in PAGES for run in made(name) for audit in run.manifest.audits}
    ours = {
        name for name, entry in AUDITS.all().items() if "equiview.audits" in entry.value.measure.__module__
    }
    assert ours == read_here
