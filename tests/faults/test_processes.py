"""What only real processes show: locks, interrupts, streams, and packages of somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from equiview.io.lock import locked
from tests.conftest import write_world

COMMAND = [sys.executable, "-m", "equiview"]


def words_of(world: Path, out: Path) -> list[str]:
    return ["audit", f"embeddings:{world}", "--benchmark", f"folder:{world}", "--audit", "prevalence",
            "--out", str(out)]  # fmt: skip


def equiview(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *words], capture_output=True, check=False, env=os.environ | environment)


def test_a_second_process_on_one_folder_is_told_so_in_one_line(tmp_path: Path) -> None:
    words = words_of(write_world(tmp_path / "world"), tmp_path / "out")
    with locked(tmp_path / "out"):
        second = equiview(*words)
    assert second.returncode == 1
    assert second.stderr.decode() == (
        f"equiview: {tmp_path / 'out'}: another process is writing to it; wait until it is done, "
        "or choose another folder\n"
    )
    assert equiview(*words).returncode == 0


def test_two_that_start_at_once_leave_one_whole_run(tmp_path: Path) -> None:
    words = words_of(write_world(tmp_path / "world"), tmp_path / "out")
    both = [subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE) for _ in range(2)]
    errors = [process.communicate()[1].decode() for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 1]), errors
    for process, said in zip(both, errors, strict=True):
        assert said.count("\n") == process.returncode
        assert ("another process is writing" in said) == bool(process.returncode)
    assert not list((tmp_path / "out").glob(".*.part"))
    assert equiview("export", str(tmp_path / "out")).returncode == 0


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from equiview.io.lock import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.communicate()
    with locked(tmp_path / "out"):
        pass


def test_an_interrupt_says_how_to_continue(tmp_path: Path) -> None:
    words = words_of(write_world(tmp_path / "world", images=400, width=16), tmp_path / "out")
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not (tmp_path / "out" / "manifest.json").exists():
        pass
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert (process.returncode, output) == (1, b"")
    assert errors == b"equiview: stopped; run the same command again to continue where it was\n"
    assert equiview(*words).returncode == 0


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, "list"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_output_is_utf8_whatever_the_terminal_says(tmp_path: Path, encoding: str) -> None:
    done = equiview("cache", PYTHONIOENCODING=encoding, EQUIVIEW_CACHE=str(tmp_path / "ŝablono 絵"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert "ŝablono 絵" in done.stdout.decode()
    done = equiview("report", "絵", PYTHONIOENCODING=encoding)
    assert "絵: holds no run" in done.stderr.decode()


def test_a_broken_package_of_somebody_else_is_left_out_with_a_warning(tmp_path: Path) -> None:
    package = tmp_path / "broken-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    groups = ("audits", "benchmarks", "subjects")
    (package / "entry_points.txt").write_text(
        "".join(f"[equiview.{group}]\nbad = broken:THING\nwrong = json:__doc__\n" for group in groups)
    )
    (tmp_path / "broken.py").write_text("1 / 0")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = equiview("list", PYTHONPATH=path)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 0, lines
    assert len(lines) == 2 * len(groups)
    for kind in ("audit", "benchmark", "subject"):
        start = f"equiview: warning: {kind}"
        left_out = "of package broken cannot be loaded and is left out"
        assert f"{start} 'bad' {left_out} (ZeroDivisionError: division by zero)" in lines
        assert f"{start} 'wrong' {left_out} (TypeError: json:__doc__ is str)" in lines
