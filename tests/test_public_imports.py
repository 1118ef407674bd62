"""What stands outside the package, and what readers are told to write, uses public names alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\b[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPTS = [*sorted((ROOT / "bench").glob("*.py")), *sorted((ROOT / "examples").glob("*.py"))]
PAGES = sorted((ROOT / "docs" / "extending").glob("*.md"))


def is_private(name: str) -> bool:
    """Whether a part of a dotted name begins with an underscore; `__version__` and its like are public."""
    parts = name.split(".")
    return any(part.startswith("_") and not (part.startswith("__") and part.endswith("__")) for part in parts)


def private_names(code: str) -> list[str]:
    """The private names of equiview that `code` imports, reads or names in a string to be imported."""
    names, ours = [], set()
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias for alias in node.names if alias.name.split(".")[0] == "equiview"]
            names += [alias.name for alias in modules]
            ours |= {alias.asname or "equiview" for alias in modules}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "equiview":
            names += [f"{node.module}.{alias.name}" for alias in node.names]
            ours |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names += re.findall(r"\bequiview(?:\.\w+)+", node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).split(".")[0] in ours:
            names.append(ast.unparse(node))
    return sorted({name for name in names if is_private(name)})


@pytest.mark.parametrize(
    "code",
    [
        "from equiview.audits._summary import summarise",
        "from equiview.stats import _check",
        "from equiview import stats\nstats._check.add_up",
        "import equiview.stats._check as check",
        "import equiview\nequiview.stats.bootstrap._counts(3, 1, 0)",
        "from equiview.data.run import Run\nRun._write",
        "import importlib\nimportlib.import_module('equiview.stats._check')",
        "def later():\n    from equiview.stats.bootstrap import _counts",
    ],
)
def test_a_private_name_is_seen(code: str) -> None:
    assert private_names(code) != []


@pytest.mark.parametrize(
    "code",
    [
        "import equiview\nequiview.__version__",
        "from equiview.stats import holm\nholm([0.1])",
        "import mteb._create_dataloaders",
        "class Mine:\n    def _helper(self):\n        return self._value",
    ],
)
def test_public_names_and_the_names_of_others_are_fine(code: str) -> None:
    assert private_names(code) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_script_uses_public_names(path: Path) -> None:
    assert private_names(path.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_uses_public_names(page: Path) -> None:
    blocks = BLOCK.findall(page.read_text())
    assert blocks
    assert [name for block in blocks for name in private_names(block)] == []


def test_there_are_scripts_and_pages_to_check() -> None:
    assert {path.parent.name for path in SCRIPTS} == {"bench", "examples"}
    assert {"audit.md", "benchmark.md", "encoder.md"} <= {page.name for page in PAGES}
