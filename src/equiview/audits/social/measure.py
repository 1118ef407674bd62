"""From lists and matches to numbers: MaxSkew, NDKL and Skew beside their floors, KL of R@k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from equiview.audits.base import once
from equiview.audits.estimating import Rows, Test, joined, mean_known
from equiview.audits.social.divergence import Divergence
from equiview.audits.social.exposure import exposures, matched
from equiview.audits.social.gallery import Gallery
from equiview.audits.social.groups import Grouping
from equiview.audits.social.influence import skew_of_images
from equiview.audits.social.recall import add_divergence, add_levels, centred
from equiview.audits.social.settings import SocialSettings
from equiview.audits.social.skews import (
    FEWEST,
    RESAMPLED,
    Skews,
    prompts_drawn,
    skews_of,
    weighted_mean,
)
from equiview.audits.social.tops import Floats, Lists, largest_skew, permuted, shown, smallest_skew
from equiview.data.estimates import Estimates
from equiview.data.metric import Quantity, quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.errors import InputError
from equiview.stats import LogRatio, interval, mean_interval, permutation_p, widened, wilson_interval
from equiview.stats.means import LEAST

MAX_SKEW, BEYOND, NDKL, SKEW, SHOWN = "MaxSkew", "MaxSkew beyond chance", "NDKL", "Skew", "share shown"
MIN_SKEW, MATCHED = "MinSkew", "log ratio of R"
KNOWN, SMALL, CHANCE_END = "known group", "share of the set", "MaxSkew by chance"
VERDICT, OF_INTERSECTIONS = "verdict", "intersections"
WEIGHT = 0.2
"""The share of wrong verdicts that tests of intersections may make; the rest is for attributes."""
A_TEST = 40
"""Permutations for each test of the verdict's family: with fewer, none could reject after correction."""
NDKL_DRAWS = 99
WORST = 3
"""Prompts of each attribute that are named."""


@once
def values(gallery: Gallery, settings: SocialSettings) -> Values:
    """Of each prompt MaxSkew and NDKL by attribute; of each image whether it was matched, by its group."""
    lists, groups = gallery.lists, gallery.groups
    n_prompts, images = len(lists.prompts), gallery["images"]["image_id"]
    columns: list[ValueColumn] = []
    for grouping in groups:
        columns += [
            replace(entry, values=np.pad(entry.values, (0, len(images)), constant_values=np.nan))
            for entry in _of_prompts(lists, grouping, settings)
        ]
    columns += list(_of_images(gallery, n_prompts))
    ids = [f"prompt {name}" for name in lists.prompts["prompt_id"]] + [f"image {name}" for name in images]
    clusters = np.concatenate([lists.concepts, n_prompts + np.arange(len(images))])
    return replace(Values.of(ids, columns, clusters), shared=(_by_image(gallery, columns),))


def _by_image(gallery: Gallery, columns: Sequence[ValueColumn]) -> Values:
    """MaxSkew by what each image adds to it: prompts share the images that their lists show."""
    lists = gallery.lists
    means = {entry.quantity: np.nanmean(entry.values) for entry in columns}
    shared = []
    for grouping in gallery.groups:
        added = skew_of_images(lists, grouping)
        for place, k in enumerate(lists.cutoffs):
            about = quantity(MAX_SKEW, k, attribute=grouping.attribute)
            shared.append(ValueColumn(about, means[about] + added[:, place]))
        beyond = quantity(BEYOND, None, attribute=grouping.attribute)
        shared.append(ValueColumn(beyond, means[beyond] + added[:, -1]))
    return Values.of(gallery["images"]["image_id"], shared)


