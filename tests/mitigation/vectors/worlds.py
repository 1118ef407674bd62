"""Vectors of images and of their captions in several languages, of known faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equiview.data.relevance import Relevance
from equiview.mitigation.vectors.fit import METHODS, Fitted
from equiview.search.scaling import unit
from equiview.subjects.correction import Correction

CODES = ("de", "en", "sw", "te")


def world(seed=0, images=400, width=24, noise=(0.6, 0.6, 0.6, 0.6), apart=0.0, add=None):
    """A caption of each image in each language; `noise` by language, `apart` in a direction of its own.

    `add` `(n_languages, width)` is added instead.
    """
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(images, width)) / np.sqrt(width)
    moves = apart * unit(rng.normal(size=(len(CODES), width)).astype(np.float32)) if add is None else add
    texts = [
        seen + level * rng.normal(size=seen.shape) / np.sqrt(width) + move
        for level, move in zip(noise, moves, strict=True)
    ]
    rows = np.tile(np.arange(images), len(CODES))
    relevance = Relevance.from_pairs(rows, np.arange(len(rows)), n_queries=images, n_items=len(rows))
    return Fitted(
        unit(seen.astype(np.float32)),
        unit(np.concatenate(texts).astype(np.float32)),
        np.repeat(np.arange(len(CODES)), images),
        relevance,
    )


def fitted(name, data, strength=1.0, *, cosine=True):
    plain = Correction.none(CODES, data.images.shape[1], cosine=cosine)
    return METHODS[name](data, plain, strength)


def corrected(correction, data):
    """The same world after the correction, as vectors of images and texts."""
    codes = [CODES[row] for row in data.language]
    return correction.queries(data.images), correction.texts(data.texts, codes)


def scores(correction, data):
    images, texts = corrected(correction, data)
    return images.astype(np.float64) @ texts.T.astype(np.float64)


def by_language(data, columns):
    """Columns `(n_images, n_texts)` as `(n_languages, n_images, texts of a language)`."""
    return np.stack([columns[:, data.language == row] for row in range(len(CODES))])


def exposure(data, found, k):
    """The exposure of each language in the first `k`, over an even share."""
    order = np.argsort(-found, axis=1, kind="stable")[:, :k]
    weights = 1 / np.log2(np.arange(2, k + 2))
    shares = [((data.language[order] == row) * weights).sum() for row in range(len(CODES))]
    return np.array(shares) / sum(shares) * len(CODES)


def again(data, correction):
    """The world of texts that were corrected, for a correction that keeps the width."""
    return replace(data, texts=corrected(correction, data)[1])
