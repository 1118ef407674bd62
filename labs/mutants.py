"""`python -m labs.mutants` changes what decides numbers and verdicts, place by place, and runs the tests.

A mutant differs from the code in one operator, boundary, constant, condition, returned value or dropped call
of a function of `metrics`, `stats` or an audit's `judge.py`. A test that fails kills it; one that survives
shows what no test looks at. Every mutant runs in a process forked from one that has imported everything, with
the test files that call the changed function. `--of FILE` runs the mutants of an earlier table again, found
by function and line, in whichever file of the folder they stand now, and exits with 1 if one that was killed
survives.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import inspect
import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

FOLDERS = ("metrics", "stats", "audits")
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, Callable[[], None]]


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, in words what it does, and which test failed ("" when none did)."""

    file: str
    function: str
    text: str
    mutation: str
    line: int = 0
    killed_by: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        """What stays when lines and functions move to another file."""
        return self.function, self.text, self.mutation


def functions(tree: ast.AST, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Function]]:
    """Functions of a module and methods of its classes; one inside another is part of it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield (*path, node.name), node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, (*path, node.name))


def changes(node: ast.AST) -> Iterator[Change]:  # noqa: PLR0912 - a case for each kind of node
    """All that can be changed in one node, and how."""
    match node:
        case ast.Compare():
            for place, old in enumerate(node.ops):
                for new in COMPARISONS[type(old)]:
                    words = f"{type(old).__name__} -> {new.__name__}"
                    yield words, partial(node.ops.__setitem__, place, new())
        case ast.BinOp(op=old) if type(old) in OPERATORS and not _is_text(node):
            new_operator = OPERATORS[type(old)]
            yield (
                f"{type(old).__name__} -> {new_operator.__name__}",
                partial(setattr, node, "op", new_operator()),
            )
        case ast.BoolOp(op=both):
            other = ast.Or if isinstance(both, ast.And) else ast.And
            yield f"{type(both).__name__} -> {other.__name__}", partial(setattr, node, "op", other())
        case ast.UnaryOp(op=ast.USub()):
            yield "drop minus", partial(setattr, node, "op", ast.UAdd())
        case ast.Constant(value=bool() as value):
            yield f"{value} -> {not value}", partial(setattr, node, "value", not value)
        case ast.Constant(value=int() | float() as value):
            yield f"{value} -> {value + 1}", partial(setattr, node, "value", value + 1)
        case ast.If() | ast.IfExp() | ast.comprehension(ifs=[_, *_]):
            if isinstance(node, ast.comprehension):
                yield "drop condition", partial(setattr, node, "ifs", [])
            else:
                yield "negate condition", partial(setattr, node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return None", partial(setattr, node, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield "drop call", partial(setattr, node, "value", ast.Constant(None))


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def sites(source: str, file: str) -> Iterator[tuple[Mutant, ast.Module, Callable[[], None]]]:
    """Every mutant of a file, its tree, and what changes the tree; a tree serves one change."""
    tree, lines = ast.parse(source), source.splitlines()
    seen: dict[tuple[str, str, str], int] = {}
    for path, function in functions(tree):
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        for node in nodes:
            for words, change in changes(node):
                line = getattr(node, "lineno", None) or node.target.lineno  # type: ignore[attr-defined]
                mutant = Mutant(file, ".".join(path), lines[line - 1].strip(), words, line)
                seen[mutant.identity] = number = seen.get(mutant.identity, 0) + 1
                if number > 1:
                    mutant = replace(mutant, mutation=f"{words} ({number})")
                yield mutant, tree, change


def sampled(mutants: Sequence[Mutant], sample: int, seed: int) -> list[Mutant]:
    """The same ones wherever their functions stand: drawn by a hash of what they are."""

    def drawn(mutant: Mutant) -> str:
        return hashlib.sha256(repr((seed, mutant.identity)).encode()).hexdigest()

    return sorted(sorted(mutants, key=drawn)[:sample], key=lambda mutant: mutant.line)


def changed_code(source: str, mutant: Mutant) -> CodeType:
    """The code of the mutant's function after the change."""
    for other, tree, change in sites(source, mutant.file):
        if other == replace(mutant, killed_by=""):
            change()
            code = compile(ast.fix_missing_locations(tree), mutant.file, "exec")
            for name in mutant.function.split("."):
                code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
            return code
    raise LookupError(mutant)


def function_of(module: object, name: str) -> FunctionType:
    """The function itself, under what wraps it."""
    found = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
        found = getattr(found, "fget", None) or getattr(found, "func", None) or found
        found = getattr(found, "__func__", found)
    unwrapped = inspect.unwrap(found)  # type: ignore[arg-type]
    assert isinstance(unwrapped, FunctionType), name
    return unwrapped


