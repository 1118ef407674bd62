"""What an encoder is, and how one is added.

An encoder gives vectors of images and texts that can be compared. To add a model, write two methods::

    @register("mine", about="my model")
    class Mine(EmbeddingModel):
        def encode_images(self, images):  # a list of RGB PIL images
            return ...                    # (n, width) array
        def encode_texts(self, texts):    # a list of strings
            return ...                    # (n, width) array

What a user types after the colon, as in `mine:large`, is passed to the constructor.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equiview.data.items import Items
from equiview.data.vectors import TokenVectors, Vectors, rows_with, taken, values_of
from equiview.engine import Local, current
from equiview.errors import InputError, as_input_error
from equiview.io.ahead import ahead
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.subjects.base import Subject, said_with_place
from equiview.subjects.encoders.spread import Unreadable, spread

if TYPE_CHECKING:
    from PIL.Image import Image

V = TypeVar("V", NDArray[np.float32], TokenVectors, Vectors)
PROBE_TEXTS = ("a red hat on a chair", "kofia nyekundu juu ya kiti", "椅子上的红帽子")
"""Texts that distinguish models of the same code by their vectors."""
PROBE_SIDE = 224
"""Side, in pixels, of the pictures with the same purpose."""


class Encoder(Subject):
    """Whatever gives vectors of images and texts: a model, or stored vectors."""

    kind = "an encoder"
    similarity: Literal["cosine", "dot", "maxsim"] = "cosine"
    """How two vectors are compared. With `maxsim` an item has one vector a token."""
    copies: ClassVar[bool] = False
    """Whether the vectors that `embed` returns are the caller's alone, to be written over if they can be."""

    @abstractmethod
    def embed(self, items: Items, progress: Progress = silent) -> Vectors:
        """Vectors of items in row order, checked: finite, one width, none all zero.

        `(len(items), width)` float32, or `TokenVectors` where `similarity` is `maxsim`.
        """

    def cuts(self, texts: Sequence[str]) -> list[bool] | None:
        """Whether each text is longer than the encoder's limit; None where that is not known."""
        return None


