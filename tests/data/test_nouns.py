import json

import polars as pl
import pytest

from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Gallery, read_figure, write_figure
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard
from equiview.data.registry import Registry
from equiview.data.run import Run
from equiview.errors import InputError


def manifest(seed=0):
    return Manifest(
        subject=SubjectCard(name="s", fingerprint="1"),
        benchmark=BenchmarkCard(name="b", fingerprint="2", counts={"images": 1, "texts": 1}),
        audits=("prevalence",),
        settings={"prevalence": {}},
        seed=seed,
        versions={},
    )


def test_one_estimate_is_found_by_all_its_keys():
    rows = {"metric": "R", "k": 1, "value": [0.1, 0.2], "low": 0.0, "high": 1.0, "n": 3}
    table = Estimates(pl.DataFrame({**rows, "language": [None, "sw"]}))
    assert table.one("R", 1).value == 0.1
    assert table.one("R", 1, language="sw").value == 0.2
    with pytest.raises(InputError, match="0 estimates of 'R@1, en language'"):
        table.one("R", 1, language="en")


def test_figures_survive_the_disk(tmp_path):
    table = pl.DataFrame({"x": ["ش", "b"], "y": [0.5, None], "p": [b"\x00\xff", None]})
    chart = Chart("c", "t", "s", table, "points", "x", "y", "x", "y", picture="p", reference={"even": 0.5})
    gallery = Gallery("g", "t", "s", table, {"q": b"\x01"})
    for figure in (chart, gallery):
        write_figure(figure, tmp_path / "f.json")
        back = read_figure(tmp_path / "f.json")
        assert back.table.equals(figure.table)
        assert {**back.__dict__, "table": 0} == {**figure.__dict__, "table": 0}


@pytest.mark.parametrize(("palette", "role"), [("tier", "least"), ("outcome", None), ("group", None)])
def test_a_figure_that_names_a_palette_has_the_roles_it_stood_for(palette, role, tmp_path):
    chart = Chart(
        "c", "t", "s", pl.DataFrame({"x": ["low"], "y": [1]}), "bars", "x", "y", "x", "y", color="x"
    )
    write_figure(chart, tmp_path / "f.json")
    content = json.loads((tmp_path / "f.json").read_text())
    del content["roles"], content["by_subject"]
    (tmp_path / "f.json").write_text(json.dumps(content | {"palette": palette}))
    back = read_figure(tmp_path / "f.json")
    assert back.roles.get("low") == role
    assert ("cultural" in back.roles) == (palette == "outcome")


def test_a_chart_of_nothing_is_refused():
    with pytest.raises(InputError, match=r"figure 'c': .*missing columns \['z'\]"):
        Chart("c", "t", "s", pl.DataFrame({"x": [1]}), "bars", "x", "z", "x", "y")


def test_a_stage_is_done_once_and_later_ones_are_forgotten_when_it_is_redone(tmp_path):
    run = Run.start(tmp_path / "run", manifest())
    write = lambda text: lambda work: (work / f"{text[0]}.txt").write_text(text)  # noqa: E731
    assert run.stage("a", write("a1"))
    assert run.stage("b", write("b1"))
    assert not Run.open(run.folder).stage("a", write("a2"))
    (run.folder / "a.txt").write_text("damaged")
    run = Run.open(run.folder)
    assert run.stage("a", write("a1"))
    assert list(run.manifest.stages) == ["a"]
    assert run.stage("b", write("b2"))


def test_a_stage_that_fails_leaves_no_trace(tmp_path):
    run = Run.start(tmp_path / "run", manifest())

    def produce(work):
        (work / "x").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run.stage("a", produce)
    assert sorted(path.name for path in run.folder.iterdir()) == [".lock", "manifest.json"]


def test_leftovers_of_a_killed_process_are_swept_away(tmp_path):
    run = Run.start(tmp_path / "run", manifest())
    (run.folder / ".manifest.json.abc.part").write_text("half")
    (run.folder / ".measure.part").mkdir()
    (run.folder / ".measure.part" / "estimates.parquet").write_text("half")
    Run.start(run.folder, manifest())
    assert sorted(path.name for path in run.folder.iterdir()) == ["manifest.json"]
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / ".manifest.json.abc.part").write_text("half")
    Run.start(bare, manifest())
    assert sorted(path.name for path in bare.iterdir()) == ["manifest.json"]


def test_a_stage_that_is_done_sweeps_as_well(tmp_path):
    run = Run.start(tmp_path / "run", manifest())
    assert run.stage("a", lambda work: (work / "x").write_text("whole"))
    (run.folder / ".timings.json.abc.part").write_text("half")
    assert not Run.open(run.folder).stage("a", lambda work: (work / "x").write_text("again"))
    assert sorted(path.name for path in run.folder.iterdir()) == [
        ".lock",
        "manifest.json",
        "timings.json",
        "x",
    ]
    assert (run.folder / "x").read_text() == "whole"


def test_a_folder_of_another_run_is_not_overwritten(tmp_path):
    Run.start(tmp_path / "run", manifest()).stage("a", lambda work: (work / "x").write_text("whole"))
    with pytest.raises(InputError, match="holds a run that differs in seed"):
        Run.start(tmp_path / "run", manifest(seed=1))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError, match="is not empty and holds no run"):
        Run.start(tmp_path / "mine", manifest())


def test_a_run_that_did_nothing_yet_is_begun_anew(tmp_path):
    Run.start(tmp_path / "run", manifest())
    assert Run.start(tmp_path / "run", manifest(seed=1)).manifest.seed == 1
    assert Run.open(tmp_path / "run").manifest.seed == 1


def test_a_damaged_manifest_says_so(tmp_path):
    run = Run.start(tmp_path / "run", manifest())
    (run.folder / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: damaged"):
        Run.open(run.folder)
    with pytest.raises(InputError, match="holds no run"):
        Run.open(tmp_path)


def test_a_registry_finds_our_own_and_names_the_nearest():
    registry = Registry("benchmark", "equiview.benchmarks")
    registry.register("mine", about="mine")(1)
    assert registry.get("mine") == 1
    with pytest.raises(InputError, match="did you mean 'mine'"):
        registry.get("mien")
