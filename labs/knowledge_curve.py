"""More skew in training, less of the same knowledge in every language: `python labs/knowledge_curve.py`.

Text towers as in `skew_curve.py` answer the embedded quiz, `pictograms-quiz`, by the option most similar to
the picture. Rows are written as they are measured, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL.Image import Image

from corpus import sample, skewed_shares
from curves import Row, draw_spread, read_rows, write_rows
from encoded import bank
from equiview.audits import AUDITS
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.io.progress import silent
from equiview.subjects import EmbeddingModel, load_subject
from equiview.subjects.chat.choice import Choice
from sources import fetch
from text_tower import encode_texts, train_text_tower
from train_encoders import STEPS, STRENGTH

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS = 3
"""Corpora a level, each as large as those of the shipped encoders."""
MEASURED = ("consistency", "same", "en", "glo", "lowest")


class Trained(EmbeddingModel):
    """The image tower that ships and a text tower of this script."""

    def __init__(self, tower: torch.nn.Module) -> None:
        super().__init__()
        self.tower = tower
        self.pictures = load_subject("pictogram:aligned")

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        return self.pictures.encode_images(images)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return encode_texts(self.tower, list(texts)).numpy()


def main() -> None:
    torch.set_num_threads(2)
    fetch()
    drawings = bank()
    quiz = load_benchmark("pictograms-quiz")
    rows = read_rows("knowledge_curve")
    for seed in range(SEEDS):
        for skew in LEVELS:
            if any(row["skew"] == skew and row["seed"] == seed for row in rows):
                continue
            corpus = sample(skewed_shares(skew), STRENGTH, seed=seed)
            tower, _ = train_text_tower(corpus, drawings, seed=seed, steps=STEPS)
            rows.append({"skew": skew, "seed": seed} | measured(Choice("", Trained(tower)), quiz))
            write_rows("knowledge_curve", rows)
            print(rows[-1], flush=True)
    draw(rows)


def measured(answerer: Choice, quiz: Benchmark) -> Row:
    """What the audit says of one answerer."""
    audit = AUDITS.get("knowledge")
    settings = audit.configure({"replicates": 500})
    estimates = audit.measure(audit.view(audit.observe(answerer, quiz, settings, silent), settings), settings)
    numbers = {
        "consistency": estimates.one("consistency", over="all-questions").value,
        "same": estimates.one("same-knowledge consistency", over="all-questions").value,
        "en": estimates.one("accuracy", setting="EN").value,
        "glo": estimates.one("accuracy", setting="GLO").value,
        "lowest": min(row.value for row in estimates.by("language", "accuracy")),
    }
    return {name: round(number, 4) for name, number in numbers.items()}


def by_level(rows: Sequence[Row]) -> dict[str, list[list[float]]]:
    """Each measure's values by skew, one for each seed."""
    return {
        name: [[row[name] for row in rows if row["skew"] == skew] for skew in LEVELS] for name in MEASURED
    }


def draw(rows: Sequence[Row]) -> None:
    lines = by_level(rows)
    draw_spread(
        "knowledge-curve",
        LEVELS,
        {"consistency": lines["consistency"], "EN": lines["en"], "GLO": lines["glo"]},
        title="Skew in training and answers to a quiz",
        across="skew of the training languages (0 equal, 1 as on the web)",
        up="share",
        level=(0.25, "guessing"),
    )


if __name__ == "__main__":
    main()
