"""The command line as a person meets it: what it prints, and what it exits with."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from equiview.audits import AUDITS
from equiview.cli import main
from equiview.data.requests import Reply
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.tables import write_bytes
from equiview.store import Answers
from tests.conftest import write_world
from tests.faults.running import typed


def equiview(*arguments):
    """Type a command, in this process; returns (exit code, output, error output)."""
    return typed([str(word) for word in arguments])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run that tests read and leave as it is."""
    place = tmp_path_factory.mktemp("finished")
    assert audit(write_world(place / "world"), place / "run")[0] == 0
    return place / "run"


def audit(world, out, *more, benchmark=None):
    chosen = benchmark or f"folder:{world}"
    return equiview(
        "audit", f"embeddings:{world}", "--benchmark", chosen, "--audit", "prevalence", "--out", out, *more
    )


def test_help_and_version():
    code, output, _ = equiview("--help")
    assert code == 0
    for name in ("demo", "audit", "verify", "report", "compare", "list"):
        assert name in output
    assert equiview()[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "equiview", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == equiview("--version")[1] != ""


def test_audit_prints_the_verdict_and_where_the_report_is(world, tmp_path):
    code, output, errors = audit(world, tmp_path / "run")
    assert code == 0, errors
    assert "prevalence" in output
    assert (
        f"Report: {tmp_path / 'run' / 'report.html'}" in output.replace("\n", "") or "report.html" in output
    )
    assert (tmp_path / "run" / "report.html").is_file()


def test_json_is_json_and_nothing_else(world, tmp_path):
    code, output, _ = audit(world, tmp_path / "run", "--json", "--setting", "prevalence.cutoffs=5,10")
    assert code == 0
    found = json.loads(output)
    metrics = {row["metric"] for row in found["runs"][0]["estimates"]}
    assert {"LBKL", "DLBKL"} <= metrics
    assert "LBKL@1" not in metrics
    assert found["runs"][0]["verdicts"][0]["finding"] in {"biased", "fair", "unclear"}


def test_verify_exits_with_1_when_a_check_looks_wrong(tmp_path, monkeypatch):
    code, output, errors = equiview("verify", "pictogram:aligned")
    assert code == 0, errors
    assert "captions" in output
    source = "class Ones:\n    def encode_images(self, images):\n        return [[1.0, 2.0]] * len(images)\n"
    (tmp_path / "ones.py").write_text(source + "    encode_texts = encode_images\n")
    monkeypatch.syspath_prepend(tmp_path)
    code, output, errors = equiview("verify", "ones:Ones", "--json")
    assert code == 1, errors
    wrong = [row["check"] for row in json.loads(output)["checks"] if row["result"] == "looks wrong"]
    assert wrong == ["captions find pictures", "distinct pictures", "distinct texts"]


def test_report_and_compare_work_from_run_folders(tmp_path):
    for name, skew in (("even", 0.0), ("skewed", 4.0)):
        write_world(tmp_path / name, skew=skew)
        assert audit(tmp_path / name, tmp_path / f"run-{name}")[0] == 0
    runs = [tmp_path / "run-even", tmp_path / "run-skewed"]
    (runs[0] / "report.html").unlink()
    assert equiview("report", runs[0])[0] == 0
    whole = (runs[0] / "report.html").read_bytes()
    older = Run.open(runs[0])
    older.stage("draw", lambda work: write_bytes(b"{}", work / "old.json"), again=True)
    older.stage("report", lambda work: write_bytes(b"old", work / "report.html"))
    assert equiview("report", runs[0])[0] == 0
    assert (runs[0] / "report.html").read_bytes() == whole
    assert not (runs[0] / "old.json").exists()
    # The vectors differ but the items do not, so the two compare.
    code, output, errors = equiview("compare", *runs, "--out", tmp_path / "both", "--json")
    assert code == 0, errors
    assert {row["metric"] for row in json.loads(output)["comparison"]} >= {"Accuracy"}
    assert (tmp_path / "both" / "report.html").is_file()
    code, against, errors = equiview(
        "compare", runs[0], "--against", runs[1], "--out", tmp_path / "b", "--json"
    )
    assert code == 0, errors
    pairs = {(row["a"][-6:], row["b"][-4:]) for row in json.loads(against)["comparison"]}
    assert pairs == {("skewed", "even")}
    few, all_ = (
        equiview("compare", *runs, "--out", tmp_path / "both", *more)[1] for more in ((), ("--all",))
    )
    assert "paired differences are shown (Holm, 5%)" in few
    assert "p (Holm)" in all_


def test_export_prints_a_table_to_paste(finished):
    code, output, _ = equiview("export", finished, "--format", "csv")
    assert code == 0
    assert output.startswith("audit,metric,k,value,low,high,n,chance,excess,p,p_holm,judged")
    assert "\\begin{tabular}" in equiview("export", finished, "--format", "latex")[1]
    code, _, errors = equiview("export", finished, "--format", "cvs")
    assert (code, "did you mean 'csv'" in errors) == (1, True)


def test_export_prints_a_table_of_the_paper_over_runs(finished, tmp_path):
    runs = [finished, shutil.copytree(finished, tmp_path / "again")]
    code, output, errors = equiview("export", *runs, "--table", "table-1")
    assert code == 0, errors
    lines = output.splitlines()
    assert lines[0] == "system,Accuracy@5,LBKL@10,DLBKL@10,NDCG@10"
    assert len(lines) == 3
    assert lines[1] == lines[2]
    listed = equiview("export", runs[0], "--table", "list")[1]
    assert "prevalence.table-1" in listed
    assert "as in P's Table 5" in listed
    code, _, errors = equiview("export", runs[0], "--table", "table-11")
    assert (code, "known: prevalence.table-1, prevalence.table-3, prevalence.table-5" in errors) == (1, True)
    code, output, errors = equiview("export", *runs)
    assert code == 0, errors
    assert output.startswith("subject,audit,metric,k,value")
    assert {line.split(",")[0].rpartition(" ")[2] for line in output.splitlines()[1:]} == {"(run)", "(again)"}


def test_figures_are_written_for_print(finished, tmp_path):
    run = shutil.copytree(finished, tmp_path / "run")
    code, output, errors = equiview("figures", run, "--json")
    assert code == 0, errors
    paths = [Path(name) for name in json.loads(output)["figures"]]
    assert {path.suffix for path in paths} == {".svg", ".pdf"}
    assert all(path.stat().st_size > 1000 for path in paths)


def test_list_names_what_there_is():
    code, output, _ = equiview("list", "--json")
    assert code == 0
    found = json.loads(output)
    assert "folder:DIR" in [row["name"] for row in found["benchmarks"]]
    assert "embeddings:DIR" in [row["name"] for row in found["subjects"]]
    assert "prevalence" in [row["name"] for row in found["audits"]]
    ready = {row["name"]: row["ready"] for row in found["benchmarks"]}
    assert ready["pictograms"] == "yes"
    assert ready["3xcm:DIR"].startswith("no: https://")
    assert len(json.loads(equiview("list", "models", "--json")[1])["models"]) == 10
    assert "did you mean 'models'" in equiview("list", "modles")[2]


def _edit_texts(**expressions):
    def change(world):
        pl.read_csv(world / "texts.csv").with_columns(**expressions).write_csv(world / "texts.csv")

    return change


def _edit_vectors(name, edit):
    def change(world):
        array = np.load(world / name)
        array = edit(array)
        np.save(world / name, array)

    return change


def _set(row, value):
    def edit(array):
        array[row] = value
        return array

    return edit


FIRST = pl.int_range(pl.len()) == 0
BAD_INPUT = {
    "an empty pool": (
        lambda world: pl.read_csv(world / "texts.csv").head(0).write_csv(world / "texts.csv"),
        "texts.csv: holds no text",
    ),
    "no language column": (
        lambda world: pl.read_csv(world / "texts.csv").drop("language").write_csv(world / "texts.csv"),
        "column 'language'",
    ),
    "a text whose image is absent": (
        _edit_texts(image_id=pl.when(FIRST).then(pl.lit("i999")).otherwise("image_id")),
        "row 1: text 'i0-en' is of image 'i999', which is not among the images",
    ),
    "nan in the vectors": (_edit_vectors("images.npy", _set(3, np.nan)), "image 'i3' (row 4) is not finite"),
    "vectors of other widths": (_edit_vectors("images.npy", lambda a: a[:, :5]), "5 wide and the gallery 8"),
    "too few vectors": (_edit_vectors("texts.npy", lambda a: a[:-1]), "expected (160, width)"),
    "a zero vector": (_edit_vectors("texts.npy", _set(0, 0)), "text 'i0-en' (row 1) is all zero"),
    "duplicate ids": (
        _edit_texts(id=pl.when(FIRST).then(pl.lit("i1-en")).otherwise("id")),
        "column 'id' repeats 'i1-en' in rows 1 and 5",
    ),
    "a cut-off array": (
        lambda world: (world / "texts.npy").write_bytes((world / "texts.npy").read_bytes()[:-100]),
        "is it cut off?",
    ),
    "a cut-off table": (
        lambda world: (world / "images.csv").write_text('id\n"i0', encoding="utf-8"),
        "images.csv",
    ),
    "an empty language": (
        _edit_texts(language=pl.when(FIRST).then(None).otherwise("language")),
        "column 'language', row 1: empty",
    ),
    "an unknown language": (_edit_texts(language=pl.lit("tlh")), "add a column 'tier'"),
    "no vectors": (lambda world: (world / "texts.npy").unlink(), "texts.npy: no such file"),
    "integers for vectors": (_edit_vectors("texts.npy", lambda a: a.astype(int)), "expected floats"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_clear_line(world, tmp_path, case):
    change, message = BAD_INPUT[case]
    change(world)
    code, output, errors = audit(world, tmp_path / "run")
    assert code == 1
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
    assert errors.startswith("equiview: ")
    assert not output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("audit", "embedings:x", "--benchmark", "pictograms", "--audit", "prevalence", "--out", "x"),
            "did you mean",
        ),
        (
            (
                "audit",
                "embeddings:absent",
                "--benchmark",
                "folder:absent",
                "--audit",
                "prevalence",
                "--out",
                "x",
            ),
            "no such folder",
        ),
        (("compare", "absent", "absent2", "--out", "x"), "holds no run"),
        (("report", "absent"), "holds no run"),
        (("audti",), "No such command"),
        (
            ("audit", "x", "--benchmark", "y", "--out", "z"),
            "Missing option '--audit'. (try equiview audit --help)",
        ),
    ],
)
def test_mistakes_on_the_command_line_exit_with_1(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, errors = equiview(*arguments)
    assert code == 1
    assert message in errors
    assert len(errors.strip().splitlines()) == 1


def test_an_unknown_audit_or_setting_is_named_with_the_nearest(world, tmp_path):
    code, _, errors = equiview(
        "audit",
        f"embeddings:{world}",
        "--benchmark",
        f"folder:{world}",
        "--audit",
        "prevalance",
        "--out",
        tmp_path / "r",
    )
    assert (code, "did you mean 'prevalence'" in errors) == (1, True)
    said = audit(world, tmp_path / "r", "--setting", "prevalence.piror=pool")[2]
    assert "audit 'prevalence', no setting is named 'piror'; did you mean 'prior'?" in said
    assert "AUDIT.NAME=VALUE" in audit(world, tmp_path / "r", "--setting", "prior=pool")[2]


def test_settings_are_listed_with_their_defaults_and_lists_may_be_words_between_commas():
    code, printed, _ = equiview("settings", "social", "--json")
    assert code == 0
    rows = {row["setting"]: row for row in json.loads(printed)}
    assert json.loads(rows["social.replicates"]["default"]) == 10_000
    assert set(rows) == {f"social.{name}" for name in AUDITS.get("social").settings.model_fields}
    given = AUDITS.get("social").configure({"attributes": "sex, tone"})
    assert given.attributes == ("sex", "tone")
    assert equiview("settings", "socail")[0] == 1


def test_a_folder_that_holds_something_else_is_left_alone(world, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.txt").write_text("years of work")
    code, _, errors = audit(world, tmp_path / "r")
    assert code == 1
    assert "is not empty and holds no run" in errors
    assert (tmp_path / "r" / "thesis.txt").read_text() == "years of work"


def test_a_defect_of_ours_exits_with_2(monkeypatch, capsys):
    from equiview import cli

    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("equiview.demo.demo", broken)
    monkeypatch.setattr(sys, "argv", ["equiview", "demo"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "defect of equiview" in capsys.readouterr().err


def test_an_unreadable_picture_stops_the_audit_or_is_left_out_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "photos"
    place.mkdir()
    for index in range(12):
        Image.new("RGB", (8, 8), (20 * index, 0, 0)).save(place / f"{index}.png")
    (place / "3.png").write_bytes(b"no picture")
    names = [f"i{n}" if n != 3 else "=1+1" for n in range(12)]  # a formula, to a spreadsheet
    images = pl.DataFrame({"id": names, "path": [f"{n}.png" for n in range(12)]})
    images.write_csv(place / "images.csv")
    rows = [(f"i{n}-{c}", f"red {n} {c}", c, names[n]) for n in range(12) for c in ("en", "sw")]
    texts = pl.DataFrame(rows, schema=["id", "text", "language", "image_id"], orient="row")
    texts.write_csv(place / "texts.csv")
    words = ("audit", "pictogram:aligned", "--benchmark", f"folder:{place}", "--audit", "prevalence")
    code, _, errors = equiview(*words, "--out", tmp_path / "stopped")
    assert (code, "picture of '=1+1' cannot be read" in errors) == (1, True)
    code, _, errors = equiview(*words, "--out", tmp_path / "skipped", "--on-error", "skip")
    assert (code, "left_out.csv" in errors) == (0, True)
    assert pl.read_csv(tmp_path / "skipped" / "left_out.csv")["id"].to_list() == ["'=1+1"]
    card = json.loads((tmp_path / "skipped" / "manifest.json").read_text())["benchmark"]
    assert (card["counts"], "without 1 images" in card["name"]) == ({"images": 11, "texts": 22}, True)
    assert "did you mean 'skip'" in equiview(*words, "--out", tmp_path / "x", "--on-error", "skpi")[2]


def test_the_cache_can_be_listed_verified_and_pruned(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    vectors, answers = tmp_path / "cache" / "vectors", tmp_path / "cache" / "answers"
    copies = tmp_path / "cache" / "remote"
    assert equiview("cache") == (0, f"{vectors}: empty\n{answers}: empty\n{copies}: empty\n", "")
    assert equiview("cache", "verify", "--kind", "answers") == (0, f"{answers}: no answers are damaged\n", "")
    assert json.loads(equiview("cache", "verify", "--json")[1]) == {
        "vectors": [],
        "answers": [],
        "copies": [],
    }
    assert json.loads(equiview("cache", "prune", "--json")[1]) == {"freed_bytes": 0}
    code, _, errors = equiview("cache", "purge")
    assert (code, "did you mean 'prune'" in errors) == (1, True)


def test_answers_are_pruned_only_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    with Answers("f00d", name="chat:one").opened() as answers:
        answers.put("key", Reply("B"))
    equiview("cache", "prune")
    (listed,) = json.loads(equiview("cache", "--json")[1])["answers"]
    assert (listed["subject"], listed["name"], listed["answers"]) == ("f00d", "chat:one", 1)
    assert "chat:one" in equiview("cache", "--kind", "answers")[1]
    equiview("cache", "prune", "--kind", "answers", "--model", "f0")
    assert json.loads(equiview("cache", "--json")[1])["answers"] == []


@pytest.mark.parametrize(
    ("step", "said"), [("observe", "observed (the same command tries it again)"), ("measure", "measured")]
)
def test_an_audit_that_fails_is_named_and_the_others_are_reported(
    world, tmp_path, monkeypatch, capsys, step, said
):
    def fail(*_):
        raise InputError("nothing to compare")

    entry = AUDITS.all()["prevalence"]
    broken = replace(entry.value, name="broken", **{step: fail})
    monkeypatch.setitem(AUDITS.entries, "broken", replace(entry, name="broken", load=lambda: broken))
    arguments = ["audit", f"embeddings:{world}", "--benchmark", f"folder:{world}"]
    arguments += ["--out", str(tmp_path / "out"), "--audit", "broken", "--audit", "prevalence"]
    monkeypatch.setattr(sys, "argv", ["equiview", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert f"audit 'broken' could not be {said}: nothing to compare" in printed.err
    assert "prevalence" in printed.out
    assert "nothing to compare" in (tmp_path / "out" / "report.html").read_text()
