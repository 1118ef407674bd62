"""Numbers of lists and of samples: metrics, intervals, silhouettes, matched permutations."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.stats

from bench.contest import OURS, Contest, Way, as_it_is, cost_of, largest_difference
from equiview.metrics import average_precision_at_k, divergences_at, ndcg_at_k, silhouette_samples
from equiview.scoring import evaluate
from equiview.stats import bootstrap_interval, matched_floor

Array = np.ndarray[Any, Any]
LANGUAGES = 36
CUTOFFS = (1, 5, 10, 25, 50, 99)


def metrics(size: str) -> Contest:
    """NDCG@10 and average precision of lists of depth 100, of arrays and of dictionaries."""
    n_queries = {"small": 300, "medium": 20_000}.get(size, 100_000)
    rng = np.random.default_rng(0)
    relevant = rng.random((n_queries, 100)) < 0.05
    relevant[np.arange(n_queries), rng.integers(100, size=n_queries)] = True
    counts = relevant.sum(axis=1) + rng.integers(0, 3, n_queries)
    run, judged, language_of = _dictionaries(relevant, counts)

    def of_arrays() -> Array:
        return np.stack(
            [
                ndcg_at_k(relevant, 10, ideal="pool", n_relevant=counts),
                average_precision_at_k(relevant, 100, denominator="relevant", n_relevant=counts),
            ]
        )

    def ours(*more: str) -> Array:
        found = evaluate(run, ["ndcg@10", "ap", *more], qrels=judged, groups=language_of)
        return found.select("ndcg@10", "ap").to_numpy().T

    def read() -> None:
        np.fromiter(chain.from_iterable(map(dict.values, run.values())), np.float64, relevant.size)

    ways = [
        Way("the numbers read from the dictionaries", read),
        Way(OURS, ours, as_it_is),
        Way("equiview, LBKL@10 and DLBKL@10 as well", partial(ours, "lbkl@10", "dlbkl@10"), as_it_is),
        Way("equiview, of arrays", of_arrays, as_it_is),
    ]
    missing = []
    if importlib.util.find_spec("pytrec_eval"):
        pytrec = importlib.import_module("pytrec_eval")

        def by_pytrec() -> Array:
            found = pytrec.RelevanceEvaluator(judged, {"ndcg_cut_10", "map"}).evaluate(run)
            rows = [found[query] for query in run]
            return np.array([[row[name] for row in rows] for name in ("ndcg_cut_10", "map")])

        ways.append(Way("pytrec_eval", by_pytrec, as_it_is))
    else:
        missing.append("pytrec_eval")
    if importlib.util.find_spec("ranx"):
        ranx = importlib.import_module("ranx")

        def by_ranx() -> Array:
            both = ranx.Qrels(judged), ranx.Run(run)
            found = ranx.evaluate(*both, ["ndcg@10", "map"], return_mean=False)
            return np.stack([found["ndcg@10"], found["map"]])[:, np.argsort(np.argsort(list(run)))]

        ways.append(Way("ranx", by_ranx, as_it_is))
    else:
        missing.append("ranx")
    work = f"NDCG@10 and average precision of {n_queries:,} lists of 100, as dictionaries"
    return Contest(work, ways, largest_difference, 1e-6, "largest difference of a number", missing)


def _dictionaries(relevant: Array, counts: Array) -> tuple[Any, Any, dict[str, str]]:
    """Lists and judgements as dictionaries, of documents of a pool, and the documents' languages."""
    rng = np.random.default_rng(1)
    names = [f"doc{item}" for item in range(20 * len(relevant))]
    run, judged = {}, {}
    for query, (hits, count) in enumerate(zip(relevant, counts.tolist(), strict=True)):
        items = [names[item] for item in (rng.integers(len(names)) + 7 * np.arange(110)) % len(names)]
        shown, others = items[:100], items[100:]
        order = rng.permutation(100)  # those who make a dictionary seldom do so from best to worst
        run[f"q{query}"] = {shown[rank]: float(100 - rank) for rank in order.tolist()}
        missed = others[: count - int(hits.sum())]
        judged[f"q{query}"] = dict.fromkeys([*(shown[rank] for rank in np.flatnonzero(hits)), *missed], 1)
    return run, judged, {name: f"l{item % LANGUAGES}" for item, name in enumerate(names)}


