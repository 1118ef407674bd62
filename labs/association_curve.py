"""A stronger tie of language to flag in training, more measured association bias.

`python labs/association_curve.py`

Text towers are trained on equally many captions of each language, whose drawings bear a flag of a country of
the language with probability `strength`, else any flag or none. Trials are then asked on the held-out
artist's drawings and flags: does the bare name of a concept find the concept with another country's flag
(semantic), another concept with its own (cultural), or neither (non-relevant)?
"""

from __future__ import annotations

import torch

from corpus import sample, skewed_shares, training_languages
from curves import draw_lines, write_rows
from encoded import bank, held_out, held_out_flagged
from equiview.metrics import self_preference, spearman, win_rates
from measure import TRIAL_CONCEPTS, names_in, recall_at_10, trial_scores, trials
from text_tower import encode_texts, train_text_tower
from train_encoders import SEED

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CORPUS, STEPS = 100_000, 1000
"""More captions than the shipped encoders saw, so that every language knows nearly every concept."""


def main() -> None:
    torch.set_num_threads(2)
    drawings, images, flagged = bank(), held_out(), held_out_flagged()
    table = trials(TRIAL_CONCEPTS, seed=SEED)
    rows: list[dict[str, object]] = []
    for strength in LEVELS:
        corpus = sample(skewed_shares(0), strength, seed=SEED, size=CORPUS)
        tower, _ = train_text_tower(corpus, drawings, seed=SEED, steps=STEPS)
        texts = {code: encode_texts(tower, names_in(code)).numpy() for code in training_languages()}
        scores = trial_scores(table, texts, flagged)
        semantic, cultural, nonrelevant = win_rates(scores)
        rows.append(
            {
                "strength": strength,
                "trials": len(table),
                "m_sem": round(float(semantic), 4),
                "m_cul": round(float(cultural), 4),
                "m_non": round(float(nonrelevant), 4),
                "self_preference": round(self_preference(scores), 4),
                "recall_at_10_english": round(recall_at_10(texts["en"], images), 4),
            }
        )
        print(rows[-1], flush=True)
    write_rows("association_curve", rows)
    preferences = [float(str(row["self_preference"])) for row in rows]
    print(f"Spearman of strength and SP: {spearman(LEVELS, preferences):.3f}")
    draw_lines(
        "association-curve",
        LEVELS,
        {"SP": preferences},
        title="A stronger tie of language to flag, more association bias",
        across="strength: share of drawings made to bear a flag of the caption's language",
        up="self-preference M_cul / M_sem",
    )


if __name__ == "__main__":
    main()
