"""The study of a mitigation as a page: what changed in words, the figures, and the tables."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits import AUDITS, label_of
from equiview.data.comparison import quantity_of
from equiview.data.metric import Quantity
from equiview.data.run import Run
from equiview.report.page import Tried
from equiview.report.study import Table, study_page
from equiview.report.words import interval, metric_of, number
from equiview.studies.mitigation import BIASES, SKILLS, Changed

LEVEL = 0.05
QUESTION = "What did it change, and at what cost?"


def tried(found: Changed, runs: Sequence[Run], about: str) -> Tried:
    """The card of a study: each bias and each skill of every system with its interval, and what changed."""
    audits = found.changes["audit"].unique(maintain_order=True).to_list()
    columns = [
        (audit, headline.quantity)
        for audit in audits
        for headline in AUDITS.get(audit).headlines
        if headline.quantity.metric in (*BIASES, *SKILLS) and _cell(runs[0], audit, headline.quantity)
    ]
    header = ("", *(label_of(*column) for column in columns))
    rows = tuple((run.name, *(_cell(run, *column) or "–" for column in columns)) for run in runs)
    return Tried(about, header, rows, tuple(sentences(found)))


def _cell(run: Run, audit: str, wanted: Quantity) -> str:
    """A number with its interval; "" where the run does not have it."""
    row, unit = run.estimates.of(audit).at(wanted), metric_of(audit, wanted.metric).unit
    return "" if row is None else f"{number(row.value, unit)} {interval(row.low, row.high, unit)}"


def mitigation_page(found: Changed, runs: Sequence[Run]) -> bytes:
    """The page of a study, as UTF-8 HTML; `runs` are the one before and those after."""
    tables = [
        Table(
            "Before and after",
            found.systems,
            ". ".join(["Ratio: made pairs for each real pair; none before", *found.absent, ""]).strip(),
        ),
        Table(
            "Each after, less before",
            found.changes,
            "Paired by query; p is corrected over the whole table (Holm).",
        ),
    ]
    if len(found.parts):
        tables.append(Table("By part", found.parts, "As measured, without tests: a part has few queries."))
    title = f"{runs[0].name}, before and after"
    return study_page(title, QUESTION, sentences(found), found.figures, tables, runs)


def sentences(found: Changed) -> list[str]:
    """What is shown to have changed, a sentence for each run after."""
    lines = []
    for (name,), rows in found.changes.group_by("b", maintain_order=True):
        shown = [
            f"{label_of(row['audit'], quantity_of(row))} by {row['difference']:+.3f}"
            for row in rows.iter_rows(named=True)
            if row["p_holm"] is not None and row["p_holm"] <= LEVEL and row["difference"] is not None
        ]
        lines.append(f"{name}: {'changed ' + ', '.join(shown) if shown else 'no change is shown'}.")
    return lines