def measure(gallery: Gallery, settings: SocialSettings) -> Estimates:
    """Skew by attribute and group beside permuted floors, the worst prompts, R@k by group and its KL."""
    lists, groups = gallery.lists, gallery.groups
    families = _families(groups, matched=bool(len(gallery["matches"])))
    draws = max(FEWEST, A_TEST * families[False].size)
    rows = Rows()
    add_levels(rows, gallery)
    for grouping in groups:
        if not (grouping.of_image[lists.image] >= 0).any():
            raise InputError(
                f"no list shows anybody whose {grouping.attribute} is known; leave it out of the setting "
                "'attributes', or look deeper with 'k' and 'share'"
            )
        known = 1 - grouping.excluded / lists.n_images
        rows.add_known(quantity(KNOWN, attribute=grouping.attribute), known, lists.n_images)
        family = families[grouping.is_intersection]
        _add_skews(rows, lists, grouping, settings, draws, family)
        _add_ndkl(rows, lists, grouping, settings)
        add_divergence(rows, gallery, grouping, draws, "KL of R")
        _add_matched(rows, gallery, grouping, family)
    return joined([rows.estimates()])


@dataclass(frozen=True)
class Family:
    """Tests that are corrected together: how many there are, and what each is told of them."""

    size: int
    test: Test


def _families(groups: Sequence[Grouping], *, matched: bool) -> dict[bool, Family]:
    """The tests of attributes (False), MaxSkew and two of each group, and those of intersections (True)."""
    each = 2 if matched else 1
    sizes = {False: 0, True: 0}
    for grouping in groups:
        if grouping.judged:
            sizes[grouping.is_intersection] += each * len(grouping.names) + (not grouping.is_intersection)
    shares = {False: 1 - WEIGHT, True: WEIGHT} if sizes[True] else {False: 1.0, True: 1.0}
    names = {False: VERDICT, True: OF_INTERSECTIONS}
    return {key: Family(max(1, sizes[key]), {"family": names[key], "weight": shares[key]}) for key in sizes}


def _of_prompts(lists: Lists, grouping: Grouping, settings: SocialSettings) -> Iterator[ValueColumn]:
    each = largest_skew(shown(lists, grouping, grouping.of_image[None])[0], grouping.shares)
    about = grouping.attribute
    for place, k in enumerate(lists.cutoffs):
        yield column(MAX_SKEW, each[:, place], k=k, attribute=about)
    rng = np.random.default_rng(settings.seed_of(f"floor.{grouping.attribute}"))
    null = [
        largest_skew(shown(lists, grouping, codes)[:, :, -1], grouping.shares)
        for codes in permuted(grouping, FEWEST, rng)
    ]
    yield column(BEYOND, each[:, -1] - mean_known(np.concatenate(null), axis=0), chance=0.0, attribute=about)
    if not grouping.is_intersection:
        yield column(NDKL, Divergence(lists, grouping).of(grouping.of_image), k=lists.k, attribute=about)


def _of_images(gallery: Gallery, before: int) -> Iterator[ValueColumn]:
    n_images = len(gallery["images"])
    for direction, hits in gallery.hits.items():
        asked = np.bincount(hits.image, minlength=n_images)
        right = np.bincount(hits.image, weights=hits.hit, minlength=n_images)
        mean = np.divide(right, asked, out=np.full(n_images, np.nan), where=asked > 0)
        everybody = np.pad(mean, (before, 0), constant_values=np.nan)
        chance = float(hits.chance.mean())
        yield column("R", everybody, k=hits.k, chance=chance, direction=direction)
        for grouping in gallery.groups:
            for place, name in enumerate(grouping.names):
                inside = np.pad(grouping.of_image == place, (before, 0))
                keys = {"attribute": grouping.attribute, "group": name, "direction": direction}
                if not np.isnan(everybody[inside]).all():
                    yield column("R", np.where(inside, everybody, np.nan), k=hits.k, chance=chance, **keys)


