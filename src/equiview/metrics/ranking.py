"""How good a ranking is: accuracy, NDCG and average precision, all with binary relevance.

Every function takes `relevant`, `(n_queries, depth)`: is the item at this rank relevant to this query, best
rank first. `n_relevant`, `(n_queries,)`, says how many relevant items the whole pool holds for the query,
retrieved or not. Every function returns `(n_queries,)` float64 in [0, 1]; averaging is left to the caller,
because an interval needs the queries one by one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.metrics._check import as_n_relevant, as_relevant, one_of


def accuracy_at_k(relevant: ArrayLike, k: int) -> NDArray[np.float64]:
    """Is any relevant item in the top `k`: 1 or 0, also known as success or hit rate.

    `relevant` is `(n_queries, depth)`; returns `(n_queries,)`. This is the Accuracy@k of "Evaluating
    Perspectival Biases in Cross-Modal Retrieval" (Table 1), where a caption of the query image in any
    language is relevant, and the R@k (recall) of papers on image-text retrieval, for which *any* of a query's
    relevant items will do.

    Raises MetricInputError when `depth` < `k`.

    >>> accuracy_at_k([[True, False, True], [False, False, True]], k=2).tolist()
    [1.0, 0.0]
    """
    table = as_relevant(relevant, k)
    return np.asarray(table[:, :k].any(axis=1), dtype=np.float64)


def ndcg_at_k(
    relevant: ArrayLike,
    k: int,
    *,
    ideal: Literal["pool", "retrieved"] = "pool",
    n_relevant: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Discounted gain of the top `k` over that of the ideal ordering; discount 1 / log2(rank + 1).

    `relevant` is `(n_queries, depth)`; returns `(n_queries,)` in [0, 1]. The ideal ordering puts first

    - `ideal="pool"`: all the query's relevant items, min(`n_relevant`, `k`) of them. The standard reading
      (Järvelin and Kekäläinen, 2002). Needs `n_relevant`, `(n_queries,)`.
    - `ideal="retrieved"`: those among the `depth` columns, however many the pool holds. This reproduces
      the numbers of "Evaluating Perspectival Biases in Cross-Modal Retrieval" (Table 1) from the top 100; it
      is never lower than the other. A query that retrieved nothing relevant in `depth` ranks scores 0.

    Raises UndefinedMetricError for a query without a relevant item in the pool; MetricInputError when
    `depth` < `k`.

    >>> ndcg_at_k([[False, True, False]], k=2, ideal="retrieved").round(4).tolist()
    [0.6309]
    >>> ndcg_at_k([[False, True, False]], k=2, n_relevant=[5]).round(4).tolist()
    [0.3869]
    """
    one_of(ideal, "ideal", ("pool", "retrieved"))
    table = as_relevant(relevant, k)
    retrieved = table.sum(axis=1)
    if ideal == "pool":
        total = as_n_relevant(n_relevant, retrieved, "the ideal ordering of the pool has that many on top")
    else:
        total = np.maximum(retrieved, 1)  # nothing retrieved: no gain, so 0 whatever it is divided by
    discounts = 1 / np.log2(np.arange(2, k + 2))
    rows, ranks = np.nonzero(table[:, :k])
    ideals: NDArray[np.float64] = np.cumsum(discounts)[np.minimum(total, k) - 1]
    return _added(discounts[ranks], rows, len(table)) / ideals


def average_precision_at_k(
    relevant: ArrayLike,
    k: int,
    *,
    denominator: Literal["ideal", "relevant", "cutoff"] = "ideal",
    n_relevant: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Sum over the relevant ranks i <= `k` of the precision at i, over the `denominator`.

    `relevant` is `(n_queries, depth)`; returns `(n_queries,)` in [0, 1]. The denominator is

    - `"ideal"`: min(`n_relevant`, `k`), so that a perfect top `k` scores 1;
    - `"relevant"`: `n_relevant`, as trec_eval's `map_cut` has it;
    - `"cutoff"`: `k`, as in the ODmAP@k of "Exposing and Mitigating Spurious Correlations for Cross-Modal
      Retrieval"; the only one that needs no `n_relevant`.

    Raises UndefinedMetricError for a query without a relevant item where `n_relevant` counts;
    MetricInputError when `depth` < `k`.

    >>> average_precision_at_k([[True, False, True, True]], k=3, n_relevant=[5]).round(4).tolist()
    [0.5556]
    >>> average_precision_at_k([[True, False, True, True]], k=3, denominator="cutoff").round(4).tolist()
    [0.5556]
    >>> average_precision_at_k([[True]], k=1, denominator="relevant", n_relevant=[5]).tolist()
    [0.2]
    """
    one_of(denominator, "denominator", ("ideal", "relevant", "cutoff"))
    table = as_relevant(relevant, k)
    if denominator == "cutoff":
        whole = np.full(len(table), k)
    else:
        whole = as_n_relevant(n_relevant, table.sum(axis=1), f"denominator={denominator!r} divides by it")
        if denominator == "ideal":
            whole = np.minimum(whole, k)
    rows, ranks = np.nonzero(table[:, :k])
    found = np.cumsum(table[:, :k], axis=1)[rows, ranks]
    score: NDArray[np.float64] = _added(found / (ranks + 1), rows, len(table)) / whole
    return score


def _added(gains: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Sums of the gains of each of `n` rows, rank by rank: neither depth nor other rows round them."""
    return np.asarray(np.bincount(rows, gains, n), dtype=np.float64)


def odmap_at_k(correct: ArrayLike, k: int) -> NDArray[np.float64]:
    """ODmAP@k of each synthetic image: the mean of precision x correctness over its first `k` captions.

    `correct` is `(n_queries, depth)` booleans by rank: does the caption name what the image still shows, and
    nothing that was removed. Returns `(n_queries,)` in [0, 1]: (1 / k) sum over i of P(i) correct(i), as
    "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval" has it (section 3.2).

    Raises MetricInputError when `depth` < `k`.

    >>> odmap_at_k([[True, False, True, True]], k=3).round(4).tolist()
    [0.5556]
    """
    return average_precision_at_k(correct, k, denominator="cutoff")
