"""The package keeps its shape: light to import, in layers, dependencies declared, public names sound."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from equiview.audits import AUDITS
from equiview.making import MAKERS
from equiview.ours.audits import QUESTIONS
from equiview.subjects import SUBJECTS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "equiview"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TRAINING = {"jax", "open-clip-torch", "sentence-transformers", "tensorflow", "torch", "transformers"}
HEAVY = {name.replace("-", "_") for name in TRAINING} | {
    *("numpy", "scipy", "sklearn", "umap", "numba"),
    *("polars", "pyarrow", "pandas", "onnxruntime"),
    *("PIL", "jinja2", "matplotlib", "plotly"),
    *("inspect_ai", "openai"),
}
COMMAND = (
    "import sys\nfrom equiview.cli import main\nsys.argv = ['equiview', {}]\n"
    "try: main()\nexcept SystemExit as end: assert not end.code"
)


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after `code`."""
    script = f"{code}\nimport sys\nprint('loaded:', *{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        ("import equiview", {"pydantic", "typer"}),
        (COMMAND.format("'--help'"), {"pydantic"}),
        (COMMAND.format("'list'"), set()),  # typer itself takes pydantic
        (COMMAND.format("'audit', '--help'"), set()),
        (COMMAND.format("'build', '--help'"), set()),
        (COMMAND.format("'build', 'removal', '--help'"), set()),
        (COMMAND.format("'train', 'finetune', '--help'"), set()),
    ],
    ids=["import", "help", "list", "help of a command", "help of makers", "help of a maker", "a training's"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str, unneeded: set[str]) -> None:
    assert loaded_by(code) & (HEAVY | unneeded) == set()


def test_what_is_listed_is_not_imported_and_what_is_used_comes_alone() -> None:
    code = (
        "import sys\nfrom equiview.catalogue import catalogue\nfrom equiview.subjects import load_subject\n"
        "catalogue(), load_subject('names')\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    places = {entry.value.__module__ for entry in SUBJECTS.all().values()}
    assert places & loaded == {"equiview.subjects.chat.names"}
    assert {f"equiview.audits.{audit}" for audit in AUDITS.all()} & loaded == set()


def test_a_maker_has_the_name_and_the_command_that_are_listed() -> None:
    for name, entry in MAKERS.all().items():
        maker = entry.value
        assert (maker.name, f"{maker.kind} {maker.name}", maker.about) == (name, *entry.usage, entry.about)


def test_every_folder_of_audits_is_an_audit() -> None:
    folders = {path.parent.name for path in SOURCE.glob("audits/*/__init__.py")}
    assert folders == set(QUESTIONS) == {entry.value.name for entry in AUDITS.all().values()}


@pytest.mark.parametrize("room", ["metrics", "stats"])
def test_pure_rooms_need_arrays_alone(room: str) -> None:
    assert loaded_by(f"import equiview.{room}") & HEAVY <= {"numpy"}


def test_the_core_needs_no_library_for_training() -> None:
    assert names(PROJECT["project"]["dependencies"]) & TRAINING == set()


def names(requirements: list[str]) -> set[str]:
    """Distribution names of requirements, in one spelling."""
    return {
        re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()  # type: ignore[index]
        for requirement in requirements
    }


def test_every_library_that_is_imported_is_declared() -> None:
    imported = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.partition(".")[0])
    libraries = imported - set(sys.stdlib_module_names) - {"equiview"}
    extras = PROJECT["project"]["optional-dependencies"]
    required = [PROJECT["project"]["dependencies"], *extras.values()]
    declared = names([line for lines in required for line in lines])
    installed = packages_distributions()

    def is_declared(library: str) -> bool:
        if library in installed:
            return bool(names(installed[library]) & declared)
        # Of an extra that is not installed only the import's own name is known: umap is of umap-learn.
        own = library.replace("_", "-")
        return any(name == own or name.startswith(f"{own}-") for name in declared)

    assert {library for library in libraries if not is_declared(library)} == set()


def imports(path: Path) -> set[str]:
    """The full names of what a file imports, wherever in it the import stands."""
    package = path.relative_to(SOURCE.parent).parent.parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def private_of_others(path: Path) -> set[str]:
    """What a file imports that belongs to a package which it does not lie in."""
    home = ".".join(path.relative_to(SOURCE.parent).parent.parts)
    found = set()
    for name in imports(path):
        owner, _, private = name.partition("._")
        if private and not private.startswith("_") and name.startswith("equiview."):
            found |= {name} if not f"{home}.".startswith(f"{owner}.") else set()
    return found


def judges_and_pictures(path: Path) -> set[str]:
    """What a `judge` imports of a `draw`, or the reverse."""
    other = {"judge": "draw", "draw": "judge"}.get(path.stem)
    return {name for name in imports(path) if other in name.split(".") and name.startswith("equiview.")}


@pytest.mark.parametrize("wrong", [private_of_others, judges_and_pictures])
def test_no_file_imports_what_is_not_meant_for_it(wrong: Callable[[Path], set[str]]) -> None:
    assert {str(path): names for path in SOURCE.rglob("*.py") if (names := wrong(path))} == {}


@pytest.mark.parametrize(
    ("file", "code", "is_wrong"),
    [
        ("stats/means.py", "from equiview.metrics._check import as_table", True),
        ("stats/means.py", "def f():\n    from equiview.metrics import _check", True),
        ("stats/means.py", "import equiview.metrics._check", True),
        ("stats/means.py", "from ..metrics._check import as_table", True),
        ("api.py", "from equiview.stats._check import as_level", True),
        ("stats/means.py", "from equiview.stats._check import as_level", False),
        ("stats/means.py", "from ._check import as_level", False),
        ("stats/means.py", "from equiview import __version__", False),
        ("audits/social/judge.py", "def f():\n    from equiview.audits.social.draw import draw", True),
        ("audits/social/draw.py", "from equiview.audits.memory.judge import judge", True),
        ("audits/social/draw.py", "from equiview.audits.social import judge", True),
        ("audits/social/draw.py", "from . import judge", True),
        ("audits/social/draw.py", "from equiview.audits.social.sentences import in_words", False),
        ("audits/social/__init__.py", "from equiview.audits.social.draw import draw", False),
    ],
)
def test_imports_that_are_not_meant_are_found(
    file: str, code: str, is_wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path / "equiview")
    path = tmp_path / "equiview" / file
    path.parent.mkdir(parents=True)
    path.write_text(code)
    assert bool(private_of_others(path) | judges_and_pictures(path)) == is_wrong


def test_every_room_has_its_place_in_the_layers() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    placed = [name.removeprefix("equiview.") for layer in layers for name in re.split(r"[ |:]+", layer)]
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    files = {path.stem for path in SOURCE.glob("[!_]*.py")}
    assert sorted(placed) == sorted(rooms | files)


def public_names() -> list[tuple[str, str]]:
    found = []
    for path in sorted(SOURCE.glob("*/__init__.py")):
        module = importlib.import_module(f"equiview.{path.parent.name}")
        found += [(module.__name__, name) for name in getattr(module, "__all__", [])]
    return found


@pytest.mark.parametrize(("module", "name"), public_names(), ids=lambda part: part)
def test_a_public_name_is_there_and_says_what_it_is(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert len(inspect.cleandoc(value.__doc__ or "").split()) >= 3
        assert value.__module__.startswith(f"{module}.")


def test_the_package_runs_as_a_module_and_tells_its_version() -> None:
    command = [sys.executable, "-m", "equiview", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", said)


def test_types_are_shipped() -> None:
    assert (SOURCE / "py.typed").is_file()
