"""Processes of this machine that share work in parts."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from multiprocessing.queues import SimpleQueue
from typing import Any, TypeVar

from equiview.errors import InputError

Part = TypeVar("Part")
Result = TypeVar("Result")
Said = tuple[str, int, int]

SPAWNED = multiprocessing.get_context("spawn")
"""A process that is forked would have locks of this one's threads, and no threads to release them."""
EVERY = 0.1
"""Seconds between two things that a process says about one label."""
GARBAGE = (20_000, 50, 50)
"""New objects after which to look for garbage, and rounds after which to look among older ones: there is next
to none, and by default 2% of the time goes into looking through texts and rows."""
AHEAD = 2
"""Parts that are handed out for each process, so that none waits for the next."""


def in_processes(
    work: Callable[[Part], Result],
    parts: Iterable[Part],
    processes: int,
    *,
    start: Callable[..., None] | None = None,
    shared: tuple[Any, ...] = (),
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[Result]:
    """Yield `work(part)` of each part, in the order in which they are done.

    Each process calls `start(*shared)` once, says with `tell` how far it is, and ends when this one does. The
    first error is raised, and nothing begun after it. InputError when a process was killed, as a system does
    that is out of memory.
    """
    before = set(multiprocessing.active_children())
    told: SimpleQueue[Said | None] = SPAWNED.SimpleQueue()
    # Not waited for after an error: a process that was stopped while it spoke holds the queue for ever.
    listening = threading.Thread(target=_listen, args=(told, progress), daemon=True)
    listening.start()
    pool = ProcessPoolExecutor(
        processes, SPAWNED, initializer=_begin, initargs=(told if progress else None, start, shared)
    )
    waiting: set[Future[Result]] = set()
    try:
        for part in parts:
            waiting.add(pool.submit(work, part))
            if len(waiting) >= AHEAD * processes:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
        told.put(None)
        listening.join()
    except BrokenProcessPool:
        raise InputError(
            "a process was killed while it worked, perhaps since memory ran out; run the same command again "
            "to continue"
        ) from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def tell(label: str, done: int, total: int) -> None:
    """Say how far it is: the progress of work that `in_processes` does.

    Of what is told faster than anybody reads, the first and the last of each label are passed on, and some
    between: each costs both processes more than a short step of work.
    """
    now = time.monotonic()
    if _told and (done >= total or now - _passed.get(label, -EVERY) >= EVERY):
        _passed[label] = now
        _told[0].put((label, done, total))


_told: list[SimpleQueue[Said | None]] = []
"""Where this process says how far it is."""
_passed: dict[str, float] = {}
"""When something was last passed on, by its label."""


def _listen(told: SimpleQueue[Said | None], progress: Callable[[str, int, int], None] | None) -> None:
    while said := told.get():
        if progress:
            progress(*said)


def _begin(
    told: SimpleQueue[Said | None] | None, start: Callable[..., None] | None, shared: tuple[Any, ...]
) -> None:
    """Leave an interrupt to the process that began this one, and end when it has; look for garbage seldom."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*GARBAGE)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if told:
        _told.append(told)
    if start:
        start(*shared)


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait_for([parent.sentinel])
        os._exit(1)
