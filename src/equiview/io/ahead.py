"""Work done ahead: threads compute the next results while the caller uses the current one."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(compute: Callable[[Item], Result], items: Iterable[Item], *, depth: int) -> Iterator[Result]:
    """Yield `compute(item)` for each item, in order, with up to `depth` results computed in advance.

    An error of `compute` is raised where its result would have been yielded. Threads help where `compute`
    reads files, decodes or resizes pictures: such code releases the interpreter lock.

    >>> list(ahead(len, ["one", "three"], depth=2))
    [3, 5]
    """
    source = iter(items)
    workers = min(depth, 8, os.cpu_count() or 1)
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="equiview-ahead")
    try:
        waiting: deque[Future[Result]] = deque(pool.submit(compute, item) for item in islice(source, depth))
        while waiting:
            waiting.extend(pool.submit(compute, item) for item in islice(source, 1))
            yield waiting.popleft().result()
    finally:
        # No waiting: an unfinished generator may be garbage-collected in one of these threads.
        pool.shutdown(wait=False, cancel_futures=True)
