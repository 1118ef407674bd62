"""`audit.toml`: read strictly, with lines; run whole, taken up again, compared and judged."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from equiview.auditfile import read_audit_file
from equiview.audits import AUDITS
from equiview.benchmarks import BENCHMARKS
from equiview.board import pairs_of, plan_board
from equiview.errors import InputError
from equiview.subjects import SUBJECTS
from equiview.subjects.encoders.hints import check_name
from equiview.subjects.known import in_full
from tests.conftest import write_world
from tests.faults.running import typed

ROOT = Path(__file__).parents[1]
GOOD = """\
out = "runs"

[[subjects]]
use = "embeddings:even"
name = "released"

[[subjects]]
use = "embeddings:skewed" # tonight's
name = "candidate"

[[benchmarks]]
use = "folder:even"
audits = ["prevalence"]

[settings.prevalence]
replicates = 200

[gate]
fail_if = ["prevalence: worse", "prevalence: R@1.n < 40"]
baseline = "released"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_world(tmp_path / "even", skew=0.0)
    write_world(tmp_path / "skewed", skew=4.0)
    (tmp_path / "audit.toml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('out = "runs"', 'out = "runs', 1, "is not TOML"),
        ('out = "runs"', "outt = 1", 1, "unknown key 'outt'"),
        ('name = "candidate"', 'nmae = "candidate"', 9, "unknown key 'subjects.1.nmae'"),
        ('name = "candidate"', 'name = "released"', 7, "two subjects are called 'released'"),
        ('use = "folder:even"', "", 11, "'use' is missing"),
        ('audits = ["prevalence"]', "audits = []", 13, "at least 1 item"),
        ('audits = ["prevalence"]', 'audits = ["prevalance"]', 13, "did you mean 'prevalence'"),
        ('audits = ["prevalence"]', 'audits = ["prevalence"]\nonly = ["x"]', 14, "no subject is called 'x'"),
        ('audits = ["prevalence"]', 'audits = ["prevalence"]\nsubject = "x"', 14, "stands at one {}"),
        ("[settings.prevalence]", "[settings.parity]", 15, "settings of 'parity', which no benchmark names"),
        ("replicates = 200", "replicates = 2", 16, "greater than or equal to 100"),
        ("replicates = 200", "\nreplicatse = 200", 17, "did you mean 'replicates'?"),
        ('baseline = "released"', "", 19, "'prevalence: worse': is about a difference; name a baseline"),
        ('"prevalence: worse"', '"prevalence worse"', 19, "expected ':' and a metric"),
        ('"prevalence: worse"', '"parity: worse"', 19, "no benchmark names the audit 'parity'"),
        ('baseline = "released"', 'unclear = "ignore"', 20, "input should be 'fail' or 'pass'"),
        ('fail_if = ["prevalence: worse", "prevalence: R@1.n < 40"]', "", 18, "at least one condition"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    path = tmp_path / "audit.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as found:
        read_audit_file(path)
    assert said in str(found.value)
    assert f"line {line}" in str(found.value)


def test_names_alone_are_subjects(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(
        'subjects = ["pictogram:skewed", "pictogram:english"]\n[[benchmarks]]\nuse = "pictograms"\n'
        'name = "quiz"\naudits = ["prevalence"]\nonly = ["pictogram:english"]\n'
    )
    plan = read_audit_file(path)
    pairs = [(subject.called, benchmark.called) for subject, benchmark in pairs_of(plan)]
    assert pairs == [("pictogram:english", "quiz")]


def test_all_stands_for_the_audits_that_apply(place: Path) -> None:
    text = GOOD.replace('["prevalence"]', '["all"]') + "[settings.social]\nk = 7\n"
    (place / "audit.toml").write_text(text)
    plan = read_audit_file(place / "audit.toml")
    asked, _ = plan_board(plan, sample=0)
    assert asked["audit"].unique().sort().to_list() == ["individual", "parity", "prevalence"]
    assert asked["system"].unique().sort().to_list() == ["candidate", "released"]


def test_a_file_is_run_compared_and_judged_and_taken_up_again(place: Path) -> None:
    code, output, errors = typed(["run", "audit.toml", "--junit", "gate.xml"])
    assert code == 3, errors
    assert "✗ failed: fail if prevalence: worse" in output
    assert "The gate fails: 1 of 3 conditions." in output  # the baseline is not compared with itself
    assert (place / "runs" / "comparison" / "report.html").is_file()
    assert (place / "gate.xml").is_file()
    folders = [place / "runs" / f"{name}-on-folder-even" for name in ("released", "candidate")]
    before = [(folder / "timings.json").stat().st_mtime_ns for folder in folders]
    code, output, _ = typed(["run", "audit.toml", "--json"])
    content = json.loads(output)
    assert (code, content["gate"]["passed"], content["failed"]) == (3, False, {})
    assert [(folder / "timings.json").stat().st_mtime_ns for folder in folders] == before
    (place / "audit.toml").write_text(GOOD.replace("embeddings:skewed", "embeddings:even").replace(
        'out = "runs"', 'out = "again"'))  # fmt: skip
    assert typed(["run", "audit.toml"])[0] == 0


def test_a_system_that_cannot_be_audited_costs_only_itself(place: Path) -> None:
    (place / "audit.toml").write_text(GOOD.replace("embeddings:skewed", "embeddings:nowhere"))
    code, output, errors = typed(["run", "audit.toml"])
    assert code == 1
    assert "candidate on folder:even: nowhere: no such folder" in errors
    assert "equiview: gate: the gate's condition 'prevalence: worse' is about no run" in errors
    assert "Report: runs/released-on-folder-even/report.html" in output
    assert (place / "runs" / "released-on-folder-even" / "report.html").is_file()
    (place / "audit.toml").write_text(GOOD.replace("embeddings:", "embeddings:nowhere/"))
    code, _, errors = typed(["run", "audit.toml"])
    assert (code, "no such folder" in errors) == (1, True)


def test_a_gate_that_is_about_no_run_is_an_error(place: Path) -> None:
    alone = GOOD.replace('[[subjects]]\nuse = "embeddings:skewed" # tonight\'s\nname = "candidate"\n', "")
    (place / "audit.toml").write_text(alone)
    code, _, errors = typed(["run", "audit.toml"])
    assert code == 1
    assert "'prevalence: worse' is about no run; it would pass whatever is found" in errors


def test_a_dry_run_says_what_would_be_asked_and_how_long_it_takes(place: Path) -> None:
    asked, times = plan_board(read_audit_file(place / "audit.toml"), sample=4)
    assert asked["system"].to_list() == ["released", "candidate"]
    assert asked["purpose"].to_list() == ["asks no model"] * 2
    assert times.select("images", "texts").rows() == [(40, 160)] * 2
    assert (times["seconds"] >= 0).all()
    code, output, errors = typed(["run", "audit.toml", "--dry-run", "--sample", "0", "--json"])
    assert code == 0, errors
    assert json.loads(output)["times"] == []
    assert not (place / "runs").exists()


def test_the_board_of_public_models_is_read_and_names_what_there_is() -> None:
    path = ROOT / "labs" / "board.toml"
    plan = read_audit_file(path)
    assert 18 <= len(plan.subjects) <= 25
    for entry in plan.subjects:
        scheme, _, rest = in_full(entry.use).partition(":")
        assert scheme in SUBJECTS.all(), entry.use
        if scheme == "hf":
            check_name(rest)
    assert {entry.use.partition(":")[0] for entry in plan.benchmarks} == {"xm3600", "xtd", "3xcm"}
    assert all(entry.use.partition(":")[0] in BENCHMARKS.all() for entry in plan.benchmarks)
    assert {audit for entry in plan.benchmarks for audit in entry.audits} <= set(AUDITS.all())
    text = path.read_text()
    families = ("CLIP-L/14", "siglip2", "metaclip-2", "Jina", "nomic", "ColQwen", "GME", "Qwen3-VL", "M-CLIP")
    assert [name for name in families if name not in text] == []
    assert tomllib.loads(text)["out"] == "board"
