"""The docs say what is so: their code runs, their tables are the schemas', their commands are those of CI."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from equiview import cli_study
from equiview.audits import AUDITS, label_of
from equiview.data import estimates, items
from equiview.io.tables import Schema
from equiview.report.published import papers, quantities
from tests.processes import COMMAND, fresh
from tests.stores import s3

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the file it is said to be, and what stands in it."""

    language: str
    title: str
    content: str


def blocks(page: Path) -> list[Block]:
    return [Block(*(part or "" for part in found)) for found in FENCE.findall(page.read_text())]


def runs(page: Path) -> bool:
    return any(block.language in {"python", "console"} for block in blocks(page))


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def spoken(text: str) -> str:
    """Output with its spaces and line breaks evened out: where a table breaks lines is not what is said."""
    return " ".join(text.split())


@pytest.fixture
def bucket() -> Iterator[dict[str, str]]:
    """The environment in which there is an `s3://bucket`."""
    with s3() as environment:
        yield environment


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=named)
def test_code_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    given = blocks(page)
    if any("s3://" in block.content for block in given if block.language in {"python", "console"}):
        environment |= request.getfixturevalue("bucket") | {"EQUIVIEW_CACHE": str(tmp_path / "cache")}
    for block in given:
        if block.title == "pyproject.toml":
            install_entry_points(tomllib.loads(block.content), tmp_path)
    for block in given:
        if block.title:
            (tmp_path / block.title).write_text(block.content)
        if block.language == "python":
            run(block.content, [], tmp_path, environment)
        elif block.language == "console":
            commands = re.split(r"^\$ ", block.content, flags=re.MULTILINE)[1:]
            for command in commands:
                line, _, expected = command.partition("\n")
                program, *arguments = shlex.split(line)
                assert program == "equiview", f"{line!r} cannot be tried: only equiview's commands can"
                said = run(COMMAND, arguments, tmp_path, environment)
                for wanted in expected.splitlines():
                    assert spoken(wanted) in spoken(said), f"{line!r} does not say {wanted!r}"


def install_entry_points(project: dict[str, dict[str, dict[str, dict[str, str]]]], folder: Path) -> None:
    """Make the entry points of a page's pyproject.toml known, as installing its package would."""
    place = folder / "page-1.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: page\nVersion: 1\n")
    groups = project["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups.items()
    ]
    (place / "entry_points.txt").write_text("\n".join(lines))


def run(source: str, words: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = fresh(source, words, folder=folder, environment=environment)
    assert done.returncode == 0, f"{words or source}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_examples_of_a_page_give_what_they_show(page: Path) -> None:
    content = "\n".join(block.content for block in blocks(page) if block.language == "pycon")
    test = doctest.DocTestParser().get_doctest(content, {}, named(page), str(page), 0)
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed
    assert not failed, report.getvalue()


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=named)
def test_example_scripts_run(script: Path, tmp_path: Path) -> None:
    run(script.read_text("utf-8"), [str(tmp_path / "out")], tmp_path, dict(os.environ))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    targets = [link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)]
    absent = [link for link in targets if link and "://" not in link and not (page.parent / link).exists()]
    assert not absent


def table_of(schema: Schema) -> str:
    rows = ["| column | type | what | |", "|---|---|---|---|"]
    for column in schema.columns:
        marks = {"distinct": column.unique, "may be null": column.nullable, "may be absent": column.optional}
        said = ", ".join(mark for mark, holds in marks.items() if holds)
        rows.append(f"| `{column.name}` | {column.dtype} | {column.about} | {said} |")
    return "\n".join(rows)


def schemas() -> dict[str, Schema]:
    found = {"estimates": estimates.SCHEMA, "images": items.IMAGES, "texts": items.TEXTS}
    for name, entry in AUDITS.all().items():
        found |= {f"{name}.{table}": schema for table, schema in entry.value.schemas.items()}
    return found


