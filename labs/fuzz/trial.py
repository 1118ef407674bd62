"""A reader with a small valid copy of what it reads, and what it may do with a damaged one.

`Trial(reader, place).of(files)` reads the copy with these files instead of its own. It returns a digest of
all that was read, or None where it was refused as it should be: with `InputError`, in a line that can be
printed. Anything else is raised: other errors, warnings, output on the console, and values that break
promises. What is on the console is of the whole process, so nothing else may run in it.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs.fuzz.damage import format_of

from equiview.errors import InputError
from equiview.io.notices import LOGGER

SECONDS = 20
"""No copy is so damaged that reading it may take longer."""
FORMATS = {".csv", ".tsv", ".parquet", ".json", ".jsonl", ".toml", ".npy", ".txt", ".gz", ".trec", ".eval",
           ".sqlite", ".safetensors", ".pt", ".pth", ".bin", ""}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """How a valid copy is written into a folder, and how it is read: `read` returns a digest."""

    write: Callable[[Path], object]
    read: Callable[[Path], str]
    files: tuple[str, ...] = ()
    """Which files are damaged, by pattern; all of a known format by default."""
    ours: bool = False
    """Whether only equiview writes the files, in one way."""


class Trial:
    """A reader beside its copy in a folder."""

    def __init__(self, reader: Reader, place: Path) -> None:
        self.reader = reader
        self.place = place
        self.reader.write(self.place)
        patterns = self.reader.files or ("**/*",)
        paths = sorted({path for pattern in patterns for path in self.place.glob(pattern) if path.is_file()})
        self.files = {
            path.relative_to(self.place).as_posix(): path.read_bytes()
            for path in paths
            if format_of(path.name) in FORMATS
        }
        digest = self.of({})
        assert digest is not None
        self.digest = digest

    def of(self, files: Mapping[str, bytes | None]) -> str | None:
        """Read the copy with `files`, None for one that is gone; its own are put back afterwards."""
        try:
            for name, content in files.items():
                (self.place / name).unlink()
                if content is not None:
                    (self.place / name).write_bytes(content)
            with _watched():
                return self._digest()
        finally:
            for name in files:
                (self.place / name).write_bytes(self.files[name])

    def _digest(self) -> str | None:
        try:
            return self.reader.read(self.place)
        except InputError as error:
            message = str(error)
        assert message.isprintable(), message
        assert len(message) < 2500
        assert message.strip()
        return None


@contextmanager
def _watched() -> Iterator[None]:
    """Raise for a warning, for anything on the console but notices, and for a read that takes too long."""
    logging.getLogger(LOGGER).setLevel(logging.ERROR)
    kept = [os.dup(stream) for stream in (1, 2)]
    with tempfile.TemporaryFile() as console, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", category=ResourceWarning, module="anyio"
        )  # Inspect's, when collected
        try:
            for stream in (1, 2):
                os.dup2(console.fileno(), stream)
            began = time.process_time()
            yield
            took = time.process_time() - began
        finally:
            for stream, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, stream)
                os.close(copy)
        console.seek(0)
        said = console.read()
    assert not said, f"it printed {said[:300]!r}"
    assert took < SECONDS, f"it took {took:.0f} seconds"
