"""The result of a gate for people and for machines: a table, Markdown for a comment, JUnit XML, JSON."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from equiview.audits import label_of
from equiview.data.estimates import TOO_SMALL
from equiview.data.stamped import SCHEMA_VERSION
from equiview.report.grids import MARKDOWN, escaped
from equiview.report.words import interval, metric_of, number, signed
from equiview.studies.gate import Checked, Gate, Row

if TYPE_CHECKING:
    from rich.console import Console

SHOWN, COMMENTED = 8, 20
"""The most rows of one condition that a terminal and a comment name; JUnit XML and JSON name them all."""
PASSED = 3
"""The same of a condition that passes."""
SIGNS = {"passed": "✓", "failed": "✗", "unclear": "?"}
HEADER = ("condition", "system", "result", "found")


def said(gate: Gate) -> str:
    """The result in a sentence.

    >>> said(Gate(()))
    'The gate passes: 0 conditions checked.'
    """
    failed = [entry for entry in gate.checked if gate.fails(entry)]
    of = f"{len(gate.checked)} condition{'' if len(gate.checked) == 1 else 's'}"
    if not failed:
        return f"The gate passes: {of} checked."
    return f"The gate fails: {len(failed)} of {of}."


def result_of(gate: Gate, entry: Checked) -> str:
    """`passed`, `failed`, or `unclear` where only that keeps a condition from being one of these."""
    outcomes = {entry.outcome_of(row) for row in entry.rows}
    if "fail" in outcomes:
        return "failed"
    return "unclear" if "unclear" in outcomes else "passed"


def print_gate(gate: Gate, console: Console | None = None) -> None:
    """Print each condition with its result, and beneath it the rows of numbers that it rests on."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console()
    for line in gate_text(gate).splitlines():
        console.print(Text(line, style="" if line.startswith(" ") else "bold"), soft_wrap=True)


def gate_text(gate: Gate) -> str:
    """The result in plain text: a line for each condition, and beneath it the rows that it rests on."""
    several = len({entry.run.folder for entry in gate.checked}) > 1
    lines = []
    for entry in gate.checked:
        of = f" ({entry.run.name})" if several else ""
        lines.append(f"{_result(gate, entry)}: {entry.rule} {entry.condition.text}{of}")
        lines += [f"   {found}" for found in _found(gate, entry, SHOWN)]
    return "\n".join([*lines, said(gate)])


def gate_html(gate: Gate) -> str:
    """The result as HTML for a notebook."""
    return str(Markup("<pre>{}</pre>").format(gate_text(gate)))


def gate_markdown(gate: Gate) -> str:
    """The result as Markdown, for a comment on a change."""
    lines = [f"### equiview: {escaped(said(gate), MARKDOWN)}", ""]
    lines += [f"| {' | '.join(HEADER)} |", "|" + " :-- |" * len(HEADER)]
    for entry in gate.checked:
        cells = [
            f"{entry.rule} {_code(entry.condition.text)}",
            escaped(entry.run.name, MARKDOWN),
            _result(gate, entry),
            "<br>".join(escaped(line, MARKDOWN) for line in _found(gate, entry, COMMENTED)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def gate_junit(gate: Gate) -> bytes:
    """The result as JUnit XML: a suite for each run and a case for each condition."""
    suites = Xml.Element("testsuites", _counts(gate, gate.checked), name="equiview")
    by_run: dict[str, list[Checked]] = {}
    for entry in gate.checked:
        by_run.setdefault(str(entry.run.folder), []).append(entry)
    for folder, entries in by_run.items():
        name = _legal(entries[0].run.name)
        suite = Xml.SubElement(suites, "testsuite", _counts(gate, entries), name=f"{name} ({_legal(folder)})")
        for entry in entries:
            words = f"{entry.rule} {entry.condition.text}"
            case = Xml.SubElement(suite, "testcase", classname=name, name=_legal(words), time="0")
            found = _found(gate, entry, len(entry.rows))
            result = result_of(gate, entry)
            if gate.fails(entry):
                what = Xml.SubElement(case, "failure", message=f"{result}: {_legal(found[0])}", type=result)
                what.text = _legal("\n".join(found))
            elif result == "unclear":
                Xml.SubElement(case, "skipped", message=_legal(found[0]))
            else:
                Xml.SubElement(case, "system-out").text = _legal("\n".join(found))
    Xml.indent(suites)
    text: str = Xml.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def gate_json(gate: Gate) -> dict[str, Any]:
    """The result as data: whether it passes, and a row for each condition, run and row of numbers."""
    return {"schema_version": SCHEMA_VERSION, "passed": gate.passed, "rows": gate.table.to_dicts()}


def _counts(gate: Gate, entries: Sequence[Checked]) -> dict[str, str]:
    failed = [entry for entry in entries if gate.fails(entry)]
    undecided = [entry for entry in entries if result_of(gate, entry) == "unclear"]
    counts = {"tests": len(entries), "failures": len(failed), "errors": 0}
    counts["skipped"] = len([entry for entry in undecided if not gate.fails(entry)])
    return {name: str(count) for name, count in counts.items()}


def _result(gate: Gate, entry: Checked) -> str:
    result = result_of(gate, entry)
    passes = "" if result != "unclear" else f", counts as {'failed' if gate.fails(entry) else 'passed'}"
    return f"{SIGNS[result]} {result}{passes}"


def _found(gate: Gate, entry: Checked, most: int) -> list[str]:
    """The rows by which a condition fails, or those that it is about where it passes; at most so many."""
    failing = gate.failing(entry)
    rows = failing or list(entry.rows)
    most = most if failing else min(most, PASSED)
    lines = [_row(row) for row in rows[:most]]
    of = f" of {len(entry.rows)} rows" if len(rows) < len(entry.rows) else ""
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more ({len(rows)}{of}; all with --json)")
    elif of:
        lines.append(f"{len(rows)}{of}")
    return lines


def _row(row: Row) -> str:
    if row.about is None:
        why = f" ({row.why})" if row.why else ""
        return f"{row.audit}: {row.finding or 'no effect'}{why}"
    unit = "" if row.in_tolerances else metric_of(row.audit, row.about.metric).unit
    if row.is_change:
        unit = "points" if unit == "share" else unit
    value = number(row.value, unit)
    if row.is_change and row.value is not None:
        value = signed(row.value, unit)
    ends = interval(row.low, row.high, unit)
    words = [
        f"{row.audit}: {label_of(row.audit, row.about)}:",
        f"{value} {'' if ends == TOO_SMALL and row.why else ends}".strip(),
        *(["times the tolerance"] if row.in_tolerances else ["beside the baseline"] if row.is_change else []),
        *([f"(n {number(row.n)})"] if row.n is not None else []),
        *([f"({row.why})"] if row.why else []),
    ]
    return " ".join(words)


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def _legal(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text)