def bootstrap(size: str) -> Contest:
    """Percentile intervals of many means from the same number of replicates."""
    queries, count, replicates = {"small": (200, 4, 500), "medium": (3600, 64, 2000)}.get(
        size, (3600, 64, 10_000)
    )
    values = np.random.default_rng(0).random((queries, count))

    def theirs() -> Any:
        return scipy.stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=replicates,
            batch=50,
            vectorized=True,
            axis=0,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval

    def share(mine: Array, other: Array) -> float:
        return float(np.abs(mine - other).max() / (other[1] - other[0]).mean())

    def ends(found: Any) -> Array:
        return np.array([found.low, found.high])

    ways = [
        Way(OURS, lambda: bootstrap_interval(values, replicates=replicates, seed=0), ends),
        Way("scipy.stats.bootstrap", theirs, ends),
    ]
    work = f"{replicates:,} replicates of {count} means over {queries:,} queries"
    return Contest(work, ways, share, 0.3, "difference of an end, of the interval's width (other draws)")


def silhouettes(size: str) -> Contest:
    """Silhouettes of many points by cosine."""
    points, width, clusters = {"small": (300, 32, 4), "medium": (4000, 768, 16)}.get(size, (11_724, 768, 16))
    rng = np.random.default_rng(0)
    labels = np.arange(points) % clusters
    x = rng.normal(size=(points, width)) + 0.3 * rng.normal(size=(clusters, width))[labels]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    ways, missing = [Way(OURS, lambda: silhouette_samples(x, labels, "cosine"), as_it_is)], []
    if importlib.util.find_spec("sklearn"):
        theirs = importlib.import_module("sklearn.metrics").silhouette_samples
        ways.append(Way("scikit-learn", lambda: theirs(x, labels, metric="cosine"), as_it_is))
    else:
        missing.append("scikit-learn")
    work = f"silhouettes of {points:,} points, {width} wide, by cosine"
    return Contest(work, ways, largest_difference, 1e-6, "largest difference of a silhouette", missing)


def growth(size: str) -> list[dict[str, Any]]:
    """Cost of intervals by replicates, and of matched floors by permutations and by images."""
    base = {"small": 200, "medium": 1800}.get(size, 3600)
    values = np.random.default_rng(0).random((base, 64))
    found = []
    replicates = [500, 1000, 2000]

    def intervals(count: int) -> Callable[[], Any]:
        return lambda: bootstrap_interval(values, replicates=count, seed=0)

    for of, by, sizes, make in (
        ("bootstrap intervals", "replicates", replicates, intervals),
        ("matched floors", "permutations", [10, 20, 40], lambda draws: partial(_floors, base, draws)),
        (
            "matched floors",
            "images",
            [base // 2, base, 2 * base],
            lambda images: partial(_floors, images, 20),
        ),
    ):
        costs = []
        for value in sizes:
            costs.append(cost_of(make(value)))
        found.append({"of": of, "by": by, "sizes": sizes, "costs": costs})
    return found


def _floors(images: int, draws: int) -> Any:
    """Floors of LBKL and DLBKL of languages at six cutoffs; each image's captions fill half of its list."""
    rng = np.random.default_rng(0)
    size = 2 * LANGUAGES
    groups = np.tile(np.arange(size) % LANGUAGES, images)
    ranked = rng.integers(len(groups), size=(images, 100))
    ranked[:, :50] = np.arange(images)[:, None] * size + rng.random((images, size)).argsort()[:, :50]
    divergences = [partial(divergences_at, n_groups=LANGUAGES, discount=how) for how in (None, "log2")]
    clusters = np.repeat(np.arange(images), size)
    return matched_floor(divergences, ranked, clusters, groups, CUTOFFS, draws=draws, seed=0)
