"""Silhouettes of many points, beside `sklearn.metrics.silhouette_samples`.

Each pair is measured back to back in one process, so that a slow moment of the machine hits both; the median
of the pairs' ratios is printed for each metric, with the largest difference between the two results.

    python bench/silhouette.py [--points 11724] [--width 768] [--clusters 16] [--pairs 3] [--metrics NAME ...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import sklearn.metrics

from equiview.metrics import silhouette_samples
from equiview.metrics.silhouette import Metric


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long `call` took, and what it returned."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(x: np.ndarray, labels: np.ndarray, metric: Metric, pairs: int) -> None:
    """Measure one metric `pairs` times and print the outcome."""
    ratios, ours, theirs = [], 0.0, 0.0
    silhouette_samples(x, labels, metric)  # warm up threads and caches
    for _ in range(pairs):
        ours, mine = seconds(lambda: silhouette_samples(x, labels, metric))
        theirs, other = seconds(lambda: sklearn.metrics.silhouette_samples(x, labels, metric=metric))
        ratios.append(theirs / ours)
        apart = np.abs(mine - other).max()
        print(f"{metric:12} equiview {ours:7.3f} s   scikit-learn {theirs:7.3f} s   apart {apart:.0e}")
    print(f"{metric:12} median of ratios: {statistics.median(ratios):.1f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", type=int, default=11_724)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--clusters", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--metrics", nargs="+", choices=get_args(Metric), default=get_args(Metric))
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    labels = np.arange(options.points) % options.clusters
    x = rng.normal(size=(options.points, options.width))
    x += 0.3 * rng.normal(size=(options.clusters, options.width))[labels]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for metric in options.metrics:
        compare(x, labels, metric, options.pairs)


if __name__ == "__main__":
    main()