def _add_skews(
    rows: Rows, lists: Lists, grouping: Grouping, settings: SocialSettings, draws: int, tests: Family
) -> None:
    skews = skews_of(lists, grouping, settings, draws)
    keys = {"attribute": grouping.attribute}
    judged = grouping.judged and len(np.unique(lists.concepts)) >= LEAST
    last = len(lists.cutoffs) - 1
    for place, k in enumerate(lists.cutoffs):
        mean, null = float(mean_known(skews.each[:, place])), skews.null[:, place]
        if np.isnan(mean):
            continue  # so short lists show nobody whose group is known
        ends = centred(skews.drawn[:, place], mean) if judged else (np.nan, np.nan)
        counts = int(np.count_nonzero(~np.isnan(skews.each[:, place])))
        p = permutation_p(mean, null) if judged else None
        floor = float(null.mean())
        read = place == last and not grouping.is_intersection
        test: Test = {**tests.test} if read else {"family": f"curve of {grouping.attribute}"}
        if judged and read:  # the verdict asks whether it is beyond the tolerance
            beyond = (mean - floor - settings.skew_tolerance) / max(float(skews.drawn[:, place].std()), 1e-12)
            p = max(permutation_p(mean, null), NormalDist().cdf(-beyond))
        wanted = quantity(MAX_SKEW, k, **keys)
        test |= {"p": p, "judged": judged}
        rows.add_known(wanted, (mean, *ends), counts, floor, **test)
        if place == last:
            less = (mean - floor, ends[0] - floor, ends[1] - floor)
            rows.add_known(quantity(BEYOND, None, **keys), less, counts, 0.0, judged=judged)
        for end, level in zip(("low", "high"), np.quantile(null, (0.025, 0.975)), strict=True):
            about = quantity(CHANCE_END, k, end=end, attribute=grouping.attribute)
            rows.add_known(about, float(level), len(null))
    least = smallest_skew(skews.shares, grouping.shares, lists.k)
    fewest = mean_interval(least, clusters=lists.concepts)
    about = quantity(MIN_SKEW, lists.k, **keys)
    rows.add_known(about, (fewest.value, fewest.low, fewest.high), int(fewest.n), judged=judged)
    _add_groups(rows, lists, grouping, skews, settings.skew_tolerance, tests if judged else None)
    _add_worst(rows, lists, grouping, skews)


def _add_groups(
    rows: Rows, lists: Lists, grouping: Grouping, skews: Skews, margin: float, tests: Family | None
) -> None:
    """Of each group its mean share of the lists, and ln of that over its share of the set, tested."""
    ratios, judged = exposures(lists, grouping, skews.shares, margin), tests is not None
    means, pool = mean_known(skews.shares, axis=0), grouping.shares
    n = int(np.count_nonzero(~np.isnan(skews.shares[:, 0])))
    for place, name in enumerate(grouping.names):
        keys = {"attribute": grouping.attribute, "group": name}
        mean, share = float(means[place]), float(pool[place])
        apart = np.abs(skews.null_shares[:, place] - share)
        p = permutation_p(abs(mean - share), apart) if judged else None
        ends = _ends(mean, skews.drawn_shares[:, place], judged)
        family = f"groups of {grouping.attribute}"
        rows.add_known(quantity(SHOWN, lists.k, **keys), ends, n, share, p=p, judged=judged, family=family)
        about = quantity(SKEW, lists.k, **keys)
        _add_ratio(rows, about, ratios[place], n, tests)
    for name, count in grouping.small.items():
        if grouping.judged:  # not compared, but reported
            share = count / len(grouping.of_image)
            keys = {"attribute": grouping.attribute, "group": name}
            rows.add_known(quantity(SMALL, None, **keys), (share, np.nan, np.nan), count, judged=False)


def _add_ratio(rows: Rows, about: Quantity, ratio: LogRatio | None, n: int, tests: Family | None) -> None:
    """An effect that the verdict reads, with its test at the tolerance; without `tests` it is not judged.

    Groups are nearly independent, so intervals that hold for all of the tests at once are Sidak's.
    """
    if ratio is None:
        return
    if tests is None:
        rows.add_known(about, (ratio.value, np.nan, np.nan), n, 0.0, judged=False)
        return
    ends = (ratio.value, ratio.low, ratio.high)
    low, high = widened(*ends, 0.95 ** (1 / tests.size), n)
    test: Test = {**tests.test, "p": ratio.p, "judged": True, "low_all": low, "high_all": high}
    rows.add_known(about, ends, n, 0.0, **test)


