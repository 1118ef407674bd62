"""Audit vectors you already have: make a folder of tables and vectors, audit it, read the numbers.

    python examples/own_vectors.py [FOLDER]

The vectors are drawn at random here, so that captions in little-written languages stand aside. With your own,
write the same four files and start at `audit`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from equiview import api
from equiview.studies import compare

LANGUAGES = ("en", "de", "ja", "sw", "mi", "quz")
LITTLE_WRITTEN = np.array([0, 0, 0, 1, 1, 1])


def write(folder: Path, aside: float) -> None:
    """Write images, captions and their vectors; `aside` is how far little-written languages stand apart."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    names = [f"photo{index}" for index in range(200)]
    captions = pl.DataFrame(
        [(f"{name}-{code}", f"{name} in {code}", code, name) for name in names for code in LANGUAGES],
        schema=["id", "text", "language", "image_id"],
        orient="row",
    )
    pl.DataFrame({"id": names}).write_csv(folder / "images.csv")
    captions.write_csv(folder / "texts.csv")

    images = rng.normal(size=(len(names), 32))
    noise = rng.normal(size=(len(names), len(LANGUAGES), 32))
    texts = images[:, None] + 0.5 * noise + aside * np.outer(LITTLE_WRITTEN, rng.normal(size=32))
    np.save(folder / "images.npy", images)
    np.save(folder / "texts.npy", texts.reshape(-1, 32))


def main() -> None:
    """Audit two sets of vectors over the same items and compare them."""
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "own-vectors")
    runs = []
    for name, aside in (("even", 0.0), ("skewed", 2.0)):
        write(place / name, aside)
        # Both sets of vectors are over the same items, so one folder serves as the benchmark of both.
        run = api.audit(
            f"embeddings:{place / name}", f"folder:{place / 'even'}", ["prevalence"], place / f"run-{name}"
        )
        print(f"{name}: {run.verdicts[0].answer}")
        runs.append(run)
    print(compare(runs).select("metric", "value_a", "value_b", "difference", "low", "high", "p_holm"))


if __name__ == "__main__":
    main()
