"""The package keeps its shape: light to import, in layers, dependencies declared, public names sound."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

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
HELP = (
    "import sys\nfrom equiview.cli import main\nsys.argv = ['equiview', {}'--help']\n"
    "try: main()\nexcept SystemExit as end: assert not end.code"
)


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after `code`."""
    script = f"{code}\nimport sys\nprint('loaded:', *{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import equiview",
        HELP.format(""),
        HELP.format("'audit', "),
        HELP.format("'build', "),
        HELP.format("'build', 'removal', "),
        HELP.format("'train', 'finetune', "),
    ],
    ids=["import", "help", "help of a command", "help of makers", "help of a maker", "help of a training"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    assert loaded_by(code) & HEAVY == set()


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
