"""The GitHub Action is one by GitHub's schema, and the script that it runs gates as the command line does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.subjects import load_subject
from tests.conftest import write_world

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def by_schema(kind: str, *paths: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", kind, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_is_one_by_the_schema_of_github() -> None:
    by_schema("vendor.github-actions", ROOT / "action.yml")


def test_the_example_of_the_docs_is_a_workflow_and_names_inputs_that_there_are(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/gate.md").read_text(), re.M | re.S)
    assert len(example.splitlines()) <= 11
    (tmp_path / "bias.yml").write_text(example)
    by_schema("vendor.github-workflows", tmp_path / "bias.yml")
    steps = yaml.safe_load(example)["jobs"]["gate"]["steps"]
    ours = next(step for step in steps if step["uses"].startswith("equiview/"))
    assert set(ours["with"]) <= set(ACTION["inputs"])


def test_every_input_is_passed_on() -> None:
    text = (ROOT / "action.yml").read_text()
    assert [name for name in ACTION["inputs"] if f"inputs.{name} }}}}" not in text] == []
    script = (ROOT / ".ci" / "gate").read_text()
    given = next(step for step in ACTION["runs"]["steps"] if step.get("name") == "Gate")["env"]
    assert [name for name in given if f"${{{name}" not in script and f"${name}" not in script] == []


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("action")
    world = write_world(place / "world", skew=4.0)
    subject, items = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    execute(subject, items, ["prevalence"], place / "a run", settings={"prevalence": {"replicates": 200}})
    (place / "a run").rename(place / "run")
    bin_ = place / "bin"
    bin_.mkdir()
    (bin_ / "equiview").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m equiview "$@"\n')
    (bin_ / "equiview").chmod(0o755)
    return place


def gate(place: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        **inputs,
    }
    return subprocess.run(
        ["bash", str(ROOT / ".ci" / "gate")],
        cwd=place, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_script_fails_by_a_condition_and_writes_what_it_found(place: Path) -> None:
    done = gate(place, RUNS="run", FAIL_IF="prevalence=biased\n\nprevalence: R@1.n < 40", REQUIRE="")
    assert done.returncode == 3, done.stderr
    assert (JUnitXml.fromfile(str(place / "equiview-gate.xml")).tests) == 2
    assert "✗ failed" in (place / "summary.md").read_text()


def test_the_script_needs_something_to_do(place: Path) -> None:
    done = gate(place)
    assert (done.returncode, "one of its inputs file and runs" in done.stderr) == (1, True)
