"""The report: one self-contained HTML page for one run, or for several side by side.

The same runs give the same bytes: the page holds no clock time and no random name. It works from a file, with
no network; a content security policy written into it makes that a rule and not a promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report import colours, embed, figures, opening, published
from equiview.report.explorer import explorers
from equiview.report.tables import estimates_table
from equiview.report.words import number

SCRIPTS = ("start.js", "table.js", "figures.js", "explorer.js")


@dataclass(frozen=True)
class Section:
    """What the page says of one audit."""

    card: opening.Card
    figures: tuple[figures.Block, ...]
    estimates: str
    rows: int
    settings: tuple[tuple[str, str, str], ...]
    comparison: tuple[dict[str, Any], ...]


def page(runs: Sequence[Run], comparison: pl.DataFrame | None = None) -> bytes:
    """The page of one or several runs, as UTF-8 HTML.

    `comparison` has a row for each audit, metric and pair of runs: audit, metric, a, b, value_a, value_b,
    difference (b - a), low, high, p, p_holm, n.
    """
    if not runs:
        raise InputError("a report needs at least one run")
    held = [(run.name, audit) for run in runs for audit in run.manifest.audits]
    if repeated := next((one for one in held if held.count(one) > 1), None):
        raise InputError(
            f"two of the runs are of {repeated[0]!r} in the audit {repeated[1]}; a page holds one"
        )
    named = list(dict.fromkeys(run.name for run in runs))
    script = "\n".join(embed.asset(name) for name in SCRIPTS)
    plotly, plotly_hash = embed.plotly()
    pictures = embed.Pictures()
    # Before the figures, so that the pictures of a screenful of queries lie in one piece.
    found = explorers(runs, pictures)
    sections = [
        _section(card, [run for run in runs if card.audit in run.manifest.audits], comparison, pictures)
        for card in opening.cards(runs, comparison)
    ]
    subjects = list({run.name: run for run in runs}.values())
    html = (
        _environment()
        .get_template("page.html")
        .render(
            subjects=subjects,
            title=_title(runs),
            sections=sections,
            benchmarks=_benchmarks(runs),
            versions=_versions(runs),
            explorers=found,
            pictures=pictures.pieces(),
            pictures_a_piece=pictures.size,
            together=opening.together(runs),
            published=published.beside(runs),
            paper=published.papers()["source"],
            style=Markup(embed.asset("page.css") + _palette()),
            script=Markup(script),
            policy=_policy(script, plotly_hash),
            plotly=plotly,
            subject_colour=lambda name: colours.colour_of("subject", name, named),
        )
    )
    return (html.rstrip() + "\n").encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(embed.asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


def _policy(script: str, plotly_hash: str) -> str:
    ours = embed.script_hash(script)
    return (
        f"default-src 'none'; script-src '{ours}' '{plotly_hash}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _palette() -> str:
    """The colours the style sheet shares with the figures."""
    named = {f"tier-{name}": value for name, value in colours.TIERS.items()}
    named |= {f"outcome-{name}": value for name, value in colours.OUTCOMES.items()}
    return ":root{" + "".join(f"--{name}:{value};" for name, value in named.items()) + "}\n"


def _title(runs: Sequence[Run]) -> str:
    benchmarks = dict.fromkeys(run.manifest.benchmark.name for run in runs)
    where = " and ".join(benchmarks)
    systems = list(dict.fromkeys(run.name for run in runs))
    return f"{systems[0]} on {where}" if len(systems) == 1 else f"{len(systems)} systems on {where}"


def _section(
    card: opening.Card, runs: Sequence[Run], comparison: pl.DataFrame | None, pictures: embed.Pictures
) -> Section:
    drawn = [(run.name, figure) for run in runs for figure in run.figures(card.audit)]
    table = estimates_table(runs, card.audit)
    return Section(
        card=card,
        figures=tuple(figures.blocks(card.audit, drawn, pictures)),
        estimates=embed.packed_json(embed.columns(table)),
        rows=len(table),
        settings=_settings(runs, card.audit),
        comparison=opening.compared(comparison, card.audit),
    )


def _settings(runs: Sequence[Run], audit: str) -> tuple[tuple[str, str, str], ...]:
    """Each setting once, with the run it is of where they differ."""
    given: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for name, value in sorted(run.manifest.settings.get(audit, {}).items()):
            given.setdefault((name, _said(value)), []).append(run.name)
    return tuple(
        (name, value, "" if len(of) == len(runs) else ", ".join(of)) for (name, value), of in given.items()
    )


def _said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _benchmarks(runs: Sequence[Run]) -> list[Any]:
    return list({run.manifest.benchmark.fingerprint: run.manifest.benchmark for run in runs}.values())


def _versions(runs: Sequence[Run]) -> list[tuple[str, str]]:
    names = sorted({name for run in runs for name in run.manifest.versions})
    return [
        (name, ", ".join(dict.fromkeys(run.manifest.versions.get(name, "–") for run in runs)))
        for name in names
    ]
