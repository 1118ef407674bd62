"""Audits in a run folder: who may be audited, what a failure costs, what the manifest says."""

from dataclasses import replace
from importlib import metadata
from importlib.metadata import PackageNotFoundError

import pytest

from equiview.audits import AUDITS, Settings, once
from equiview.audits.execute import execute, finish, observations_of, settings_of, view_of
from equiview.audits.prevalence import PREVALENCE
from equiview.benchmarks import load_benchmark
from equiview.data import manifest
from equiview.data.observations import Observations
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.report import page_of
from equiview.subjects import Subject, load_subject
from tests.conftest import add_pictures


class Talker(Subject):
    """A model that answers."""

    kind = "a chat model"

    @property
    def fingerprint(self):
        return "talker"


def fails(error):
    def measure(observations, settings):
        raise error

    return replace(PREVALENCE, name="failing", measure=measure)


@pytest.fixture
def failing(monkeypatch):
    """Make an audit known whose measuring raises what it is given."""

    def register(error):
        audits = AUDITS.all()
        entry = replace(audits["prevalence"], name="failing", load=lambda: fails(error))
        monkeypatch.setitem(AUDITS.entries, "failing", entry)

    return register


def audited(world, folder, audits, **options):
    subject, benchmark = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    return execute(subject, benchmark, audits, folder, **options)


def test_a_subject_of_another_kind_is_refused_in_one_line(world, tmp_path):
    with pytest.raises(InputError) as error:
        execute(Talker("x"), load_benchmark(f"folder:{world}"), ["prevalence"], tmp_path / "run")
    assert str(error.value) == (
        "audit 'prevalence' takes an encoder or result lists, but 'Talker' is a chat model"
    )
    assert not (tmp_path / "run").exists()


def test_an_audit_that_fails_costs_only_itself(world, tmp_path, failing):
    failing(InputError("nothing to compare"))
    run = audited(world, tmp_path / "run", ["failing", "prevalence"])
    assert [(failure.audit, failure.message, failure.trace) for failure in run.failures] == [
        ("failing", "nothing to compare", "")
    ]
    assert [verdict.audit for verdict in run.verdicts] == ["prevalence"]
    assert run.estimates.table["audit"].unique().to_list() == ["prevalence"]
    assert run.figures("prevalence")
    assert not run.figures("failing")


def test_a_defect_of_one_audit_is_kept_with_its_trace(world, tmp_path, failing):
    failing(ZeroDivisionError("oh no"))
    run = audited(world, tmp_path / "run", ["failing", "prevalence"])
    assert run.failures[0].message == "ZeroDivisionError: oh no"
    assert "Traceback" in run.failures[0].trace


def test_audits_that_all_fail_are_an_error(world, tmp_path, failing):
    failing(InputError("nothing to compare"))
    with pytest.raises(InputError, match="audit 'failing' could not be measured: nothing to compare"):
        audited(world, tmp_path / "run", ["failing"])


class Flaky:
    """An audit like prevalence that is known by another name and observes only when it is told to."""

    def __init__(self, monkeypatch, name="flaky", error=None, packages=()):
        self.error = error or InputError("texts.csv: no column 'caption'")
        entry = AUDITS.all()["prevalence"]
        audit = replace(entry.value, name=name, observe=self.observe, packages=packages)
        monkeypatch.setitem(AUDITS.entries, name, replace(entry, name=name, load=lambda: audit))

    def observe(self, subject, benchmark, settings, progress):
        if self.error:
            raise self.error
        return PREVALENCE.observe(subject, benchmark, settings, progress)


def content(folder):
    """All that a run holds, clock times aside."""
    kept = [
        path for path in folder.rglob("*") if path.is_file() and path.name not in {"timings.json", ".lock"}
    ]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


FEW = {name: {"replicates": 100} for name in ("prevalence", "flaky", "parity")}


def few(*audits):
    return {name: FEW[name] for name in audits}


def test_an_audit_that_cannot_be_observed_costs_only_itself_and_is_tried_again(world, tmp_path, monkeypatch):
    flaky = Flaky(monkeypatch)
    both = {"audits": ["flaky", "prevalence"], "settings": few("flaky", "prevalence"), "report": page_of}
    run = audited(world, tmp_path / "run", **both)
    assert [(failure.audit, failure.message) for failure in run.failures] == [
        ("flaky", "texts.csv: no column 'caption'")
    ]
    assert [verdict.audit for verdict in run.verdicts] == ["prevalence"]
    assert run.figures("prevalence")
    assert "no column &#39;caption&#39;" in (run.folder / "report.html").read_text()
    assert "observe.flaky" not in run.manifest.stages
    failed = content(run.folder)
    finish(Run.open(run.folder), report=page_of)  # as `equiview report` does
    audited(world, tmp_path / "run", **both)
    assert content(run.folder) == failed
    flaky.error = InputError("another reason")
    assert audited(world, tmp_path / "run", **both).failures[0].message == "another reason"
    flaky.error = None
    run = audited(world, tmp_path / "run", **both)
    assert not run.failures
    assert not (run.folder / "failures.json").exists()
    audited(world, tmp_path / "whole", **both)
    assert content(run.folder) == content(tmp_path / "whole")