class Watcher:
    """Which functions of a file each test file calls, how long it takes, and the first test that fails."""

    def __init__(self, source: Path | None = None) -> None:
        self.source = None if source is None else str(source)
        self.called: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.failed = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        names = self.called.setdefault(item.location[0], set())

        def note(frame: Any, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename == self.source:
                names.add(frame.f_code.co_qualname.partition(".<locals>")[0])

        began = time.monotonic()
        if self.source:
            threading.setprofile(note)
            sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            self.seconds[item.location[0]] = (
                self.seconds.get(item.location[0], 0.0) + time.monotonic() - began
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (cannot be imported)"


def forked(work: Callable[[], object], limit: int) -> object:
    """What `work` returns in a forked process, or that it ran into the time limit or crashed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(limit)
        os.close(reading)
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                said = json.dumps(work()).encode()
            os.write(writing, said)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "the time limit" if os.WTERMSIG(status) == signal.SIGALRM else "a crash"
    return json.loads(content) if content else "a crash"


def watched(tests: Sequence[str], source: Path | None) -> Watcher:
    """Run test files until one test fails."""
    watcher = Watcher(source)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore:Module already imported"]
    pytest.main([*options, *tests], plugins=[watcher])
    return watcher


def reached(tests: Sequence[str], source: Path) -> dict[str, list[str]]:
    """Test files that call each function of a file, the fastest first."""
    watcher = watched(tests, source)
    if watcher.failed:
        raise RuntimeError(f"{watcher.failed} fails without any change")
    names = {name for called in watcher.called.values() for name in called}
    by_time = sorted(watcher.called, key=lambda test: watcher.seconds[test])
    return {name: [test for test in by_time if name in watcher.called[test]] for name in names}


def killer(module: object, mutant: Mutant, code: CodeType, tests: Sequence[str]) -> str:
    """The first test that fails with the mutant's code in place of the function's."""
    function_of(module, mutant.function).__code__ = code
    return watched(tests, None).failed


def tests_of(file: Path) -> list[str]:
    """Test files of a module, and the module itself for its examples."""
    folder = Path("tests", *file.parent.parts[2:])
    shared = [Path("tests/audits/test_judging.py")] if len(folder.parts) > 2 else []
    return [str(path) for path in (file, *sorted(folder.rglob("test_*.py")), *shared)]


def targets(names: Sequence[str]) -> list[Path]:
    """Files to change: all of metrics and stats and what judges, or those whose path holds one of `names`."""
    source = Path("src/equiview")
    files = [path for room in ("metrics", "stats") for path in sorted((source / room).glob("*.py"))]
    files += sorted((source / "audits").glob("*/judge.py"))
    return [
        file for file in files if file.name != "__init__.py" and any(n in str(file) for n in names or [""])
    ]


def tried(file: Path, mutants: Sequence[Mutant], limit: int) -> Iterator[Mutant]:
    """Each mutant with the test that kills it."""
    module = importlib.import_module(".".join(file.with_suffix("").parts[1:]))
    source = file.read_text("utf-8")
    found = forked(lambda: reached(tests_of(file), file.resolve()), 10 * limit)
    if not isinstance(found, Mapping):
        raise RuntimeError(f"{file}: its tests, unchanged, end with {found}")
    for mutant in mutants:
        code = changed_code(source, mutant)
        tests = found.get(mutant.function, [])
        said = forked(partial(killer, module, mutant, code, tests), limit) if tests else ""
        yield replace(mutant, killed_by=str(said))


def again(before: Sequence[Mutant]) -> tuple[dict[Path, list[Mutant]], list[Mutant]]:
    """Mutants of an earlier table by the file they stand in now, and those whose line is nowhere.

    A line is looked for in its file, then in its folder, then in the folder above; in the function it was in,
    or else in any.
    """
    placed: dict[Path, list[Mutant]] = {}
    gone = []
    for mutant in before:
        file = Path(mutant.file)
        files = [file, *sorted(file.parent.glob("*.py")), *sorted(file.parent.parent.glob("*.py"))]
        others = [other for path in dict.fromkeys(files) if path.exists() for other in _mutants(path)]
        same = [other for other in others if other.identity[1:] == mutant.identity[1:]]
        found = next(
            (other for other in same if other.function == mutant.function), same[0] if same else None
        )
        if found is None:
            gone.append(mutant)
        else:
            placed.setdefault(Path(found.file), []).append(replace(found, killed_by=mutant.killed_by))
    return placed, gone


@cache
def _mutants(file: Path) -> list[Mutant]:
    return [mutant for mutant, _, _ in sites(file.read_text("utf-8"), str(file))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, try mutants, print and write their table."""
    parser = argparse.ArgumentParser(prog="python -m labs.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of paths of files to change; all when not said")
    parser.add_argument("--sample", type=int, default=12, help="mutants a file")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--limit", type=int, default=120, help="seconds after which a mutant counts as killed"
    )
    parser.add_argument("--of", type=Path, help="an earlier table: run its mutants again")
    parser.add_argument("--out", type=Path, required=True, help="where the table is written, as JSON")
    options = parser.parse_args(arguments)
    if options.of:
        before = [Mutant(**row) for row in json.loads(options.of.read_text("utf-8"))]
        wanted, gone = again([m for m in before if any(name in m.file for name in options.names or [""])])
    else:
        gone = []
        wanted = {
            file: sampled(_mutants(file), options.sample, options.seed) for file in targets(options.names)
        }
    sys.path[:0] = [str(Path.cwd())]
    import hypothesis  # noqa: F401  every process forked from this one has them
    import polars as pl  # noqa: F401
    import scipy.stats  # noqa: F401

    import equiview.audits  # noqa: F401

    rows, lost = [], []
    for file, mutants in wanted.items():
        for was, now in zip(mutants, tried(file, mutants, options.limit), strict=True):
            rows.append(now)
            if was.killed_by and not now.killed_by:
                lost.append(now)
            place = f"{now.file}:{now.line}"
            print(f"{place:55} {now.mutation:24} {now.killed_by or 'SURVIVED'}", flush=True)
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
    killed = sum(bool(row.killed_by) for row in rows)
    print(f"{len(rows)} mutants: {killed} killed, {len(rows) - killed} survived; {len(gone)} no longer there")
    for words, mutants in (("killed before, survives now", lost), ("no longer there", gone)):
        for row in mutants:
            print(f"{words}: {row.file}:{row.line} {row.function}, {row.mutation}: {row.text}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
