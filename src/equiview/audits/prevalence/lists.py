"""Observed lists as arrays, with the pool that they were ranked from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.base import View
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.languages import TIERS
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.metrics import divergences_at, single_group_share
from equiview.stats import MatchedExposure, matched_exposure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
GroupMetric = Callable[..., Floats]
"""Takes groups by rank `(n_queries, depth)` and cutoffs; returns `(n_cutoffs, n_queries)`."""


@dataclass(frozen=True)
class Grouping:
    """The groups of the pool's captions: `names` in order, and of each caption its place in them."""

    names: tuple[str, ...]
    of_item: Integers

    @classmethod
    def of(cls, groups: pl.Series, names: list[str]) -> Grouping:
        """By name, one for each caption."""
        labels = groups.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
        return cls(tuple(names), labels)

    @cached_property
    def counts(self) -> Integers:
        """How many captions of the pool each group has."""
        return np.bincount(self.of_item, minlength=len(self.names))


class Lists(View[PrevalenceSettings]):
    """Lists of items by query, `(n_queries, depth)`, and what is known of the items of the pool."""

    def __init__(self, observations: Observations, settings: PrevalenceSettings) -> None:
        super().__init__(observations, settings)
        # In the order of ids, so that what is drawn does not depend on the order of rows.
        items = observations["items"]
        items = items[items["item_id"].arg_sort()].with_row_index("item")
        places = items.select("item_id", "item")
        rankings = observations["rankings"].join(places, on="item_id", how="left", maintain_order="left")
        rankings = rankings.with_columns(pl.col("query_id").cast(pl.Categorical)).sort("query_id", "rank")
        self.query_ids = rankings["query_id"].unique(maintain_order=True).cast(pl.String)
        shape = (len(self.query_ids), -1)
        self.ranked = rankings["item"].to_numpy().reshape(shape).astype(np.int64)
        self.relevant = rankings["relevant"].to_numpy().reshape(shape)
        self.depth = self.ranked.shape[1]
        self.cutoffs = [k for k in settings.cutoffs if k <= self.depth]
        if not self.cutoffs:
            raise InputError(f"all cutoffs {settings.cutoffs} lie beyond the {self.depth} ranks observed")
        self.judged_at = sorted({min(k, self.depth) for k in settings.judged_at})
        self.pool_size = len(items)
        self.codes = sorted(items["language"].unique())
        self.language = Grouping.of(items["language"], self.codes)
        tiers = items.group_by("language", maintain_order=True).agg(pl.col("tier").last())
        self.tier_of: dict[str, str | None] = dict(tiers.iter_rows())
        self.tier = _tiers(items)
        own = settings.key == "group"
        self.group = Grouping.of(items["group"], sorted(items["group"].unique())) if own else None
        known = observations["targets"].join(places, on="item_id", maintain_order="left")
        self.image = _images(known, self.pool_size)
        self.targets = known.with_columns(items.select("language", "tier")[known["item"]])
        self.n_relevant = self._counted()

    @cached_property
    def exposures(self) -> dict[str, MatchedExposure]:
        """Exposure of the groups of each grouping of `exposed`, beside that of a blind retriever."""
        return {
            key: matched_exposure(self.ranked, self.image, groups.of_item, len(groups.names), cutoffs)
            for key, (groups, cutoffs) in self.exposed.items()
        }

    @cached_property
    def captions(self) -> pl.DataFrame:
        """Captions of an image in a language whose ranks are known: how many (`len`), and the best rank."""
        known = self.targets.drop_nulls("language_rank")
        of_one = known.group_by("query_id", "language", "tier", maintain_order=True)
        return of_one.agg(pl.len(), pl.col("language_rank").min())

    def _counted(self) -> Integers:
        """How many captions each image has in the pool, `(n_queries,)`."""
        counts = self.targets.group_by("query_id", maintain_order=True).len()
        sizes = dict(counts.iter_rows())
        if missing := [name for name in self.query_ids if name not in sizes]:
            raise InputError(
                f"image {missing[0]!r} has no caption in the pool ({len(missing)} images have none)"
            )
        return np.array([sizes[name] for name in self.query_ids], dtype=np.int64)

    @cached_property
    def groupings(self) -> dict[str, Grouping]:
        """The groupings by which divergences are measured, each with at least two groups in the pool.

        The tiers are low and the others, as published.
        """
        groupings = {"language": self.language}
        if self.tier is not None:
            low = np.array([name == "low" for name in self.tier.names])[self.tier.of_item]
            groupings = {"tier": Grouping(("others", "low"), low.astype(np.int64))} | groupings
        if self.group is not None:
            groupings[self.settings.by] = self.group
        return {name: groups for name, groups in groupings.items() if np.count_nonzero(groups.counts) > 1}

    @cached_property
    def exposed(self) -> dict[str, tuple[Grouping, list[int]]]:
        """The groupings by which exposure is measured, with cutoffs; each has two groups or more."""
        everywhere = sorted({*self.cutoffs, *self.judged_at})
        exposed = {"language": (self.language, self.judged_at)}
        if self.settings.by == "tier" and self.tier is not None:
            exposed = {"tier": (self.tier, everywhere)} | exposed
        if self.group is not None:
            exposed = {"group": (self.group, everywhere)} | exposed
        return {key: entry for key, entry in exposed.items() if len(entry[0].names) > 1}

    def divergences(self, grouping: str) -> dict[str, GroupMetric]:
        """The metrics of group lists, by name, ready to be called with lists and cutoffs."""
        counts = tuple(self.groupings[grouping].counts.tolist())
        return divergences_of(grouping, counts, self.settings.prior, self.settings.eps)


def divergences_of(grouping: str, counts: tuple[int, ...], prior: str, eps: float) -> dict[str, GroupMetric]:
    """The metrics of group lists of a pool with so many captions of each group, by name."""
    pool = np.array(counts)
    shares = {"pool_shares": pool / pool.sum()} if prior == "pool" else {}
    options: dict[str, Any] = {"prior": prior, "eps": eps, **shares}
    functions: dict[str, GroupMetric] = {
        "LBKL": partial(divergences_at, n_groups=len(pool), **options),
        "DLBKL": partial(divergences_at, n_groups=len(pool), discount="log2", **options),
    }
    return functions | ({"single-group share": _single_group_shares} if grouping == "tier" else {})


def _single_group_shares(lists: Integers, cutoffs: Sequence[int]) -> Floats:
    return np.array([single_group_share(lists[:, :k]) for k in cutoffs])


def _tiers(items: pl.DataFrame) -> Grouping | None:
    """The tiers that the pool has; None where that of some language is not known."""
    if items["tier"].null_count():
        return None
    present = set(items["tier"].unique())
    return Grouping.of(items["tier"], [tier for tier in TIERS if tier in present])


def _images(known: pl.DataFrame, pool_size: int) -> Integers:
    """A number for each caption, `(pool_size,)`: the same for those of one image, -1 for an unknown image.

    A caption of several images shares its number with the captions of exactly these images.
    """
    owners = known.select("item", "query_id")
    if owners["item"].n_unique() < len(owners):
        joined = pl.col("query_id").sort().str.join("\n")
        owners = owners.group_by("item", maintain_order=True).agg(joined)
    numbers = owners["query_id"].rank("dense").to_numpy().astype(np.int64) - 1
    image = np.full(pool_size, -1, dtype=np.int64)
    image[owners["item"].to_numpy()] = numbers
    return image
