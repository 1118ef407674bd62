"""What was observed of a gallery of people, with its lists, groups and matches as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.base import View
from equiview.audits.social.groups import Grouping, groupings
from equiview.audits.social.observe import AHEAD, DIRECTIONS, groups_of
from equiview.audits.social.settings import SocialSettings
from equiview.audits.social.tops import Floats, Lists
from equiview.data.observations import Observations
from equiview.stats import chance_success


class Gallery(View[SocialSettings]):
    """The lists, cut where the settings say, the groups that are compared, and the hits of matching."""

    @cached_property
    def lists(self) -> Lists:
        """The observed lists."""
        settings = self.settings
        return Lists.of(self.observations, settings.depth(len(self["images"])), settings.cutoffs)

    @cached_property
    def groups(self) -> list[Grouping]:
        """Every attribute, then the intersections asked for whose attributes there are."""
        return list(groupings(self["images"]["image_id"], self["labels"], self.settings))

    @cached_property
    def hits(self) -> dict[str, Hits]:
        """The hits of each direction in which something was matched."""
        found = {name: hits_of(self.observations, name, self.settings.recall_k) for name in DIRECTIONS}
        return {name: hits for name, hits in found.items() if hits is not None}

    def columns_of(self, grouping: Grouping) -> list[int] | None:
        """Where `Hits.ahead` counts the compared groups of an attribute; None for an intersection."""
        rows = groups_of(self["labels"]).with_row_index("column").filter(attribute=grouping.attribute)
        places = dict(zip(rows["value"].str.strip_chars(), rows["column"], strict=True))
        return [places[name] for name in grouping.names] if set(grouping.names) <= set(places) else None


@dataclass(frozen=True)
class Hits:
    """Whether right results were among the first `k`, a row for each query, or caption and image.

    `image` is the row of the image, `hit` 1.0 or 0.0, `chance` the expected score of a random ranking;
    `ahead`, `(n, n_groups)`, counts the candidates of each group ranked before it, if that was observed.
    """

    direction: str
    k: int
    image: NDArray[np.int64]
    hit: Floats
    chance: Floats
    ahead: NDArray[np.int32] | None


def hits_of(observations: Observations, direction: str, k: int) -> Hits | None:
    """The hits of one direction; None where nothing was matched. `k` is at most half of the candidates."""
    rows = observations["matches"].filter(direction=direction)
    if not len(rows):
        return None
    places = observations["images"].select("image_id").with_row_index("image").cast({"image": pl.Int64})
    rows = rows.join(places, on="image_id", how="inner", maintain_order="left")
    candidates = int(rows["candidates"][0])
    k = max(1, min(k, candidates // 2))
    relevant = np.minimum(rows["relevant"].to_numpy(), candidates).astype(np.int64)
    ahead = rows[AHEAD].drop_nulls() if AHEAD in rows.columns else pl.Series([], dtype=pl.Null)
    return Hits(
        direction,
        k,
        rows["image"].to_numpy(),
        (rows["rank"].to_numpy() <= k).astype(np.float64),
        chance_success(relevant, candidates, k),
        np.array(ahead.to_list(), dtype=np.int32) if len(ahead) == len(rows) else None,
    )
