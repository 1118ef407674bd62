"""More skew in training, more measured prevalence bias: `python labs/skew_curve.py`.

Text towers are trained on corpora whose languages have their share of the web to the power of `skew`: at 0
all languages are equal, at 1 they are what they are on the web. Everything else stays the same.
"""

from __future__ import annotations

import torch

from corpus import sample, skewed_shares, training_languages
from curves import draw_lines, write_rows
from encoded import bank, held_out
from equiview.metrics import spearman
from measure import CUTOFFS, excess_dlbkl, names_in, recall_at_10
from text_tower import encode_texts, train_text_tower
from train_encoders import SEED, STRENGTH

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CORPORA = ((20_000, 700), (100_000, 1000))
"""Captions and training steps: as many as the shipped encoders saw, and enough for every language."""


def main() -> None:
    torch.set_num_threads(2)
    drawings, images = bank(), held_out()
    rows: list[dict[str, float]] = []
    for captions, steps in CORPORA:
        for skew in LEVELS:
            corpus = sample(skewed_shares(skew), STRENGTH, seed=SEED, size=captions)
            tower, _ = train_text_tower(corpus, drawings, seed=SEED, steps=steps)
            texts = {code: encode_texts(tower, names_in(code)).numpy() for code in training_languages()}
            recall = {code: recall_at_10(texts[code], images) for code in texts}
            rows.append(
                {
                    "captions": captions,
                    "skew": skew,
                    **{f"excess_dlbkl@{k}": round(v, 4) for k, v in excess_dlbkl(texts, images).items()},
                    "recall_at_10_english": round(recall["en"], 4),
                    "recall_at_10_mean": round(sum(recall.values()) / len(recall), 4),
                }
            )
            print(rows[-1], flush=True)
    write_rows("skew_curve", rows)
    write_rows("skew_correlation", [correlations(rows, captions) for captions, _ in CORPORA])
    for captions, _ in CORPORA:
        draw_lines(
            f"skew-curve-{captions}",
            LEVELS,
            {f"@{k}": column(rows, captions, k) for k in CUTOFFS[1:]},
            title=f"More skew in training, more prevalence bias ({captions:,} captions)",
            across="skew of the training languages (0 equal, 1 as on the web)",
            up="excess DLBKL, nats",
            level=(0.0, "chance"),
        )


def column(rows: list[dict[str, float]], captions: int, k: int) -> list[float]:
    """Excess DLBKL@k by skew."""
    return [row[f"excess_dlbkl@{k}"] for row in rows if row["captions"] == captions]


def correlations(rows: list[dict[str, float]], captions: int) -> dict[str, float]:
    """Spearman's rank correlation of skew and excess DLBKL at each cutoff but 1, where it cannot vary."""
    coefficients = {f"spearman@{k}": spearman(LEVELS, column(rows, captions, k)) for k in CUTOFFS[1:]}
    return {"captions": captions, **{name: round(value, 3) for name, value in coefficients.items()}}


if __name__ == "__main__":
    main()
