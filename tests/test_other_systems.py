"""What Windows asks, as far as it can be seen here: encodings, names, files that are flushed or replaced."""

from __future__ import annotations

import fcntl
import ntpath
import os
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import polars as pl
import pytest

from equiview.auditfile import Benchmark, Subject
from equiview.board import folder_of
from equiview.io.files import file_name
from equiview.io.tables import write_bytes
from tests.conftest import write_world

RESERVED = ("con", "PRN", "aux.txt", "nul.tar.gz", "COM1", "lpt9.csv")


STRICT = """
import warnings
from equiview.cli import main
warnings.filterwarnings("error", category=EncodingWarning, module="equiview")
main()
"""


def equiview(place: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """The command line where text is ASCII unless a file says otherwise, and where not saying is an error."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))}
    ascii_ = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-X", "warn_default_encoding", "-c", STRICT, *words]
    return subprocess.run(command, cwd=place, env=plain | ascii_, capture_output=True, check=False)


def test_captions_in_any_script_are_audited_where_text_is_ascii(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    table = pl.read_csv(world / "texts.csv")
    table.with_columns(text="текст 猫 ñ " + pl.col("text")).write_csv(world / "texts.csv")
    words = ("audit", "embeddings:world", "--benchmark", "folder:world", "--audit", "prevalence")
    done = equiview(tmp_path, *words, "--out", "out", "--setting", "prevalence.replicates=200")
    assert done.returncode == 0, done.stderr.decode()
    assert "текст 猫 ñ" in (tmp_path / "out" / "report.html").read_text("utf-8")
    require = ("--require", "prevalence: R@1.n >= 40")
    checked = equiview(tmp_path, "check", "out", *require, "--markdown", "gate.md", "--junit", "gate.xml")
    assert checked.returncode == 0, checked.stderr.decode()
    assert "✓" in checked.stdout.decode() + (tmp_path / "gate.md").read_text("utf-8")


@pytest.mark.parametrize("name", [*RESERVED, "..", ".", "", 'a/b\\c:d*e?f"g<h>i|j', "end."])
def test_a_made_name_is_one_on_windows_as_well(name: str) -> None:
    made = file_name(name)
    assert not PureWindowsPath(made).is_reserved()
    assert not made.endswith((".", " "))
    assert not {*made} & {*'<>:"|?*'}
    assert ntpath.basename(made) == made != ""
    assert file_name(made) == made


@pytest.mark.parametrize("name", RESERVED)
def test_folders_of_a_board_are_usable(name: str) -> None:
    subject, benchmark = (
        Subject(use="pictogram:skewed", name=name),
        Benchmark(use="pictograms", audits=["parity"]),
    )
    folder = folder_of(subject, benchmark)
    assert file_name(folder) == folder


def test_what_is_flushed_to_disk_may_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows flushes no file that was opened for reading."""
    flushed = []

    def fsync(handle: int) -> None:
        flushed.append(fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE)

    monkeypatch.setattr(os, "fsync", fsync)
    write_bytes(b"whole", tmp_path / "file")
    assert flushed == [os.O_RDWR]


def test_a_file_is_renamed_when_nobody_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows renames no file that is open."""
    replace, held = Path.replace, []

    def replaced(self: Path, target: Path) -> Path:
        held.append([entry for entry in Path("/proc/self/fd").iterdir() if entry.resolve() == self.resolve()])
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replaced)
    write_bytes(b"whole", tmp_path / "file")
    assert held == [[]]
