"""Images that repeat another of their concept, by a perceptual hash and an encoder (P, section 3.2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.build.xcm.duplicates import BLOCK, cosines, least_of, perceptual_hash, repeats, rows_by
from equiview.build.xcm.steps import paths_of, with_results
from equiview.data.items import Items
from equiview.io.ahead import ahead
from equiview.io.progress import Progress
from equiview.subjects import Encoder

NEAR = 3
"""Images that people see beside the one they judge."""


def items_of(out: Path, table: pl.DataFrame) -> Items:
    """The images of a step as items, each with its file."""
    return Items("image", pl.DataFrame({"id": table["item_id"], "path": paths_of(out, table)}), str(out))


def without_repeats(
    out: Path,
    table: pl.DataFrame,
    encoder: Encoder | None,
    *,
    bits: int,
    same: float,
    for_people: bool,
    progress: Progress,
) -> pl.DataFrame:
    """`table` with what is rejected; `for_people` with the images kept before each that are most like it.

    The first image of each concept is kept: those of better rank come first. One concept's vectors are in
    memory at a time.
    """
    order = {"eng": 0, "nav": 1}
    table = table.sort("concept_id", "rank", pl.col("query").replace_strict(order), maintain_order=True)
    images = items_of(out, table)
    hashes = np.empty((len(table), 64), dtype=np.int8)

    def hashed(row: int) -> NDArray[np.int8]:
        return perceptual_hash(images.pictures([row])[0])

    for row, signs in enumerate(ahead(hashed, range(len(table)), depth=16)):
        hashes[row] = signs
        progress("hashing images", row + 1, len(table))
    ids = table["item_id"].to_list()
    results: list[tuple[str | None, str | None]] = [(None, None)] * len(ids)
    near: list[list[str]] = [[] for _ in ids]

    for rows in rows_by(table["concept_id"].to_list()):
        found = repeats(hashes[rows], least_of(bits))
        for place in np.flatnonzero(found >= 0).tolist():
            one, other = rows[place], rows[found[place]]
            differing = np.count_nonzero(hashes[one] != hashes[other])
            results[int(one)] = "its hash repeats another's", f"{ids[other]} ({differing} bits)"
        left = rows[found < 0]
        vectors: Any = hashes[left].astype(np.float32)
        if encoder is not None:
            vectors = cosines(encoder, images.take(left), progress)
            again = repeats(vectors, same)
            for place in np.flatnonzero(again >= 0).tolist():
                likeness = float(vectors[place] @ vectors[again[place]])
                detail = f"{ids[left[again[place]]]} ({likeness:.3f})"
                results[left[place]] = "an encoder takes it for another", detail
            left, vectors = left[again < 0], vectors[again < 0]
        for place, most in enumerate(nearest_before(vectors) if for_people else ()):
            near[left[place]] = [ids[left[other]] for other in most]
    return with_results(table.with_columns(near=pl.Series(near, dtype=pl.List(pl.String))), results)


def nearest_before(vectors: NDArray[np.float32], most: int = NEAR) -> list[list[int]]:
    """For each vector the earlier ones that are most like it, the most alike first.

    >>> nearest_before(np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32), 2)
    [[], [0], [1, 0]]
    """
    found: list[list[int]] = []
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK]
        best = np.full((len(part), most), -np.inf, dtype=np.float32)
        which = np.zeros((len(part), most), dtype=np.int64)
        for first in range(0, start + len(part), BLOCK):
            earlier = np.arange(first, min(first + BLOCK, start + len(part)))
            scores = part @ vectors[earlier].T
            scores[earlier[None, :] >= start + np.arange(len(part))[:, None]] = -np.inf
            scores = np.concatenate([best, scores], axis=1)
            rows = np.concatenate([which, np.broadcast_to(earlier, (len(part), len(earlier)))], axis=1)
            chosen = np.argsort(-scores, axis=1, kind="stable")[:, :most]
            best, which = np.take_along_axis(scores, chosen, 1), np.take_along_axis(rows, chosen, 1)
        found += [row[np.isfinite(score)].tolist() for row, score in zip(which, best, strict=True)]
    return found
