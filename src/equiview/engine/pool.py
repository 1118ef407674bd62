"""Workers of one kind: giving them parts, a few at a time, and having done again what was lost with one."""

from __future__ import annotations

import logging
import pickle
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from equiview.engine.base import Needs
from equiview.engine.worker import Failed, Worker
from equiview.errors import InputError

DEPTH = 2
"""Parts a worker has at once: the one it does, and the next, so that it does not wait for this process."""
DEATHS = 3
"""Workers that may die at one part, or before they are up, one after the other."""
PATIENCE, TICK = 60.0, 2.0
"""Seconds to wait for any worker at all, and between looks."""


@dataclass(eq=False)
class Seat:
    """A worker, and the number of its process, None until it is up."""

    actor: Any
    process: int | None = None


class Pool:
    """Workers that each take `needs`, in `folder`; `alive` says whether the cluster has room for any."""

    def __init__(self, ray: Any, needs: Needs, folder: str, alive: Callable[[Needs], bool]) -> None:
        self.ray = ray
        self.needs = needs
        self.alive = alive
        actor: Any = ray.remote(num_cpus=needs.cores, num_gpus=int(needs.accelerator), max_restarts=0)(Worker)
        self._begin: Callable[[], Any] = lambda: actor.remote(folder, needs.threads)
        self.seats: list[Seat] = []
        self._up: dict[Any, Seat] = {}
        self._failed = 0

    def fill(self, count: int) -> None:
        """Ask for workers until there are `count`."""
        while len(self.seats) < count:
            seat = Seat(self._begin())
            self.seats.append(seat)
            self._up[seat.actor.process.remote()] = seat

    def close(self) -> None:
        """End all workers."""
        for seat in self.seats:
            self.ray.kill(seat.actor)
        self.seats, self._up = [], {}

    @property
    def processes(self) -> list[int]:
        """The numbers of the workers' processes, of those that are up."""
        return [seat.process for seat in self.seats if seat.process is not None]

    def map(
        self,
        key: str,
        asked: bytes,
        parts: Iterable[Any],
        shared: tuple[Any, ...],
        size: Callable[[Any], int],
        room: int,
    ) -> Iterator[Any]:
        """Yield the result of each part in order; see `RayEngine.map`."""
        task = _Task(self, key, self.ray.put(asked), [self.ray.put(value) for value in shared])
        source, exhausted = enumerate(parts), False
        given = yielded = 0
        seen = time.monotonic()
        while not (exhausted and yielded == given):
            while (seat := self._free(task)) is not None:
                window = DEPTH * len(self.seats)
                if task.again:
                    task.give(seat, task.again.popleft())
                elif exhausted or given - yielded >= window or task.held > room:
                    break
                elif (following := next(source, None)) is None:
                    exhausted = True
                else:
                    task.take(*following, size(following[1]))
                    task.give(seat, given)
                    given += 1
            if yielded in task.done:
                yield task.result(yielded)
                yielded += 1
            elif not (exhausted and yielded == given):
                seen = self._wait(task, seen)

    def _free(self, task: _Task) -> Seat | None:
        """The worker that is up and has least to do, if any may have more."""
        up = [seat for seat in self.seats if seat.process is not None and len(task.at[seat]) < DEPTH]
        return min(up, key=lambda seat: len(task.at[seat]), default=None)

    def _wait(self, task: _Task, since: float) -> float:
        """Wait until something happened; returns when a worker was last seen."""
        ready, _ = self.ray.wait([*task.waiting, *self._up], num_returns=1, timeout=TICK)
        for ref in ready:
            if ref in self._up:
                self._came_up(ref)
            elif ref in task.waiting:  # not taken back meanwhile, with its worker
                self._came_back(task, ref)
        if ready or self.processes:
            return time.monotonic()
        if time.monotonic() - since > PATIENCE:
            if not self.alive(self.needs):
                raise InputError(
                    "no machine of the Ray cluster is left to work on; what was finished is kept, and the "
                    "same command continues when there is one"
                )
            logging.getLogger("equiview").warning("equiview: note: waiting for a worker of the Ray cluster")
            return time.monotonic()
        return since

    def _came_up(self, ref: Any) -> None:
        seat = self._up.pop(ref)
        try:
            seat.process = self.ray.get(ref)
            self._failed = 0
        except self.ray.exceptions.RayError as error:
            self._failed += 1
            if self._failed >= DEATHS * max(1, len(self.seats)):
                raise InputError(
                    f"workers of the Ray cluster end before they begin ({_line(error)})"
                ) from None
            self._replace(seat)

    def _came_back(self, task: _Task, ref: Any) -> None:
        seat, number = task.waiting.pop(ref)
        try:
            content = self.ray.get(ref)
        except self.ray.exceptions.RayTaskError as error:  # what it was given cannot be read there
            raise InputError(f"a worker of the Ray cluster cannot read its work ({_line(error)})") from None
        except self.ray.exceptions.RayError as error:
            first = task.at[seat][0]
            task.deaths[first] = task.deaths.get(first, 0) + 1
            if task.deaths[first] >= DEATHS:
                raise InputError(
                    f"{DEATHS} workers of the Ray cluster died at the same part of the work, is there enough "
                    f"memory for each? ({_line(error)})"
                ) from None
            task.take_back(seat)
            self._replace(seat)
            return
        task.finish(seat, number, content)

    def _replace(self, seat: Seat) -> None:
        if seat in self.seats:
            self.seats.remove(seat)
            self.ray.kill(seat.actor)
            self.fill(len(self.seats) + 1)


class _Task:
    """One call of `map`: parts that are under way, by number."""

    def __init__(self, pool: Pool, key: str, asked: Any, shared: list[Any]) -> None:
        self.ray, self.key, self.asked, self.shared = pool.ray, key, asked, shared
        self.parts: dict[int, Any] = {}
        self.sizes: dict[int, int] = {}
        self.waiting: dict[Any, tuple[Seat, int]] = {}
        self.at: defaultdict[Seat, list[int]] = defaultdict(list)
        self.again: deque[int] = deque()
        self.done: dict[int, bytes] = {}
        self.largest = 0
        self.deaths: dict[int, int] = {}

    @property
    def held(self) -> int:
        """Bytes of the parts under way and, if they are as large as the largest so far, of their results."""
        return sum(self.sizes.values()) + self.largest * len(self.sizes)

    def take(self, number: int, part: Any, size: int) -> None:
        """Put a part where workers can read it."""
        self.parts[number], self.sizes[number] = self.ray.put(part), size

    def give(self, seat: Seat, number: int) -> None:
        """Let a worker do a part."""
        ref = seat.actor.do.remote(self.key, self.asked, self.parts[number], *self.shared)
        self.waiting[ref] = (seat, number)
        self.at[seat].append(number)

    def take_back(self, seat: Seat) -> None:
        """Have all parts of a worker that is gone done again, the first ones first."""
        self.waiting = {ref: given for ref, given in self.waiting.items() if given[0] is not seat}
        self.again = deque(sorted({*self.again, *self.at.pop(seat)}))

    def finish(self, seat: Seat, number: int, content: bytes) -> None:
        """Keep the result of a part, and forget the part."""
        self.at[seat].remove(number)
        self.done[number] = content
        self.largest = max(self.largest, len(content))
        del self.parts[number], self.sizes[number]

    def result(self, number: int) -> Any:
        """The result of a part, once; raises the error of the work."""
        result = pickle.loads(self.done.pop(number))
        if isinstance(result, Failed):
            raise result.again()
        return result


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[-300:]
