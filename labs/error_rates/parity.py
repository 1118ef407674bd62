"""Encoders whose parity is known, for the error rates of the parity audit's verdicts.

Most are tables of ranks or predictions drawn with known chances, in which images are harder or easier in all
languages alike. Where look-alike distractors or pools matter, vectors are made and really matched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.parity import PARITY
from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.data.languages import languages
from equiview.data.observations import Observations
from equiview.data.relevance import Relevance
from equiview.io.progress import Progress, silent
from equiview.subjects import Encoder

Floats = NDArray[np.float64]
Rng = np.random.Generator
ALL = tuple(languages()["code"])
LOW = set(languages().filter(tier="low")["code"])
FEW = ("de", "en", "mi", "sw")
TOLERANCE = 0.05
"""The audit's tolerance, as a share."""
ALIKE = 0.8
"""How far images are hard or easy in all languages alike: answers then correlate by about .6.

Those of the embedded aligned encoder correlate by .62 to .85 across languages, and by .65 across directions.
"""
RACES = ("Black", "East Asian", "Indian", "Latino", "Middle Eastern", "Southeast Asian", "White")
DIRECTIONS = ("image-to-text", "text-to-image")


def tables(**known: pl.DataFrame) -> Observations:
    """Observations of these tables, the others empty."""
    empty = {name: pl.DataFrame(schema=schema.dtypes) for name, schema in PARITY.schemas.items()}
    return Observations(
        empty | {name: PARITY.schemas[name].check(table, name) for name, table in known.items()}
    )


def correct(chances: Floats, size: int, rng: Rng, alike: float = ALIKE) -> NDArray[np.bool_]:
    """Right or wrong, `(size, *chances.shape)`: as often as `chances` say, images alike in all by `alike`."""
    from scipy.special import ndtr

    shape = (size, *chances.shape)
    shared = rng.normal(size=(size, *(1 for _ in chances.shape)))
    level = ndtr(np.sqrt(alike) * shared + np.sqrt(1 - alike) * rng.normal(size=shape))
    return np.asarray(level < chances)


def names(size: int) -> list[str]:
    """Ids of images."""
    return [f"i{place}" for place in range(size)]


def matched(hits: Mapping[str, NDArray[np.bool_]], codes: Sequence[str]) -> pl.DataFrame:
    """Matches of `hits` by direction, `(size, n_languages)`: rank 1, or one of those behind."""
    parts = []
    for direction, right in hits.items():
        size = len(right)
        ranks = np.where(right, 1, min(2, size)).astype(np.int32)
        parts.append(
            pl.DataFrame(
                {
                    "query_id": np.repeat(names(size), len(codes)),
                    "direction": direction,
                    "language": list(codes) * size,
                    "round": 1,
                    "rank": ranks.ravel(),
                    "candidates": size,
                }
            )
        )
    return pl.concat(parts)


def recall(chances: Mapping[str, float], size: int, seed: int) -> Observations:
    """Matching both ways with these chances of rank 1 by language."""
    rng = np.random.default_rng(seed)
    both_ways = correct(np.array([list(chances.values())] * 2), size, rng)
    hits = {direction: both_ways[:, place] for place, direction in enumerate(DIRECTIONS)}
    return tables(matches=matched(hits, list(chances)))


def labels(size: int, rng: Rng, women: float = 0.5) -> dict[str, NDArray[Any]]:
    """Gender and race of each image."""
    return {
        "gender": rng.choice(["Female", "Male"], size, p=[women, 1 - women]),
        "race": rng.choice(RACES, size),
    }


