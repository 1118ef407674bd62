"""`equiview demo` as a newcomer runs it, and its report as a newcomer reads it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from equiview import demo as equiview_demo
from equiview.data.figures import Gallery
from equiview.data.run import Run
from equiview.errors import InputError
from tests.conftest import write_world


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo offline in a process of its own; returns its folder and what it printed."""
    out = tmp_path_factory.mktemp("demo") / "out"
    # A proxy that does not exist stands for a machine without network.
    offline = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "equiview", "demo", "--out", str(out), "--json"],
        capture_output=True, text=True, check=False, env={**os.environ, **offline},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)


def of(out: Path, name: str, audit: str) -> Run:
    return Run.open(out / f"{name}-{'pictograms-culture' if audit == 'association' else 'pictograms'}")


def test_skewed_is_biased_above_chance_and_aligned_much_less(demo):
    out, printed = demo
    skewed, aligned = (
        of(out, name, "prevalence").estimates.one("DLBKL", 10, grouping="tier")
        for name in ("skewed", "aligned")
    )
    assert skewed.low > skewed.chance
    assert aligned.high < skewed.low
    assert aligned.excess < skewed.excess / 4
    assert of(out, "skewed", "prevalence").verdicts[0].finding == "biased"
    # Of 36 languages some have too few captions among the lists to be shown to lie within the tolerance.
    assert of(out, "aligned", "prevalence").verdicts[0].finding == "unclear"
    rows = pl.from_dicts(printed["comparison"]).filter(metric="DLBKL", k=10, grouping="tier")
    pair = rows.filter(a="pictogram:skewed", b="pictogram:aligned").row(0, named=True)
    assert pair["high"] < 0
    assert pair["p_holm"] < 0.05


def test_alignment_serves_every_language(demo):
    out, _ = demo
    recall = of(out, "aligned", "prevalence").estimates.of("prevalence").by("language", "R", 1)
    assert len(recall) == 36
    assert min(row.low for row in recall) > 0.25


def test_culture_pulls_where_training_tied_language_to_flag(demo):
    out, _ = demo
    pull, none = (
        of(out, name, "association").estimates.one("M_cul - M_non", direction="text-to-image")
        for name in ("skewed", "aligned")
    )
    assert pull.low > 0
    assert none.value < pull.value


def test_the_report_reads_on_a_desk_and_on_a_phone_in_light_and_dark(demo, window):
    out, _ = demo
    for width, dark in ((1280, False), (390, True)):
        window.open(out / "report.html", width=width, dark=dark)
        assert window.problems() == []
        assert window.overflow() == []
        figures = window.run("return document.querySelectorAll('.js-plotly-plot').length")
        drawn = window.run("return document.querySelectorAll('.js-plotly-plot .main-svg').length")
        assert drawn >= figures > 10
        text = window.run("return document.body.innerText")
        assert "Yes: captions in low-tier languages get 36% of rank 1" in text
        _explore(window)
        assert window.problems() == []


def _explore(page):
    """Search a query, then show wrong answers alone: what a reader does with the explorer."""
    explorer = "document.querySelector('[data-explorer]')"
    page.run(f"{explorer}.scrollIntoView()")
    page.until(f"return {explorer}.dataset.ready === 'yes'")
    page.run(
        f"""const s = {explorer}.querySelector('[data-part=search]');
            s.value = 'palm tree'; s.dispatchEvent(new Event('input'));"""
    )
    page.until(f"return {explorer}.querySelectorAll('[data-part=list] button').length === 1")
    page.run(f"{explorer}.querySelector('[data-part=list] button').click()")
    page.until(f"return {explorer}.querySelector('[data-part=asked]').textContent.includes('palm tree')")
    right = f"{explorer}.querySelectorAll('[data-part=lists] li .mark.right').length"
    page.until(f"return {right} > 0")
    page.run(
        f"""const s = {explorer}.querySelector('[data-choice=correctness]');
            s.value = [...s.options].find((o) => o.textContent === 'wrong').value;
            s.dispatchEvent(new Event('change'));"""
    )
    page.until(f"return {right} === 0")


