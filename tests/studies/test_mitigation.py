"""Runs before and after fine-tuning side by side, on scenes without one thing."""

import shutil
from types import SimpleNamespace

import pytest

from equiview.api import write_mitigation
from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report.console import print_table
from equiview.studies import mitigation
from equiview.studies.mitigation import ratio_of
from equiview.subjects import load_subject
from equiview.subjects.finetuned import FineTuning

QUICK = {"decorrelation": {"replicates": 200}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two encoders that stand for one before and after: the second is said to derive from the first."""
    place = tmp_path_factory.mktemp("mitigation")
    scenes = load_benchmark("scenes:images=60,gallery=100,seed=3")
    made = []
    for name in ("skewed", "aligned", "english"):
        subject = load_subject(f"pictogram:{name}")
        made.append(execute(subject, scenes, ["decorrelation"], place / name, name=name, settings=QUICK))
    before, *after = made
    for run in after:
        card = run.manifest.subject.model_copy(update={"parent": before.manifest.subject.fingerprint})
        run.manifest.__dict__["subject"] = card
    return before, after


def test_numbers_stand_side_by_side_and_by_class_removed(runs, tmp_path):
    before, after = runs
    found = write_mitigation(before, after, tmp_path / "study", ratios=[0.4, 0.0])
    assert found.systems["system"].to_list() == ["skewed", "aligned", "english"]
    assert found.systems["ratio"].to_list() == [None, 0.4, 0.0]
    odmap = [run.estimates.one("ODmAP", 1).value for run in (before, *after)]
    assert found.systems["ODmAP@1"].to_list() == odmap
    change = found.changes.filter(metric="ODmAP", k=1, b="aligned").row(0, named=True)
    assert change["difference"] == pytest.approx(odmap[1] - odmap[0])
    by_class = found.parts.filter(metric="ODmAP", k=5, system="english")
    for row in by_class.iter_rows(named=True):
        first, second = (
            run.estimates.one("ODmAP", 5, removed=row["removed"]).value for run in (before, after[1])
        )
        assert (row["before"], row["after"], row["change"]) == pytest.approx((first, second, second - first))
    assert len(by_class) > 1
    assert found.parts["kept"].null_count() < len(found.parts)
    frontier, curve = found.figures
    shown = [run.estimates.one("excess naming", 10) for run in (before, *after)]
    assert frontier.table["value"].to_list() == [row.value for row in shown]
    assert curve.table.filter(number="ODmAP@1")["ratio"].to_list() == [0.0, 0.4]
    assert curve.table.filter(number="ODmAP@1")["value"].to_list() == odmap[:0:-1]
    assert b"before and after" in (tmp_path / "study" / "report.html").read_bytes()


def test_without_ratios_there_is_no_curve(runs):
    assert [figure.name for figure in mitigation(*runs).figures] == ["decorrelation-frontier"]


def test_runs_that_do_not_belong_together_are_refused(runs):
    before, after = runs
    with pytest.raises(InputError, match="'skewed' is not derived from 'aligned', the one before"):
        mitigation(after[0], [before])
    with pytest.raises(InputError, match="1 ratios for 2 runs after"):
        mitigation(before, after, [0.1])


def test_the_ratio_is_read_from_the_folder_of_the_encoder(runs, tmp_path, monkeypatch):
    run = runs[1][0]
    assert ratio_of(run) is None
    card = run.manifest.subject.model_copy(update={"name": f"finetuned:{tmp_path},batch=8"})
    monkeypatch.setitem(run.manifest.__dict__, "subject", card)
    assert ratio_of(run) is None
    (tmp_path / "finetune.json").touch()
    pairs = {"real": 200, "synthetic": 16}
    monkeypatch.setattr(FineTuning, "read", lambda folder: SimpleNamespace(pairs=pairs))
    assert ratio_of(run) == 0.08


def test_numbers_of_lists_that_are_cut_short_are_said_to_be_absent(tmp_path, capsys):
    """Lists of a tenth of the drawings end before rank 1,000: no column of None, but why there is none."""
    people = load_benchmark("pictograms-people")
    settings = {"social": {"replicates": 100}}
    subject = load_subject("pictogram:tied")
    before = execute(subject, people, ["social"], tmp_path / "run", settings=settings)
    # of another by its card alone
    after = Run.open(shutil.copytree(before.folder, tmp_path / "after"))
    card = before.manifest.subject.model_copy(
        update={"parent": before.manifest.subject.fingerprint, "name": "another"}
    )
    after.manifest.__dict__["subject"] = card
    found = mitigation(before, [after])
    assert all(found.systems[name].null_count() < 2 for name in found.systems.columns if name != "ratio")
    assert not any("MaxSkew@1000" in name for name in found.systems.columns)
    assert "MaxSkew@1000, by gender is not available: lists of these images are cut at 115" in found.absent
    assert not any("race" in sentence for sentence in found.absent)  # of which these drawings say nothing
    print_table(found.systems, "Before and after")
    assert "None" not in capsys.readouterr().out
