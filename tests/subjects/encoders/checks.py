"""What every encoder has to keep to, whatever its family."""

from __future__ import annotations

from typing import Any

import numpy as np

from equiview.data.vectors import TokenVectors
from equiview.subjects import EmbeddingModel
from tests.subjects.encoders import tiny

TOLERANCE = 2e-5


def keeps_its_promises(
    subject: EmbeddingModel, again: EmbeddingModel, width: int, texts: list[str] = tiny.TEXTS
) -> None:
    """Shapes, precision, unit length, order, batches, determinism; `again` is the same, loaded anew."""
    images = tiny.pictures()
    for encode, items in ((subject.encode_images, images), (subject.encode_texts, texts)):
        whole = encode(items)
        assert len(whole) == len(items)
        assert isinstance(whole, TokenVectors) == (subject.similarity == "maxsim")
        vectors = flat(whole)
        assert vectors.shape[1] == width
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        one_by_one = np.concatenate([flat(encode([item])) for item in items])
        np.testing.assert_allclose(vectors, one_by_one, atol=TOLERANCE)
        backwards = encode(items[::-1])
        backwards = (
            backwards.take(range(len(items))[::-1])
            if isinstance(backwards, TokenVectors)
            else backwards[::-1]
        )
        np.testing.assert_allclose(flat(backwards), vectors, atol=TOLERANCE)
        np.testing.assert_array_equal(flat(encode(items)), vectors)
        firsts = np.stack([one.mean(axis=0) for one in whole]) if isinstance(whole, TokenVectors) else whole
        assert len(np.unique(firsts.round(5), axis=0)) == len(items)
    np.testing.assert_array_equal(flat(again.encode_images(images)), flat(subject.encode_images(images)))
    np.testing.assert_array_equal(flat(again.encode_texts(texts)), flat(subject.encode_texts(texts)))
    assert again.fingerprint == subject.fingerprint


def flat(vectors: Any) -> Any:
    """All vectors, one below the other."""
    return vectors.values if isinstance(vectors, TokenVectors) else vectors
