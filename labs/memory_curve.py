"""More skew in training, less remembered in little-written languages: `python labs/memory_curve.py`.

Text towers as in `train_flags.py` that differ in skew alone describe the flags of `pictograms-flags`. Rows
are written as they are measured, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from curves import Row, read_rows, write_rows
from equiview.audits import AUDITS
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.io.progress import silent
from equiview.subjects.chat.describe import Describe
from equiview.subjects.encoders.pictogram import SMALL
from flags import LANGUAGES
from knowledge_curve import Trained
from sources import fetch
from text_tower import encode_texts
from train_flags import shares, skewed_names, train

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS = 1
MODELS = {"translator": "names", "detector": "names", "scorer": "pictogram:english"}


class Small(Trained):
    """A text tower with a small table."""

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return encode_texts(self.tower, list(texts), buckets=SMALL).numpy()


def main() -> None:
    torch.set_num_threads(1)
    fetch()
    flags = load_benchmark("pictograms-flags")
    rows = read_rows("memory_curve")
    for seed in range(SEEDS):
        for skew in LEVELS:
            if any(row["skew"] == skew and row["seed"] == seed for row in rows):
                continue
            tower, _ = train(skewed_names(skew, seed=seed), seed=seed)
            rows.append({"skew": skew, "seed": seed} | measured(Describe("", Small(tower)), flags))
            write_rows("memory_curve", rows)
            print(rows[-1], flush=True)


def measured(answerer: Describe, flags: Benchmark) -> Row:
    """What the audit says of one answerer: over the margin, and how shifts go with shares of the web."""
    audit = AUDITS.get("memory")
    settings = audit.configure({"replicates": 500} | MODELS)
    estimates = audit.measure(
        audit.view(audit.observe(answerer, flags, settings, silent), settings), settings
    )
    shift = {row.keys["language"]: row.value for row in estimates.by("language", "relative shift")}
    margin = estimates.one("margin").value
    numbers = {
        "margin": margin,
        "english": estimates.one("English advantage").value / margin,
        "lowest": min(shift.values()),
        "highest": max(shift.values()),
        "with_share": spearmanr(shares(1), [shift[language] for language in LANGUAGES]).statistic,
    }
    return {name: round(float(number), 4) for name, number in numbers.items()}


if __name__ == "__main__":
    main()
