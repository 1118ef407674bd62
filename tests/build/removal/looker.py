"""An encoder that tells things by shape: what is wide is a dog, what is black grass, the rest a person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image

from equiview.subjects.encoders.base import EmbeddingModel

THINGS = ("a dog", "grass", "a person")


class Looker(EmbeddingModel):
    """One dimension a thing, and one for all else."""

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        return np.eye(4, dtype=np.float32)[[_thing(image) for image in images]]

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        places = [next((n for n, thing in enumerate(THINGS) if text.endswith(thing)), 3) for text in texts]
        return np.eye(4, dtype=np.float32)[places]


def _thing(image: Image) -> int:
    if image.width > image.height:
        return 0
    if np.median(np.asarray(image)) < 40:
        return 1
    return 2 if image.height > image.width else 0
