"""Whose captions are shown, against what a retriever blind to their language (or group) would show.

Languages of one image's captions are exchangeable under fairness (`equiview.stats.matched_exposure`).
Captions that have no equal of another group take part on neither side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import Rows
from equiview.audits.prevalence.lists import Lists
from equiview.data.estimates import Estimates
from equiview.data.languages import TIERS, known_languages
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn
from equiview.stats import MatchedFloor, joint_level, largest_deviations, matched_floor, pearson_interval

FLOOR_DRAWS = {"tier": 200, "language": 50}
"""Permutations behind a matched floor: each is a mean over all images, so few are needed."""
JOINT_DRAWS = 1000
"""Draws that tell the 95% quantile of the largest deviation of many ratios."""
LEAST_EXCHANGEABLE = 0.1
"""Least share of the exposure that captions with an equal have, for a cutoff to be judged."""
FARTHEST = 1000.0
"""A group that is never shown, or whose interval has no end, lies this many times off on a log scale."""
RATIO, LOG_RATIO, ALIKE = "exposure ratio", "log exposure ratio", "exchangeable exposure"
FOLLOWS = "Spearman of exposure and web share"
LEAST_LANGUAGES = 5
Floats = NDArray[np.float64]


def exposure_columns(lists: Lists) -> Iterator[ValueColumn]:
    """Exposure of each group in each list, and what it would be on average, by cutoff."""
    return _columns(lists, by_image=False)


def shared_columns(lists: Lists) -> Iterator[ValueColumn]:
    """The same totals by image of the captions shown, which many lists may share."""
    return _columns(lists, by_image=True)


def _columns(lists: Lists, *, by_image: bool) -> Iterator[ValueColumn]:
    for key, (grouping, cutoffs) in lists.exposed.items():
        found = lists.exposures[key]
        observed, expected = found.by_cluster if by_image else found.by_query
        for place, k in enumerate(cutoffs):
            for at, name in enumerate(grouping.names):
                held, blind = observed[place, :, at], expected[place, :, at]
                yield ValueColumn(quantity("exposure", k, **{key: name}), held, float(blind.mean()))
                yield ValueColumn(quantity("expected exposure", k, **{key: name}), blind)


def exposure_ratios(lists: Lists) -> Estimates | None:
    """Exposure over its expectation, and its logarithm, by group and cutoff.

    The interval is two-way, over queries and images of captions; p is of a ratio within the tolerance.
    """
    rows = Rows()
    for key, (grouping, cutoffs) in lists.exposed.items():
        found = lists.exposures[key]
        seed = lists.settings.seed_of(f"simultaneous.{key}")
        draws = found.draws(JOINT_DRAWS, seed).reshape(JOINT_DRAWS, -1)
        level = joint_level(largest_deviations(found.value.ravel(), draws))
        ends, all_ends = np.stack(found.interval()), np.stack(found.interval(level))
        p = found.p_beyond(lists.settings.tolerance)
        verdict_on = _judged(lists, key, grouping.names)
        for place, k in enumerate(cutoffs):
            for at, name in enumerate(grouping.names):
                value = float(found.value[place, at])
                if math.isnan(value):
                    continue
                family = _family(key, judged=k in lists.judged_at and name in verdict_on, k=k, lists=lists)
                enough = None if found.exchangeable[place] >= LEAST_EXCHANGEABLE else False
                for metric, change in ((RATIO, float), (LOG_RATIO, logarithm)):
                    low, high, low_all, high_all = (
                        change(float(end)) for end in (*ends[:, place, at], *all_ends[:, place, at])
                    )
                    rows.add_known(
                        quantity(metric, k, **{key: name}),
                        (change(value), low, high),
                        n=len(lists.ranked),
                        chance=change(1.0),
                        p=float(p[place, at]),
                        family=f"{metric}, {family}",
                        judged=enough,
                        of_all=(low_all, high_all),
                    )
            if key == next(iter(lists.exposed)):
                rows.add_known(quantity(ALIKE, k), float(found.exchangeable[place]), n=lists.pool_size)
    _add_web(rows, lists)
    rows.add_known(quantity("captions of known images"), float((lists.image >= 0).mean()), lists.pool_size)
    return rows.estimates()


def logarithm(ratio: float) -> float:
    """The natural logarithm of a ratio, which counts at most `FARTHEST` times to either side.

    >>> round(logarithm(0.5) + logarithm(2.0), 9), round(logarithm(0.0), 1)
    (0.0, -6.9)
    """
    return math.log(min(max(ratio, 1 / FARTHEST), FARTHEST))


def _add_web(rows: Rows, lists: Lists) -> None:
    """Whether exposure follows how much of the web is written in a language, at each judged cutoff."""
    if "language" not in lists.exposed:
        return
    grouping, cutoffs = lists.exposed["language"]
    shares = dict(known_languages().select("code", "commoncrawl_percent").iter_rows())
    web = np.array([shares.get(code, np.nan) for code in grouping.names])
    for place, k in enumerate(cutoffs):
        value = lists.exposures["language"].value[place]
        known = ~(np.isnan(web) | np.isnan(value))
        if known.sum() < LEAST_LANGUAGES or min(len(set(web[known])), len(set(value[known]))) < 2:
            continue
        found = pearson_interval(*(pl.Series(x[known]).rank().to_numpy() for x in (web, value)))
        ends = (found.value, found.low, found.high)
        rows.add_known(quantity(FOLLOWS, k), ends, found.n, chance=0.0, p=found.p_value, family="web")


def matched_floors(lists: Lists, grouping: str) -> dict[str, MatchedFloor]:
    """The floors of LBKL and DLBKL when groups are exchanged among each image's captions, by name."""
    groups, metrics = lists.groupings[grouping], lists.divergences(grouping)
    names = [name for name in metrics if name.endswith("LBKL")]
    floors = matched_floor(
        [metrics[name] for name in names],
        lists.ranked,
        lists.image,
        groups.of_item,
        lists.cutoffs,
        draws=FLOOR_DRAWS.get(grouping, FLOOR_DRAWS["language"]),
        seed=lists.settings.seed_of(f"matched.{grouping}"),
    )
    return dict(zip(names, floors, strict=True))


def beside_matched(
    lists: Lists, grouping: str, floors: Mapping[str, MatchedFloor], measured: Estimates
) -> Estimates | None:
    """Divergences beside their matched floors; their values and intervals are those of `measured`."""
    rows = Rows()
    for name, floor in floors.items():
        for place, k in enumerate(lists.cutoffs):
            known = measured.one(name, k, grouping=grouping)
            rows.add_known(
                quantity(name, k, grouping=grouping, floor="matched"),
                (known.value, known.low, known.high),
                n=known.n,
                chance=float(floor.value[place]),
                p=float(floor.p[place]),
                family=grouping,
            )
    return rows.estimates()


def _judged(lists: Lists, key: str, names: tuple[str, ...]) -> set[str]:
    """The groups that the verdict reads: of tiers the least written one, else all."""
    return set(names) if key != "tier" else {max(names, key=TIERS.index)}


def _family(key: str, *, judged: bool, k: int, lists: Lists) -> str:
    """Tests that are corrected together: those of the verdict, other languages' own, and the rest."""
    if key == lists.settings.key and judged:
        return "verdict"
    return f"{key}, judged cutoffs" if k in lists.judged_at else key