def test_a_second_demo_in_the_same_folder_does_nothing_again(demo):
    out, _ = demo
    report = (out / "skewed-pictograms" / "report.html").stat().st_mtime_ns
    done = subprocess.run(
        [sys.executable, "-m", "equiview", "demo", "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.rstrip().endswith("docs/getting-started.md has a command for each of the ten")
    assert len(done.stdout.splitlines()) <= 40
    assert (out / "skewed-pictograms" / "report.html").stat().st_mtime_ns == report


def test_what_would_help_was_tried_and_what_does_not_is_said(demo, window):
    out, _ = demo
    before, level, center = (
        Run.open(out / "help" / f"run-{name}").estimates.one("exposure ratio", 10, tier="low")
        for name in ("as-it-is", "level", "center")
    )
    assert level.low > before.high
    assert center.value < before.value  # the remedy of the literature makes it worse here
    window.open(out / "report.html", unfold=False)
    text = " ".join(window.run("return document.getElementById('helps').textContent").split())
    assert "What would help?" in text
    assert "level: changed exposure ratio@10, low tier by +0." in text
    assert "center: changed exposure ratio@10, low tier by -0." in text


def test_alignment_buys_parity(demo):
    _, printed = demo
    rows = pl.from_dicts(printed["comparison"]).filter(
        audit="parity", a="pictogram:skewed", b="pictogram:aligned"
    )
    assert rows["p_holm"].max() < 0.05
    gap = rows.filter(metric="gap to pivot", task="image-to-text").row(0, named=True)
    assert gap["high"] < 0
    assert all("parity" in {verdict["audit"] for verdict in run["verdicts"]} for run in printed["runs"][:3])


def test_what_is_shown_on_small_samples_finds_what_was_trained(demo):
    out, printed = demo
    findings = {
        (name, audit): Run.open(out / f"{name}-{folder}").verdicts[0].finding
        for name, folder, audit in (
            ("flags-skewed", "memory", "memory"),
            ("flags-aligned", "memory", "memory"),
            ("skewed", "individual", "individual"),
            ("tied", "pictograms-roles", "amplification"),
        )
    }
    assert findings == {
        ("flags-skewed", "memory"): "biased",
        ("flags-aligned", "memory"): "unclear",
        ("skewed", "individual"): "biased",
        ("tied", "amplification"): "biased",
    }
    audits = {verdict["audit"] for run in printed["runs"] for verdict in run["verdicts"]}
    assert len(audits) == 9


def test_alignment_makes_the_same_things_known_in_every_language(demo):
    out, printed = demo
    findings = {
        name: Run.open(out / f"{name}-pictograms-quiz").verdicts[0].finding
        for name in ("skewed", "english", "aligned")
    }
    assert findings == {"skewed": "biased", "english": "biased", "aligned": "unclear"}
    rows = pl.from_dicts(printed["comparison"]).filter(audit="knowledge", metric="consistency")
    pair = rows.filter(a="choice:pictogram:skewed", b="choice:pictogram:aligned").row(0, named=True)
    assert pair["low"] > 0


def test_a_tie_of_roles_to_gender_is_told_from_none_in_words_and_pictures(demo):
    out, printed = demo
    tied, untied = (Run.open(out / f"{name}-pictograms-people") for name in ("tied", "untied"))
    assert [run.verdicts[0].finding for run in (tied, untied)] == ["biased", "unclear"]
    assert "neutral prompts show groups of gender unequally: of the first 115 for" in tied.verdicts[0].answer
    rows = pl.from_dicts(printed["comparison"]).filter(
        audit="social", metric="MaxSkew beyond chance", attribute="gender"
    )
    pair = rows.filter(a="pictogram:tied", b="pictogram:untied").row(0, named=True)
    assert pair["high"] < 0
    shown = next(figure for figure in tied.figures("social") if isinstance(figure, Gallery))
    assert shown.table["heading"][0].startswith("Of the first 115 for")
    assert shown.table["item_picture"].null_count() == 0


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A demo of two small systems, run in `tmp_path`."""
    encoders = ("embeddings:world", "embeddings:other")
    write_world(tmp_path / "world", images=60, width=8)
    write_world(tmp_path / "other", images=60, width=8, skew=0.0)
    for kind in ("images.csv", "texts.csv"):
        shutil.copy(tmp_path / "world" / kind, tmp_path / "other" / kind)
    monkeypatch.chdir(tmp_path)
    parts = tuple(equiview_demo.Part("folder:world", ("prevalence",), (encoder,)) for encoder in encoders)
    monkeypatch.setattr(equiview_demo, "DEMO", parts)
    monkeypatch.setattr(equiview_demo, "TRIED", None)
    return tmp_path


def test_the_files_are_the_same_with_several_processes(small):
    said = []
    for processes in (1, 2):
        equiview_demo.demo(
            small / str(processes), processes=processes, progress=lambda *words: said.append(words)
        )
    assert said.count(("parts", 2, 2)) == 2
    ours, theirs = (contents(small / folder) for folder in "12")
    assert len(ours) > 20
    assert ours == theirs


def test_a_whole_demo_is_left_as_it_is_and_what_is_damaged_or_stale_is_made_again(small, monkeypatch):
    out, said = small / "out", []
    runs, table = equiview_demo.demo(out)
    left = contents(out)

    def again(seed=0):
        said.clear()
        return equiview_demo.demo(out, seed=seed, progress=lambda *words: said.append(words))

    kept, same = again()
    assert said == []
    assert [(run.name, run.folder, run.manifest) for run in kept] == [
        (run.name, run.folder, run.manifest) for run in runs
    ]
    assert_frame_equal(same, table)
    for damaged in ("report.html", "comparison.parquet", "demo.json", "world-folder/report.html"):
        for damage in (Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-9] + b"something")):
            damage(out / damaged)
            again()
            assert said
            assert contents(out) == left
    with pytest.raises(InputError, match="seed"):  # a run of another seed is never passed off as this one's
        again(seed=1)
    monkeypatch.setattr(equiview_demo, "versions", lambda *packages: {"equiview": "another"})
    again()
    assert said


def contents(folder):
    """The content of each file by its path, but for the timings."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "timings.json"
    }