def _add_matched(rows: Rows, gallery: Gallery, grouping: Grouping, tests: Family) -> None:
    """Of each group ln of its R@k over the mean of the groups', both directions together."""
    found = matched(gallery, grouping, gallery.settings.skew_tolerance)
    if found is None:
        return
    k = next(iter(gallery.hits.values())).k
    for name, ratio, n in zip(grouping.names, found.ratios, found.n, strict=True):
        about = quantity(MATCHED, k, attribute=grouping.attribute, group=name)
        _add_ratio(rows, about, ratio, n, tests if grouping.judged and found.judged else None)


def _ends(value: float, draws: Floats, judged: bool) -> tuple[float, float, float]:
    """A value with its interval, of the draws that are finite; none where it is not judged."""
    finite = draws[np.isfinite(draws)]
    if not judged or not finite.size:
        return value, np.nan, np.nan
    low, high = (float(end) for end in interval(finite))
    return value, min(low, value), max(high, value)


def _add_worst(rows: Rows, lists: Lists, grouping: Grouping, skews: Skews) -> None:
    """The prompts with the largest MaxSkew, each with the group that is shown the most beyond its share."""
    at_k = skews.each[:, -1]
    texts, pool = lists.prompts["text"], grouping.shares
    known = lists.count((grouping.of_image >= 0).astype(np.float32)[:, None])[:, -1, 0]
    seen: set[str] = set()
    for row in np.argsort(-np.nan_to_num(at_k, nan=-1.0), kind="stable"):
        if len(seen) == WORST or np.isnan(at_k[row]):
            break
        if texts[int(row)] in seen:
            continue
        seen.add(texts[int(row)])
        place = int(np.argmax(skews.shares[row] / pool))
        n, share = int(known[row]), float(skews.shares[row, place])
        low, high = wilson_interval(np.array([share]), np.array([n]))
        keys = {"attribute": grouping.attribute, "group": grouping.names[place], "prompt": texts[int(row)]}
        rows.add_known(quantity(SHOWN, lists.k, **keys), (share, low[0], high[0]), n, float(pool[place]))


def _add_ndkl(rows: Rows, lists: Lists, grouping: Grouping, settings: SocialSettings) -> None:
    """NDKL by attribute; of intersections it is not measured."""
    if grouping.is_intersection:
        return
    divergence = Divergence(lists, grouping)
    each = divergence.of(grouping.of_image)
    judged = grouping.judged and len(np.unique(lists.concepts)) >= LEAST
    rng = np.random.default_rng(settings.seed_of(f"ndkl.{grouping.attribute}"))
    null = np.array(
        [mean_known(divergence.of(codes)) for block in permuted(grouping, NDKL_DRAWS, rng) for codes in block]
    )
    mean = float(mean_known(each))
    rng = np.random.default_rng(settings.seed_of(f"ndkl bootstrap.{grouping.attribute}"))
    times = prompts_drawn(lists, RESAMPLED, rng)
    # Prompts are resampled; the variation by images is that of the permutations.
    drawn = weighted_mean(np.broadcast_to(each, times.shape), times)
    drawn = drawn + rng.choice(null - null.mean(), RESAMPLED)
    rows.add_known(
        quantity(NDKL, lists.k, attribute=grouping.attribute),
        (mean, *(centred(drawn, mean) if judged else (np.nan, np.nan))),
        int(np.count_nonzero(~np.isnan(each))),
        float(null.mean()),
        p=permutation_p(mean, null) if judged else None,
        judged=judged,
        family="NDKL",
    )
