"""Every command line in the docs is one that the real command line takes, to the options' values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from equiview.audits import AUDITS
from equiview.audits.applying import ALL
from equiview.benchmarks import BENCHMARKS
from equiview.cli import _settings, app
from equiview.makers import GROUPS
from equiview.making import MAKERS
from equiview.subjects import SUBJECTS
from tests.faults.running import get_command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?equiview (?P<words>.+)$", re.MULTILINE)
SPAN = re.compile(r"`(equiview [^`]+|--[a-z][^`]*)`")
ELSEWHERE = {"--write-docs", "--audits", "--package", "--place", "--limit", "--help"}
"""Options of labs' scripts, of Inspect and of every command, which pages name too."""


def joined(text: str) -> str:
    return text.replace("\\\n", " ")


def lines(page: Path) -> list[str]:
    """Command lines that stand in the code of a page, without their first word."""
    fences = "\n".join(FENCE.findall(page.read_text("utf-8")))
    return [found["words"] for found in COMMAND.finditer(joined(fences))]


def spans(page: Path) -> list[str]:
    """Commands and options that a sentence of a page names."""
    prose = " ".join(FENCE.sub("", page.read_text("utf-8")).split())
    return [found[1] for found in SPAN.finditer(prose)]


def parsed(words: list[str], *, whole: bool) -> dict[str, Any]:
    """The values of a command line as its command would get them; nothing is run.

    What is wrong with it is raised as by the command line itself. Unless `whole`, what is required may be
    missing, as in a sentence that names a command.
    """
    command: Any = get_command(app)
    context = None
    values: dict[str, Any] = {}
    while True:
        context = command.make_context("equiview", words, parent=context, resilient_parsing=not whole)
        values |= context.params
        if not hasattr(command, "resolve_command"):
            return values
        rest = [*getattr(context, "_protected_args", []), *context.args]
        if not rest:
            return values
        name, command, words = command.resolve_command(context, rest)
        assert command is not None, f"there is no command {name or rest[0]!r}"


@cache
def known_options() -> set[str]:
    def walk(command: Any) -> Iterator[str]:
        for parameter in command.params:
            yield from (*parameter.opts, *parameter.secondary_opts)
        if hasattr(command, "list_commands"):
            context = command.make_context("equiview", [], resilient_parsing=True)
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name))

    return set(walk(get_command(app))) | ELSEWHERE


def defined(name: str, page: Path) -> bool:
    """Whether the page itself brings the class, the audit or the maker of that name."""
    text = page.read_text("utf-8")
    return any(said in text for said in (f"class {name}", f'name="{name}"', f'register("{name}"'))


def check_names(values: dict[str, Any], page: Path) -> None:
    """Subjects, benchmarks, audits and settings are those that there are."""
    for registry, key in ((SUBJECTS, "subject"), (BENCHMARKS, "benchmark")):
        name, _, rest = (values.get(key) or "").partition(":")
        known = not name or name.isupper() or name in registry.all()
        assert known or defined(name, page) or defined(rest, page), f"{key} {name!r} is unknown"
    for audit in (name for given in values.get("audits") or () for name in given.split(",")):
        assert audit in ("AUDIT", ALL) or audit in AUDITS.all() or defined(audit, page), (
            f"audit {audit!r} is unknown"
        )
    if page.stem != "transfer":
        check_settings(values.get("setting") or (), page)


def check_settings(given: Any, page: Path) -> None:
    for audit, settings in _settings(list(given)).items():
        if not defined(audit, page):
            fields = AUDITS.get(audit).settings.model_fields
            assert set(settings) <= set(fields), f"{audit} has no setting {set(settings) - set(fields)}"


@pytest.mark.parametrize("page", [page for page in PAGES if lines(page)], ids=lambda page: page.stem)
def test_command_lines_in_code_are_taken(page: Path) -> None:
    for line in lines(page):
        words = shlex.split(line, comments=True)
        if words[0] not in GROUPS or not defined(words[1], page):  # else tests/test_docs.py runs it
            check_names(parsed(words, whole=True), page)


@pytest.mark.parametrize("page", [page for page in PAGES if spans(page)], ids=lambda page: page.stem)
def test_commands_and_options_in_sentences_are_there(page: Path) -> None:
    options = known_options()
    for span in spans(page):
        words = shlex.split(span)
        if words[0] == "equiview" and "--help" not in words:
            check_names(parsed(words[1:], whole=False), page)
        assert {word for word in words if word.startswith("--")} <= options, span
        given = [after for word, after in pairwise(words) if word == "--setting"]
        check_settings([one for one in given if "=" in one and not one.isupper()], page)


def test_what_is_not_there_is_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        parsed(shlex.split("audit a --benchmark b --audit c --out d --set x=1"), whole=True)
    with pytest.raises(AssertionError, match="no command 'audits'"):
        parsed(["audits"], whole=False)
    with pytest.raises(Exception, match="Missing"):
        parsed(["audit", "a"], whole=True)
    with pytest.raises(AssertionError, match="no setting"):
        check_settings(["prevalence.cutof=5"], ROOT / "README.md")


def test_every_maker_has_a_command_line_in_the_docs() -> None:
    shown = {tuple(line.split()[:2]) for page in PAGES for line in lines(page)}
    assert {(entry.value.kind, name) for name, entry in MAKERS.all().items()} <= shown
