"""Bootstrap intervals of many metrics at once, beside `scipy.stats.bootstrap`.

Both make percentile intervals of the same means from the same number of replicates. SciPy is given its
vectorised form, all metrics in one call, with batches that fit in memory. Each pair is measured back to back
in one process, so that a slow moment of the machine hits both; the median of the pairs' ratios is printed.

    python bench/bootstrap.py [--queries 3600] [--metrics 64] [--replicates 10000] [--pairs 3]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from equiview.stats import bootstrap_interval


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long `call` took, and what it returned."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=3600)
    parser.add_argument("--metrics", type=int, default=64)
    parser.add_argument("--replicates", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    values = np.random.default_rng(0).random((options.queries, options.metrics))

    def ours() -> Any:
        return bootstrap_interval(values, replicates=options.replicates, seed=0)

    def theirs() -> Any:
        return scipy.stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=options.replicates,
            batch=50,
            vectorized=True,
            axis=0,
            method="percentile",
            rng=np.random.default_rng(0),
        )

    ours()  # warm up threads and caches
    pairs = []
    for _ in range(options.pairs):
        our_time, our_result = seconds(ours)
        their_time, their_result = seconds(theirs)
        pairs.append((our_time, their_time))
        print(f"equiview {our_time:7.3f} s   scipy {their_time:7.3f} s   {their_time / our_time:6.1f} times")
    their_ends = their_result.confidence_interval
    apart = max(
        np.abs(our_result.low - their_ends.low).max(), np.abs(our_result.high - their_ends.high).max()
    )
    width = (our_result.high - our_result.low).mean()
    shape = f"{options.replicates} replicates of {options.metrics} metrics over {options.queries} queries"
    print(f"{shape}: ends differ by at most {apart / width:.1%} of an interval's width")
    print(f"median of ratios: {statistics.median(their / our for our, their in pairs):.1f}")


if __name__ == "__main__":
    main()
