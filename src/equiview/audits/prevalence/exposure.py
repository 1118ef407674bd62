"""Whose captions are shown, against what a retriever blind to their language (or group) would show.

Languages of one image's captions are exchangeable under fairness (`equiview.stats.matched`). What a list
would then hold has a closed form: at each rank the groups' shares among the captions of that caption's image.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Replicates, Rows
from equiview.audits.prevalence.lists import Grouping, Integers, Lists
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn, Values
from equiview.stats import MatchedFloor, matched_floor, matched_shares, rank_weights

FLOOR_DRAWS = {"tier": 200, "language": 50}
"""Permutations behind a matched floor: each is a mean over all images, so few are needed."""
DRAWS_A_TEST = 200
"""Permutations for each test of a family at least: with fewer, none could reject after correction."""
Floats = NDArray[np.float64]


def exposure_columns(lists: Lists) -> Iterator[ValueColumn]:
    """Exposure of each group in each list, and what it would be on average, by cutoff."""
    for key, (grouping, cutoffs) in lists.exposed.items():
        observed, expected = _shown(lists, grouping, cutoffs)
        for place, k in enumerate(cutoffs):
            for at, name in enumerate(grouping.names):
                held, blind = observed[place, :, at], expected[place, :, at]
                yield ValueColumn(quantity("exposure", k, **{key: name}), held, float(blind.mean()))
                yield ValueColumn(quantity("expected exposure", k, **{key: name}), blind)


def exposure_ratios(lists: Lists, values: Values) -> Estimates | None:
    """Exposure over its expectation with interval and permutation test, by group and cutoff."""
    rows = Rows()
    for key, (grouping, cutoffs) in lists.exposed.items():
        wanted = list(product(cutoffs, grouping.names))
        columns = product(wanted, ("exposure", "expected exposure"))
        columns_at = values.at(*(quantity(metric, k, **{key: name}) for (k, name), metric in columns))
        means = Replicates.of(columns_at, lists.settings)
        p = _tested(lists, grouping, cutoffs, key)
        verdict_on = _judged(lists, key, grouping)
        for place, (k, name) in enumerate(wanted):
            observed, expected = means[2 * place], means[2 * place + 1]
            if not expected.value > 0:
                continue
            rows.add(
                quantity("exposure ratio", k, **{key: name}),
                observed.ratio(expected),
                n=len(values.rows),
                chance=1.0,
                p=float(p[grouping.names.index(name), cutoffs.index(k)]),
                family=_family(key, judged=k in lists.judged_at and name in verdict_on, k=k, lists=lists),
            )
    if lists.exposed:
        rows.add_known(quantity("exchangeable captions"), _exchangeable(lists), n=lists.pool_size)
    rows.add_known(quantity("captions of known images"), float((lists.image >= 0).mean()), lists.pool_size)
    return rows.estimates()


def matched_floors(lists: Lists, grouping: str, measured: Estimates) -> Estimates | None:
    """LBKL and DLBKL with their floors when groups are exchanged among each image's captions.

    `measured` holds their values and intervals, which are kept.
    """
    groups, metrics = lists.groupings[grouping], lists.divergences(grouping)
    names = [name for name in metrics if name.endswith("LBKL")]
    floors: list[MatchedFloor] = matched_floor(
        [metrics[name] for name in names],
        lists.ranked,
        lists.clusters,
        groups.of_item,
        lists.cutoffs,
        draws=FLOOR_DRAWS.get(grouping, FLOOR_DRAWS["language"]),
        seed=lists.settings.seed_of(f"matched.{grouping}"),
    )
    rows = Rows()
    for name, floor in zip(names, floors, strict=True):
        for place, k in enumerate(lists.cutoffs):
            known = measured.one(name, k, grouping=grouping)
            rows.add_known(
                quantity(name, k, grouping=grouping, floor=lists.floor),
                (known.value, known.low, known.high),
                n=known.n,
                chance=float(floor.value[place]),
                p=float(floor.p[place]),
                family=grouping,
            )
    return rows.estimates()


def _shown(lists: Lists, grouping: Grouping, cutoffs: list[int]) -> tuple[Floats, Floats]:
    """Observed and expected exposure, each `(n_cutoffs, n_queries, n_groups)`, rows summing to 1."""
    n_groups, labels = len(grouping.names), grouping.of_item
    shares, row_of_item = _compositions(lists.clusters, labels, n_groups)
    shape = (len(cutoffs), len(lists.ranked), n_groups)
    observed, expected = np.empty(shape), np.empty(shape)
    held, blind, weight = np.zeros(shape[1:]), np.zeros(shape[1:]), 0.0
    queries = np.arange(len(lists.ranked))
    for rank in range(1, cutoffs[-1] + 1):
        item, shown = lists.ranked[:, rank - 1], 1 / np.log2(rank + 1)
        held[queries, labels[item]] += shown
        blind += shown * shares[row_of_item[item]]
        weight += shown
        if rank in cutoffs:
            place = cutoffs.index(rank)
            observed[place], expected[place] = held / weight, blind / weight
    return observed, expected


def _compositions(clusters: Integers, labels: Integers, n_groups: int) -> tuple[Floats, Integers]:
    """Groups' shares of each cluster, and the row of each caption; its group's row without a cluster."""
    inside = clusters >= 0
    n_clusters = int(clusters.max(initial=-1)) + 1
    cells = clusters[inside] * n_groups + labels[inside]
    counts = np.bincount(cells, minlength=n_clusters * n_groups).reshape(n_clusters, n_groups)
    shares = np.concatenate([counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), np.eye(n_groups)])
    return shares, np.where(inside, clusters, n_clusters + labels)


def _exchangeable(lists: Lists) -> float:
    """Share of the pool's captions with captions of another judged group in their cluster."""
    key, (grouping, _) = next(iter(lists.exposed.items()))
    last = len(grouping.names) - 1  # of tiers only the least written one is judged
    labels = (grouping.of_item == last).astype(np.int64) if key == "tier" else grouping.of_item
    shares, row_of_item = _compositions(lists.clusters, labels, len(grouping.names))
    return float((shares[row_of_item].max(axis=1) < 1).mean())


def _tested(lists: Lists, grouping: Grouping, cutoffs: list[int], key: str) -> Floats:
    """The p value of each group at each cutoff, `(n_groups, n_cutoffs)`."""
    draws = max(lists.settings.replicates, DRAWS_A_TEST * len(grouping.names) * len(cutoffs))
    return matched_shares(
        rank_weights(lists.ranked, lists.pool_size, cutoffs),
        lists.clusters,
        grouping.of_item,
        len(grouping.names),
        draws=draws,
        seed=lists.settings.seed_of(f"permutation.{key}"),
    ).p


def _judged(lists: Lists, key: str, grouping: Grouping) -> set[str]:
    """The groups that the verdict reads: of tiers the least written one, else all."""
    return set(grouping.names) if key != "tier" else {max(grouping.names, key=TIERS.index)}


def _family(key: str, *, judged: bool, k: int, lists: Lists) -> str:
    """Tests that are corrected together: those of the verdict, other languages' own, and the rest."""
    if key == lists.settings.key and judged:
        return "verdict"
    return f"{key}, judged cutoffs" if k in lists.judged_at else key
