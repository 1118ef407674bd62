"""More skew in training, more measured prevalence bias: `python labs/skew_curve.py`.

Text towers are trained on corpora whose languages have their share of the web to the power of `skew`: at 0
all languages are equal, at 1 they are what they are on the web. Everything else stays the same: the image
tower is the one that ships. Several corpora are drawn at each level. A row is written as soon as it is
measured, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from corpus import sample, skewed_shares, training_languages
from curves import Row, draw_spread, read_rows, write_rows
from encoded import bank, held_out
from equiview.metrics import spearman
from measure import CUTOFFS, matched_bias, names_in, recall_at_10
from sources import fetch
from text_tower import encode_texts, train_text_tower
from train_encoders import STRENGTH

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CORPORA = ((20_000, 700, 5), (100_000, 1000, 2))
"""Captions, training steps, corpora a level: as the shipped encoders saw, and enough for every language."""


def main() -> None:
    torch.set_num_threads(2)
    fetch()
    drawings, images = bank(), held_out()
    rows = read_rows("skew_curve")
    for captions, steps, seeds in CORPORA:
        for seed in range(seeds):
            for skew in LEVELS:
                about = {"captions": captions, "skew": skew, "seed": seed}
                if any(about.items() <= row.items() for row in rows):
                    continue
                corpus = sample(skewed_shares(skew), STRENGTH, seed=seed, size=captions)
                trained, _ = train_text_tower(corpus, drawings, seed=seed, steps=steps)
                texts = {code: encode_texts(trained, names_in(code)).numpy() for code in training_languages()}
                excess, ratios = matched_bias(texts, images)
                recall = {code: recall_at_10(texts[code], images) for code in texts}
                rows.append(
                    about
                    | {f"excess_dlbkl@{k}": round(value, 4) for k, value in excess.items()}
                    | {f"low_tier_ratio@{k}": round(value, 4) for k, value in ratios.items()}
                    | {
                        "recall_at_10_english": round(recall["en"], 4),
                        "recall_at_10_mean": round(sum(recall.values()) / len(recall), 4),
                    }
                )
                write_rows("skew_curve", rows)
                print(rows[-1], flush=True)
        summarise(rows, captions)
    write_rows("skew_correlation", [correlations(rows, captions) for captions, *_ in CORPORA])


def summarise(rows: Sequence[Row], captions: int) -> None:
    """Draw the excess over the matched floor and the low tier's exposure, seeds as points."""
    for name, title, up, level in (
        ("excess_dlbkl", "prevalence bias", "DLBKL less its matched floor, nats", (0.0, "matched floor")),
        ("low_tier_ratio", "exposure of the low tier", "exposure over its expectation", (1.0, "blind")),
    ):
        cutoffs = CUTOFFS[1:] if name == "excess_dlbkl" else CUTOFFS
        draw_spread(
            f"skew-{'curve' if name == 'excess_dlbkl' else 'exposure'}-{captions}",
            LEVELS,
            {f"@{k}": by_level(rows, captions, f"{name}@{k}") for k in cutoffs},
            title=f"Skew in training and {title} ({captions:,} captions)",
            across="skew of the training languages (0 equal, 1 as on the web)",
            up=up,
            level=level,
        )


def by_level(rows: Sequence[Row], captions: int, column: str) -> list[list[float]]:
    """A column's values by skew, one for each seed."""
    return [
        [row[column] for row in rows if row["captions"] == captions and row["skew"] == skew]
        for skew in LEVELS
    ]


def correlations(rows: Sequence[Row], captions: int) -> Row:
    """Spearman's correlation of skew with the mean over seeds, at each cutoff, and its lowest of one seed."""
    coefficients: Row = {"captions": captions}
    for name in ("excess_dlbkl", "low_tier_ratio"):
        for k in CUTOFFS[1:] if name == "excess_dlbkl" else CUTOFFS:
            levels = by_level(rows, captions, f"{name}@{k}")
            sign = 1 if name == "excess_dlbkl" else -1
            mean = sign * spearman(LEVELS, [float(np.mean(level)) for level in levels])
            least = min(sign * spearman(LEVELS, list(seed)) for seed in zip(*levels, strict=True))
            coefficients |= {f"{name}@{k}": round(mean, 3), f"{name}@{k}_least_of_a_seed": round(least, 3)}
    return coefficients


if __name__ == "__main__":
    main()