def grouped(of_images: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    """The table of groups."""
    parts = [
        pl.DataFrame({"query_id": names(len(values)), "attribute": attribute, "value": values})
        for attribute, values in of_images.items()
    ]
    return pl.concat(parts)


def classified(predicted: NDArray[Any], of_images: Mapping[str, NDArray[Any]]) -> Observations:
    """Predictions of gender, `(size, n_languages, n_paraphrases)`."""
    size, wide, deep = predicted.shape
    codes, ways = FEW[:wide], [f"w{way}" for way in range(deep)]
    predictions = pl.DataFrame(
        {
            "query_id": np.repeat(names(size), wide * deep),
            "task": "gender",
            "language": np.tile(np.repeat(codes, deep), size),
            "paraphrase": np.tile(ways, size * wide),
            "truth": np.repeat(of_images["gender"], wide * deep),
            "predicted": predicted.ravel(),
        }
    )
    prompts = pl.DataFrame(
        [
            ("gender", code, way, value, value, "")
            for code in codes
            for way in ways
            for value in ("Female", "Male")
        ],
        schema=list(PARITY.schemas["prompts"].dtypes),
        orient="row",
    )
    return tables(predictions=predictions, prompts=prompts, groups=grouped(of_images))


def classifier(seed: int, size: int, *, gap: float = 0.0, level: float = 0.97, deep: int = 3) -> Observations:
    """A classifier of gender that is right as often as `level`, of women less often by `gap`."""
    rng = np.random.default_rng(seed)
    of_images = labels(size, rng)
    woman = of_images["gender"] == "Female"
    chances = np.full((4, deep), level)
    right = np.where(woman[:, None, None], correct(chances - gap, size, rng), correct(chances, size, rng))
    answer = np.where(right == woman[:, None, None], "Female", "Male")
    return classified(answer, of_images)


def crossed(seed: int, size: int, gap: float = 0.2) -> Observations:
    """A classifier that is right of women less often by `gap` in one race, and of men in the other."""
    rng = np.random.default_rng(seed)
    of_images = labels(size, rng) | {"race": rng.choice(RACES[:2], size)}
    woman = of_images["gender"] == "Female"
    worse = (woman == (of_images["race"] == RACES[0]))[:, None, None]
    chances = np.full((4, 3), 0.97)
    right = np.where(worse, correct(chances - gap, size, rng), correct(chances, size, rng))
    return classified(np.where(right == woman[:, None, None], "Female", "Male"), of_images)


class Vectors(Encoder):
    """Vectors that are known already."""

    def __init__(self, images: Floats, texts: Floats) -> None:
        super().__init__()
        self.known = {"image": images, "text": texts}

    def encode_images(self, images: Any) -> Any:
        raise NotImplementedError

    def encode_texts(self, texts: Any) -> Any:
        raise NotImplementedError

    def embed(self, items: Items, progress: Progress = silent) -> Any:
        places = np.array([int(name[1:]) for name in items.ids])
        return self.known[items.kind][places].astype(np.float32)


def observed(
    images: Floats,
    texts: Floats,
    of_images: Mapping[str, NDArray[Any]] | None = None,
    present: NDArray[np.bool_] | None = None,
    **settings: Any,
) -> Observations:
    """What the audit observes of `images`, `(size, width)`, and `texts`, `(n_languages, size, width)`.

    `present`, `(n_languages, size)`, says which captions there are.
    """
    wide, size, width = texts.shape
    kept = np.flatnonzero(np.ones(wide * size, dtype=bool) if present is None else present.ravel())
    image_table = pl.DataFrame({"id": names(size)} | dict(of_images or {}))
    text_table = pl.DataFrame(
        {
            "id": [f"t{place}" for place in kept],
            "text": [f"caption {place}" for place in kept],
            "language": [FEW[place // size] for place in kept],
        }
    )
    pairs = Relevance.from_pairs(kept % size, np.arange(len(kept)), n_queries=size, n_items=len(kept))
    benchmark = Benchmark("vectors", Items("image", image_table), Items("text", text_table), pairs)
    chosen = PARITY.configure({"zero_shot": False, **settings})
    return PARITY.observe(Vectors(images, texts.reshape(wide * size, width)), benchmark, chosen, silent)


def captioned(seed: int, size: int, noise: float = 0.55, width: int = 16) -> tuple[Floats, Floats, Rng]:
    """Images, and captions near them in every language alike."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(size, width))
    return images, images + noise * np.sqrt(2) * rng.normal(size=(len(FEW), size, width)), rng


def equal_recall(seed: int, size: int) -> Observations:
    return recall(dict.fromkeys(ALL, 0.7), size, seed)


def ideal(seed: int, size: int) -> Observations:
    return recall(dict.fromkeys(ALL, 1.0), size, seed)


def one_language(seed: int, size: int, effect: float = 2.0) -> Observations:
    return recall(dict.fromkeys(ALL[:12], 0.8) | {"mi": 0.8 - effect * TOLERANCE}, size, seed)


def low_tier(seed: int, size: int, effect: float = 2.0) -> Observations:
    return recall({code: 0.8 - effect * TOLERANCE * (code in LOW) for code in ALL}, size, seed)


def blind_to_groups(seed: int, size: int) -> Observations:
    return classifier(seed, size)


def worse_for_women(seed: int, size: int, effect: float = 2.0) -> Observations:
    return classifier(seed, size, gap=effect * TOLERANCE)


def lookalikes(seed: int, size: int) -> Observations:
    """Four of five images are of one group, and each is mistaken for others of its group alone."""
    images, texts, rng = captioned(seed, size)
    of_images = {"gender": np.where(rng.uniform(size=size) < 0.2, "Female", "Male")}
    apart = 4.0 * np.where(of_images["gender"] == "Female", 1, -1)
    images[:, 0] = apart
    texts[..., 0] = apart
    return observed(images, texts, of_images)


def people(
    seed: int, groups: Mapping[str, int], chances: Mapping[str, float], attribute: str = "gender"
) -> Observations:
    """Matching of images of `groups`, so many of each, of which these shares come first among all captions.

    Where a caption does not come first, all others are before it; 97% where no chance is given.
    """
    rng = np.random.default_rng(seed)
    of_images = np.repeat(list(groups), list(groups.values()))
    size = len(of_images)
    level = {name: np.full(len(FEW), chances.get(name, 0.97)) for name in groups}
    right = np.concatenate([correct(level[name], count, rng) for name, count in groups.items()])
    matches = matched(dict.fromkeys(DIRECTIONS, right), FEW)
    wrong = matches.filter((pl.col("rank") > 1) & (pl.col("direction") == DIRECTIONS[0]))
    own = pl.DataFrame({"query_id": names(size), "own": of_images})
    ahead = [
        wrong.join(own, on="query_id").select(
            *("query_id", "language", "round"),
            attribute=pl.lit(attribute),
            value=pl.lit(name),
            ahead=pl.lit(count, dtype=pl.Int32) - (pl.col("own") == name).cast(pl.Int32),
        )
        for name, count in groups.items()
    ]
    behind = pl.concat(ahead).filter(pl.col("ahead") > 0)
    return tables(matches=matches, ahead=behind, groups=grouped({attribute: of_images}))


def shared_out(size: int, shares: Mapping[str, float]) -> dict[str, int]:
    """How many of `size` images each group has."""
    return {name: round(size * share) for name, share in shares.items()}


def mistaken_group(seed: int, size: int, effect: float = 2.0) -> Observations:
    """Images of one group find their caption less often among as many candidates of each."""
    halves = shared_out(size, {"Female": 0.5, "Male": 0.5})
    return people(seed, halves, {"Female": 0.97 - effect * TOLERANCE})


def unfound(seed: int, size: int, gap: float = 0.2) -> Observations:
    """Images of both groups find their captions alike, and those of one are found by text less often."""
    seen = people(seed, shared_out(size, {"Female": 0.5, "Male": 0.5}), {})
    women = seen["groups"].filter(value="Female")["query_id"]
    lost = women.filter(pl.Series(np.random.default_rng(seed + 1).random(len(women)) < gap))
    back = (pl.col("direction") == DIRECTIONS[1]) & pl.col("query_id").is_in(lost.implode())
    rank = pl.when(back).then(pl.lit(2, dtype=pl.Int32)).otherwise("rank")
    return Observations(dict(seen.tables) | {"matches": seen["matches"].with_columns(rank=rank)})


FIVE = {"Black": 0.25, "East Asian": 0.25, "Indian": 0.2, "Latino": 0.15, "White": 0.15}


def five_alike(seed: int, size: int) -> Observations:
    return people(seed, shared_out(4 * size, FIVE), {}, "race")


def one_of_five(seed: int, size: int, effect: float = 2.0) -> Observations:
    """Five groups, in four times as many images, one of which is matched less often."""
    return people(seed, shared_out(4 * size, FIVE), {"Latino": 0.97 - effect * TOLERANCE}, "race")


def outside_the_prompts(seed: int, size: int) -> Observations:
    """Two of six images are labelled by a word that no prompt has, and their captions are any."""
    images, texts, rng = captioned(seed, size, noise=0.1)
    gender = np.resize(["Female", "Male", "nonbinary"], size)
    lost = gender == "nonbinary"
    texts[:, lost] = rng.normal(size=texts[:, lost].shape)
    return observed(images, texts, {"gender": gender})


def unasked(word: str, share: float, *, predicted: bool) -> Callable[[int, int], Observations]:
    """A maker of a classifier that is right of everybody whom a prompt stands for, and asked about others.

    `predicted` says whether predictions of images labelled `word` are among what was observed.
    """

    def make(seed: int, size: int) -> Observations:
        rng = np.random.default_rng(seed)
        gender = np.where(rng.random(size) < share, word, rng.choice(["Female", "Male"], size))
        answer = np.where(gender == word, "Male", gender)
        seen = classified(np.broadcast_to(answer[:, None, None], (size, 4, 3)).copy(), {"gender": gender})
        known = [] if predicted else [word]
        return tables(
            **{name: seen[name] for name in ("prompts", "groups")},
            predictions=seen["predictions"].filter(~pl.col("truth").is_in(known)),
        )

    return make


def few_in_one_language(seed: int, size: int) -> Observations:
    """One language of four captions 29 images, none of which it finds; each has its own candidates."""
    images, texts, rng = captioned(seed, max(size, 120), noise=0.1)
    present = np.ones(texts.shape[:2], dtype=np.bool_)
    present[FEW.index("mi"), 29:] = False
    texts[FEW.index("mi")] = rng.normal(size=texts.shape[1:])
    return observed(images, texts, present=present, common=False)


def ragged(seed: int, size: int) -> Observations:
    """Languages caption 100, 80, 60 and 40% of the images, and are treated alike."""
    images, texts, rng = captioned(seed, size)
    present = rng.uniform(size=texts.shape[:2]) < np.array([0.8, 1.0, 0.4, 0.6])[:, None]
    return observed(images, texts, present=present, common=False)


def random_vectors(seed: int, size: int) -> Observations:
    rng = np.random.default_rng(seed)
    of_images = labels(size, rng, women=0.2)
    return observed(rng.normal(size=(size, 8)), rng.normal(size=(len(FEW), size, 8)), of_images)


def constant_vectors(seed: int, size: int) -> Observations:
    return observed(np.ones((size, 4)), np.ones((len(FEW), size, 4)))


def everyone_a_man(seed: int, size: int) -> Observations:
    of_images = labels(size, np.random.default_rng(seed), women=0.3)
    return classified(np.full((size, 4, 3), "Male"), of_images)


def guesses(seed: int, size: int) -> Observations:
    rng = np.random.default_rng(seed)
    of_images = labels(size, rng)
    return classified(rng.choice(["Female", "Male"], (size, 4, 3), p=[0.2, 0.8]), of_images)


def of_size(make: Callable[[int, int], Observations], size: int) -> Callable[[int, int], Observations]:
    """The same with as many images, however many are asked for."""
    return lambda seed, _: make(seed, size)


def few(name: str, groups: Mapping[str, int], chances: Mapping[str, float]) -> System:
    """A system of so many images of each group, too few of one to judge, whatever size is asked for."""
    attribute = "race" if len(groups) > 2 else "gender"
    counts = ", ".join(f"{count} {group} ({chances.get(group, 0.97):.0%})" for group, count in groups.items())
    return System(
        name,
        "tiny",
        lambda seed, _: people(seed, groups, chances, attribute),
        f"found of each group: {counts}",
    )


SYSTEMS = {
    system.name: system
    for system in (
        System("equal recall", "none", equal_recall, "36 languages, each finds 70%"),
        System("ideal", "none", ideal, "36 languages, each finds everything"),
        System("group-blind", "none", blind_to_groups, "97% of every gender and of seven races"),
        System("look-alikes", "none", lookalikes, "groups of 80 and 20%, mistaken within their group"),
        System("ragged", "none", ragged, "captions of 100 to 40% of the images", {"common": False}),
        System("five groups alike", "none", five_alike, "five races, 97% of each, of 4 times as many images"),
        System("one language", "planted", one_language, "one of 13 languages finds less than 80%"),
        System("low tier", "planted", low_tier, "21 low-tier languages of 36 find less than 80%"),
        System("worse for women", "planted", worse_for_women, "97% of men right, and fewer of women"),
        System(
            "mistaken group",
            "planted",
            mistaken_group,
            "97% of men found among as many of each, and fewer women",
        ),
        System("one of five groups", "planted", one_of_five, "the same, one race found less often"),
        System(
            "label outside the prompts",
            "planted",
            outside_the_prompts,
            "a third is labelled nonbinary, and never matched",
        ),
        System("random vectors", "useless", random_vectors, "vectors that know nothing of their image"),
        System("constant vectors", "useless", constant_vectors, "one vector for everything"),
        System("everyone a man", "useless", everyone_a_man, "one answer to all, 70% of whom are men"),
        System("guesses", "useless", guesses, "answers Male to 80%, whoever is asked about"),
        System("two perfect images", "tiny", of_size(ideal, 2), "everything found, of two images"),
        System("twelve perfect images", "tiny", of_size(ideal, 12), "everything found, of twelve images"),
        System(
            "opposite in two races",
            "tiny",
            crossed,
            "of one race women are answered right less often by 20 points, of the other men",
        ),
        System(
            "not found by text",
            "tiny",
            unfound,
            "images of two groups find their captions alike, those of women are found 20 points less often",
        ),
        few("24 women of 120", {"Female": 24, "Male": 96}, {"Female": 0.0}),
        few("29 women of 600", {"woman": 29, "man": 571}, {"woman": 0.0}),
        few(
            "28 of one race of four",
            {"Black": 28, "Indian": 300, "Latino": 300, "White": 300},
            {"Black": 0.0},
        ),
        few("20 men of 300, over-matched", {"Female": 280, "Male": 20}, {"Female": 0.6, "Male": 1.0}),
        few("ideal, 24 women of 120", {"Female": 24, "Male": 96}, {"Female": 1.0, "Male": 1.0}),
        few("ideal, 60 women of 300", {"Female": 60, "Male": 240}, {"Female": 1.0, "Male": 1.0}),
        System(
            "nobody asks for nonbinary",
            "tiny",
            unasked("nonbinary", 1 / 3, predicted=True),
            "prompts of two genders, right about both; a third is of none of them",
        ),
        System(
            "nobody asks for diverse",
            "tiny",
            unasked("diverse", 0.1, predicted=False),
            "the same, a tenth, without predictions of them",
        ),
        System(
            "29 captions in one language",
            "tiny",
            few_in_one_language,
            "one language of four finds none of its 29 images",
            {"common": False},
        ),
        System("twenty images, low tier", "tiny", of_size(low_tier, 20), "a planted gap on twenty images"),
    )
}
