"""No message to somebody who gave a table speaks of Python: no path, class, keyword or type."""

import ast
import re
from pathlib import Path

import equiview

SOURCE = Path(equiview.__file__).parent
PYTHON = re.compile(
    r"\b\w+\.\w+\(|\bequiview\.\w+\.\w+|\b(polars|ndarray|DataFrame|Series|NoneType|dtype|kwargs?)\b"
    r"|\b(Items|Relevance|Schema|from_pairs|Benchmark|Observations|Estimates)\b|\b\w+=\w+\(|\w\(\.\.\.\)"
    r"|\b(U?Int|Float)(8|16|32|64)\b|\b__\w+__\b"
)
ALLOWED = {
    ("io/arrays.py", "numpy.save("),  # a .npy file is of somebody who has numpy
    ("io/arrays.py", "dtype"),
    ("subjects/encoders/torch_encoder.py", "dtype"),  # the name of an option: hf:ID,dtype=float16
}
OF_PYTHON = {"metrics", "stats"}
"""Functions that only programs call; their arguments are arrays."""


def messages(path: Path) -> list[tuple[int, str]]:
    """The line and the words of every InputError and notice that a file makes."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in {"InputError", "notice"}:
                words = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
                found += [(node.lineno, part.value) for part in words if isinstance(part.value, str)]
                values = [part.value for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
                found += [
                    (node.lineno, f"{{.{value.attr}}}")
                    for value in values
                    if isinstance(value, ast.Attribute) and value.attr == "dtype"
                ]
    return found


def spoken(path: Path) -> list[str]:
    place = path.relative_to(SOURCE).as_posix()
    return [
        f"{place}:{line}: {word.group()!r} in {text!r}"
        for line, text in messages(path)
        if (word := PYTHON.search(text)) and (place, word.group()) not in ALLOWED
    ]


def test_no_message_names_python_to_somebody_who_gave_a_table() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in OF_PYTHON]
    assert sum(len(messages(path)) for path in files) > 1000
    assert [said for path in files for said in spoken(path)] == []


def test_the_scan_sees_what_it_looks_for() -> None:
    for said in (
        "use Relevance.from_pairs",
        "Items(kind)",
        "is of dtype x",
        "of type Int64",
        "tables={...}: f(...)",
    ):
        assert PYTHON.search(said), said
    for said in ("ends in .csv (row 2)", "folder:DIR,keep=NA", "parity.common=false", "holds no items.csv"):
        assert not PYTHON.search(said), said
