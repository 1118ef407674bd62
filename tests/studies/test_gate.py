"""The gate: what is shown fails, what is unclear never passes, what cannot be read is said where."""

from __future__ import annotations

import json
import math
import shutil
from operator import ge, gt, le, lt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Failure, JUnitXml, Skipped

from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report.gate import gate_json, gate_junit, gate_markdown
from equiview.studies.gate import check, parse
from equiview.studies.gate.grammar import Wanted
from equiview.subjects import load_subject
from tests.conftest import write_world
from tests.faults.running import typed

QUICK = {"prevalence": {"replicates": 200}}


def audited(world: Path, out: Path) -> Run:
    subject, items = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    return execute(subject, items, ["prevalence"], out, settings=QUICK)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run, Run]:
    """One path audited on three nights: as released, again with the same vectors, and after a bad change."""
    place = tmp_path_factory.mktemp("nights")
    world = write_world(place / "model", skew=0.0)
    first, again = audited(world, place / "monday"), audited(world, place / "tuesday")
    write_world(world, skew=4.0)
    return first, again, audited(world, place / "wednesday")


@pytest.mark.parametrize(
    ("text", "audit", "rows", "field", "limit"),
    [
        ("parity: gap to pivot[task=image-to-text].low > 0.05", "parity",
         Wanted("gap to pivot", None, (("task", "image-to-text"),)), "low", 0.05),
        ("parity.gap.low<=5%", "parity", Wanted("gap"), "low", 0.05),
        ("parity : R@10 [ language = sw , tier= ] >= -.5", "parity",
         Wanted("R", 10, (("language", "sw"), ("tier", ""))), "value", -0.5),
        ('a: "odd. name"[group="x, y"].change.low != 1e-3', "a",
         Wanted("odd. name", None, (("group", "x, y"),)), "change.low", 0.001),
        ("a: M_cul - M_non.worse", "a", Wanted("M_cul - M_non"), "worse", 0.0),
        ("a: worse", "a", None, "worse", 0.0),
        ("worse", "", None, "worse", 0.0),
    ],
)  # fmt: skip
def test_conditions_are_read(text: str, audit: str, rows: Wanted | None, field: str, limit: float) -> None:
    found = parse(text)
    assert (found.audit, found.rows, found.field, found.limit) == (audit, rows, field, limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at its end: expected the name of an audit"),
        ("parity", "at its end: expected ':' and a metric after the audit, or '=' and a finding"),
        ("parity=baised", "character 8 ('baised'): no finding is named 'baised'; did you mean 'biased'?"),
        ("parity=biased now", "character 15 ('now'): expected nothing more"),
        ("parity: > 1", "character 9 ('> 1'): expected the name of a metric"),
        ("parity: R@x > 1", "character 11 ('x > 1'): expected a rank after '@', as in R@1"),
        ("parity: R[tier] > 1", "character 15 ('] > 1'): expected '=' after the key 'tier'"),
        ("parity: R[a=1,a=2] > 1", "character 15 ('a=2] > 1'): the key 'a' is named twice"),
        ("parity: R[a=1 > 1", "at its end: expected ',' or ']'"),
        ("parity: R.lwo > 1", "character 11 ('lwo > 1'): no field is named 'lwo'; did you mean 'low'?"),
        ("parity: R.low", "at its end: expected one of"),
        ("parity: R.low > nan", "character 17 ('nan'): expected a number"),
        ("parity: R.low > 1 or 2", "character 19 ('or 2'): expected nothing more"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as found:
        parse(text)
    assert said in str(found.value)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_operators_are_those_of_numbers(value: float, limit: float) -> None:
    for sign, holds in (("<", lt), ("<=", le), (">", gt), (">=", ge)):
        assert parse(f"a: R {sign} {limit!r}").holds(value) == holds(value, limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prevalance=biased", "did you mean 'prevalence'"),
        ("prevalence: exposure ration > 1", "did you mean 'exposure ratio'"),
        ("prevalence: R@7 > 1", "'R' is not measured at 7; it is measured at 1"),
        ("prevalence: R@1[langage=sw] > 1", "character 17 ('langage=sw] > 1'): no key of 'R' is named"),
        ("prevalence: R@1[language=swa] > 1", "character 26 ('swa] > 1'): no language of 'R' is named 'swa'"),
        ("prevalence: R@1[language=sw,tier=low] > 1", "no key of 'R' is named 'tier'"),
        ("prevalence: effect[tier=low] > 1", "has neither a cutoff nor keys"),
        ("prevalence: effect.p > 1", "no field of an effect is named 'p'"),
        ("worse", "name the run to compare with as baseline"),
        ("prevalence: R.change > 1", "character 15 ('change > 1'): is about a difference"),
    ],
)
def test_a_condition_about_no_row_is_an_error(nights: tuple[Run, Run, Run], text: str, said: str) -> None:
    with pytest.raises(InputError) as found:
        check(nights[:1], fail_if=[text])
    assert said in str(found.value)


def test_no_condition_is_no_gate(nights: tuple[Run, Run, Run]) -> None:
    with pytest.raises(InputError, match="needs at least one condition"):
        check(nights[:1])


def test_every_row_is_checked_and_named(nights: tuple[Run, Run, Run]) -> None:
    run = nights[2]
    gate = check([run], fail_if=["prevalence: R@1[language=*] < 2"], require=["prevalence: R@1.n >= 40"])
    languages = run.estimates.by("language", "R", 1)
    rows = gate.table.filter(pl.col("rule") == "fail if")
    assert set(rows["about"]) == {row.quantity.label() for row in languages}
    assert rows["compared"].to_list() == [row.value for row in languages]
    assert rows["outcome"].to_list() == ["fail"] * 4
    assert set(gate.table.filter(pl.col("rule") == "require")["outcome"]) == {"pass"}
    assert not gate.passed


def test_a_run_fails_by_the_row_that_fails(nights: tuple[Run, Run, Run]) -> None:
    run = nights[2]
    values = {row.keys["language"]: row.value for row in run.estimates.by("language", "exposure ratio", 10)}
    worst = min(values, key=lambda code: values[code])
    limit = sorted(values.values())[0] + 1e-9
    gate = check([run], fail_if=[f"prevalence: exposure ratio@10[language=*] < {limit!r}"])
    (entry,) = gate.checked
    assert [row.about.keys["language"] for row in gate.failing(entry) if row.about] == [worst]


def test_the_effect_is_in_units_of_its_tolerance(nights: tuple[Run, Run, Run]) -> None:
    run = nights[2]
    (verdict,) = run.verdicts
    assert verdict.finding == "biased"
    assert verdict.effect
    row = run.estimates.of("prevalence").at(verdict.effect.quantity)
    assert row
    (found,) = check([run], require=["prevalence: effect.low > 1"]).checked[0].rows
    row = (row.of_many() if verdict.effect.among > 1 else row).above_chance()
    assert found.value == pytest.approx(abs(row.value) / verdict.effect.tolerance)
    assert found.low == pytest.approx(min(abs(row.low), abs(row.high)) / verdict.effect.tolerance)
    assert found.low > 1
    assert found.holds


def with_verdict(run: Run, finding: str, out: Path) -> Run:
    """A copy of a run whose verdict says something else, as if it had been judged so."""
    copied = Run.open(Path(shutil.copytree(run.folder, out)))
    changed = [verdict.model_copy(update={"finding": finding}) for verdict in run.verdicts]
    copied.kept("measure", "verdicts.json", lambda: changed)
    return copied


@pytest.mark.parametrize(
    ("finding", "fail_if", "require", "unclear", "passes"),
    [
        ("biased", "prevalence=biased", "", "fail", False),
        ("biased", "prevalence=biased", "", "pass", False),
        ("fair", "prevalence=biased", "", "fail", True),
        ("unclear", "prevalence=biased", "", "fail", False),
        ("unclear", "prevalence=biased", "", "pass", True),
        ("unclear", "prevalence=unclear", "", "pass", False),
        ("unclear", "prevalence!=fair", "", "pass", True),
        ("fair", "", "prevalence=fair", "fail", True),
        ("biased", "", "prevalence=fair", "pass", False),
        ("unclear", "", "prevalence=fair", "fail", False),
        ("unclear", "", "prevalence=fair", "pass", True),
        ("fair", "", "prevalence!=unclear", "fail", True),
    ],
)
def test_verdicts(nights: tuple[Run, Run, Run], tmp_path: Path, finding: str, fail_if: str, require: str,
                  unclear: str, passes: bool) -> None:  # fmt: skip
    run = with_verdict(nights[0], finding, tmp_path / "run")
    gate = check(
        [run],
        fail_if=[fail_if] if fail_if else [],
        require=[require] if require else [],
        unclear=unclear,  # type: ignore[arg-type]
    )
    assert gate.passed == passes


def test_too_few_for_an_interval_is_not_a_pass(tmp_path: Path) -> None:
    run = audited(write_world(tmp_path / "small", images=6), tmp_path / "run")
    text = "prevalence: R@1[language=sw].low > 0.99"
    assert math.isnan(run.estimates.one("R", k=1, language="sw").low)
    gate = check([run], fail_if=[text])
    assert not gate.passed
    assert gate.table["outcome"].to_list() == ["unclear"]
    assert gate.table["why"].to_list() == ["no low: n is too small for an interval"]
    lenient = check([run], fail_if=[text], unclear="pass")
    assert lenient.passed
    (case,) = (case for suite in JUnitXml.fromstring(gate_junit(lenient)) for case in suite)
    assert [isinstance(result, Skipped) for result in case.result] == [True]
    with pytest.raises(InputError, match="no way to take what is unclear is named 'ignore'"):
        check([run], fail_if=[text], unclear="ignore")  # type: ignore[arg-type]


def test_a_night_without_a_change_is_not_worse(nights: tuple[Run, Run, Run]) -> None:
    first, again, _ = nights
    gate = check([again], fail_if=["worse", "prevalence: R@1.worse"], baseline=first)
    assert gate.passed
    assert set(gate.table["compared"]) == {0.0}
    assert check([again], require=["prevalence: Accuracy.change.high <= 0"], baseline=first).passed


def test_what_pushes_languages_aside_is_worse_than_before(nights: tuple[Run, Run, Run]) -> None:
    first, _, bad = nights
    gate = check([bad], fail_if=["prevalence: worse", "prevalence: R@1.change.high < -0.1"], baseline=first)
    assert not gate.passed
    assert [gate.fails(entry) for entry in gate.checked] == [True, True]
    assert check([first], fail_if=["prevalence: exposure ratio.worse"], baseline=bad).passed
    with pytest.raises(InputError, match="no headline, by which runs are compared, of prevalence is named"):
        check([bad], fail_if=["prevalence: exposure.worse"], baseline=first)
    with pytest.raises(InputError, match="is the baseline itself"):
        check([bad], fail_if=["worse"], baseline=bad)


def test_an_audit_that_was_not_measured_is_an_error(nights: tuple[Run, Run, Run], tmp_path: Path) -> None:
    folder = shutil.copytree(nights[0].folder, tmp_path / "run")
    manifest = json.loads((folder / "manifest.json").read_text())
    failure = [{"audit": "prevalence", "message": "no image has a caption", "trace": ""}]
    (folder / "failures.json").write_text(json.dumps(failure))
    from equiview.io.tables import checksum

    manifest["stages"]["measure"]["failures.json"] = checksum(folder / "failures.json")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"could not be measured \(no image has a caption\)"):
        check([Run.open(folder)], fail_if=["prevalence=biased"])


