"""What the type checker makes of audits: each kind of subject has its own, and a wrong one is an error."""

import subprocess
import sys
from pathlib import Path

HEAD = """
from dataclasses import dataclass
from equiview.audits import Audit, Settings
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.figures import Figure
from equiview.data.observations import Observations
from equiview.io.progress import Progress
from equiview.data.values import Values
from equiview.data.verdict import Verdict
from equiview.subjects import Encoder, ResultLists, Subject

def of_vectors(s: Encoder, b: Benchmark, o: Settings, p: Progress) -> Observations:
    s.embed(b.images)
    raise NotImplementedError
def of_lists(s: ResultLists, b: Benchmark, o: Settings, p: Progress) -> Observations:
    s.lists(b, 3)
    raise NotImplementedError
def of_both(s: Encoder | ResultLists, b: Benchmark, o: Settings, p: Progress) -> Observations:
    raise NotImplementedError
def values(x: Observations, o: Settings) -> Values: raise NotImplementedError
def measure(x: Observations, o: Settings) -> Estimates: raise NotImplementedError
def draw(x: Observations, e: Estimates, o: Settings) -> list[Figure]: raise NotImplementedError
def judge(e: Estimates, o: Settings) -> Verdict: raise NotImplementedError
"""
REST = (
    'name="x", question="?", source="", settings=Settings, schemas={}, metrics=(), headlines=(), '
    "values=values, measure=measure, draw=draw, judge=judge"
)


def checked(folder: Path, *lines: str) -> str:
    (folder / "audit.py").write_text(HEAD + "\n".join(lines) + "\n")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml")]
    command.append(str(folder / "audit.py"))
    return subprocess.run(command, capture_output=True, text=True, cwd=root, check=False).stdout


def test_audits_of_an_encoder_of_lists_and_of_both_type_check(tmp_path):
    said = checked(
        tmp_path,
        f"a = Audit[Encoder, Settings](subject=Encoder, observe=of_vectors, {REST})",
        f"b = Audit[ResultLists, Settings](subject=ResultLists, observe=of_lists, {REST})",
        "Both = Encoder | ResultLists",
        f"c = Audit[Both, Settings](subject=(Encoder, ResultLists), observe=of_both, {REST})",
    )
    assert "Success" in said, said


def test_an_audit_that_observes_another_kind_than_it_says_does_not_type_check(tmp_path):
    said = checked(tmp_path, f"a = Audit[Encoder, Settings](subject=Encoder, observe=of_lists, {REST})")
    assert '"observe"' in said, said
