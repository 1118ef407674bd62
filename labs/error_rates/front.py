"""The table of audits in the README: what each takes, needs at least, and how often its verdict is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from labs.error_rates.page import ROOT
from labs.error_rates.wanted import WANTS, Want
from labs.marked import with_part

from equiview.audits import AUDITS, Audit
from equiview.audits.association.judge import LEAST_TRIALS
from equiview.audits.association.settings import LEAST_LANGUAGES
from equiview.audits.prevalence.judge import LEAST_IMAGES
from equiview.subjects import Answerer, Encoder, ResultLists

README = ROOT / "README.md"
PART = "audits: python -m labs.error_rates --write-docs"
TAKEN = {Encoder: "vectors", ResultLists: "lists", Answerer: "answers"}
FIXED = {
    "prevalence": f"{LEAST_IMAGES} images",
    "association": f"{LEAST_TRIALS} trials of each of {LEAST_LANGUAGES} languages",
}
"""What audits need at least that have no setting for it."""
FALSE_BIASED, FALSE_FAIR, NEVER_FAIR, FOUND = WANTS
Rows = Sequence[dict[str, Any]]


def written(text: str, table: pl.DataFrame) -> str:
    """The text of the README with the table made from counts in place of the one it has."""
    return with_part(text, PART, "\n".join(lines(table)))


def lines(table: pl.DataFrame) -> Iterator[str]:
    """A row for each audit that was counted."""
    yield "| audit | takes | at least | wrong “biased” | wrong “fair” | kinds of bias found |"
    yield "|---" * 6 + "|"
    for (name,), part in table.group_by("audit", maintain_order=True):
        audit, rows = AUDITS.get(str(name)), part.to_dicts()
        wrong = pooled(rows, FALSE_BIASED), pooled(rows, FALSE_FAIR, NEVER_FAIR)
        cells = (taken(audit), least(audit), *wrong, found(rows))
        yield f"| [{name}](docs/audits/{name}.md) | {' | '.join(cells)} |"


def taken(audit: Audit[Any, Any, Any]) -> str:
    """What the audit observes a subject by."""
    kinds = audit.subject if isinstance(audit.subject, tuple) else (audit.subject,)
    return " or ".join(TAKEN[kind] for kind in kinds)


def least(audit: Audit[Any, Any, Any]) -> str:
    """How much there must be for the audit to judge anything by."""
    field = audit.settings.model_fields.get("least")
    if field is None:
        return FIXED[audit.name]
    what, _, whom = (field.description or "").partition(" below which ")
    return f"{field.default} {what}" + (" of a group" if "group" in whom and "group" not in what else "")


def pooled(rows: Rows, *wants: Want) -> str:
    """How many of all verdicts that must not be made were made."""
    counts = [(row[want.finding], row["seeds"]) for want in wants for row in rows if want.asked_of(row)]
    wrong, seeds = (sum(numbers) for numbers in zip(*counts, strict=True))
    return f"{wrong / seeds:.1%} of {seeds:,}"


def found(rows: Rows) -> str:
    """How many kinds of planted bias are found as often as is wanted, of how many."""
    shares = [row["biased"] / row["seeds"] for row in rows if FOUND.asked_of(row) and row["effect"] == 2]
    return f"{sum(share >= FOUND.least for share in shares)} of {len(shares)}"
