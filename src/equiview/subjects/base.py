"""What an encoder is, and how one is added.

An encoder turns images and texts into vectors that can be compared. To add one, write two methods::

    @encoder("mine", about="my model")
    class Mine(Encoder):
        def encode_images(self, images):  # a list of RGB PIL images
            return ...                    # (n, width) array
        def encode_texts(self, texts):    # a list of strings
            return ...                    # (n, width) array

What a user types after the colon, as in `mine:large`, is passed to the constructor.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.data.ahead import ahead
from equiview.data.errors import InputError
from equiview.data.items import Items
from equiview.data.progress import Progress, silent
from equiview.data.registry import Registry

if TYPE_CHECKING:
    from PIL.Image import Image


class Encoder(ABC):
    """Images and texts to vectors. A subclass needs two methods; the rest has defaults."""

    similarity: Literal["cosine", "dot"] = "cosine"
    image_batch: int = 64
    """Images handed to `encode_images` at a time, while as many more are being decoded."""
    text_batch: int = 1024
    """Texts handed to `encode_texts` at a time, which may sort them by length."""

    def __init__(self, argument: str = "") -> None:
        self.argument = argument

    @abstractmethod
    def encode_images(self, images: Sequence[Image]) -> ArrayLike:
        """Vectors `(n, width)` of RGB images."""

    @abstractmethod
    def encode_texts(self, texts: Sequence[str]) -> ArrayLike:
        """Vectors `(n, width)` of strings."""

    @property
    def fingerprint(self) -> str:
        """What tells this encoder from every other: override it with a hash of the weights or a revision."""
        kind = type(self)
        return hashlib.sha256(f"{kind.__module__}.{kind.__qualname__}:{self.argument}".encode()).hexdigest()[
            :16
        ]

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """Vectors `(len(items), width)` of items in row order, checked: finite, one width, none all zero."""
        parts = []
        what = f"encoding {items.kind}s"
        size = self.image_batch if items.kind == "image" else self.text_batch
        batches = [range(start, min(start + size, len(items))) for start in range(0, len(items), size)]
        pictures = ahead(lambda row: items.pictures([row])[0], range(len(items)), depth=size)
        for rows in batches:
            if items.kind == "image":
                made = self.encode_images(list(islice(pictures, len(rows))))
            else:
                made = self.encode_texts(items.table["text"][rows.start : rows.stop].to_list())
            part = np.asarray(made, dtype=np.float32)
            if part.ndim != 2 or len(part) != len(rows):
                raise InputError(
                    f"{type(self).__name__} returned an array of shape {part.shape} for {len(rows)} "
                    f"{items.kind}s; expected ({len(rows)}, width)"
                )
            parts.append(part)
            progress(what, rows.stop, len(items))
        return checked_vectors(np.concatenate(parts), items, type(self).__name__)


def checked_vectors(vectors: NDArray[np.float32], items: Items, source: str) -> NDArray[np.float32]:
    """Return `vectors` if they can be compared; InputError names the first item whose vector cannot."""
    if vectors.ndim != 2 or len(vectors) != len(items):
        raise InputError(
            f"{source}: has vectors of shape {vectors.shape}, but there are {len(items)} {items.kind}s in "
            f"{items.source}; expected ({len(items)}, width)"
        )
    for problem, bad in (
        ("is not finite (nan or inf)", ~np.all(np.isfinite(vectors), axis=1, keepdims=True)[:, 0]),
        ("is all zero, so it points nowhere", ~np.any(vectors, axis=1, keepdims=True)[:, 0]),
    ):
        if bad.any():
            row = int(bad.argmax())
            raise InputError(
                f"{source}: the vector of {items.kind} {items.ids[row]!r} (row {row + 1}) {problem}; "
                f"{int(bad.sum())} of {len(bad)} are like that"
            )
    return vectors


ENCODERS: Registry[type[Encoder]] = Registry("encoder", "equiview.subjects")
encoder = ENCODERS.register


def load_encoder(name: str) -> Encoder:
    """The encoder a user names as `NAME` or `NAME:ARGUMENT`."""
    scheme, _, argument = name.partition(":")
    return ENCODERS.get(scheme)(argument)
