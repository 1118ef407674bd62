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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.data.ahead import ahead
from equiview.data.items import Items
from equiview.data.progress import Progress, silent
from equiview.data.registry import Registry
from equiview.data.vectors import TokenVectors, Vectors, rows_with
from equiview.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

Unreadable = Callable[[int, InputError], None]
V = TypeVar("V", NDArray[np.float32], TokenVectors, Vectors)


class Subject(ABC):
    kind = "a subject"
    parent: str | None = None
    versions: dict[str, str] = {}
    name = "subject"
    fingerprint: Any
    about: Any


class Encoder(Subject):
    kind = "an encoder"
    """Images and texts to vectors. A subclass needs two methods; the rest has defaults."""

    similarity: Literal["cosine", "dot", "maxsim"] = "cosine"
    """How two vectors are compared. `maxsim` is for one vector a token: the encoding methods then return
    `TokenVectors`, or one `(n_tokens, width)` array for each item, of length 1 if that is the model's way."""
    image_batch: int = 64
    """Images handed to `encode_images` at a time, while as many more are being decoded."""
    text_batch: int = 1024
    """Texts handed to `encode_texts` at a time: distinct ones of like length."""

    def __init__(self, argument: str = "") -> None:
        self.argument = argument

    @abstractmethod
    def encode_images(self, images: Sequence[Image]) -> ArrayLike | TokenVectors | Iterable[ArrayLike]:
        """Vectors `(n, width)` of RGB images."""

    @abstractmethod
    def encode_texts(self, texts: Sequence[str]) -> ArrayLike | TokenVectors | Iterable[ArrayLike]:
        """Vectors `(n, width)` of strings."""

    @property
    def fingerprint(self) -> str:
        """What tells this encoder from every other: override it with a hash of the weights or a revision."""
        kind = type(self)
        return hashlib.sha256(f"{kind.__module__}.{kind.__qualname__}:{self.argument}".encode()).hexdigest()[
            :16
        ]

    @property
    def about(self) -> str:
        """What it is, in a line: the first of its docstring."""
        return (type(self).__doc__ or "").strip().split("\n")[0]

    def embed(self, items: Items, progress: Progress = silent) -> Vectors:
        """Vectors of items in row order, checked: finite, one width, none all zero.

        `(len(items), width)` float32, or `TokenVectors` where `similarity` is `maxsim`. Texts are encoded
        longest first, so that a batch holds texts of like length, and each distinct text once, so that the
        same words have the same vector wherever they stand.
        """
        if not len(items):
            raise InputError(f"{items.source}: has no {items.kind}s, which this audit needs")
        made = [(rows, part) for rows, part in self.batches(items, progress)]
        return checked_vectors(in_order(made, len(items)), items, type(self).__name__)

    def batches(
        self,
        items: Items,
        progress: Progress = silent,
        *,
        rows: NDArray[np.int64] | None = None,
        unreadable: Unreadable | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """Yield (item rows, their vectors) batch by batch until each item, or each of `rows`, had its turn.

        A batch is checked for its shape alone; `embed` checks the rest. A picture that cannot be read is an
        InputError, or is left out and told to `unreadable` as (row, error).
        """
        chosen = np.arange(len(items)) if rows is None else rows
        made = self._image_batches if items.kind == "image" else self._text_batches
        done = 0
        for part, vectors in made(items, chosen, unreadable):
            done += len(part)
            yield part, vectors
            progress(f"encoding {items.kind}s", done, len(chosen))

    def _image_batches(
        self, items: Items, chosen: NDArray[np.int64], unreadable: Unreadable | None
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        def read(row: int) -> Image | InputError:
            try:
                return items.pictures([row])[0]
            except InputError as error:
                return error

        waiting = ahead(read, chosen.tolist(), depth=self.image_batch)
        for start in range(0, len(chosen), self.image_batch):
            images: dict[int, Image] = {}
            for row, image in zip(chosen[start : start + self.image_batch].tolist(), waiting, strict=False):
                if not isinstance(image, InputError):
                    images[row] = image
                elif unreadable is None:
                    raise image
                else:
                    unreadable(row, image)
            if images:
                rows = np.fromiter(images, dtype=np.int64)
                yield rows, self._made(self.encode_images(list(images.values())), len(rows), "images")

    def _text_batches(
        self, items: Items, chosen: NDArray[np.int64], _: Unreadable | None
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        places: dict[str, list[int]] = {}
        for row, text in zip(chosen.tolist(), items.table["text"][chosen], strict=True):
            places.setdefault(text, []).append(row)
        texts = sorted(places, key=len, reverse=True)
        for start in range(0, len(texts), self.text_batch):
            batch = texts[start : start + self.text_batch]
            part = self._made(self.encode_texts(batch), len(batch), "texts")
            rows = np.asarray([row for text in batch for row in places[text]], dtype=np.int64)
            if len(rows) > len(batch):
                of_text = np.repeat(np.arange(len(batch)), [len(places[text]) for text in batch])
                part = part.take(of_text) if isinstance(part, TokenVectors) else part[of_text]
            yield rows, part

    def _made(self, made: ArrayLike | Iterable[ArrayLike] | TokenVectors, count: int, what: str) -> Vectors:
        """What an encoding method returned as `Vectors` of `count` items; InputError when it is not that."""
        name = type(self).__name__
        if self.similarity == "maxsim":
            several = made if isinstance(made, TokenVectors) else TokenVectors.of(made)  # type: ignore[arg-type]
            if len(several) != count:
                raise InputError(f"{name} returned vectors of {len(several)} items for {count} {what}")
            return several
        if isinstance(made, TokenVectors):
            raise InputError(f"{name} returned one vector a token; its similarity must then be 'maxsim'")
        part = np.asarray(made, dtype=np.float32)
        if part.ndim != 2 or len(part) != count:
            raise InputError(
                f"{name} returned an array of shape {part.shape} for {count} {what}; "
                f"expected ({count}, width)"
            )
        return part


def in_order(parts: list[tuple[NDArray[np.int64], Vectors]], count: int) -> Vectors:
    """Vectors of items 0 to `count` from parts in any order; empties `parts`, to hold the whole only once."""
    first = parts[0][1]
    if isinstance(first, TokenVectors):
        tokens: list[NDArray[np.floating[Any]]] = [first[0]] * count
        while parts:
            rows, part = parts.pop()
            for row, item in zip(rows.tolist(), part, strict=True):
                tokens[row] = item
        return TokenVectors.of(tokens)
    whole = np.empty((count, first.shape[1]), dtype=np.float32)
    while parts:
        rows, part = parts.pop()
        if part.shape[1] != first.shape[1]:  # type: ignore[union-attr]
            raise InputError(f"vectors of two widths from one encoder: {first.shape[1]} and {part.shape[1]}")  # type: ignore[union-attr]
        whole[rows] = part  # type: ignore[assignment]
    return whole


def checked_vectors(vectors: V, items: Items, source: str, rows: NDArray[np.int64] | None = None) -> V:
    """Return `vectors` if they can be compared; InputError names the first item whose vector cannot.

    They are of all items, or of the items of `rows`.
    """
    chosen = np.arange(len(items)) if rows is None else rows
    values = vectors.values if isinstance(vectors, TokenVectors) else vectors
    if values.ndim != 2 or len(vectors) != len(chosen):
        shape = f"{len(vectors)} items" if isinstance(vectors, TokenVectors) else f"shape {values.shape}"
        raise InputError(
            f"{source}: has vectors of {shape}, but there are {len(chosen)} {items.kind}s in "
            f"{items.source}; expected ({len(chosen)}, width)"
        )
    for problem, kind in (
        ("is not finite (nan or inf)", "nan"),
        ("is all zero, so it points nowhere", "zero"),
    ):
        bad = rows_with(kind, values)
        if bad.any():
            if isinstance(vectors, TokenVectors):
                bad = np.logical_or.reduceat(bad, vectors.offsets[:-1])
            row = int(chosen[bad.argmax()])
            raise InputError(
                f"{source}: the vector of {items.kind} {items.ids[row]!r} (row {row + 1}) {problem}; "
                f"{int(bad.sum())} of {len(bad)} are like that"
            )
    return vectors


ENCODERS: Registry[type[Encoder]] = Registry("encoder", "equiview.subjects")
encoder = ENCODERS.register


def load_encoder(name: str) -> Encoder:
    """The encoder a user names: `NAME`, `NAME:ARGUMENT`, a known model, or `module:Class` of their own."""
    from equiview.subjects.known import in_full
    from equiview.subjects.own import load_own, names_a_class

    name = in_full(name)
    scheme, _, argument = name.partition(":")
    if scheme not in ENCODERS.all() and names_a_class(name):
        return load_own(name)
    return ENCODERS.get(scheme)(argument)
