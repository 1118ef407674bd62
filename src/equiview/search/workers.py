"""Threads that share work in parts, each with a BLAS library of one thread.

A library that shares out one product among threads rounds it in a way that depends on their number, waits for
the slowest, and leaves what comes after the product to one of them.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar, cast

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
_turn = threading.Lock()
_held: list[int] = []
"""How many threads the library had, while one thread holds it to one."""


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Within, a product is computed by the thread that asks for it; gives how many threads there may be.

    As many as the library had: those of `OMP_NUM_THREADS` or of `threadpoolctl`, else one a processor. Of
    several threads within, the first sets and restores the number, which is the whole process's.
    """
    with _turn:
        first = not _held
        if first:
            numbers = [library["num_threads"] for library in _libraries().info()]
            _held.append(max(numbers, default=processors()))
        count = _held[0]
    try:
        with _alone() if first else nullcontext():
            yield count
    finally:
        if first:
            with _turn:
                _held.clear()


def at_once(work: Callable[[Iterator[T]], None], parts: Iterable[T], threads: int) -> None:
    """Call `work` in this thread and in `threads` - 1 others, which take turns at `parts`.

    Each is given an iterator of whatever is left whenever it is ready for another part. The first error of
    any is raised, and no part given out after it.
    """
    left, turn, errors = iter(parts), threading.Lock(), list[BaseException]()

    def own() -> Iterator[T]:
        while True:
            with turn:
                if errors:
                    return
                try:
                    part = next(left)
                except StopIteration:
                    return
            yield part

    def guarded() -> None:
        try:
            with _alone():  # a library on OpenMP has a number of threads for each that asks
                work(own())
        except BaseException as error:
            errors.append(error)

    others = [
        threading.Thread(target=contextvars.copy_context().run, args=(guarded,)) for _ in range(threads - 1)
    ]
    for other in others:
        other.start()
    guarded()
    try:
        for other in others:
            other.join()
    except BaseException as error:  # an interrupt: the others end with the part they are at
        errors.append(error)
    if errors:
        raise errors[0]


def _libraries() -> Any:
    return _loaded(len(sys.modules))


@lru_cache(maxsize=1)
def _loaded(_: int) -> Any:
    """The libraries of products in this process, looked up again when a module has brought others."""
    return ThreadpoolController().select(user_api="blas")


def _alone() -> AbstractContextManager[Any]:
    return cast(AbstractContextManager[Any], _libraries().limit(limits=1, user_api="blas"))


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
