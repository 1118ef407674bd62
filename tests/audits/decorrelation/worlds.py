"""A small benchmark of removals, and systems that return chosen captions."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.removals import with_removals
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.io.progress import Progress, silent
from equiview.subjects import Encoder

CAPTIONS = {
    "t0": ("cat", "fish"),
    "t1": ("cat",),
    "t2": ("cat", "dog"),
    "t3": ("cat", "car"),
    "t4": ("dog",),
    "t5": ("fish",),
}
"""What each caption names; `i0` shows a cat and a fish, `i1` a dog."""


def small() -> Benchmark:
    """Two real images, one of which loses its fish; `t0` is the caption of the one, `t4` of the other."""
    texts = pl.DataFrame(
        {"id": list(CAPTIONS), "text": [" and ".join(named) for named in CAPTIONS.values()], "language": "en"}
    )
    images = Items("image", pl.DataFrame({"id": ["i0", "i1"]}))
    real = Benchmark(
        "small",
        images,
        Items("text", texts),
        Relevance.from_pairs([0, 1], [0, 4], n_queries=2, n_items=6),
    )
    removals = pl.DataFrame(
        {
            "image_id": ["i0-without-fish"],
            "source_id": ["i0"],
            "target": ["fish"],
            "removed": [["fish"]],
            "kept": [["cat"]],
        }
    )
    mentions = pl.DataFrame(
        [(text, name) for text, named in CAPTIONS.items() for name in named],
        schema=["text_id", "object"],
        orient="row",
    )
    synthetic = Items("image", pl.DataFrame({"id": ["i0-without-fish"]}))
    return with_removals(real, synthetic, removals, mentions, "small", "two images")


class Words(Encoder):
    """Vectors that count objects: an image's are what it shows, and `imagined` what it makes of each.

    Captions are bags of what they name, scaled to length 1.
    """

    classes = ("cat", "fish", "dog", "car")

    def __init__(self, imagined: dict[str, float]) -> None:
        super().__init__()
        self.imagined = imagined

    def embed(self, items: Items, progress: Progress = silent) -> np.ndarray:
        """Unit vectors `(n, 4)`."""
        shown = {"i0": {"cat": 1.0, "fish": 1.0}, "i1": {"dog": 1.0}, "i0-without-fish": {"cat": 1.0}}
        shown["i0-without-fish"] |= self.imagined
        if items.kind == "text":
            rows = [[name in CAPTIONS[text] for name in self.classes] for text in items.ids]
        else:
            rows = [[shown[image].get(name, 0.0) for name in self.classes] for image in items.ids]
        table = np.array(rows, dtype=np.float32)
        return table / np.linalg.norm(table, axis=1, keepdims=True)
