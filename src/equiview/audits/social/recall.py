"""R@k of each group of images, and how unequal it is (KL), against permutation of the groups among images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equiview.audits.estimating import Rows
from equiview.audits.social.gallery import Gallery, Hits
from equiview.audits.social.groups import Grouping
from equiview.audits.social.settings import SocialSettings
from equiview.audits.social.tops import Floats
from equiview.data.metric import quantity
from equiview.errors import UndefinedMetricError
from equiview.metrics import demographic_divergence
from equiview.stats import interval, mean_interval, permutation_p, squares_interval

LEVEL, DIVERGENCE = "R", "KL of R"


def add_levels(rows: Rows, gallery: Gallery) -> None:
    """R@k over all images in both directions, beside chance."""
    for direction, hits in gallery.hits.items():
        level = mean_interval(hits.hit, clusters=hits.image)
        ends, chance = (level.value, level.low, level.high), float(hits.chance.mean())
        rows.add_known(quantity(LEVEL, hits.k, direction=direction), ends, len(hits.hit), chance)


def add_divergence(rows: Rows, gallery: Gallery, grouping: Grouping, draws: int, family: str) -> None:
    """R@k of each group, and the KL divergence between them with its floor, test and interval."""
    settings = gallery.settings
    for direction, hits in gallery.hits.items():
        group = grouping.of_image[hits.image]
        known = (group >= 0) & (group < len(grouping.names))
        if not all((group == place).any() for place in range(len(grouping.names))):
            continue
        keys = {"attribute": grouping.attribute, "direction": direction}
        undefined, enough = not hits.hit[known].any(), []
        for place, name in enumerate(grouping.names):
            inside = group == place
            enough.append(np.unique(hits.image[inside]).size >= settings.least)
            level = mean_interval(hits.hit[inside], clusters=hits.image[inside])
            ends, chance = (level.value, level.low, level.high), float(hits.chance[inside].mean())
            wanted = quantity(LEVEL, hits.k, group=name, **keys)
            rows.add_known(wanted, ends, inside.sum(), chance, judged=enough[-1] and not undefined)
        if undefined:
            continue  # R@k of 0 in every group has no divergence; the levels show it
        value, null, drawn = _divergences(hits, grouping, settings, draws, direction)
        judged = grouping.judged and all(enough)
        rows.add_known(
            quantity(DIVERGENCE, hits.k, **keys),
            (value, *(squares_interval(value, drawn, len(enough) - 1) if judged else (np.nan, np.nan))),
            known.sum(),
            float(null.mean()),
            p=permutation_p(value, null) if judged else None,
            judged=judged,
            family=f"intersections, {family}" if grouping.is_intersection else family,
        )


def _divergences(
    hits: Hits, grouping: Grouping, settings: SocialSettings, draws: int, direction: str
) -> tuple[float, Floats, Floats]:
    """KL of the groups' R@k: as it is, with groups permuted among images, and with images resampled."""
    n_images, n_groups = len(grouping.of_image), len(grouping.names)
    right: Floats = np.bincount(hits.image, weights=hits.hit, minlength=n_images).astype(np.float64)
    asked = np.bincount(hits.image, minlength=n_images).astype(np.float64)
    rows = np.flatnonzero((asked > 0) & grouping.compared)
    right, asked, codes = right[rows], asked[rows], grouping.of_image[rows].astype(np.int64)
    purpose = f"{grouping.attribute}.{direction}"
    null, drawn = np.empty(draws), np.empty(draws)
    permute = np.random.default_rng(settings.seed_of(f"permutation.{purpose}"))
    resample = np.random.default_rng(settings.seed_of(f"bootstrap.{purpose}"))

    def divergence(codes: NDArray[np.int64], right: Floats, asked: Floats) -> float:
        sums = [np.bincount(codes, weights=values, minlength=n_groups) for values in (right, asked)]
        try:
            return demographic_divergence(
                np.divide(sums[0], sums[1], out=np.zeros(n_groups), where=sums[1] > 0)
            )
        except UndefinedMetricError:
            return float("nan")

    for draw in range(draws):
        null[draw] = divergence(permute.permutation(codes), right, asked)
        chosen = resample.integers(0, len(codes), size=len(codes))
        drawn[draw] = divergence(codes[chosen], right[chosen], asked[chosen])
    return divergence(codes, right, asked), null, drawn


def centred(draws: Floats, value: float) -> tuple[float, float]:
    """The interval of a number of 0 or more that resampling makes larger on average.

    Its draws are shifted so that their mean is the value; ends below 0 become 0.
    """
    kept = draws[~np.isnan(draws)]
    low, high = (float(end) for end in interval(kept - kept.mean() + value))
    return max(0.0, min(low, value)), max(high, value)
