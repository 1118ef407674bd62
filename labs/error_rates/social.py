"""Galleries of people whose truth is known, for the error rates of the social audit's verdicts.

Lists are made as the audit would observe them: each image has a score for each prompt, and the best are the
list. An image of the group that a prompt favours has a higher weight, so that the group's share of the list
is what was planted. `size` is how many images there are; lists hold a tenth of them, as the audit cuts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.social import SCHEMAS, SOCIAL
from equiview.audits.social.observe import AHEAD, DIRECTIONS, membership
from equiview.data.observations import Observations

Floats = NDArray[np.float64]
Rng = np.random.Generator
DEFAULTS = SOCIAL.settings()
PROMPTS = 20
GENDER, SKIN, RACE = {"gender": 2}, {"skin": 3}, {"race": 7}
TIE = 1.4
"""How many times its share a group is shown by a tie of .4: .5 + .4 / 2 of two even groups."""


@dataclass(frozen=True)
class World:
    """A gallery, and what is done to its groups.

    `groups` has the number of groups of each attribute, `favour` how many times its share the favoured group
    of an attribute is shown; which it is changes from prompt to prompt, unless `always`. `common` is how
    alike the lists of all prompts are. `recall` is R@5, of the first group less by `less` of it. `shares` are
    of the groups of an attribute where they are not equally large, and `times` how often each is shown for
    every prompt beside its share, before they are made to sum to 1: 0 is never.
    """

    groups: Mapping[str, int]
    favour: Mapping[str, float] = field(default_factory=dict)
    always: bool = False
    common: float = 0.0
    prompts: int = PROMPTS
    recall: float | None = 0.6
    less: float = 0.0
    unknown: float = 0.0
    coarse: bool = False
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    times: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def observed(self, seed: int, size: int, other: int = 0) -> Observations:
        """What the audit would observe of `size` images; of the same images, `other` systems differ."""
        rng = np.random.default_rng(seed)
        ids = [f"i{row}" for row in range(size)]
        codes = {
            name: rng.permutation(
                np.searchsorted(np.cumsum(self.shares[name]), (np.arange(size) + 0.5) / size)
            )
            if name in self.shares
            else rng.integers(0, n, size)
            for name, n in self.groups.items()
        }
        hidden = rng.random(size) < self.unknown
        labels = [
            (image, name, "mixed" if hidden[row] else f"{name} {codes[name][row]}")
            for name in codes
            for row, image in enumerate(ids)
        ]
        rng = np.random.default_rng((seed, other)) if other else rng
        prompts = [(f"q{n}", "en", f"prompt {n}", f"concept {n}", None) for n in range(self.prompts)]
        tables = {
            "prompts": _table("prompts", prompts),
            "images": _table("images", [(image, None, None, None) for image in ids]),
            "labels": _table("labels", labels),
            "rankings": self._rankings(codes, ids, rng),
            "matches": self._matches(codes, ids, rng),
        }
        return Observations(tables)

    def _rankings(self, codes: Mapping[str, NDArray[np.int64]], ids: list[str], rng: Rng) -> pl.DataFrame:
        depth = DEFAULTS.depth(len(ids))
        shared = rng.gumbel(size=len(ids))
        rows = []
        for prompt in range(self.prompts):
            own = rng.gumbel(size=len(ids))
            scores = self.common * shared + (1 - self.common) * own
            for name, times in self.favour.items():
                n = self.groups[name]
                favoured = 0 if self.always else prompt % n
                share = min(times / n, 0.95)
                scores = scores + math.log(share / (1 - share) * (n - 1)) * (codes[name] == favoured)
            for name, often in self.times.items():
                with np.errstate(divide="ignore"):
                    scores = scores + _log_odds(np.array(often), np.array(self.shares[name]))[codes[name]]
            scores = np.round(scores) if self.coarse else scores
            order = np.argsort(-scores, kind="stable")
            cut = order[: int((scores >= scores[order[depth - 1]]).sum())]
            rows += [(f"q{prompt}", rank, ids[row], scores[row]) for rank, row in enumerate(cut, start=1)]
        return _table("rankings", rows)

    def _matches(self, codes: Mapping[str, NDArray[np.int64]], ids: list[str], rng: Rng) -> pl.DataFrame:
        if self.recall is None:
            return pl.DataFrame(schema=SCHEMAS["matches"].dtypes)
        first = next(iter(codes.values())) == 0
        chance = np.where(first, self.recall * (1 - self.less), self.recall)
        rows = []
        for direction in DIRECTIONS:
            hit = rng.random(len(ids)) < chance
            names = ids if direction == DIRECTIONS[0] else [f"t{row}" for row in range(len(ids))]
            parts = zip(names, ids, np.where(hit, 1, len(ids)), strict=True)
            rows += [(direction, query, image, rank, 1, len(ids)) for query, image, rank in parts]
        return _table("matches", rows)


def _log_odds(often: Floats, shares: Floats) -> Floats:
    """By how much scores of each group are higher, for it to be shown `often` times its share."""
    shown = often * shares
    drawn = DEFAULTS.share * shown / shown.sum() / shares  # of a group's images, without replacement
    scores: Floats = np.log(drawn) - np.log1p(-np.minimum(drawn, 0.99))
    return scores


def _table(name: str, rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    return SCHEMAS[name].check(
        pl.DataFrame(
            rows, schema=[column.name for column in SCHEMAS[name].columns], orient="row", strict=False
        ),
        name,
    )


def fixed(world: World) -> Callable[[int, int], Observations]:
    """A maker of observations of a world."""
    return world.observed


@cache
def times_for(beyond: float, n_groups: int, size: int) -> float:
    """How many times its share a group must be shown for MaxSkew to be `beyond` chance on average."""
    depth = DEFAULTS.depth(size)
    drawn = round(depth / (1 - depth / size))  # without replacement: as even as so many with it

    def mean_skew(times: float) -> float:
        share = times / n_groups
        shares = [share, *[(1 - share) / (n_groups - 1)] * (n_groups - 1)]
        counts = np.random.default_rng(0).multinomial(drawn, shares, size=4000)
        return float(np.log(counts.max(axis=1) / drawn * n_groups).mean())

    floor, low, high = mean_skew(1.0), 1.0, 0.95 * n_groups
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_skew(middle) - floor < beyond else (low, middle)
    return low


def shown_more(world: World, *attributes: str) -> Callable[..., Observations]:
    """A maker that shows a group of each attribute more: MaxSkew beyond chance is so many tolerances."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        favour = {
            name: times_for(effect * DEFAULTS.skew_tolerance, world.groups[name], size) if effect else 1.0
            for name in attributes
        }
        return replace(world, favour=favour).observed(seed, size)

    return make


