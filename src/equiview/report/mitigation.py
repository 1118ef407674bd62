"""The study of a mitigation as a page: what changed in words, the figures, and the tables."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.audits import label_of
from equiview.data.comparison import quantity_of
from equiview.data.run import Run
from equiview.report.study import Table, study_page
from equiview.studies.mitigation import Changed

LEVEL = 0.05
QUESTION = "What did it change, and at what cost?"


def mitigation_page(found: Changed, runs: Sequence[Run]) -> bytes:
    """The page of a study, as UTF-8 HTML; `runs` are the one before and those after."""
    tables = [
        Table("Before and after", found.systems, "Ratio: made pairs for each real pair; none before."),
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
