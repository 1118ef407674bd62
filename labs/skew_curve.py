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
from train_encoders import SEED, STEPS, STRENGTH

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def main() -> None:
    torch.set_num_threads(2)
    drawings, images = bank(), held_out()
    rows: list[dict[str, object]] = []
    for skew in LEVELS:
        corpus = sample(skewed_shares(skew), STRENGTH, seed=SEED)
        tower, _ = train_text_tower(corpus, drawings, seed=SEED, steps=STEPS)
        texts = {code: encode_texts(tower, names_in(code)).numpy() for code in training_languages()}
        recall = {code: recall_at_10(texts[code], images) for code in texts}
        rows.append(
            {
                "skew": skew,
                **{f"excess_dlbkl@{k}": round(v, 4) for k, v in excess_dlbkl(texts, images).items()},
                "recall_at_10_english": round(recall["en"], 4),
                "recall_at_10_mean": round(sum(recall.values()) / len(recall), 4),
            }
        )
        print(rows[-1], flush=True)
    write_rows("skew_curve", rows)
    columns = {k: [float(str(row[f"excess_dlbkl@{k}"])) for row in rows] for k in CUTOFFS}
    for k, values in columns.items():
        print(f"Spearman of skew and excess DLBKL@{k}: {spearman(LEVELS, values):.3f}")
    draw_lines(
        "skew-curve",
        LEVELS,
        {f"@{k}": columns[k] for k in (5, 10, 25, 50, 99)},
        title="More skew in training, more prevalence bias",
        across="skew of the training languages (0 equal, 1 as on the web)",
        up="excess DLBKL, nats",
    )


if __name__ == "__main__":
    main()