def test_a_defect_in_observing_is_kept_with_its_trace_and_a_lone_one_is_raised(world, tmp_path, monkeypatch):
    Flaky(monkeypatch, error=ZeroDivisionError("oh no"))
    run = audited(world, tmp_path / "run", ["flaky", "prevalence"], settings=few("flaky", "prevalence"))
    assert run.failures[0].message == "ZeroDivisionError: oh no"
    assert "in observe" in run.failures[0].trace
    with pytest.raises(ZeroDivisionError, match="oh no"):
        audited(world, tmp_path / "lone", ["flaky"])


def test_several_audits_that_all_fail_to_observe_are_one_error(world, tmp_path, monkeypatch):
    one, other = Flaky(monkeypatch, "one"), Flaky(monkeypatch, "other")
    with pytest.raises(InputError) as error:
        audited(world, tmp_path / "run", ["one", "other"])
    assert str(error.value) == str(one.error)
    other.error = InputError("too few")
    with pytest.raises(InputError) as error:
        audited(world, tmp_path / "run", ["other", "one"])
    assert str(error.value) == f"no audit could be observed: one: {one.error}; other: too few"
    one.error = other.error = None
    assert audited(world, tmp_path / "run", ["one", "other"]).manifest.audits == ("one", "other")


def test_a_run_needs_its_failures_to_be_finished_without_its_subject(world, tmp_path, monkeypatch):
    Flaky(monkeypatch)
    run = audited(world, tmp_path / "run", ["flaky", "prevalence"], settings=few("flaky", "prevalence"))
    (run.folder / "failures.json").unlink()
    with pytest.raises(InputError, match=r"not finished \(stage 'observe.flaky' is missing\); give the same"):
        finish(Run.open(run.folder))


@pytest.mark.parametrize("first", ["prevalence", "parity"])
def test_audits_are_added_to_a_run_and_the_order_does_not_matter(world, tmp_path, first):
    (second,) = {"prevalence", "parity"} - {first}
    audited(world, tmp_path / "run", [first], settings=few(first), report=page_of)
    kept = content(tmp_path / "run")
    observed = {name: there for name, there in kept.items() if name.startswith("observations")}
    audited(world, tmp_path / "run", [second], settings=few(second), report=page_of)
    audited(
        world,
        tmp_path / "once",
        ["prevalence", "parity"],
        settings=few("prevalence", "parity"),
        report=page_of,
    )
    assert content(tmp_path / "run") == content(tmp_path / "once")
    assert observed.items() <= content(tmp_path / "run").items()
    assert audited(world, tmp_path / "run", [first], settings=few(first)).manifest.audits == (
        "parity",
        "prevalence",
    )


def test_an_audit_that_cannot_be_added_leaves_the_others_and_is_named(world, tmp_path, monkeypatch):
    flaky = Flaky(monkeypatch)
    audited(world, tmp_path / "run", ["prevalence"], settings=few("prevalence"), report=page_of)
    flaky.error = KeyboardInterrupt()
    before = content(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        audited(world, tmp_path / "run", ["flaky"], settings=few("flaky"), report=page_of)
    assert content(tmp_path / "run") == before  # still the finished run that it was
    flaky.error = InputError("no such table")
    run = audited(world, tmp_path / "run", ["flaky"], settings=few("flaky"), report=page_of)
    assert [failure.audit for failure in run.failures] == ["flaky"]
    assert [verdict.audit for verdict in run.verdicts] == ["prevalence"]


def test_what_differs_is_said_with_how(world, tmp_path):
    audited(world, tmp_path / "run", ["prevalence"], settings=few("prevalence"))
    other = {"prevalence": {"cutoffs": [3]}}
    with pytest.raises(InputError) as error:
        audited(world, tmp_path / "run", ["prevalence", "parity"], seed=7, settings=other)
    assert str(error.value) == (
        f"{tmp_path / 'run'}: holds a run that differs in seed (0 there, 7 now); settings "
        "(prevalence.replicates 100 there, 10000 now; "
        "prevalence.cutoffs [1, 5, 10, 25, 50, 99] there, [3] now); choose another folder"
    )


def test_a_path_may_be_spelled_in_another_way(world, tmp_path, monkeypatch):
    audited(world, tmp_path / "run", ["prevalence"], settings=few("prevalence"))
    before = content(tmp_path / "run")
    monkeypatch.chdir(world.parent)
    audited(world.name, tmp_path / "run", ["prevalence"], settings=few("prevalence"))
    assert content(tmp_path / "run") == before


def test_versions_count_once_something_rests_on_them(world, tmp_path, monkeypatch):
    """What an audit that failed lacks may be installed; what was observed stays with its versions."""
    flaky = Flaky(monkeypatch, packages=("hypothesis",))
    both = {"audits": ["flaky", "prevalence"], "settings": few("flaky", "prevalence")}
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "version", without("hypothesis"))
        audited(world, tmp_path / "run", **both)
    flaky.error = None
    assert "hypothesis" in audited(world, tmp_path / "run", **both).manifest.versions
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "version", without("hypothesis"))
        with pytest.raises(InputError, match=r"differs in versions \(hypothesis [\d.]+ there, none now\)"):
            audited(world, tmp_path / "run", **both)