class EmbeddingModel(Encoder):
    """A model that makes vectors of images and texts. A subclass needs two methods; the rest has defaults.

    Where `similarity` is `maxsim` the two methods return `TokenVectors`, or one `(n_tokens, width)` array for
    each item, normalised if the model normalises.
    """

    image_batch: int = 64
    """Images handed to `encode_images` at a time, while as many more are being decoded."""
    text_batch: int = 1024
    """Texts handed to `encode_texts` at a time: distinct ones of like length."""
    accelerator: bool = False
    """Whether it uses an accelerator where there is one; on a cluster each worker is then given one."""
    readers: int = 8
    """Threads that decode pictures, at most."""
    one_thread: bool = False
    """Whether one thread of a processor encodes a batch; on a cluster a worker then takes one core."""
    computes: bool = True
    """Whether it computes its vectors; else a service does, which workers of a cluster are not to ask too."""
    by_language: bool = False
    """Whether the model is told the language of a text; it then overrides `encode_texts_in`."""

    @property
    def in_turn(self) -> bool:
        """Whether pictures are decoded before a batch is encoded, and not meanwhile: it takes all cores."""
        return False

    @property
    def fingerprint(self) -> str:
        """A hash of its class, its argument and the vectors of a few texts and pictures.

        It shows that a model was retrained between runs. To have vectors kept in the store, override it with
        a hash of the weights, or a revision.
        """
        return fingerprint(super().fingerprint, self._probed)

    @property
    def picture_fingerprint(self) -> str:
        """A hash of what decides the vectors of pictures: models with one image tower share those it made."""
        return self.fingerprint

    @property
    def declares_fingerprint(self) -> bool:
        """Whether it has a fingerprint of its own, so that its vectors may be kept."""
        return type(self).fingerprint is not EmbeddingModel.fingerprint

    @property
    def looks(self) -> bool:
        """Whether it decodes pictures; not where a subclass overrides `embed`, having vectors already."""
        return type(self).embed is EmbeddingModel.embed

    @cached_property
    def _probed(self) -> str:
        """A hash of the vectors of `PROBE_TEXTS` and two pictures."""
        from PIL import Image

        rng = np.random.default_rng(0)
        sides = (PROBE_SIDE, PROBE_SIDE, 3)
        noise = rng.integers(0, 256, sides, dtype=np.uint8)
        ramp = np.broadcast_to(np.arange(PROBE_SIDE, dtype=np.uint8)[:, None, None], sides)
        try:
            texts = self._vectors_of(self.encode_texts, list(PROBE_TEXTS), "texts")
            pictures = [Image.fromarray(np.ascontiguousarray(pixels)) for pixels in (noise, ramp)]
            images = self._vectors_of(self.encode_images, pictures, "images")
        except (Exception, SystemExit):  # the audit meets the same error, and reports it with its item
            return ""
        return fingerprint(*(values_of(part).tobytes() for part in (texts, images)))

    @abstractmethod
    def encode_images(self, images: Sequence[Image]) -> ArrayLike | TokenVectors | Iterable[ArrayLike]:
        """Vectors `(n, width)` of RGB images."""

    @abstractmethod
    def encode_texts(self, texts: Sequence[str]) -> ArrayLike | TokenVectors | Iterable[ArrayLike]:
        """Vectors `(n, width)` of strings."""

    def encode_texts_in(
        self, texts: Sequence[str], language: str
    ) -> ArrayLike | TokenVectors | Iterable[ArrayLike]:
        """Vectors `(n, width)` of strings of one language, a code such as 'sw'."""
        return self.encode_texts(texts)

    def embed(self, items: Items, progress: Progress = silent) -> Vectors:
        """Vectors of items in row order, checked: finite, one width, none all zero.

        `(len(items), width)` float32, or `TokenVectors` where `similarity` is `maxsim`. Texts are encoded
        longest first, so that a batch holds texts of like length, and each distinct text once, so that the
        same words always have the same vector; with `by_language` once in each language.
        """
        check_not_empty(items)
        parts = list(self.batches(items, progress))
        return checked_vectors(in_order(parts, len(items)), items, self.called)

    def batches(
        self,
        items: Items,
        progress: Progress = silent,
        *,
        rows: NDArray[np.int64] | None = None,
        unreadable: Unreadable | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """Yield (item rows, their vectors) batch by batch until all items, or all of `rows`, are encoded.

        A batch is checked for its shape alone; `embed` checks the rest. A picture that cannot be read is an
        InputError, or is left out and passed to `unreadable` as (row, error). Workers of the engine in use
        encode the same batches that would be encoded here.
        """
        chosen = np.arange(len(items)) if rows is None else rows
        encoded = self._image_batches if items.kind == "image" else self._text_batches
        done = 0
        batches = (
            encoded(items, chosen, unreadable)
            if isinstance(current(), Local) or not self.computes
            else spread(self, items, self.batch_rows(items, chosen), unreadable)
        )
        for part, vectors in batches:
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

        under_way: deque[NDArray[np.int64]] = deque()

        def batches() -> Iterator[list[Image]]:
            waiting = ahead(
                read, chosen.tolist(), depth=self.image_batch, threads=self.readers, in_turn=self.in_turn
            )
            for part in self.batch_rows(items, chosen):
                images: dict[int, Image] = {}
                for row, image in zip(part.tolist(), waiting, strict=False):
                    if not isinstance(image, InputError):
                        images[row] = image
                    elif unreadable is None:
                        raise image
                    else:
                        unreadable(row, image)
                if images:
                    under_way.append(np.fromiter(images, dtype=np.int64))
                    yield list(images.values())

        for vectors in self.encode_batches(batches()):
            yield under_way.popleft(), vectors

    def encode_batches(self, batches: Iterable[list[Image]]) -> Iterator[Vectors]:
        """Vectors of each batch of images; a model may take the next batches before it yields these."""
        for batch in batches:
            yield self._vectors_of(self.encode_images, batch, "images")

    def _text_batches(
        self, items: Items, chosen: NDArray[np.int64], _: Unreadable | None
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        for rows in self.batch_rows(items, chosen):
            table = items.table[rows]
            texts = table["text"].unique(maintain_order=True).to_list()
            language = table["language"][0] if self.by_language else ""

            def encode(batch: list[str], language: str = language) -> Any:
                return self.encode_texts_in(batch, language)

            part = self._vectors_of(encode, texts, "texts")
            if len(rows) > len(texts):
                place = {text: number for number, text in enumerate(texts)}
                part = taken(part, np.array([place[text] for text in table["text"]]))
            yield rows, part

    def batch_rows(self, items: Items, chosen: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The rows of `items` that are encoded together, batch by batch, of the rows `chosen`.

        Texts longest first, equal ones in one batch, with `by_language` those of one language.
        """
        if items.kind == "image":
            for start in range(0, len(chosen), self.image_batch):
                yield chosen[start : start + self.image_batch]
            return
        places: dict[str, dict[str, list[int]]] = {}
        table = items.table[chosen]
        languages = table["language"].to_list() if self.by_language else [""] * len(chosen)
        for row, text, language in zip(chosen.tolist(), table["text"], languages, strict=True):
            places.setdefault(language, {}).setdefault(text, []).append(row)
        for rows_of in places.values():
            texts = sorted(rows_of, key=len, reverse=True)
            for start in range(0, len(texts), self.text_batch):
                batch = texts[start : start + self.text_batch]
                yield np.asarray([row for text in batch for row in rows_of[text]], dtype=np.int64)

    def rebuilt(self) -> tuple[Callable[..., EmbeddingModel], tuple[Any, ...]]:
        """What a worker calls, and with what, to have the same model: its class, with its argument."""
        return type(self), (self.argument,)

    @property
    def called(self) -> str:
        """The name of the class in errors."""
        return type(self).__name__

    def _vectors_of(self, encode: Callable[[Any], Any], batch: list[Any], what: str) -> Vectors:
        """The vectors of a batch; InputError when a user's own code fails, or returns something else."""
        try:
            encoded = encode(batch)
        except (Exception, SystemExit) as error:
            if type(self).__module__.startswith("equiview.") and self.called == type(self).__name__:
                raise  # equiview's own class: not the user's mistake
            known = as_input_error(error) if isinstance(error, InputError | MemoryError) else None
            raise known or InputError(
                f"{self.called}: encode_{what} failed with {said_with_place(error)}"
            ) from error
        if inspect.iscoroutine(encoded):
            encoded.close()
            raise InputError(f"{self.called}: encode_{what} is async; it must return the vectors themselves")
        try:
            return self._as_vectors(encoded, len(batch), what)
        except (TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{self.called}: encode_{what} returned {type(encoded).__name__}, which is not an array "
                f"of numbers of shape ({len(batch)}, width) ({' '.join(str(error).split())[:200]})"
            ) from None

    def _as_vectors(
        self, encoded: ArrayLike | Iterable[ArrayLike] | TokenVectors, count: int, what: str
    ) -> Vectors:
        """The output of an encoding method as `Vectors` of `count` items; InputError for anything else."""
        name = self.called
        if self.similarity == "maxsim":
            several = encoded if isinstance(encoded, TokenVectors) else TokenVectors.of(encoded)  # type: ignore[arg-type]
            if len(several) != count:
                raise InputError(f"{name} returned vectors of {len(several)} items for {count} {what}")
            return several
        if isinstance(encoded, TokenVectors):
            raise InputError(f"{name} returned one vector a token; its similarity must then be 'maxsim'")
        if np.iscomplexobj(encoded):  # type: ignore[arg-type]
            raise InputError(f"{name} returned complex numbers for {what}; expected real ones")
        part = np.asarray(encoded, dtype=np.float32)
        if part.ndim != 2 or len(part) != count:
            raise InputError(
                f"{name} returned an array of shape {part.shape} for {count} {what}; "
                f"expected ({count}, width)"
            )
        return part


def narrowed(
    vectors: NDArray[np.float32], dim: int, name: str, *, scaled: bool = True
) -> NDArray[np.float32]:
    """The first `dim` numbers of each vector `(n, width)`, with `scaled` at length 1 again; of 0, all.

    Models trained so that the beginning of a vector is a vector of its own lose little (Kusupati et al.,
    "Matryoshka Representation Learning", NeurIPS 2022). InputError where `dim` is larger than the width.

    >>> narrowed(np.array([[0.6, 0.0, 0.8]], dtype=np.float32), 2, "mine").tolist()
    [[1.0, 0.0]]
    """
    if not dim:
        return vectors
    if dim > vectors.shape[1]:
        raise InputError(f"{name}: dim is {dim}, but its vectors are {vectors.shape[1]} wide")
    part = vectors[:, :dim]
    if not scaled:
        return part
    length = np.linalg.norm(part, axis=1, keepdims=True)
    return np.asarray(part / np.where(length > 0, length, 1), dtype=np.float32)


def check_not_empty(items: Items) -> None:
    """InputError when there is nothing to embed."""
    if not len(items):
        raise InputError(f"{items.source}: has no {items.kind}s, which this audit needs")


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
    values = values_of(vectors)
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
