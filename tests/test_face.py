"""`import equiview as ev`: what it promises, that it loads late, and that face, stub and docs agree."""

from __future__ import annotations

import ast
import inspect
import re
import webbrowser
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import polars as pl
import pytest

import equiview as ev
from equiview import face
from tests.conftest import write_world
from tests.processes import fresh

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
QUICK = {"prevalence": {"replicates": 200}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("face") / "world", skew=4.0)


@pytest.fixture(scope="module")
def run(world: Path) -> ev.Run:
    subject, benchmark = f"embeddings:{world}", f"folder:{world}"
    return ev.audit(
        subject, benchmark, "prevalence", world.parent / "run", name="<b>mine</b>", settings=QUICK
    )


def tables(world: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.read_csv(world / "images.csv"), pl.read_csv(world / "texts.csv")


def test_nothing_loads_before_it_is_used() -> None:
    said = fresh(
        "import sys\n"
        "for name in [name for name in sys.modules if name.startswith('equiview')]: del sys.modules[name]\n"
        "import equiview\nprint(sorted(m for m in sys.modules if m.startswith('equiview')))\n"
        "print(equiview.InputError.__name__, 'equiview.face' in sys.modules, dir(equiview)[-1])"
    ).stdout.splitlines()
    assert said == ["['equiview']", "InputError True verify"]
    assert set(dir(ev)) == {*ev.__all__, "__version__"}


def test_face_stub_and_docs_agree() -> None:
    stub = ast.parse((ROOT / "src/equiview/__init__.pyi").read_text())
    typed = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(ev.__all__)
    stated = next(node for node in stub.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(stated.value) == ev.__all__
    assert set(ev.__all__) - {"metrics", "stats"} == set(face.__all__)
    page = (ROOT / "docs" / "python.md").read_text()
    assert {name for name in ev.__all__ if f"ev.{name}" not in page} == {"Gate", "Run"}
    methods = {name for name, _ in inspect.getmembers(ev.Run) if not name.startswith("_")}
    assert {name for name in methods if f"run.{name}" not in page} == {"name"}
    named = set(re.findall(r"\b(?:ev|run)\.(\w+)", page))
    assert named <= {*ev.__all__, *methods}


@pytest.mark.parametrize("name", ev.__all__)
def test_a_public_name_is_there_and_says_what_it_is(name: str) -> None:
    assert len((inspect.getdoc(getattr(ev, name)) or "").split()) >= 3
    assert name in dir(ev)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'audti'"):
        _ = ev.audti  # type: ignore[attr-defined]


def test_a_run_shows_itself_without_obeying_its_names(run: ev.Run) -> None:
    text, page = repr(run), run._repr_html_()
    assert "prevalence: biased" in text
    assert "<b>mine</b>" not in page
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "× the tolerance" in page
    assert run.name == "<b>mine</b>"


def test_frames_are_rows_of_the_estimates(run: ev.Run) -> None:
    rows = run.frame("R@1", by="language")
    assert set(rows["language"]) == {"en", "de", "sw", "mi"}
    assert rows["k"].to_list() == [1] * 4
    assert len(run.frame()) > len(run.frame(by="tier")) > 0
    assert run.frame("R@1[language=sw]", audit="prevalence")["value"].to_list() == [
        rows.filter(language="sw")["value"].item()
    ]
    assert run.frame("R@1", by=["language"]).equals(rows)
    for wrong in (lambda: run.frame("RR"), lambda: run.frame("R@1", by="x"), lambda: run.frame(audit="x")):
        with pytest.raises(ev.InputError, match="is named"):
            wrong()


def test_every_chart_is_a_figure_of_plotly(run: ev.Run) -> None:
    drawn = 0
    for name in run.plots:
        if name == "examples":
            with pytest.raises(ev.InputError, match="lists of pictures"):
                run.plot(name)
            continue
        figure = run.plot(name)
        assert isinstance(figure, go.Figure)
        assert figure.layout.title.text
        legend = 42 if figure.layout.showlegend else 0
        assert figure.layout.margin.t >= 42 + legend, "the title and the legend stand one above the other"
        drawn += len(figure.data) > 0
    assert drawn >= 4
    with pytest.raises(ev.InputError, match="no figure is named"):
        run.plot("none")


def test_examples_go_from_the_best_answered_to_the_worst(run: ev.Run) -> None:
    shown = run.examples(3, k=2)
    assert shown["query"].n_unique() == 3
    assert shown["rank"].to_list() == [1, 2] * 3
    answered = shown["answered"].fill_null(10**6).to_list()
    assert answered == sorted(answered)
    right = shown.filter(pl.col("rank") == pl.col("answered"))
    assert right["relevant"].all()
    with pytest.raises(ev.InputError, match="at least one of each"):
        run.examples(0)


def test_arrays_and_tables_give_what_files_give(
    world: Path, run: ev.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    images, texts = (np.load(world / f"{kind}.npy") for kind in ("images", "texts"))
    mine = ev.audit((images, texts), tables(world), ["prevalence"], settings=QUICK)
    assert mine.folder.parent == Path("runs")
    assert mine.frame().equals(run.frame())
    pandas = (pd.read_csv(world / "images.csv"), pd.read_csv(world / "texts.csv"))
    again = ev.audit((images.tolist(), texts), pandas, "prevalence", settings=QUICK)
    assert again.folder == mine.folder
    other = ev.audit((images, texts + 1), tables(world), "prevalence", settings=QUICK)
    assert other.folder != mine.folder
    table = ev.compare(mine, str(other.folder), out=tmp_path / "both")
    assert (tmp_path / "both" / "report.html").is_file()
    assert table["a"].unique().to_list() == [f"arrays ({mine.folder.name})"]
    assert ev.compare(mine, other).equals(table)


class Squares:
    """An encoder as somebody types it: vectors of the letters of a text, and of the pixels of a picture."""

    def encode_images(self, images: list[object]) -> list[list[float]]:
        return [[1.0, float(np.asarray(image).mean())] for image in images]

    def encode_texts(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]


def test_an_object_is_an_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.conftest import add_pictures

    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    folder = write_world(tmp_path / "photos", images=12)
    add_pictures(folder)
    done = ev.audit(Squares(), f"folder:{folder}", "prevalence", str(tmp_path / "run"), settings=QUICK)
    assert done.name == "Squares"
    assert set(done.verdicts) == {"prevalence"}


ONE = np.ones((1, 2))
TABLES = ({"id": ["a"]}, {"id": ["t"], "text": ["x"], "language": ["en"], "image_id": ["a"]})


@pytest.mark.parametrize(
    ("subject", "benchmark", "said"),
    [
        (3, TABLES, "int is no subject: name one, or give an encoder"),
        ((ONE,), TABLES, "1 arrays of vectors; give two"),
        ("pictogram:skewed", 3, "int is no benchmark: name one, or give two tables"),
        ("pictogram:skewed", (3, 4), "the table of images cannot be read"),
        ((ONE, ONE), ({"id": ["a", "b"]}, TABLES[1]),
         "the array of images: has vectors of shape (1, 2), but there are 2 images"),
        ((["x"], ["y"]), TABLES, "the vectors of images are no array of numbers"),
        ((pd.Series([[1.0], [1.0, 2.0]]), ONE), TABLES, "the vectors of images are no array of numbers"),
    ],
)  # fmt: skip
def test_what_is_no_subject_or_benchmark_is_said(subject: object, benchmark: object, said: str) -> None:
    with pytest.raises(ev.InputError) as found:
        ev.audit(subject, benchmark, "prevalence")
    assert said in str(found.value)


@pytest.mark.parametrize("column", [pl.Series, pd.Series, list])
def test_vectors_may_be_a_column_of_a_table(world: Path, tmp_path: Path, column: type) -> None:
    stored = [np.load(world / f"{kind}.npy") for kind in ("images", "texts")]
    arrays = ev.audit(tuple(stored), tables(world), "prevalence", tmp_path / "a", settings=QUICK)
    cells = tuple(column(vectors.tolist()) for vectors in stored)
    mine = ev.audit(cells, tables(world), "prevalence", tmp_path / "b", settings=QUICK)
    assert mine.frame().equals(arrays.frame())


def test_single_queries_are_what_the_numbers_are_means_of(run: ev.Run) -> None:
    rows = run.per_query("R@1[language=sw]")
    assert rows.columns == ["audit", "metric", "k", "language", "query_id", "cluster", "value"]
    (number,) = run.frame("R@1[language=sw]").iter_rows(named=True)
    assert (len(rows), rows["value"].mean()) == (number["n"], pytest.approx(number["value"]))
    with pytest.raises(ev.InputError, match=r"no metric of single queries of .* is named 'exposure ratio'"):
        run.per_query("exposure ratio@10")
    with pytest.raises(ev.InputError, match="no audit of this run is named 'parity'"):
        run.per_query("R@1", audit="parity")


def test_conditions_are_those_of_the_command_line(run: ev.Run) -> None:
    gate = run.check("prevalence: R@1.n >= 40", fail_if="prevalence=biased")
    assert not gate
    assert gate.table["outcome"].to_list()[0] == "fail"
    assert "✗ failed: fail if prevalence=biased" in repr(gate)
    assert "<pre>" in gate._repr_html_()
    assert ev.check(run, run.folder, require="prevalence: R@1.n >= 40").passed


def test_show_opens_the_page(run: ev.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    run.show()
    assert opened == [(run.folder / "report.html").resolve().as_uri()]
    assert ev.open(str(run.folder)).verdicts == run.verdicts


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell.source for cell in book.cells if cell.cell_type == "code"]
    assert code
    assert not any(cell.get("outputs") for cell in book.cells)
    # What stands last in a cell is shown: it is asked how.
    shown = "for how in ('_repr_html_', '__repr__'): getattr(_, how, str)()"
    parts = []
    for source in code:
        tree = ast.parse(source)
        if isinstance(tree.body[-1], ast.Expr):
            tree.body[-1] = ast.parse(f"_ = {ast.unparse(tree.body[-1])}").body[0]
            parts += [ast.unparse(tree), shown]
        else:
            parts.append(source)
    done = fresh("\n".join(parts), folder=tmp_path)
    assert done.returncode == 0, done.stderr