def test_run_folder_page_has_the_table_of_every_schema() -> None:
    page = (ROOT / "docs" / "run-folder.md").read_text()
    wanted = [f"<!-- schema: {name} -->\n{table_of(schema)}\n" for name, schema in schemas().items()]
    absent = "\n".join(table for table in wanted if table not in page)
    assert not absent, f"docs/run-folder.md must hold:\n{absent}"


def test_run_folder_page_shows_the_folder_as_its_module_does() -> None:
    from equiview.data import run as module

    layout = "\n".join(line[4:] for line in (module.__doc__ or "").splitlines() if line.startswith("    "))
    assert layout
    assert layout in (ROOT / "docs" / "run-folder.md").read_text()


def published_table(table: dict[str, Any]) -> str:
    heads = [label_of(table["audit"], column) for column in quantities(table)]
    rows = [f"| system | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    rows += [f"| {name} | {' | '.join(map(str, numbers))} |" for name, numbers in table["rows"].items()]
    return "\n".join([f"<!-- published: {table['title']} -->", *rows]) + "\n"


def test_published_page_has_the_numbers_that_ship() -> None:
    page = (ROOT / "docs" / "published.md").read_text()
    for paper in papers():
        assert f"\n## {paper['source']} (" in page
        for table in paper["tables"]:
            expected = published_table(table)
            assert expected in page, f"docs/published.md must hold:\n{expected}"


def linked(page: str) -> set[str]:
    """The pages below docs that a page or the table of contents leads to, as paths from docs."""
    text = (ROOT / page).read_text()
    found = (
        re.findall(r"\]\(([^)#]+\.md)", text) if page.endswith(".md") else re.findall(r"- (\S+\.md)", text)
    )
    return {name.removeprefix("docs/") for name in found}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "mkdocs.yml"])
def test_every_audit_and_study_is_on_the_front_pages_and_no_other(page: str) -> None:
    studies = {command.name or command.callback.__name__ for command in cli_study.app.registered_commands}
    wanted = {f"audits/{name}.md" for name in AUDITS.all()} | {f"studies/{name}.md" for name in studies}
    assert {name for name in linked(page) if name.startswith(("audits/", "studies/"))} == wanted


def test_every_audit_has_a_page_and_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for name, entry in AUDITS.all().items():
        page = ROOT / "docs" / "audits" / f"{name}.md"
        assert entry.about in page.read_text()
        assert re.search(rf"^\| \[{name}\]\(docs/audits/{name}\.md\) .*\| [PFTSO] \|$", readme, re.MULTILINE)


def test_contributing_has_the_rooms_from_the_ground_up() -> None:
    rows = re.findall(r"^\| (`.+`) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    floor = {
        name.removeprefix("equiview."): -height
        for height, layer in enumerate(layers)
        for name in re.split(r"[ |:]+", layer)
    }
    rooms = {path.parent.name for path in (ROOT / "src" / "equiview").glob("*/__init__.py")}
    assert set(listed) - {"errors", "extras", "api", "cli"} == rooms
    assert [floor[name] for name in listed] == sorted(floor[name] for name in listed)


def test_every_public_room_has_a_reference_page() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "equiview").glob("*/__init__.py")}
    for room in rooms | {"api"}:
        assert f"::: equiview.{room}\n" in (ROOT / "docs" / "reference" / f"{room}.md").read_text()


def test_the_table_of_contents_has_every_page_and_no_other() -> None:
    docs = ROOT / "docs"
    assert linked("mkdocs.yml") == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_readme_holds_each_command_that_ci_runs_as_one_line(name: str) -> None:
    readme = (ROOT / "README.md").read_text()
    assert f"command_of {name})" in (ROOT / ".ci" / "run").read_text()
    found = re.findall(rf"^<!-- command: {name} -->\n```sh\n(.+)\n```$", readme, re.MULTILINE)
    assert len(found) == 1
    assert found[0].startswith("python3 -m venv ")
