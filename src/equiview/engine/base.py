"""What an engine is, the one that does everything here, and which is in use."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Needs:
    """What a worker takes: an accelerator with one core, where the cluster has any, else cores.

    `threads` are those of its libraries, on which their sums may depend; a worker may have fewer cores.
    """

    cores: int = 1
    accelerator: bool = False
    threads: int = 1


ONE_CORE = Needs()


class Engine(ABC):
    """Where independent parts of work are done."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many parts are done at once by workers of one core."""

    @property
    @abstractmethod
    def room(self) -> int:
        """Bytes that everything in `shared` may take together."""

    @abstractmethod
    def map(
        self,
        work: Callable[..., Result],
        parts: Iterable[Part],
        *,
        shared: tuple[Any, ...] = (),
        start: Callable[..., Any] | None = None,
        needs: Needs = ONE_CORE,
        size: Callable[[Part], int] | None = None,
    ) -> Iterator[Result]:
        """Yield `work(part, *shared)` for each part, in their order.

        With `start`, a worker calls `start(*shared)` once, and keeps the model that it returns for every
        `work(part, model)`. `size` gives the bytes of a part. An error of `work` is raised where its result
        would have been yielded. Parts are taken as they are needed, a few ahead at most.
        """


class Local(Engine):
    """One part after the other in this process.

    >>> list(Local().map(pow, [2, 3], shared=(2,)))
    [4, 9]
    """

    workers = 1
    room = sys.maxsize

    def map(
        self,
        work: Callable[..., Result],
        parts: Iterable[Part],
        *,
        shared: tuple[Any, ...] = (),
        start: Callable[..., Any] | None = None,
        needs: Needs = ONE_CORE,
        size: Callable[[Part], int] | None = None,
    ) -> Iterator[Result]:
        """Do each part when its result is asked for."""
        given = (start(*shared),) if start else shared
        return (work(part, *given) for part in parts)


_current: ContextVar[Engine] = ContextVar("engine", default=Local())  # noqa: B039 - it has no state


def current() -> Engine:
    """The engine in use here: `Local` unless this is within `using`."""
    return _current.get()


def current_for(work: int, least: int, held: int = 0) -> Engine:
    """The engine in use where workers are worth asking and have room; else this process.

    That is for `work` of `least` or more, in whatever unit, and `held` bytes that each worker keeps.
    """
    engine = current()
    return engine if work >= least and held <= engine.room else Local()


@contextmanager
def using(engine: Engine) -> Iterator[Engine]:
    """Within, `current()` is this engine; afterwards again what it was."""
    before = _current.set(engine)
    try:
        yield engine
    finally:
        _current.reset(before)
