"""The page of a study over several runs: what was found in words, figures and tables, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from equiview.data.figures import Figure
from equiview.data.run import Run
from equiview.report import colours, embed, figures
from equiview.report.domains import with_domains
from equiview.report.page import SCRIPTS, environment, palette, policy_of, versions_of
from equiview.report.words import number


@dataclass(frozen=True)
class Table:
    """A table of the page: its title, its rows and what a reader must know of it."""

    title: str
    rows: pl.DataFrame
    note: str = ""

    @property
    def words(self) -> list[list[str]]:
        """The cells as they are written."""
        return [
            [number(value, "") if isinstance(value, float) else _word(value) for value in row]
            for row in self.rows.rows()
        ]


def study_page(
    title: str,
    question: str,
    sentences: Sequence[str],
    drawn: Sequence[Figure],
    tables: Sequence[Table],
    runs: Sequence[Run],
) -> bytes:
    """The page of a study, as UTF-8 HTML: the same study gives the same bytes."""
    pictures = embed.Pictures()
    blocks = figures.blocks("study", [("", figure) for figure in with_domains(list(drawn))], pictures)
    script = "\n".join(embed.asset(name) for name in SCRIPTS)
    plotly, plotly_hash = embed.plotly()
    names = list(dict.fromkeys(run.name for run in runs))
    html = environment().get_template("study.html").render(
        title=title,
        question=question,
        sentences=sentences,
        blocks=blocks,
        tables=tables,
        runs=runs,
        versions=versions_of(runs),
        pictures=pictures.pieces(),
        pictures_a_piece=pictures.size,
        style=Markup(embed.asset("page.css") + palette()),
        script=Markup(script),
        policy=policy_of(script, plotly_hash),
        plotly=plotly,
        subject_colour=lambda name: colours.subject_colour(name, names),
    )  # fmt: skip
    return (html.rstrip() + "\n").encode()


def _word(value: object) -> str:
    return "–" if value is None else str(value)