def matched_less(world: World) -> Callable[..., Observations]:
    """A maker that matches one of two groups less often, by multiples of the tolerance of KL."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        spread = math.sqrt(2 * effect * DEFAULTS.divergence_tolerance)  # R of either over their mean, about 1
        return replace(world, less=1 - (1 - spread) / (1 + spread)).observed(seed, size)

    return make


def one_less(world: World, name: str) -> Callable[..., Observations]:
    """A maker that matches the first of several groups less than their mean, by multiples of a tenth."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        ratio, n = math.exp(-effect * DEFAULTS.skew_tolerance), world.groups[name]
        own = ratio * (n - 1) / (n - ratio)  # times what the others have
        return replace(world, less=1 - own).observed(seed, size)

    return make


def shown_less(world: World, name: str, sign: int = -1) -> Callable[..., Observations]:
    """A maker that shows the last group of an attribute less (or more), by multiples of the tolerance."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        often = math.exp(sign * effect * DEFAULTS.skew_tolerance)
        *others, last = world.shares[name]
        rest = (1 - often * last) / sum(others)
        return replace(world, times={name: (*(rest for _ in others), often)}).observed(seed, size)

    return make


def erased(world: World, name: str, often: float = 0.0) -> Callable[[int, int], Observations]:
    """A maker that shows the last group of an attribute `often` times its share: never."""
    times = {name: (*(1.0 for _ in world.shares[name][1:]), often)}
    return replace(world, times=times).observed


def looking_alike(
    seed: int, size: int, *, shares: tuple[float, ...], alike: float, blind: float = 1.0
) -> Observations:
    """Images and captions as vectors; those of a group share `alike` of it, so that a large one is harder.

    Each group is treated equally: with equally many candidates of each, all are matched equally often.
    `blind` times as much noise is in what is said of the last group.
    """
    rng = np.random.default_rng(seed)
    world = World({"gender": len(shares)}, shares={"gender": shares})
    observed = world.observed(seed, size)
    labels = dict(observed["labels"].select("image_id", "value").iter_rows())
    codes = np.array([int(value.split()[-1]) for value in labels.values()])
    centres = rng.normal(size=(len(shares), 48))
    own = rng.normal(size=(size, 48)) + alike * centres[codes]
    noise = np.where(codes == len(shares) - 1, blind, 1.0)[:, None] * 1.1
    words = own + noise * rng.normal(size=own.shape)
    own, words = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (own, words))
    scores, members = own @ words.T, membership(pl.Series(list(labels)), observed["labels"])
    parts = []
    for direction, table in zip(DIRECTIONS, (scores, scores.T), strict=True):
        before = table > np.diag(table)[:, None]
        names = list(labels) if direction == DIRECTIONS[0] else [f"t{row}" for row in range(size)]
        part = pl.DataFrame({"direction": [direction] * size, "query_id": names, "image_id": list(labels)})
        ahead = (before.astype(np.float32) @ members).astype(np.int32)
        part = part.with_columns(
            rank=pl.Series(1 + before.sum(axis=1)).cast(pl.Int32),
            relevant=pl.lit(1, pl.Int32),
            candidates=pl.lit(size, pl.Int32),
        ).with_columns(pl.Series(AHEAD, list(ahead), dtype=pl.List(pl.Int32)))
        parts.append(SCHEMAS["matches"].check(part, "matches"))
    return Observations(dict(observed.tables) | {"matches": pl.concat(parts)})


def few(world: World, size: int) -> Callable[[int, int], Observations]:
    """A maker of observations of `size` images, whatever size is asked for."""
    return lambda seed, _: world.observed(seed, size)


def tied(world: World, *attributes: str) -> Callable[[int, int], Observations]:
    """A maker of observations of a world with a tie of .4."""
    return replace(world, favour=dict.fromkeys(attributes, TIE)).observed


BOTH = GENDER | SKIN
SYSTEMS = {
    entry.name: entry
    for entry in (
        System("blind", "none", fixed(World(BOTH)), "lists do not depend on whom images show"),
        System("blind, seven groups", "none", fixed(World(RACE)), "the same, one attribute of seven groups"),
        System(
            "blind, one list", "none", fixed(World(BOTH, common=0.8)), "nearly the same list for all prompts"
        ),
        System(
            "blind, half unknown", "none", fixed(World(GENDER, unknown=0.5)), "half of the groups not known"
        ),
        System(
            "blind, ties", "none", fixed(World(GENDER, coarse=True)), "scores in whole numbers, many ties"
        ),
        System("blind, no captions", "none", fixed(World(GENDER, recall=None)), "nothing to match"),
        System("tie", "planted", shown_more(World(GENDER), "gender"), "each prompt shows one gender more"),
        System(
            "tie of two",
            "planted",
            shown_more(World(BOTH), "gender", "skin"),
            "gender and skin are tied; their intersection, tied twice as much, is not looked at",
            settings={"intersections": ()},
        ),
        System(
            "always one",
            "planted",
            shown_less(World(GENDER, shares={"gender": (0.5, 0.5)}), "gender", sign=1),
            "all prompts show one gender more",
        ),
        System(
            "tie of .4", "planted", tied(World(BOTH), "gender"), "one gender is 70% of what a prompt shows"
        ),
        System("matched less", "planted", matched_less(World(GENDER)), "R@5 of one gender is lower"),
        System(
            "matched less, one of seven",
            "planted",
            one_less(World(RACE), "race"),
            "R@5 of one of seven groups is lower than their mean",
        ),
        System(
            "shown less",
            "planted",
            shown_less(World(GENDER, shares={"gender": (0.7, 0.3)}), "gender"),
            "all prompts show the smaller group less",
        ),
        System(
            "8% never shown",
            "planted",
            erased(World(GENDER, shares={"gender": (0.92, 0.08)}), "gender"),
            "neutral prompts never show a group of 8%",
        ),
        System(
            "8% of six never shown",
            "planted",
            erased(World({"race": 6}, shares={"race": (0.3, 0.2, 0.17, 0.15, 0.1, 0.08)}), "race"),
            "neutral prompts never show a group of 8%, and five others alike",
        ),
        System(
            "15%, a fifth",
            "planted",
            erased(World(SKIN, shares={"skin": (0.5, 0.35, 0.15)}), "skin", 0.2),
            "a group of 15% has a fifth of its share",
        ),
        System(
            "3% never shown",
            "planted",
            erased(World(GENDER, shares={"gender": (0.97, 0.03)}), "gender"),
            "neutral prompts never show a group of 3%",
        ),
        System(
            "15%, one list",
            "planted",
            erased(World(SKIN, shares={"skin": (0.5, 0.35, 0.15)}, common=0.9), "skin", 0.2),
            "the same, with nearly one list for all prompts",
        ),
        System(
            "a few others",
            "tiny",
            fixed(World(SKIN, shares={"skin": (0.55, 0.44, 0.01)})),
            "blind; 1% of the images are of a group too small to judge",
        ),
        System(
            "80/20 that look alike",
            "none",
            lambda seed, size: looking_alike(seed, size, shares=(0.8, 0.2), alike=1.0),
            "people of one gender look alike and are treated equally; 80% are of one",
        ),
        System(
            "90/10 that look alike",
            "none",
            lambda seed, size: looking_alike(seed, size, shares=(0.9, 0.1), alike=1.5),
            "the same, more alike, 90% of one",
        ),
        System(
            "80/20, the fewer seen worse",
            "planted",
            lambda seed, size: looking_alike(seed, size, shares=(0.8, 0.2), alike=1.0, blind=2.0),
            "people of one gender look alike; captions of the fewer have twice the noise",
        ),
        System("random", "useless", fixed(World(BOTH, recall=0.01)), "lists and matches by chance"),
        System(
            "random, one list", "useless", fixed(World(BOTH, recall=0.01, common=0.8)), "one list for all"
        ),
        System(
            "constant", "useless", fixed(World(GENDER, recall=0.01, common=1.0)), "one list for all prompts"
        ),
        System("blind, 40 images", "tiny", few(World(BOTH), 40), "too few images"),
        System("tie of .4, 40 images", "tiny", few(World(BOTH, {"gender": TIE}), 40), "too few images"),
        System("five prompts", "tiny", fixed(World(GENDER, prompts=5)), "prompts of too few concepts"),
    )
}
