"""What ranked captions say: ODmAP, how often they name what is gone, by class and by pair; recall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.base import View, once
from equiview.audits.decorrelation.naming import chance_odmap
from equiview.audits.decorrelation.observe import DIRECTIONS, IMAGES
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.audits.estimating import Rows, joined, summarise
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.metrics import odmap_at_k
from equiview.stats import chance_success, mean_interval, sign_flip_test

ODMAP, NAMED, EXCESS, KEPT, RECALL = (
    "ODmAP",
    "naming what is gone",
    "excess naming",
    "naming what is there",
    "R",
)
FEW = 3
"""Fewer images give no estimate of a class or a pair of classes."""
NORMAL = NormalDist().inv_cdf(0.75)
"""The median absolute deviation of a normal distribution, in standard deviations."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lists:
    """The lists of one kind of image as matrices, a row for each query that has one, `(n, depth)`.

    `rows` `(n,)` are places among the queries, `counts` their counts of the pool, `caption` places in it.
    """

    rows: NDArray[np.int64]
    counts: pl.DataFrame
    correct: NDArray[np.bool_]
    removed: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    expected: Floats
    caption: NDArray[np.int64]


class Ranked(View[DecorrelationSettings]):
    """What was observed, with the lists as matrices."""

    @cached_property
    def lists(self) -> dict[str, Lists]:
        """The lists of synthetic and of unchanged images, in the order of the queries."""
        return {image: self._lists_of(image) for image in IMAGES}

    def _lists_of(self, image: str) -> Lists:
        queries = self["queries"].with_row_index("place")
        every = queries.select("query_id", "place", n=pl.col("kept").list.len())
        pool = self["items"].select("item_id").with_row_index("caption")
        table = self["rankings"].filter(image=image).join(every, on="query_id").join(pool, on="item_id")
        table = table.sort("place", "rank")
        rows = table["place"].unique(maintain_order=True).to_numpy().astype(np.int64)
        shape = (len(rows), -1) if len(rows) else (0, max(self.settings.cutoffs))
        wanted = table["n"] if self.settings.kept == "all" else pl.Series([1]).new_from_index(0, len(table))
        right = ~table["removed"] & (table["kept"] >= wanted) & (table["kept"] > 0)
        return Lists(
            rows,
            self["queries"][rows],
            right.to_numpy().reshape(shape),
            table["removed"].to_numpy().reshape(shape),
            (table["kept"] > 0).to_numpy().reshape(shape),
            table["expected"].to_numpy().reshape(shape),
            table["caption"].to_numpy().astype(np.int64).reshape(shape),
        )


@once
def values(view: Ranked, settings: DecorrelationSettings) -> Values:
    """One number for each synthetic image, real image and caption; rows of one real image are a cluster.

    Images without one class share the captions that name it: what one caption adds, it adds to all of them.
    So the values are there by class as well, and by caption.
    """
    queries, recall = view["queries"], view["recall"]
    n, total = len(queries), len(queries) + len(recall)
    columns = []
    for image, lists in view.lists.items():
        if len(lists.rows):
            columns += list(_columns(lists, image, settings, total))
    for direction in DIRECTIONS:
        columns += list(_recall(recall, direction, settings, n))
    clusters = pl.concat([queries["source_id"], recall["image_id"].rename("source_id")])
    every = Values.of(_names(queries, recall), columns, clusters)
    of_lists = every.select(lambda entry: entry.metric != RECALL and not entry.keys)
    by_class = every.rows[:n].with_columns(cluster=queries["target"])
    classes = Values(by_class, of_lists.columns, of_lists.matrix[:n])
    return replace(every, shared=(classes, _by_caption(view, settings)))


