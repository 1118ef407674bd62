"""Processes that start at once: each is forked from one that has only imported what it will need."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import CompletedProcess

COMMAND = "from equiview.cli import main; main()"
SAID = ("output", "errors")
FORKED = multiprocessing.get_context("forkserver")
# One list for all of them: a process has one server that forks, and it takes the list that was set last.
FORKED.set_forkserver_preload(
    [
        "equiview.api",
        "equiview.cli",
        "equiview.report",
        "numpy",
        "polars",
        "pydantic",
        "scipy.stats",
        "PIL.Image",
        "torch._dynamo",
        "transformers.modeling_utils",
        "jinja2",
        "inspect_ai.model",
        "openai",
        "uvicorn",
        "equiview.review.server",
        "tests.review.reviews",
        "tests.frozen",
    ]
)


def fresh(
    source: str,
    words: Sequence[str] = (),
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> CompletedProcess[str]:
    """Run Python code with `words` as its arguments, in a process in which nothing of equiview is in use yet.

    It stands for `python -c`: PYTHONPATH of `environment` is searched first.
    """
    with tempfile.TemporaryDirectory() as place:
        process = start(source, words, Path(place), folder=folder, environment=environment)
        process.join()
        output, errors = ((Path(place) / name).read_text("utf-8") for name in SAID)
    assert process.exitcode is not None
    return CompletedProcess(source, process.exitcode, output, errors)


def equiview(*words: object, folder: Path | None = None, **environment: str) -> CompletedProcess[str]:
    """Type `words` after `equiview`, with some of the environment otherwise."""
    return fresh(COMMAND, [*map(str, words)], folder=folder, environment=os.environ | environment)


def start(
    source: str,
    words: Sequence[str],
    place: Path,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> BaseProcess:
    """Start what `fresh` runs, to be joined or killed; what it says is in the files `SAID` of `place`.

    Not for several threads: the end of a process is told once, to the first that asks.
    """
    process = FORKED.Process(
        target=_run,
        args=(
            source,
            ["equiview", *words],
            str(folder or Path.cwd()),
            dict(os.environ if environment is None else environment),
            [str(place / name) for name in SAID],
        ),
    )
    process.start()
    return process


def _run(source: str, words: list[str], folder: str, environment: dict[str, str], said: list[str]) -> None:
    for stream, path in zip((1, 2), said, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = words
    exec(compile(source, "<string>", "exec"), {"__name__": "__main__"})
