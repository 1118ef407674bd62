"""Packages of somebody else's beside an unchanged equiview: an audit, a benchmark, an encoder, two makers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.browser import Page
from tests.conftest import write_world
from tests.processes import COMMAND, fresh

PACKAGE = Path(__file__).parent / "plugin"
PAGES = Path(__file__).parents[1] / "docs" / "extending"
MAKERS = PACKAGE / "swatches"
QUESTION = "Are short captions returned before long ones?"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which both packages are installed, entry points included."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--target", str(folder), str(PACKAGE), str(MAKERS)], check=True, capture_output=True
    )
    return folder


def equiview(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "EQUIVIEW_CACHE": str(site / "cache")}
    return fresh(COMMAND, arguments, environment=environment)


@pytest.fixture(scope="module")
def compared(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two encoders audited by the package, and compared."""
    place = tmp_path_factory.mktemp("runs")
    for name, skew in (("skewed", 3.0), ("aligned", 0.0)):
        world = write_world(place / "worlds" / name, width=3, skew=skew)
        texts = pl.read_csv(world / "texts.csv").with_row_index()
        longer = pl.format("{}{}", "text", pl.lit(" again").repeat_by(pl.col("index") % 7).list.join(""))
        texts.select("id", longer.alias("text"), "language", "image_id").write_csv(world / "texts.csv")
        done = equiview(
            site, "audit", f"embeddings:{world}", "--benchmark", f"folder:{world}", "--audit", "brevity",
            "--out", str(place / name), "--setting", "brevity.replicates=500",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    done = equiview(
        site, "compare", str(place / "skewed"), str(place / "aligned"), "--out", str(place), "--json"
    )
    assert done.returncode == 0, done.stderr
    (place / "compared.json").write_text(done.stdout)
    return place


def test_the_page_on_adding_an_audit_is_that_package() -> None:
    page = (PAGES / "audit.md").read_text()
    for file, language in (("brevity.py", "python"), ("pyproject.toml", "toml")):
        block = f'```{language} title="{file}"\n{(PACKAGE / file).read_text()}```\n'
        assert block in page, f"docs/extending/audit.md must hold tests/plugin/{file} as it is"


def test_the_audit_is_listed_by_name(site: Path) -> None:
    listed = json.loads(equiview(site, "list", "audits", "--json").stdout)["audits"]
    assert {"name": "brevity", "what it is": QUESTION} in listed


def test_a_ratio_is_measured_and_compared_as_one(compared: Path) -> None:
    content = json.loads((compared / "compared.json").read_text())
    ratio = next(row for row in content["comparison"] if row["metric"] == "length ratio")
    estimates = [
        next(row for row in run["estimates"] if row["metric"] == "length ratio") for run in content["runs"]
    ]
    assert [ratio["value_a"], ratio["value_b"]] == pytest.approx([row["value"] for row in estimates])
    assert ratio["low"] < ratio["difference"] < ratio["high"]
    assert all(row["low"] < row["value"] < row["high"] and row["chance"] == 1 for row in estimates)


def test_all_of_it_is_in_the_report(compared: Path, window: Page) -> None:
    window.open(compared / "report.html")
    opening = window.run("return document.querySelector('#opening').innerText")
    section = window.run("return document.querySelector('#audit-brevity').textContent")
    drawn = window.run("return document.querySelectorAll('#figure-brevity-letters .plot').length")
    window.run("document.querySelector('#explorer').scrollIntoView()")
    window.until("return document.querySelectorAll('#explorer [data-part=lists] li').length > 10")
    assert window.problems() == []
    assert "by language" in opening
    assert "Worst off" in opening
    for said in (QUESTION, "preference", "is no preference", "× the tolerance"):
        assert said in section, said
    for said in ("Returned captions are", "length ratio", "Length of the first caption", "Mass on the left"):
        assert said in section, said
    assert "Captions may be short because the right ones are." in section
    assert drawn == 1  # both subjects in one chart


def test_another_kind_of_subject_is_refused_by_it(site: Path, compared: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.csv"
    lists.write_text("query_id,rank,item_id\na,1,b\n")
    (tmp_path / "items.csv").write_text("item_id,language,image_id\nb,en,a\n")
    done = equiview(
        site, "audit", f"run:{lists}", "--benchmark", f"run:{lists}", "--audit", "brevity",
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.strip() == (
        f"equiview: audit 'brevity' takes an encoder, but 'run:{lists}' is result lists"
    )


def test_the_page_on_adding_a_maker_is_the_other_package() -> None:
    page = (PAGES / "maker.md").read_text()
    for path in [*MAKERS.glob("*.py"), MAKERS / "colours.csv"]:
        language = {".py": "python", ".csv": "csv"}[path.suffix]
        block = f'```{language} title="{path.name}"\n{path.read_text()}```\n'
        assert block in page, f"docs/extending/maker.md must hold tests/plugin/swatches/{path.name} as it is"
    points = (MAKERS / "pyproject.toml").read_text().split("\n\n")
    assert all(part in page for part in points if part.startswith("[project.entry-points"))


@pytest.fixture(scope="module")
def made(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark that one maker made, and an encoder that another made of one that comes along, on it."""
    place = tmp_path_factory.mktemp("made")
    swatches = ("build", "swatches", str(MAKERS / "colours.csv"), "--out", str(place / "swatches"))
    centre = ("train", "centre", "pictogram:skewed", "--data", f"swatches:{place / 'swatches'}")
    for words in ((*swatches, "--side", "48"), (*centre, "--out", str(place / "centred"))):
        done = equiview(site, *words)
        assert done.returncode == 0, done.stderr
        (place / f"{words[1]}.txt").write_text(done.stdout)
    return place


def test_makers_are_commands_with_their_settings_as_options(site: Path) -> None:
    listed = json.loads(equiview(site, "list", "makers", "--json").stdout)["makers"]
    assert {"name": "build swatches", "what it is": "Pictures of one colour each, with its names."} in listed
    assert "centre" in equiview(site, "train", "--help").stdout
    help_of = " ".join(equiview(site, "build", "swatches", "--help").stdout.split())
    for said in ("Pixels of a side.", "8<=x<=512", "default: 32", "default: en,de", "--dry-run"):
        assert said in help_of


def test_what_is_made_says_what_it_was_made_from(made: Path) -> None:
    said = (made / "swatches.txt").read_text()
    assert said.endswith(f"Benchmark: swatches:{made / 'swatches'}\n")
    assert "Made from: colours.csv\n" in said
    card = json.loads((made / "swatches" / "maker.json").read_text())
    assert card["settings"] == {"languages": ["en", "de"], "side": 48, "licence": ""}
    assert card["finished"]
    assert "Made from: pictogram:skewed, swatches\n" in (made / "centre.txt").read_text()


def test_all_five_kinds_work_together(site: Path, made: Path) -> None:
    done = equiview(
        site, "audit", f"centred:{made / 'centred'}", "--benchmark", f"swatches:{made / 'swatches'}",
        "--audit", "brevity", "--setting", "brevity.replicates=500", "--out", str(made / "run"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert QUESTION in done.stdout


def test_a_maker_refuses_a_folder_begun_with_other_settings(site: Path, made: Path) -> None:
    words = ("build", "swatches", str(MAKERS / "colours.csv"), "--out", str(made / "swatches"))
    before = (made / "swatches" / "maker.json").read_bytes()
    done = equiview(site, *words, "--side", "64", "--languages", "en")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"equiview: {made / 'swatches'}: was begun with another colours, languages, side; choose another "
        "folder, or delete it to begin again\n"
    )
    assert (made / "swatches" / "maker.json").read_bytes() == before
    plan = equiview(site, *words, "--dry-run").stdout
    assert "What would be done at most" in plan
    assert "pictures" in plan
