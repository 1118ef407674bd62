"""The commands of docs/getting-started.md for the ten audits, on what comes with equiview alone."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from equiview import planning
from equiview.audits import AUDITS
from equiview.benchmarks.base import embedded
from equiview.cli import _settings
from equiview.demo import DEMO
from equiview.subjects import load_subject

PAGE = Path(__file__).parents[1] / "docs" / "getting-started.md"
SECTION = re.search(r"## The ten audits\n(.*?)\n## ", PAGE.read_text("utf-8"), re.DOTALL)
assert SECTION is not None
LINES = re.findall(r"^equiview audit (.+)$", SECTION[1], re.MULTILINE)


def read(line: str) -> tuple[str, dict[str, list[str]]]:
    """The subject of a command line, and the values of its options."""
    subject, *words = shlex.split(line)
    options: dict[str, list[str]] = {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        options.setdefault(name, []).append(value)
    return subject, options


def test_there_is_a_line_for_each_audit_and_transfer_is_the_tenth():
    named = [read(line)[1]["--audit"] for line in LINES]
    assert sorted(named) == [[audit] for audit in AUDITS.all()]
    assert "equiview study transfer" in SECTION[1]
    assert len(named) + 1 == 10


@pytest.mark.parametrize("line", LINES)
def test_each_takes_a_subject_and_a_benchmark_that_come_with_equiview(line):
    subject, options = read(line)
    (benchmark,), audits = options["--benchmark"], options["--audit"]
    assert benchmark in embedded()
    planned = planning.plan(subject, benchmark, audits, settings=_settings(options.get("--setting", [])))
    assert planned["audit"].unique().to_list() == audits


def test_the_demo_shows_all_but_the_study():
    assert {audit for part in DEMO for audit in part.audits} == set(AUDITS.all())
    assert all(part.benchmark.partition(":")[0] in embedded() for part in DEMO)


def test_an_encoder_that_answers_is_matched_with_the_encoder():
    choice, encoder = load_subject("choice:pictogram:tied"), load_subject("pictogram:tied")
    assert choice.parent == encoder.fingerprint
