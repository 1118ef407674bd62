"""What is built holds what is needed and nothing else; recipe, citation and container agree with it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from dockerfile_parse import DockerfileParser

import equiview
from tests.test_action import by_schema

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RECIPE = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
OTHERWISE = {"typing-extensions": "typing_extensions"}
"""What conda-forge calls otherwise than PyPI."""


def tool(name: str, *words: str | Path) -> None:
    """Run a program that was installed beside Python; it must find nothing."""
    program = shutil.which(name, path=str(Path(sys.executable).parent))
    assert program, f"{name} is not installed"
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def built(place: Path, target: str, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], zipfile.ZipFile]:
    """The names in the sdist, and the wheel that is built from it."""
    place = tmp_path_factory.mktemp("built")
    with tarfile.open(built(ROOT, "sdist", place / "sdist")) as archive:
        archive.extractall(place, filter="data")
        names = [name.partition("/")[2] for name in archive.getnames()]
    return names, zipfile.ZipFile(built(place / f"equiview-{equiview.__version__}", "wheel", place / "wheel"))


def sources() -> dict[str, bytes]:
    """The files of the package, without what Python made of them."""
    found = sorted((ROOT / "src" / "equiview").rglob("*"))
    kept = [path for path in found if path.is_file() and path.suffix != ".pyc"]
    return {path.relative_to(ROOT / "src").as_posix(): path.read_bytes() for path in kept}


def test_the_wheel_of_the_sdist_holds_the_package_as_it_is(
    distributions: tuple[list[str], zipfile.ZipFile],
) -> None:
    _, wheel = distributions
    held = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == sources()
    endings = {Path(name).suffix for name in held}
    assert {".onnx", ".parquet", ".toml", ".csv", ".json", ".html", ".css", ".js", ".typed"} <= endings


def test_the_wheel_says_what_it_is_and_brings_its_licences(
    distributions: tuple[list[str], zipfile.ZipFile],
) -> None:
    _, wheel = distributions
    told = f"equiview-{equiview.__version__}.dist-info"
    licences = {name.partition("/licenses/")[2] for name in wheel.namelist() if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE", "src/equiview/report/assets/vendor/plotly.LICENSE"}
    assert "equiview = equiview.cli:main" in wheel.read(f"{told}/entry_points.txt").decode()
    metadata = wheel.read(f"{told}/METADATA").decode()
    assert f"Version: {equiview.__version__}" in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_the_sdist_holds_what_the_tests_read_and_no_cache(
    distributions: tuple[list[str], zipfile.ZipFile],
) -> None:
    names, _ = distributions
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    wanted = {
        name for name in listed.splitlines() if name not in {".gitattributes", ".pre-commit-config.yaml"}
    }
    absent = sorted(name for name in wanted - set(names) if (ROOT / name).is_file())
    assert absent == []
    assert [name for name in names if re.search(r"__pycache__|\.pyc$|_cache/|\.venv|^site/", name)] == []


def test_the_version_stands_everywhere_as_one() -> None:
    assert CITATION["version"] == RECIPE["context"]["version"] == equiview.__version__
    assert PROJECT["requires-python"] == f">={RECIPE['context']['python_min']}"


def spaced(requirement: str) -> str:
    """A requirement of PyPI as conda-forge writes it."""
    name, limit = re.fullmatch(r"([\w.-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
    return f"{OTHERWISE.get(name, name)} {limit}".strip()


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    python, *rest = RECIPE["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert rest == [spaced(requirement) for requirement in PROJECT["dependencies"]]
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["license_file"] == PROJECT["license-files"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]
    (entry,) = RECIPE["build"]["python"]["entry_points"]
    assert entry == f"equiview = {PROJECT['scripts']['equiview']}"


def test_the_citation_is_one_by_its_schema_and_has_every_paper() -> None:
    by_schema("vendor.citation-file-format", ROOT / "CITATION.cff")
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    (named,) = re.findall(r"P: \"Evaluating .*? Cross-Modal Retrieval\"\. ## Doc", readme)
    assert re.findall(r'[PFTSO]: "(.+?)"', named) == [paper["title"] for paper in CITATION["references"]]
    assert CITATION["license"] == PROJECT["license"]


def test_workflows_are_such_and_publish_only_a_release() -> None:
    by_schema("vendor.github-workflows", *WORKFLOWS)
    tool("actionlint", *WORKFLOWS)
    contents = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in WORKFLOWS}
    assert set(contents) == {"docs", "release", "test"}
    publishing = [name for name, content in contents.items() if "pypi-publish" in json.dumps(content)]
    assert publishing == ["release"]
    started = contents["release"][True]  # YAML reads the key `on` as a truth value
    assert started == {"release": {"types": ["published"]}}
    assert contents["release"]["jobs"]["publish"]["environment"] == "pypi"
    for content in contents.values():
        assert content["permissions"] == {"contents": "read"}
    systems = contents["test"]["jobs"]["package"]["strategy"]["matrix"]["os"]
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}


def test_what_workflows_run_is_there() -> None:
    said = "\n".join(path.read_text("utf-8") for path in WORKFLOWS)
    named = re.findall(r"(?:run:|python) (\.ci/\S+)|pytest (tests/.*)", said)
    paths = {path for pair in named for path in " ".join(pair).split()}
    assert {".ci/run", ".ci/package.py", "tests/io"} <= paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.fixture
def container(tmp_path: Path) -> list[dict[str, Any]]:
    shutil.copy(ROOT / "Containerfile", tmp_path / "Dockerfile")
    return list(DockerfileParser(str(tmp_path)).structure)


def test_the_container_is_small_and_nobodys_root(container: list[dict[str, Any]]) -> None:
    tool("hadolint", ROOT / "Containerfile")
    said = [(line["instruction"], line["value"]) for line in container if line["instruction"] != "COMMENT"]
    bases = [value.split()[0] for name, value in said if name == "FROM"]
    assert bases == ["python:3.11-slim", "python:3.11-slim"]
    last = dict(said)
    assert int(last["USER"]) > 0
    assert json.loads(last["ENTRYPOINT"]) == ["equiview"] == list(PROJECT["scripts"])
    assert "uid 1000 " in last["RUN"]


def test_what_the_container_asks_of_equiview_it_does(container: list[dict[str, Any]]) -> None:
    last = {line["instruction"]: line["value"] for line in container}
    health = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    begun = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
    for command, said in ((health, equiview.__version__), (begun, "audit")):
        program = shutil.which(command[0], path=str(Path(sys.executable).parent))
        assert program
        done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
        assert (done.returncode, said in done.stdout) == (0, True)
