"""Why gender is above its floor where no tie was learnt: `python labs/social_floors.py` prints three numbers.

MaxSkew of gender of an encoder of strength 0, as it is and without what its vectors say of who is shown; and
the floor where the gender of whole sixes, drawings that differ in skin alone, is exchanged.
"""

from __future__ import annotations

import numpy as np
import torch

from corpus import english_only, sample
from encoded import bank, held_out_persons
from equiview.metrics import max_skew
from equiview.search import top_k
from image_tower import WIDTHS
from social_curve import CAPTIONS, STEPS
from social_measure import SHARE, Vectors, groups, neutral_english, social_bias
from sources import fetch
from text_tower import encode_texts, train_text_tower
from train_encoders import SOCIAL_FLAG_STRENGTH, SOCIAL_PEOPLE_SHARE

EXCHANGES, SIX = 200, 6


def main() -> None:
    torch.set_num_threads(1)
    fetch()
    images = held_out_persons()
    corpus = sample(
        english_only(),
        SOCIAL_FLAG_STRENGTH,
        seed=0,
        size=CAPTIONS,
        people_share=SOCIAL_PEOPLE_SHARE,
        social=0.0,
    )
    tower, _ = train_text_tower(corpus, bank(), seed=0, steps=STEPS)
    names = encode_texts(tower, neutral_english()).numpy()
    blind = social_bias(_nobody(names), _nobody(images), corpus.tie)
    print("as it is", social_bias(names, images, corpus.tie)["max_skew_gender"])
    print("nothing said of who is shown", blind["max_skew_gender"])
    gender = groups()["gender"]
    pool = np.bincount(gender) / len(gender)
    listed = top_k(names, images, round(SHARE * len(images))).items
    rng = np.random.default_rng(0)
    floor = [
        max_skew(np.repeat(rng.permutation(gender[::SIX]), SIX)[listed], pool).mean()
        for _ in range(EXCHANGES)
    ]
    print(f"sixes exchanged {np.mean(floor):.4f}, 95th percentile {np.quantile(floor, 0.95):.4f}")


def _nobody(vectors: Vectors) -> Vectors:
    """Vectors without the parts that say who is shown, of length 1."""
    kept = vectors[:, : WIDTHS["concept"] + WIDTHS["flag"]]
    return kept / np.linalg.norm(kept, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
