"""Work done ahead: the next pieces are made in threads while the caller uses this one."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def ahead(make: Callable[[Given], Made], given: Iterable[Given], *, depth: int) -> Iterator[Made]:
    """Yield `make(g)` for each `g` of `given`, in order, up to `depth` of them made before asked for.

    An error of `make` is raised where its result would have been yielded. Threads help where `make` reads
    files, decodes or resizes pictures: such code lets go of the interpreter.

    >>> list(ahead(len, ["one", "three"], depth=2))
    [3, 5]
    """
    source = iter(given)
    workers = min(depth, 8, os.cpu_count() or 1)
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="equiview-ahead")
    try:
        waiting: deque[Future[Made]] = deque(pool.submit(make, one) for one in islice(source, depth))
        while waiting:
            waiting.extend(pool.submit(make, one) for one in islice(source, 1))
            yield waiting.popleft().result()
    finally:
        # Not waited for: a generator left before its end may be collected in one of these very threads.
        pool.shutdown(wait=False, cancel_futures=True)
