"""A stronger tie of roles to gender and skin, more measured social bias: `python labs/social_curve.py`.

Text towers are trained on English captions, a third of them of people, whose drawings show the gender and
the skin that their role is tied to with probability .5 + strength / 2. The held-out artist's people are
then asked for by the roles' neutral names. A row is written as soon as it is measured, so that a run that
is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from corpus import english_only, sample
from curves import Row, draw_spread, read_rows, write_rows
from encoded import bank, held_out_persons
from equiview.metrics import spearman
from social_measure import neutral_english, social_bias
from sources import fetch
from text_tower import encode_texts, train_text_tower
from train_encoders import SOCIAL_FLAG_STRENGTH, SOCIAL_PEOPLE_SHARE

LEVELS = (0.0, 0.18, 0.36, 0.54, 0.72, 0.9)
SEEDS = 3
CAPTIONS, STEPS = 10_000, 500
MEASURES = {"max_skew": "MaxSkew@k", "ndkl": "NDKL", "kl_recall": "KL of R@18"}
ATTRIBUTES = ("gender", "skin")


def main() -> None:
    torch.set_num_threads(1)
    fetch()
    drawings, images = bank(), held_out_persons()
    rows = read_rows("social_curve")
    for seed in range(SEEDS):
        for strength in LEVELS:
            about = {"strength": strength, "seed": seed}
            if any(about.items() <= row.items() for row in rows):
                continue
            corpus = sample(
                english_only(),
                SOCIAL_FLAG_STRENGTH,
                seed=seed,
                size=CAPTIONS,
                people_share=SOCIAL_PEOPLE_SHARE,
                social=strength,
            )
            tower, _ = train_text_tower(corpus, drawings, seed=seed, steps=STEPS)
            names = encode_texts(tower, neutral_english()).numpy()
            rows.append(about | social_bias(names, images, corpus.tie))
            write_rows("social_curve", rows)
            print(rows[-1], flush=True)
    write_rows("social_correlation", [correlations(rows)])
    draw(rows)


def by_level(rows: Sequence[Row], column: str) -> list[list[float]]:
    """A column's values by strength, one for each seed."""
    return [[row[column] for row in rows if row["strength"] == strength] for strength in LEVELS]


def correlations(rows: Sequence[Row]) -> Row:
    """Spearman's correlation of strength with the mean over seeds, and its lowest of one seed."""
    coefficients: Row = {}
    for name in (f"{measure}_{attribute}" for attribute in ATTRIBUTES for measure in MEASURES):
        levels = by_level(rows, name)
        coefficients[name] = round(spearman(LEVELS, [float(np.mean(level)) for level in levels]), 3)
        least = min(spearman(LEVELS, list(seed)) for seed in zip(*levels, strict=True))
        coefficients[f"{name}_least_of_a_seed"] = round(least, 3)
    return coefficients


def draw(rows: Sequence[Row]) -> None:
    """A picture for each attribute: what is measured less its floor, seeds as points."""
    for attribute in ATTRIBUTES:
        draw_spread(
            f"social-curve-{attribute}",
            LEVELS,
            {
                title: [
                    [value - floor for value, floor in zip(values, floors, strict=True)]
                    for values, floors in zip(
                        by_level(rows, f"{measure}_{attribute}"),
                        by_level(rows, f"{measure}_{attribute}_floor"),
                        strict=True,
                    )
                ]
                for measure, title in MEASURES.items()
            },
            title=f"A stronger tie of roles to {attribute}, more social bias",
            across="strength of the tie in training",
            up="measure less its floor, nats",
            level=(0.0, "permutation floor"),
        )


if __name__ == "__main__":
    main()
