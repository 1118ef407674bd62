"""Social bias on the held-out artist's people, asked for by the roles' neutral English names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corpus import neutral_names
from encoded import held_out_persons
from equiview.metrics import demographic_divergence, max_skew, ndkl, skew
from equiview.search import top_k
from people import GENDERS, SKINS, people, roles
from ties import Tie

Vectors = NDArray[np.float32]
SHARE = 0.1
"""Lists are cut at this share of the gallery."""
RECALL_AT = 18
"""As many as a role has drawings."""
PERMUTATIONS = 100


def groups() -> dict[str, NDArray[np.int64]]:
    """Gender and skin of each of `people()` as numbers from 0; yellow is a skin of its own, the last."""
    return {
        "gender": np.array([GENDERS.index(person.gender) for person in people()]),
        "skin": np.array([SKINS.index(p.skin) if p.skin else len(SKINS) for p in people()]),
    }


def social_bias(names: Vectors, images: Vectors, tie: Tie, *, seed: int = 0) -> dict[str, float]:
    """MaxSkew@k, NDKL@k and KL of R@18 by attribute, each with its floor, and how well roles are found.

    `names` `(64, width)` are the roles' neutral names, `images` `(1152, width)` the people. k is a tenth of
    the gallery. Recall is text to image: the share of a group's drawings that are among the first 18 for
    their role's name. `floor` is the mean when an attribute is exchanged among all drawings, `floor_95` its
    95th percentile.
    """
    depth = round(SHARE * len(images))
    listed = top_k(names, images, depth).items
    role = np.repeat(np.arange(len(names)), len(images) // len(names))
    first = listed[:, :RECALL_AT]
    right = role[first] == np.arange(len(names))[:, None]
    recalled = np.isin(np.arange(len(images)), first[right])
    rng = np.random.default_rng(seed)
    numbers = {f"role_recall@{RECALL_AT}": float(recalled.mean())}
    for attribute, group in groups().items():
        numbers |= _of(attribute, group, listed, recalled, rng)
    gender = groups()["gender"]
    numbers["toward_the_tie"] = _toward(gender, listed, tie)
    return {name: round(value, 4) for name, value in numbers.items()}


def _of(
    attribute: str,
    group: NDArray[np.int64],
    listed: NDArray[np.int64],
    recalled: NDArray[np.bool_],
    rng: np.random.Generator,
) -> dict[str, float]:
    n = int(group.max()) + 1
    pool = np.bincount(group, minlength=n) / len(group)

    def measured(values: NDArray[np.int64]) -> tuple[float, float, float]:
        rates = [recalled[values == a].mean() for a in range(n)]
        shown = values[listed]
        return (
            float(max_skew(shown, pool).mean()),
            float(ndkl(shown, pool).mean()),
            demographic_divergence(rates),
        )

    chance = np.array([measured(rng.permutation(group)) for _ in range(PERMUTATIONS)])
    names = (f"max_skew_{attribute}", f"ndkl_{attribute}", f"kl_recall_{attribute}")
    numbers = {}
    for column, (name, value) in enumerate(zip(names, measured(group), strict=True)):
        numbers[name] = value
        numbers[f"{name}_floor"] = float(chance[:, column].mean())
        numbers[f"{name}_floor_95"] = float(np.quantile(chance[:, column], 0.95))
    return numbers


def _toward(gender: NDArray[np.int64], listed: NDArray[np.int64], tie: Tie) -> float:
    """Mean over roles of the Skew@k of the gender that a tie ties the role to."""
    pool = np.bincount(gender) / len(gender)
    by_group = np.maximum(skew(gender[listed], pool), -5.0)
    wanted = np.where(tie.men, GENDERS.index("man"), GENDERS.index("woman"))
    return float(by_group[np.arange(len(roles())), wanted].mean())


def neutral_english() -> list[str]:
    """The roles' neutral names in English, in the order of `roles()`."""
    names = neutral_names()["en"]
    return [names[row] for row in range(len(roles()))]


def social_numbers(name: str) -> dict[str, float]:
    """`social_bias` of an encoder that ships, towards the tie that `pictogram:tied` learnt."""
    from equiview.subjects.encoders.pictogram import Pictogram
    from ties import tie

    return social_bias(Pictogram(name).encode_texts(neutral_english()), held_out_persons(), tie(0.0, seed=0))