def _by_caption(view: Ranked, settings: DecorrelationSettings) -> Values:
    """What each caption adds to the means over synthetic images, by its places in their lists.

    For ODmAP the derivative by a weight of the caption: what being correct there adds, and what it does to
    the precision behind it.
    """
    lists, captions = view.lists[IMAGES[0]], view["items"]["item_id"]
    columns = []
    for k in settings.cutoffs if len(lists.rows) else ():
        right, behind = lists.correct[:, :k], np.arange(1, k + 1)
        precision = np.cumsum(right, axis=1) / behind
        per_place = right / behind
        later = np.cumsum(per_place[:, ::-1], axis=1)[:, ::-1]
        lost = np.cumsum((per_place * precision)[:, ::-1], axis=1)[:, ::-1]
        added = {
            ODMAP: right * precision + right * later - lost,
            EXCESS: lists.removed[:, :k] - lists.expected[:, :k],
        }
        for metric, places in added.items():
            sums = np.bincount(lists.caption[:, :k].ravel(), places.ravel() / k, minlength=len(captions))
            columns.append(column(metric, sums * len(captions) / len(lists.rows), k=k))
    return Values.of(captions, columns)


def _names(queries: pl.DataFrame, recall: pl.DataFrame) -> pl.Series:
    """Names of the rows; a caption and an image may have the same id."""
    asked = recall.select(query_id=pl.format("{}: {}", "direction", "query_id"))
    return pl.concat([queries.select("query_id"), asked])["query_id"]


def _columns(lists: Lists, image: str, settings: DecorrelationSettings, total: int) -> Iterator[ValueColumn]:
    keys = {} if image == IMAGES[0] else {"images": image}
    pool = lists.counts["pool"].to_numpy()
    right = lists.counts[f"right_{settings.kept}"].to_numpy()
    targets = lists.counts["target"]
    for k in settings.cutoffs:
        odmap = odmap_at_k(lists.correct, k)
        chance = chance_odmap(right, pool, k)
        yield _column(ODMAP, odmap, chance, lists, total, k, **keys)
        of = {NAMED: (lists.removed, "naming_removed"), KEPT: (lists.kept, "naming_kept")}
        for metric, (marks, counted) in of.items():
            share = lists.counts[counted].to_numpy() / pool
            yield _column(metric, marks[:, :k].mean(axis=1), share, lists, total, k, **keys)
        if image != IMAGES[0]:
            continue
        yield _column(EXCESS, excess_at(lists, k), None, lists, total, k)
        for target in targets.unique().sort():
            here = targets.eq(target).to_numpy()
            if here.sum() >= FEW:
                yield _column(ODMAP, np.where(here, odmap, np.nan), chance, lists, total, k, removed=target)


def excess_at(lists: Lists, k: int) -> Floats:
    """How much more often the first `k` captions name what is gone than captions of their kinds, `(n,)`."""
    return np.asarray((lists.removed[:, :k] - lists.expected[:, :k]).mean(axis=1))


def _column(
    metric: str, measured: Floats, chance: Floats | None, lists: Lists, total: int, k: int, **keys: str
) -> ValueColumn:
    """A column over all rows, nan for queries that were not asked; its floor is a mean over the others."""
    full = np.full(total, np.nan)
    full[lists.rows] = measured
    floor = None if chance is None else float(chance[~np.isnan(measured)].mean())
    return column(metric, full, k=k, chance=floor, **keys)


def _recall(
    recall: pl.DataFrame, direction: str, settings: DecorrelationSettings, before: int
) -> Iterator[ValueColumn]:
    here = (recall["direction"] == direction).to_numpy()
    if not here.any():
        return
    rank = recall["rank"].fill_null(np.iinfo(np.int32).max).to_numpy()
    right, gallery = (recall[name].to_numpy()[here] for name in ("right", "gallery"))
    for k in settings.cutoffs:
        hits = np.full(before + len(recall), np.nan)
        hits[before:][here] = rank[here] <= k
        chance = float(np.mean(chance_success(right, int(gallery[0]), min(k, int(gallery[0])))))
        yield column(RECALL, hits, k=k, chance=chance, direction=direction)