def test_the_result_is_junit_markdown_and_json(nights: tuple[Run, Run, Run]) -> None:
    gate = check(
        nights[1:], fail_if=["prevalence=biased", "prevalence: R@1.n < 40"], unclear="pass", baseline=None
    )
    suites = JUnitXml.fromstring(gate_junit(gate))
    assert (suites.tests, suites.failures, suites.errors) == (4, 1, 0)
    cases = [case for suite in suites for case in suite]
    assert [case.name for case in cases[2:]] == [
        "fail if prevalence=biased",
        "fail if prevalence: R@1.n < 40",
    ]
    assert [isinstance(result, Failure) for case in cases[2:] for result in case.result] == [True]
    text = gate_markdown(gate)
    assert "The gate fails: 1 of 4 conditions." in text
    assert "| fail if `prevalence=biased` |" in text
    content = json.loads(json.dumps(gate_json(gate)))
    assert content["passed"] is False
    assert len(content["rows"]) == len(gate.table)


def test_the_command_exits_with_3_when_the_gate_fails(nights: tuple[Run, Run, Run], tmp_path: Path) -> None:
    run, bad = str(nights[0].folder), str(nights[2].folder)
    code, output, errors = typed(["check", run, "--fail-if", "prevalence: R@1.n < 40"])
    assert (code, errors) == (0, "")
    assert "The gate passes: 1 condition checked." in output
    files = ["--junit", str(tmp_path / "gate.xml"), "--markdown", str(tmp_path / "gate.md")]
    code, output, errors = typed(["check", bad, "--fail-if", "prevalence=biased", *files])
    assert code == 3, errors
    assert "✗ failed: fail if prevalence=biased" in output
    assert JUnitXml.fromfile(str(tmp_path / "gate.xml")).failures == 1
    assert "✗ failed" in (tmp_path / "gate.md").read_text()
    code, output, _ = typed(["check", bad, "--fail-if", "worse", "--baseline", run, "--json"])
    assert (code, json.loads(output)["passed"]) == (3, False)
    code, _, errors = typed(["check", run, "--fail-if", "prevalence: R@0.5 > 1"])
    assert (code, "character 17 ('5 > 1')" in errors) == (1, True), errors


def test_names_that_xml_cannot_hold_are_marked(nights: tuple[Run, Run, Run]) -> None:
    from dataclasses import replace

    run = replace(nights[0], label="a\x01b<&>|`")
    gate = check([run], fail_if=["prevalence: R@1.n < 40"])
    suite = next(iter(JUnitXml.fromstring(gate_junit(gate))))
    assert suite.name.startswith("a\N{REPLACEMENT CHARACTER}b<&>|`")
    assert "\\|" in gate_markdown(gate)
    assert np.isfinite(gate.table["n"].to_numpy()).all()
