"""What a worker of a cluster does: keep what was started, do parts, and hand back results or errors."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEPT = 2
"""How many started things a worker keeps, the last ones: a model, and what came before it."""


@dataclass(frozen=True)
class Failed:
    """An error of the work itself, which is raised where the work was asked for."""

    error: Exception | None
    said: str

    def again(self) -> Exception:
        """The error, with the worker's traceback as a note."""
        error = self.error or RuntimeError(self.said.strip().splitlines()[-1])
        error.add_note(f"in a worker:\n{self.said}")
        return error


class Worker:
    """Lives in a process of its own, as an actor of Ray."""

    def __init__(self, folder: str, threads: int) -> None:
        if Path(folder).is_dir():  # names of files and of a user's own modules mean there what they mean here
            os.chdir(folder)
            sys.path.insert(0, folder)
        self.threads = threads
        self.limited = False
        self.started: dict[str, Any] = {}

    def process(self) -> int:
        """The number of the process, once it is up."""
        return os.getpid()

    def do(self, key: str, asked: bytes, part: Any, *shared: Any) -> bytes:
        """The result of a part, or `Failed`, as bytes: what is read of them is not in the object store."""
        try:
            work, start = pickle.loads(asked)
            result = work(part, *self._given(key, start, shared))
            return pickle.dumps(result, protocol=5)
        except Exception as error:
            said = traceback.format_exc()
            try:
                return pickle.dumps(Failed(pickle.loads(pickle.dumps(error)), said))
            except Exception:  # errors of libraries often cannot be pickled
                return pickle.dumps(Failed(None, said))

    def _given(self, key: str, start: Callable[..., Any] | None, shared: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self.limited:
            _limit(self.threads)
            self.limited = True
        if start is None:
            return shared
        if key not in self.started:
            self.started = dict(list(self.started.items())[1 - KEPT :])
            self.started[key] = start(*shared)
            _limit(self.threads)  # also those of a library that came with it
        return (self.started[key],)


def _limit(threads: int) -> None:
    """Let libraries use so many threads: what they add up depends on the number."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def threads_here() -> int:
    """How many threads libraries use in this process: of BLAS, OpenMP and torch, the most."""
    from threadpoolctl import threadpool_info

    counts = [entry["num_threads"] for entry in threadpool_info()]
    if "torch" in sys.modules:
        counts.append(sys.modules["torch"].get_num_threads())
    return max(counts, default=1)