def without(package):
    def version(name):
        if name == package:
            raise PackageNotFoundError(name)
        return metadata.version(name)

    return version


def test_execute_says_which_audit_and_question_a_verdict_and_a_number_are_of(world, tmp_path):
    run = audited(world, tmp_path / "run", ["prevalence"], name="mine")
    assert (run.verdicts[0].audit, run.verdicts[0].question) == ("prevalence", PREVALENCE.question)
    assert run.estimates.table["audit"].unique().to_list() == ["prevalence"]
    assert run.name == "mine"
    assert run.manifest.benchmark.counts == {"images": 40, "texts": 160}
    assert {"numpy", "polars", "equiview", "python"} <= set(run.manifest.versions)


def test_what_runs_is_checked_before_anything_is_run(world, tmp_path):
    with pytest.raises(InputError, match="no audit was asked for"):
        audited(world, tmp_path / "run", [])
    with pytest.raises(InputError, match="settings are given for parity"):
        audited(world, tmp_path / "run", ["prevalence"], settings={"parity": {}})
    with pytest.raises(InputError, match=r"run; write \{'prevalence': \{'depth': \.\.\.\}\}$"):
        audited(world, tmp_path / "run", ["prevalence"], settings={"prevalence.depth": 9})
    assert not (tmp_path / "run").exists()


def test_pictures_replaced_under_the_same_paths_are_another_run(world, tmp_path):
    add_pictures(world)
    audited(world, tmp_path / "run", ["prevalence"], settings={"prevalence": {"replicates": 100}})
    (world / "i0.png").write_bytes((world / "i1.png").read_bytes())
    with pytest.raises(InputError, match="holds a run that differs in benchmark"):
        audited(world, tmp_path / "run", ["prevalence"], settings={"prevalence": {"replicates": 100}})


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_files_of_a_run_that_were_changed_are_refused_and_made_again(world, tmp_path):
    few = {"prevalence": {"replicates": 100}}
    run = audited(world, tmp_path / "run", ["prevalence"], settings=few)
    before = run.estimates.table
    flip(run.folder / "estimates.parquet")
    for read in (lambda: run.estimates, lambda: run.verdicts):
        with pytest.raises(InputError, match=r"estimates\.parquet: was changed after the run wrote it"):
            read()
    flip(run.folder / "observations" / "prevalence.rankings.parquet")
    for read in (lambda: observations_of(run, "prevalence"), lambda: finish(run)):
        with pytest.raises(InputError, match=r"prevalence\.rankings\.parquet: was changed"):
            read()
    flip(next((run.folder / "figures").glob("*.json")))
    with pytest.raises(InputError, match=r"\.json: was changed"):
        run.figures("prevalence")
    again = audited(world, tmp_path / "run", ["prevalence"], settings=few)
    assert again.estimates.table.equals(before)
    assert observations_of(again, "prevalence")["rankings"].height
    assert again.figures("prevalence")


def test_what_a_run_holds_is_read_once_until_it_is_written_again(world, tmp_path):
    run = audited(world, tmp_path / "run", ["prevalence"], settings={"prevalence": {"replicates": 100}})
    assert view_of(run, "prevalence") is view_of(run, "prevalence")
    settings = settings_of(run, "prevalence")
    assert PREVALENCE.values(view_of(run, "prevalence"), settings) is PREVALENCE.values(
        view_of(run, "prevalence"), settings
    )
    assert run.estimates.of("prevalence") is run.estimates.of("prevalence")
    table = run.folder / "observations" / "prevalence.rankings.parquet"
    before, kept = view_of(run, "prevalence"), table.read_bytes()
    flip(table)
    with pytest.raises(InputError, match=r"prevalence\.rankings\.parquet: was changed"):
        view_of(run, "prevalence")
    table.write_bytes(kept)
    after = view_of(run, "prevalence")
    assert after is not before
    assert after["rankings"].equals(before["rankings"])


def test_a_view_and_what_is_asked_of_it_once_are_kept_apart_by_settings(world):
    calls = []

    @once
    def counted(view, settings):
        calls.append(settings.seed)
        return len(calls)

    observations = Observations({})
    first, second = Settings(seed=1), Settings(seed=2)
    assert [counted(observations, given) for given in (first, second, first)] == [1, 2, 1]
    assert counted(Observations({}), first) == 3
    assert calls == [1, 2, 1]


def test_every_audit_has_seeds_of_its_own():
    assert PREVALENCE.configure({"seed": 3}).seed_of("chance") == seed_for(3, "prevalence.chance")
    assert Settings(seed=3).seed_of("chance") != PREVALENCE.configure({"seed": 3}).seed_of("chance")
