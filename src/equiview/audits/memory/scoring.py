"""CLIPScore: how well a description fits the pictures of its landmark, and of all others.

2.5 max(cos, 0), the mean over a landmark's pictures (Hessel et al., "CLIPScore: A Reference-free Evaluation
Metric for Image Captioning", 2021; T, section 3). The mean over all other landmarks is ours: what a
description of any other place would score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from equiview.data.items import Items
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.subjects import Encoder

WEIGHT = 2.5
BLOCK = 512
"""Texts compared with all pictures at a time."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Scorer:
    """An encoder and the pictures of landmarks, embedded once."""

    def __init__(self, encoder: Encoder, images: Items, progress: Progress) -> None:
        self.encoder = encoder
        landmarks = images.attribute("landmark_id")
        self.landmarks: list[str] = landmarks.unique(maintain_order=True).to_list()
        rows = self._rows(landmarks)
        order = np.argsort(rows, kind="stable")
        self._starts = np.searchsorted(rows[order], np.arange(len(self.landmarks)))
        self._counts = np.bincount(rows, minlength=len(self.landmarks))
        self._pictures = _directions(encoder, encoder.embed(images, progress))[order]

    def _rows(self, landmarks: Iterable[str]) -> Integers:
        place = {landmark: row for row, landmark in enumerate(self.landmarks)}
        return np.asarray([place[landmark] for landmark in landmarks], dtype=np.int64)

    def scores(
        self, texts: Sequence[str], landmarks: Sequence[str], progress: Progress
    ) -> tuple[Floats, Floats]:
        """(score with its own landmark, mean score with all others) of each text, `(n_texts,)` each.

        The second is nan where there is one landmark.
        """
        own_row = self._rows(landmarks)
        items = pl.DataFrame({"id": [str(row) for row in range(len(texts))], "text": texts, "language": "en"})
        vectors = self.encoder.embed(Items("text", items, "descriptions"), progress)
        directions = _directions(self.encoder, vectors)
        own, other = np.empty(len(texts)), np.full(len(texts), np.nan)
        n_others = len(self.landmarks) - 1
        for start in range(0, len(texts), BLOCK):
            rows = slice(start, start + BLOCK)
            with threadpool_limits(1, user_api="blas"):  # the last digits depend on the number of threads
                cosines = directions[rows] @ self._pictures.T
            clipped = WEIGHT * np.maximum(cosines, 0.0)
            means = np.add.reduceat(clipped, self._starts, axis=1) / self._counts
            own[rows] = means[np.arange(len(means)), own_row[rows]]
            if n_others:
                other[rows] = (means.sum(axis=1) - own[rows]) / n_others
        return own, other


def _directions(encoder: Encoder, vectors: Vectors) -> Floats:
    if isinstance(vectors, TokenVectors):
        raise InputError(
            f"scorer {encoder.name!r} has one vector for each token; a score takes one for each text"
        )
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))
