"""What every encoder has to keep to, whatever its family."""

from __future__ import annotations

import numpy as np

from equiview.subjects import Encoder
from tests.subjects import tiny

TOLERANCE = 2e-5


def keeps_its_promises(subject: Encoder, again: Encoder, width: int, texts: list[str] = tiny.TEXTS) -> None:
    """Shapes, precision, unit length, order, batches, determinism; `again` is the same, loaded anew."""
    images = tiny.pictures()
    for encode, items in ((subject.encode_images, images), (subject.encode_texts, texts)):
        vectors = np.asarray(encode(items))
        assert vectors.shape == (len(items), width)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        one_by_one = np.concatenate([encode([item]) for item in items])
        np.testing.assert_allclose(vectors, one_by_one, atol=TOLERANCE)
        np.testing.assert_allclose(encode(items[::-1])[::-1], vectors, atol=TOLERANCE)
        np.testing.assert_array_equal(encode(items), vectors)
        assert len(np.unique(vectors.round(4), axis=0)) == len(items)
    np.testing.assert_array_equal(again.encode_images(images), subject.encode_images(images))
    np.testing.assert_array_equal(again.encode_texts(texts), subject.encode_texts(texts))
    assert again.fingerprint == subject.fingerprint
