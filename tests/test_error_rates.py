"""Verdicts on systems of known truth: a short count with wide limits. labs/error_rates makes the full one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from labs.error_rates import front
from labs.error_rates.__main__ import OUT
from labs.error_rates.harness import PACKAGE, System, systems_of
from labs.error_rates.page import PAGE, written
from labs.error_rates.running import rates, read_rates

from equiview.audits import AUDITS
from equiview.data.observations import Observations

SEEDS, SIZE = 6, 100
AT_MOST = 2
"""Of 6 seeds: with 5% in the long run, 3 or more are seen twice in 1,000 times."""
FIRST = 3
"""Where none of so many verdicts is wrong, no further are made. What is wrong half of the time is seen in 64%
of the cases (66% if all were made), what is wrong 3 times in 10 in 25% (26%)."""
WRITTEN = {audit for audit in AUDITS.all() if importlib.util.find_spec(f"{PACKAGE}.{audit}")}
SYSTEMS = [(audit, system) for audit in sorted(WRITTEN) for system in systems_of(audit).values()]


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, int]]:
    """Findings by audit and system; twice the tolerance where something is planted."""
    out = tmp_path_factory.mktemp("rates")

    def counted(audits: Iterable[str], seeds: int) -> dict[tuple[str, str], dict[str, int]]:
        table = rates(
            sorted(audits),
            out,
            seeds=seeds,
            sizes=(SIZE,),
            effects=(2.0,),
            settings={"replicates": 100},
            jobs=os.cpu_count() or 1,
        )
        return {(row["audit"], row["system"]): row for row in table.to_dicts()}

    first = counted(WRITTEN, FIRST)
    doubtful = {audit for (audit, _), row in first.items() if wrong(row)}
    return first | (counted(doubtful, SEEDS) if doubtful else {})


def wrong(row: dict[str, int]) -> int:
    """How many verdicts of a system were wrong."""
    return row["fair"] if row["truth"] == "planted" else row["biased"]


@pytest.mark.parametrize(("audit", "system"), SYSTEMS, ids=lambda part: getattr(part, "name", part))
def test_a_verdict_is_seldom_wrong(audit: str, system: System, counts: dict) -> None:
    row = counts[audit, system.name]
    assert row["seeds"] == SEEDS or (row["seeds"] == FIRST and not wrong(row))
    assert wrong(row) <= AT_MOST
    if system.truth in {"useless", "tiny"}:
        assert row["fair"] == 0
    else:
        assert row["failed"] == 0, row["error"]


@pytest.mark.parametrize("audit", AUDITS.all())
def test_every_audit_has_systems_of_every_kind(audit: str) -> None:
    systems = systems_of(audit)
    assert {system.truth for system in systems.values()} == {"none", "planted", "useless", "tiny"}
    assert all(name == system.name and system.note for name, system in systems.items())


@pytest.mark.parametrize(("audit", "system"), SYSTEMS, ids=lambda part: getattr(part, "name", part))
def test_systems_are_what_the_audit_would_observe(audit: str, system: System, tmp_path: Path) -> None:
    system.observed(0, SIZE, system.effects()[-1]).write(tmp_path, audit)
    Observations.read(tmp_path, audit, AUDITS.get(audit).schemas)  # checks every column


def test_the_page_shows_what_was_counted() -> None:
    text = PAGE.read_text("utf-8")
    assert written(text, read_rates(OUT)) == text, "run python -m labs.error_rates --write-docs"


def test_the_readme_s_table_is_of_the_settings_and_of_what_was_counted() -> None:
    text, counts = front.README.read_text("utf-8"), read_rates(OUT)
    assert front.written(text, counts) == text, "run python -m labs.error_rates --write-docs"
    rows = list(front.lines(counts))[2:]
    assert len(rows) == len(AUDITS.all())
    parity = AUDITS.get("parity").settings()
    (row,) = (row for row in rows if row.startswith("| [parity]"))
    assert f"| vectors | {parity.least} images |" in row
