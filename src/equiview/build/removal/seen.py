"""Whether an encoder still sees in a picture what was removed from it.

It looks at the part that was filled, before and after, with a margin: the class, of all classes of the
benchmark and of plain grounds, whose name is nearest. A picture is rejected whose part still reads as
something that was removed. The part alone, since around it is what usually stands beside the removed: an
encoder that leans on that would reject the very pictures that show it. Ours; O has no check.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from PIL import Image

from equiview.build.removal.areas import Mask
from equiview.build.removal.captions import with_article
from equiview.build.removal.images import PICTURES, Remover
from equiview.build.removal.sheet import filled_pixels
from equiview.data.items import Items
from equiview.io.progress import Progress
from equiview.search import comparable, top_k
from equiview.subjects import Encoder

PROMPT = "a photo of {}"
GROUNDS = ("grass", "the sky", "a wall", "a floor", "a road", "water", "sand", "snow", "a blurred background")
"""What may be seen where nothing is; ours."""
MARGIN = 0.1
"""Seen around what was filled, as a share of its longer side."""
LEAST = 16
"""Pixels of the smallest part looked at: what is smaller is widened."""


def look(
    encoder: Encoder,
    remover: Remover,
    made: Sequence[dict[str, Any]],
    classes: Sequence[str],
    progress: Progress,
) -> list[tuple[str, str]]:
    """What the encoder sees in the filled part of each picture, (before, after): a class or a ground."""
    names = [*classes, *GROUNDS]
    texts = [PROMPT.format(with_article(name) if name in classes else name) for name in names]
    table = pl.DataFrame({"id": names, "text": texts}).with_columns(language=pl.lit("en"))
    asked = Items("text", table, "names of classes")
    rows = remover.images.rows_of(pl.Series([entry["image_id"] for entry in made]))
    with TemporaryDirectory(dir=remover.out) as place:
        paths: list[str] = []
        for entry, row in zip(made, rows, strict=True):
            before = remover.images.pictures([row])[0]
            with Image.open(remover.out / PICTURES / entry["file"]) as opened:
                after = opened.convert("RGB")
            box = part_of(filled_pixels(remover, entry))
            for picture in (before, after):
                path = Path(place) / f"{len(paths)}.png"
                picture.crop(box).save(path)
                paths.append(str(path))
        parts = Items("image", pl.DataFrame({"id": [str(n) for n in range(len(paths))], "path": paths}))
        found = top_k(comparable(encoder, parts, progress), comparable(encoder, asked), 1).items[:, 0]
    seen = [names[place] for place in found]
    return list(zip(seen[::2], seen[1::2], strict=True))


def part_of(mask: Mask) -> tuple[int, int, int, int]:
    """The box, (left, upper, right, lower), around the pixels of a mask, with a margin.

    >>> part_of(np.pad(np.ones((20, 20), dtype=bool), 10))
    (8, 8, 32, 32)
    """
    height, width = mask.shape
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    sides = int(rows[-1] - rows[0]) + 1, int(columns[-1] - columns[0]) + 1
    grow = max(MARGIN * max(sides), (LEAST - min(sides)) / 2)
    left, upper = int(columns[0] - grow), int(rows[0] - grow)
    right, lower = int(np.ceil(columns[-1] + 1 + grow)), int(np.ceil(rows[-1] + 1 + grow))
    return max(left, 0), max(upper, 0), min(right, width), min(lower, height)
