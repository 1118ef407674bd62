"""Work done by threads: the next results while the caller uses the current one, or before it goes on."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(
    compute: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    depth: int,
    threads: int = 8,
    in_turn: bool = False,
) -> Iterator[Result]:
    """Yield `compute(item)` for each item, in order, with up to `depth` results computed in advance.

    With `in_turn`, for a caller that takes all processors itself, `depth` results are computed at once, and
    none while the caller uses them. An error of `compute`, or of `items`, is raised where the result would
    have been yielded. At most `threads` compute, and one for each processor. They help where `compute` reads
    files, decodes or resizes pictures: such code releases the interpreter lock. It should import as `from a
    import b`: with `import a.b`, a thread may see `a` before it has its `b`.

    >>> list(ahead(len, ["one", "three"], depth=2))
    [3, 5]
    """
    workers = min(depth, threads, os.cpu_count() or 1)
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="equiview-ahead")
    source, waiting, failed = iter(items), deque[Future[Result]](), list[Exception]()

    def submit(count: int) -> None:
        try:
            waiting.extend(pool.submit(compute, item) for item in islice(source, count))
        except Exception as error:  # what came before it is not lost
            failed.append(error)

    try:
        submit(depth)
        while waiting:
            if in_turn:
                wait(waiting)
            elif not failed:
                submit(1)
            yield waiting.popleft().result()
            if in_turn and not waiting and not failed:
                submit(depth)
        if failed:
            raise failed[0]
    finally:
        # No waiting: an unfinished generator may be garbage-collected in one of these threads.
        pool.shutdown(wait=False, cancel_futures=True)