def measure(view: Ranked, settings: DecorrelationSettings) -> Estimates:
    """Means with intervals and floors, the test of excess naming, and every pair of classes.

    Excess naming has the wider of two intervals, for images without one class that share captions, and for
    those made from one image; with fewer than ten classes it has none, and is not judged.
    """
    per_query = values(view, settings)
    rows = Rows()
    tested = [entry for entry in per_query.quantities if entry.metric == EXCESS]
    by_class = per_query.shared[0]
    matrix = by_class.at(*tested)
    shared = (by_class.clusters, per_query.clusters[: len(matrix)])
    both = [mean_interval(matrix, clusters=clusters) for clusters in shared]
    low, high = np.min([ends.low for ends in both], axis=0), np.max([ends.high for ends in both], axis=0)
    seed = settings.seed_of("signs")
    p_values = np.max(
        [
            sign_flip_test(matrix, clusters=clusters, replicates=settings.replicates, seed=seed)
            for clusters in shared
        ],
        axis=0,
    )
    for at, wanted in enumerate(tested):
        n = int(both[0].n[at])
        interval = (float(both[0].value[at]), float(low[at]), float(high[at]))
        judged = n >= settings.least and not np.isnan(interval[1])
        rows.add_known(
            wanted,
            interval,
            n,
            p=float(p_values[at]) if judged else None,
            judged=judged,
            family=str(wanted.k),
        )
    _add_classes(rows, view.lists[IMAGES[0]], settings)
    _add_pairs(rows, view.lists[IMAGES[0]], settings.judged_at)
    plain = per_query.select(lambda entry: entry.metric != EXCESS)
    return joined([summarise(plain, settings), rows.estimates()])


def _add_classes(rows: Rows, lists: Lists, settings: DecorrelationSettings) -> None:
    """Excess naming of each removed class, with p of its being at most the tolerance.

    Images vary alike within all classes, so that few of one tell how far its mean may be off. So do captions
    that a system likes, which name some classes: by how much is read from the middle half of the classes.
    """
    from scipy.special import stdtr, stdtrit  # slow to import

    k = settings.judged_at
    excess = excess_at(lists, k)
    names, place, counts = np.unique(lists.counts["target"], return_inverse=True, return_counts=True)
    means = np.bincount(place, excess) / counts
    free = min(len(names) - 1, len(excess) - len(names))  # degrees of freedom
    if free < 1:
        return
    of_images = ((excess - means[place]) ** 2).sum() / (len(excess) - len(names)) / counts
    middle = np.median(np.abs(means - np.median(means))) / NORMAL
    of_captions = middle**2 - np.median(of_images)
    errors = np.sqrt(of_images + max(of_captions, 0.0))
    if not errors.all():
        return
    reach = float(stdtrit(free, 0.975)) * errors
    p_values = stdtr(free, (settings.tolerance - means) / errors)
    for name, *ends, p, n in zip(names, means, means - reach, means + reach, p_values, counts, strict=True):
        if n >= FEW:
            wanted = quantity(EXCESS, k, removed=str(name))
            rows.add_known(wanted, (ends[0], ends[1], ends[2]), n, p=float(p), family="classes")


def _add_pairs(rows: Rows, lists: Lists, k: int) -> None:
    """How often captions name each removed class where each other class is still there, at `k`."""
    table = lists.counts.select("target", "kept").with_columns(
        naming=lists.removed[:, :k].mean(axis=1), excess=excess_at(lists, k)
    )
    pairs = (
        table.explode("kept")
        .drop_nulls("kept")
        .group_by("target", "kept", maintain_order=True)
        .agg("naming", "excess")
        .filter(pl.col("naming").list.len() >= FEW)
        .sort("target", "kept")
    )
    for row in pairs.iter_rows(named=True):
        ends = mean_interval(np.array([row["naming"], row["excess"]]).T)
        for at, metric in enumerate((NAMED, EXCESS)):
            wanted = quantity(metric, k, removed=row["target"], kept=row["kept"])
            known = (float(ends.value[at]), float(ends.low[at]), float(ends.high[at]))
            rows.add_known(wanted, known, int(ends.n[at]))
