"""Things that come in pairs in training, and naming what is gone: `python labs/scenes_curve.py`.

Encoders of scenes are trained at six strengths of co-occurrence, from several seeds, and audited on one and
the same benchmark: scenes by the held-out artist at a strength of one half. A row is written as soon as it is
measured, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from curves import Row, draw_spread, read_rows, write_rows
from equiview.audits.decorrelation import DECORRELATION
from equiview.benchmarks import Benchmark
from equiview.benchmarks.scenes import SceneOptions, scenes_of
from equiview.data.items import Items
from equiview.io.progress import Progress, silent
from equiview.metrics import spearman
from equiview.subjects import Encoder
from equiview.subjects.encoders.pictogram import SIDE
from scene_encoder import scene_encoder
from scene_tower import SceneHead, scene_tower, seen
from sources import fetch
from text_tower import TextTower, encode_texts

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS = 2
IMAGES = 1_000
CUTOFFS = (1, 5, 10)


class SceneEncoder(Encoder):
    """A trained head and text tower over what the scene tower sees."""

    def __init__(self, head: SceneHead, tower: TextTower) -> None:
        super().__init__()
        self.head, self.tower = head, tower

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """Unit vectors `(n, 120)`."""
        if items.kind == "text":
            return encode_texts(self.tower, items.texts).numpy()
        with torch.no_grad():
            return self.head(_seen(items)).numpy()


def _seen(items: Items) -> torch.Tensor:
    """What the tower sees in the pictures, kept for the encoders that follow."""
    key = items.fingerprint
    if key not in _SEEN:
        _SEEN[key] = seen(scene_tower()[0], small_pictures(items))
    return _SEEN[key]


def small_pictures(items: Items) -> NDArray[np.uint8]:
    """Pictures as the tower takes them, `(n, 64, 64, 3)`."""
    images = items.pictures()
    return np.stack([np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)) for image in images])


_SEEN: dict[str, torch.Tensor] = {}


@cache
def benchmark() -> Benchmark:
    """The scenes that every encoder is audited on."""
    return scenes_of(SceneOptions(images=IMAGES))


def main() -> None:
    torch.set_num_threads(1)  # where others compute as well, two threads wait for each other
    fetch()
    rows = read_rows("scenes_curve")
    for seed in range(SEEDS):
        for strength in LEVELS:
            about = {"strength": strength, "seed": seed}
            if any(about.items() <= row.items() for row in rows):
                continue
            head, tower, _ = scene_encoder(strength, seed)
            rows.append(about | measured(SceneEncoder(head, tower), benchmark()))
            write_rows("scenes_curve", rows)
            print(rows[-1], flush=True)
    summarise(rows)
    write_rows("scenes_correlation", [correlations(rows)])


def measured(encoder: Encoder, items: Benchmark) -> Row:
    """ODmAP, naming what is gone and recall of an encoder, by the audit itself."""
    settings = DECORRELATION.configure({"replicates": 200})
    observations = DECORRELATION.observe(encoder, items, settings, silent)
    estimates = DECORRELATION.measure(DECORRELATION.view(observations, settings), settings)
    numbers = {f"odmap@{k}": estimates.one("ODmAP", k).value for k in CUTOFFS}
    numbers |= {f"odmap@{k}_chance": estimates.one("ODmAP", k).chance or 0.0 for k in CUTOFFS}
    numbers |= {
        "naming_gone@10": estimates.one("naming what is gone", 10).value,
        "excess_naming@10": estimates.one("excess naming", 10).value,
        "naming_there@10": estimates.one("naming what is there", 10).value,
        **{
            f"r@1_{direction}": estimates.one("R", 1, direction=direction).value
            for direction in ("image-to-text", "text-to-image")
        },
    }
    return {name: round(value, 4) for name, value in numbers.items()}


def by_level(rows: Sequence[Row], column: str) -> list[list[float]]:
    """A column's values by strength, one for each seed."""
    return [[row[column] for row in rows if row["strength"] == strength] for strength in LEVELS]


def summarise(rows: Sequence[Row]) -> None:
    """Draw ODmAP and how often what is gone is named, seeds as points."""
    draw_spread(
        "scenes-curve",
        LEVELS,
        {f"ODmAP@{k}": by_level(rows, f"odmap@{k}") for k in CUTOFFS}
        | {"named, gone @10": by_level(rows, "naming_gone@10")},
        title="Pairs in training, and captions for images without one of a pair",
        across="how often things of a pair appeared together in training",
        up="share",
    )


def correlations(rows: Sequence[Row]) -> Row:
    """Spearman's correlation of strength with the mean over seeds, and its highest of one seed."""
    coefficients: Row = {}
    for name in [f"odmap@{k}" for k in CUTOFFS]:
        levels = by_level(rows, name)
        mean = spearman(LEVELS, [float(np.mean(level)) for level in levels])
        most = max(spearman(LEVELS, list(seed)) for seed in zip(*levels, strict=True))
        coefficients |= {name: round(mean, 3), f"{name}_highest_of_a_seed": round(most, 3)}
    return coefficients


if __name__ == "__main__":
    main()
