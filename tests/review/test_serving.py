"""`equiview review` as a person meets it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import polars as pl

from tests.processes import equiview
from tests.review.reviews import write


@contextmanager
def review(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run the command, and wait until it has said its links."""
    command = [sys.executable, "-m", "equiview", "review", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("Stop with"):
                break
        try:
            yield process, lines
        finally:
            process.kill()


def run(*arguments: object) -> tuple[int, str, str]:
    done = equiview("review", *arguments)
    return done.returncode, done.stdout, done.stderr


def test_links_are_printed_open_and_stay_the_same(tmp_path: Path) -> None:
    write(tmp_path, 4, reviewers=["Ann", "Bo", "Chidi"])
    with review(tmp_path, "--port", 0) as (process, first):
        assert first[0] == "Translations: 4 items, 3 people each, 3 reviewers"
        links = [line.split()[-1] for line in first if "http" in line]
        assert len(links) == 5
        assert re.match(r"  reviewer-1 \(Ann\)    http://127.0.0.1:\d+/reviewer-1/in/[0-9a-f]{48}$", first[4])
        assert [httpx.get(link).status_code for link in links] == [200] * 5
        code, _, error = run(tmp_path, "--port", 0)  # a second server on the same folder
        assert code == 1
        assert "another process is writing to it" in error
        code, output, error = run(tmp_path, "--export", tmp_path / "out.parquet")
        assert code == 0, error
        assert output.split() == [
            str(tmp_path / f"out{part}.parquet") for part in ("", ".decisions", ".agreement")
        ]
        assert len(pl.read_parquet(tmp_path / "out.decisions.parquet")) == 12
        process.send_signal(signal.SIGINT)
        assert process.wait() == 1
        assert process.stderr is not None
        said = process.stderr.read()
        assert said == "equiview: stopped; run the same command again to continue where it was\n"
    with review(tmp_path, "--port", 0, "--people", 4) as (_, second):
        assert [line.rpartition("/")[2] for line in second if "http" in line][:5] == [
            link.rpartition("/")[2] for link in links
        ]
        assert "reviewer-4" in second[7]


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    write(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, output, error = run(tmp_path, "--port", taken.getsockname()[1])
    assert (code, output) == (1, "")
    assert "(address already in use); choose another with --port or --host" in error
    assert error.count("\n") == 1


def test_a_folder_that_is_none_is_said_in_one_line_and_not_made(tmp_path: Path) -> None:
    code, _, error = run(tmp_path / "none")
    assert (code, error.count("\n")) == (1, 1)
    assert "no such folder" in error
    assert not (tmp_path / "none").exists()
