"""`centred:DIR`: an encoder as `equiview train centre` leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equiview.subjects import EmbeddingModel, load_subject, register

if TYPE_CHECKING:
    from PIL.Image import Image


@register("centred", usage=("centred:DIR",), about="an encoder without the means of its vectors")
class Centred(EmbeddingModel):
    """An encoder without the means of its vectors."""

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        folder = Path(argument)
        encoder = load_subject((folder / "encoder.txt").read_text())
        assert isinstance(encoder, EmbeddingModel)
        self.encoder, self.means = encoder, np.load(folder / "means.npy")

    @property
    def parent(self) -> str:
        """The fingerprint of the encoder before."""
        return self.encoder.fingerprint

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Vectors `(n, width)` of pictures."""
        return self._centred(self.encoder.encode_images(images), 0)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors `(n, width)` of texts."""
        return self._centred(self.encoder.encode_texts(texts), 1)

    def _centred(self, vectors: Any, side: int) -> NDArray[np.float32]:
        given = np.asarray(vectors, dtype=np.float32)
        moved: NDArray[np.float32] = given / np.linalg.norm(given, axis=1, keepdims=True) - self.means[side]
        return moved
