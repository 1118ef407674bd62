"""The report: one self-contained HTML page for one run, or for several side by side.

The same runs give the same bytes: the page holds no clock time and no random name. It works from a file, with
no network; a content security policy written into it makes that a rule and not a promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from equiview.audits import label_of
from equiview.audits.saying import listed
from equiview.data.figures import Figure
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.templates import templates
from equiview.report import board, colours, embed, figures, opening, published
from equiview.report.domains import with_domains
from equiview.report.explorer import explorers_of
from equiview.report.pairs import Apart, apart, as_table, compared
from equiview.report.tables import estimates_table
from equiview.report.words import counted, interval, metric_of, number
from equiview.studies.averages import averages, mean_of

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPTS = ("start.js", "table.js", "figures.js", "explorer.js")


@dataclass(frozen=True)
class Section:
    """One audit's part of the page.

    `pairs` are the differences of two systems; of more `apart` has their letters, and `table` all pairs.
    `alike` are the headlines, with their values, in which no system differs from another.
    """

    card: opening.Card
    summary: str
    figures: tuple[figures.Block, ...]
    estimates: str
    rows: int
    settings: tuple[tuple[str, str, str], ...]
    pairs: tuple[dict[str, Any], ...]
    apart: tuple[Apart, ...]
    alike: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    table: str
    means: tuple[tuple[str, ...], ...]
    failed: bool


@dataclass(frozen=True)
class Tried:
    """What was tried against a bias, as a card: a row for each system, the one before first."""

    about: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sentences: tuple[str, ...]


def page(runs: Sequence[Run], comparison: pl.DataFrame | None = None, helps: Tried | None = None) -> bytes:
    """The page of one or several runs, as UTF-8 HTML; `helps` is a last card of what was tried.

    `comparison` has a row for each audit, quantity and pair of runs: audit, metric, k, a, b, value_a,
    value_b, difference (b - a), low, high, p, p_holm, n; other columns are keys. InputError for no run, or
    for two runs of one subject in one audit.
    """
    if not runs:
        raise InputError("a report needs at least one run")
    pairs = [(run.name, audit) for run in runs for audit in run.manifest.audits]
    if repeated := next((pair for pair in pairs if pairs.count(pair) > 1), None):
        raise InputError(
            f"two of the runs are of {repeated[0]!r} in the audit {repeated[1]}; a page takes one of them"
        )
    pictures = embed.Pictures()
    # Before the figures, so that the pictures of a screenful of queries lie in one piece.
    explorers = explorers_of(runs, pictures)
    cards = opening.cards(runs)
    strip = board.strip(runs, cards)
    if strip:  # who is worst off is said once
        cards = [
            card.without(strip.about, "language") if card.audit == strip.audit else card for card in cards
        ]
    means = averages(runs)
    drawn, before = _figures(runs, cards), figures.Shown()
    sections = [
        _section(
            card,
            [run for run in runs if card.audit in run.manifest.audits],
            means.filter(pl.col("audit") == card.audit),
            figures.blocks(card.audit, drawn[card.audit], pictures, before),
            comparison,
        )
        for card in cards
    ]
    return rendered(
        "page.html",
        runs,
        pictures,
        subjects=list({run.name: run for run in runs}.values()),
        title=_title(runs),
        sections=sections,
        board=board.board(cards),
        strip=strip,
        example=next((entry.example for entry in explorers if entry.example), None),
        benchmarks=list(
            {run.manifest.benchmark.fingerprint: run.manifest.benchmark for run in runs}.values()
        ),
        explorers=explorers,
        readings=opening.readings(runs),
        helps=helps,
        published=published.beside(runs),
        published_benchmarks=published.benchmarks(),
    )


def rendered(template: str, runs: Sequence[Run], pictures: embed.Pictures, **content: Any) -> bytes:
    """A template as a page, as UTF-8 HTML, with the script, style and policy that all pages have.

    The content security policy allows our scripts by their hashes, and nothing from a network.
    """
    script = "\n".join(embed.asset(name) for name in SCRIPTS)
    plotly, plotly_hash = embed.plotly()
    names = list(dict.fromkeys(run.name for run in runs))
    # The style sheet shares these colours with the figures.
    tiers = "".join(f"--tier-{name}:{value};" for name, value in colours.TIERS.items())
    half = len(colours.DIVERGING) // 2
    strips = "".join(
        f".worse-{place - half} {{ background: {colour}; color: {colours.ink_on(colour)}; }}\n"
        for place, colour in enumerate(colours.DIVERGING)
    )
    html = environment().get_template(template).render(
        **content,
        runs=runs,
        versions=versions_of(runs),
        pictures=pictures.pieces(),
        pictures_a_piece=pictures.size,
        style=Markup(embed.asset("page.css") + f":root{{{tiers}}}\n{strips}"),
        script=Markup(script),
        policy=f"default-src 'none'; script-src '{embed.script_hash(script)}' '{plotly_hash}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        plotly=plotly,
        subject_colour=lambda name: colours.subject_colour(name, names),
    )  # fmt: skip
    return (html.rstrip() + "\n").encode()


def page_of(run: Run) -> bytes:
    """The page of one run."""
    return page([run])


@cache
def environment() -> Environment:
    """The templates of pages."""
    return templates("equiview.report", number=number, counted=counted)


def _title(runs: Sequence[Run]) -> str:
    named = dict.fromkeys(run.manifest.benchmark.name for run in runs)
    benchmarks = listed(named) if len(named) < 3 else f"{len(named)} benchmarks"
    subjects = list(dict.fromkeys(run.name for run in runs))
    return (
        f"{subjects[0]} on {benchmarks}" if len(subjects) == 1 else f"{len(subjects)} systems on {benchmarks}"
    )


def _figures(runs: Sequence[Run], cards: Sequence[opening.Card]) -> dict[str, list[tuple[str, Figure]]]:
    """The figures of each audit with their subjects; a category has one colour in all of them."""
    places = []
    for card in cards:
        failed = {answer.subject for answer in card.answers if answer.finding == "failed"}
        places += [
            (card.audit, run.name, figure)
            for run in runs
            if card.audit in run.manifest.audits and run.name not in failed
            for figure in run.figures(card.audit)
        ]
    drawn: dict[str, list[tuple[str, Figure]]] = {card.audit: [] for card in cards}
    settled = with_domains([figure for _, _, figure in places])
    for (audit, name, _), figure in zip(places, settled, strict=True):
        drawn[audit].append((name, figure))
    return drawn


def _section(
    card: opening.Card,
    runs: Sequence[Run],
    means: pl.DataFrame,
    blocks: Sequence[figures.Block],
    comparison: pl.DataFrame | None,
) -> Section:
    table = estimates_table(runs, card.audit)
    names = tuple(answer.subject for answer in card.answers)
    rows = compared(comparison, card.audit, runs)
    letters = apart(comparison, card.audit, names) if comparison is not None and len(names) > 2 else []
    return Section(
        card=card,
        summary=board.summary(card),
        figures=tuple(blocks),
        estimates=embed.packed_json(embed.columns(table)),
        rows=len(table),
        settings=_settings(runs, card.audit),
        means=_means(means, card.audit),
        pairs=() if letters else tuple(row for row in rows if not row["alike"]),
        apart=tuple(row for row in letters if not row.alike),
        alike=tuple((row.metric, row.alike) for row in letters if row.alike)
        or tuple((row["metric"], row["alike"]) for row in rows if row["alike"] and not letters),
        names=names,
        table=embed.packed_json(embed.columns(as_table(rows))) if letters else "",
        failed=all(answer.finding == "failed" for answer in card.answers),
    )


def _means(means: pl.DataFrame, audit: str) -> tuple[tuple[str, ...], ...]:
    """What the audit averages over systems: its name, the mean, the interval, how many, who counts once."""
    entries = []
    for row in means.iter_rows(named=True):
        mean = mean_of(row)
        unit = metric_of(audit, mean.quantity.metric).unit
        ends = interval(mean.low, mean.high, unit) if mean.n > 1 else "–"
        words = number(mean.value, unit), ends, number(mean.n), row["alike"] or ""
        entries.append((label_of(audit, mean.quantity), *words))
    return tuple(entries)


def _settings(runs: Sequence[Run], audit: str) -> tuple[tuple[str, str, str], ...]:
    """Each setting once, with its runs where runs differ."""
    names: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for setting, value in sorted(run.manifest.settings.get(audit, {}).items()):
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            names.setdefault((setting, shown), []).append(run.name)
    return tuple(
        (setting, value, "" if len(of) == len(runs) else ", ".join(of))
        for (setting, value), of in names.items()
    )


def versions_of(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The versions of what the runs were made with, by package."""
    names = sorted({name for run in runs for name in run.manifest.versions})
    return [
        (name, ", ".join(dict.fromkeys(run.manifest.versions.get(name, "–") for run in runs)))
        for name in names
    ]
