"""The page of a study over several runs: what was found in words, figures and tables, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from equiview.data.figures import Figure
from equiview.data.run import Run
from equiview.report import embed, figures
from equiview.report.charts import title_of
from equiview.report.domains import with_domains
from equiview.report.page import rendered
from equiview.report.words import number


@dataclass(frozen=True)
class Table:
    """A table of the page: its title, its rows, and a note for the reader."""

    title: str
    rows: pl.DataFrame
    note: str = ""

    @property
    def heads(self) -> list[str]:
        """The names of the columns as they are written."""
        return [title_of(name) for name in self.rows.columns]

    @property
    def words(self) -> list[list[str]]:
        """The cells as they are written."""
        return [
            [number(value) if value is None or isinstance(value, float) else str(value) for value in row]
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
    return rendered(
        "study.html", runs, pictures,
        title=title, question=question, sentences=sentences, blocks=blocks, tables=tables,
    )  # fmt: skip
