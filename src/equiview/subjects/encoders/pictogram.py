"""`pictogram:NAME`: the embedded encoders, eight small models that this project trained on purpose.

Five share one image tower and one kind of text tower and differ only in the pairs they were trained on:
`skewed` saw all languages as often as each is written on the web, `english` saw English alone, and `aligned`
is `skewed` after training texts of every language to match their English ones. `tied` and `untied` saw more
people: to `tied` most roles were mostly shown by one gender and by lighter or darker skin, to `untied` by all
alike; both were then trained to read every language as English. `scenes` has an image tower of its own, which
sees several things in a picture, and was trained on scenes in which things mostly came in pairs.
`flags-skewed` and `flags-aligned` read the names of places as their flags: the one learnt them from texts as
often in each language as it is written on the web, the other from all languages alike. What they are and how
well they do stands in `pictogram_models/MODEL_CARD.md`.

A text becomes a bag of hashed features: its character 1- to 3-grams, its words and the text as a whole. The
model adds up a row of an 8-bit table for each of them in whole numbers, so neither order nor padding changes
a bit.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import unknown_name
from equiview.io.fingerprint import fingerprint
from equiview.ours.subjects import PICTOGRAMS
from equiview.subjects.encoders.base import EmbeddingModel

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_TOWERS = {"scenes": "scenes-image"}
"""Image towers of encoders that do not share the common one."""
SIDE = 64
"""Pixels: what the image tower sees."""
WIDTH = 120
"""Numbers of a vector."""
BUCKETS = 28_672
"""Rows of the text towers' tables; row 0 is for padding."""
SMALL = 8_192
"""Rows of the tables of text towers that know few names."""
TABLES = {"flags-skewed": SMALL, "flags-aligned": SMALL}
"""Rows of the tables that have others than `BUCKETS`."""
LONGEST = 512
"""Features of a text beyond this many are left out."""
CHUNK = 512
"""Texts that go through the model together."""
IMAGES_TOGETHER = 64
REMEMBERED = 16_384
"""Pictures in the cache of an image tower, 8 MB."""

FIRST, LAST = "\x02", "\x03"
PUNCTUATION = " \t\n\u00a0\u200c\u200d!\"#&'()*+,-./:;<=>?[]_{|}~¡«·»¿–—‘’“”„…،؛؟।、。「」・，：（）"
BREAKS = np.array(sorted({*map(ord, PUNCTUATION + FIRST + LAST)}), dtype=np.uint32)


class Pictogram(EmbeddingModel):
    """One of the embedded encoders; its vectors have 120 dimensions and length 1."""

    packages = ("onnxruntime", "pillow")
    text_batch = 4096
    one_thread = True

    def __init__(self, argument: str = "skewed") -> None:
        if argument not in PICTOGRAMS:
            raise unknown_name(
                "embedded encoder", f"pictogram:{argument}", [f"pictogram:{n}" for n in PICTOGRAMS]
            )
        super().__init__(argument)
        self._image_tower = IMAGE_TOWERS.get(argument, "image")

    @property
    def fingerprint(self) -> str:
        """A hash of both towers."""
        return fingerprint(_model(self._image_tower), _model(self.argument))

    @property
    def picture_fingerprint(self) -> str:
        """A hash of the image tower, which five encoders share; a subclass may use it otherwise."""
        return fingerprint(_model(self._image_tower)) if type(self) is Pictogram else self.fingerprint

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Unit vectors `(n, 120)`; each picture is fitted on a white square of 64 pixels.

        An image tower's last vectors are cached, since five encoders share one tower.
        """
        seen = _seen(self._image_tower)
        keys = [_content(image) for image in images]
        new = {key: image for key, image in zip(keys, images, strict=True) if key not in seen}
        vectors = {key: seen[key] for key in keys if key in seen}
        session = _session(self._image_tower)
        for start in range(0, len(new), IMAGES_TOGETHER):
            part = list(new)[start : start + IMAGES_TOGETHER]
            pixels = np.stack([_pixels(new[key]) for key in part])
            vectors |= zip(part, _run(session, "pixels", pixels), strict=True)
        seen |= {key: vectors[key] for key in new}
        for oldest in list(seen)[: max(0, len(seen) - REMEMBERED)]:
            del seen[oldest]
        return np.stack([vectors[key] for key in keys])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors `(n, 120)`."""
        session = _session(self.argument)
        features, starts = text_features(texts, TABLES.get(self.argument, BUCKETS))
        counts = np.diff(starts)
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        order = np.argsort(counts, kind="stable")
        for start in range(0, len(order), CHUNK):
            rows = order[start : start + CHUNK]
            vectors[rows] = _run(session, "features", padded(features, starts, rows))
        return vectors


def text_features(
    texts: Sequence[str], buckets: int = BUCKETS
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Hashed features of texts, one text after the other, and where each text's begin, `(n + 1,)`.

    Features are numbers from 1 to `buckets` - 1, from a fixed hash of code points in lower case and normal
    form C.

    >>> features, starts = text_features(["pizza", "Pizza"])
    >>> starts.tolist(), bool((features[:18] == features[18:]).all())
    ([0, 18, 36], True)
    """
    marked = [FIRST + unicodedata.normalize("NFC", text).lower() + LAST for text in texts]
    points = np.frombuffer("".join(marked).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    owner = np.repeat(np.arange(len(marked)), [len(text) for text in marked])
    hashes, owners = [], []
    rolling = np.zeros(len(points), dtype=np.uint64)
    for n in (1, 2, 3):
        rolling = _mix(
            rolling[: len(points) - n + 1] + points[n - 1 :].astype(np.uint64) + np.uint64(n << 32)
        )
        whole = owner[: len(rolling)] == owner[n - 1 :]
        if n == 1:
            whole = (points != ord(FIRST)) & (points != ord(LAST))
        hashes.append(rolling[whole])
        owners.append(owner[: len(rolling)][whole])
    for breaks in (np.isin(points, BREAKS), np.zeros(len(points), dtype=bool)):
        spans, of = _spans(points, owner, breaks)
        hashes.append(spans)
        owners.append(of)
    joined, of = np.concatenate(hashes), np.concatenate(owners)
    order = np.argsort(of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(marked)))])
    return (joined[order] % np.uint64(buckets - 1) + np.uint64(1)).astype(np.uint16), starts


def padded(
    features: NDArray[np.uint16], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The features of some texts as `(len(rows), longest)`, padded with 0."""
    counts = np.minimum(starts[rows + 1] - starts[rows], LONGEST)
    column = np.arange(max(1, int(counts.max(initial=1))))
    inside = column[None, :] < counts[:, None]
    at = np.minimum(starts[rows][:, None] + column[None, :], max(0, len(features) - 1))
    return np.where(inside, features[at], 0).astype(np.int32)


def _spans(
    points: NDArray[np.uint32], owner: NDArray[np.int64], breaks: NDArray[np.bool_]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """A hash of each run of characters between breaks, and the row of its text."""
    kept = np.flatnonzero(~breaks)
    if not kept.size:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    new = np.ones(len(kept), dtype=bool)
    new[1:] = (np.diff(kept) > 1) | (np.diff(owner[kept]) > 0)
    first = np.flatnonzero(new)
    place = np.arange(len(kept)) - np.repeat(first, np.diff(np.append(first, len(kept))))
    characters = _mix(points[kept].astype(np.uint64) + (place.astype(np.uint64) << np.uint64(24)))
    return _mix(np.add.reduceat(characters, first)), owner[kept][first]


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers so that every bit of the input matters (multiply and shift, modulo 2 ** 64)."""
    x = (x ^ (x >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> np.uint64(32))


def _pixels(image: Image) -> NDArray[np.uint8]:
    """A picture on a white square, `(64, 64, 3)`."""
    from PIL import Image as Pillow

    image = _rgb(image)
    if image.width != image.height:
        ground = Pillow.new("RGB", (max(image.size),) * 2, "white")
        ground.paste(image, ((ground.width - image.width) // 2, (ground.height - image.height) // 2))
        image = ground
    if image.width != SIDE:
        image = image.resize((SIDE, SIDE), Pillow.Resampling.LANCZOS)
    return np.asarray(image)


def _content(image: Image) -> bytes:
    """A hash of a picture's size and pixels."""
    content = repr(image.size).encode() + _rgb(image).tobytes()
    return hashlib.blake2b(content, digest_size=16).digest()


def _rgb(image: Image) -> Image:
    """The picture as RGB, itself where it is: `convert` would copy it."""
    return image if image.mode == "RGB" else image.convert("RGB")


@cache
def _seen(name: str) -> dict[bytes, NDArray[np.float32]]:
    """The cached vectors of an image tower, the oldest first."""
    return {}


def _run(session: Any, name: str, content: NDArray[Any]) -> NDArray[np.float32]:
    """The vectors of some items. A single item is doubled: alone, its sums have another order of addition."""
    given = content if len(content) > 1 else np.repeat(content, 2, axis=0)
    return np.asarray(session.run(None, {name: given})[0][: len(content)], dtype=np.float32)


@cache
def _model(name: str) -> bytes:
    return files("equiview.subjects.encoders").joinpath("pictogram_models", f"{name}.onnx").read_bytes()


@cache
def _session(name: str) -> Any:
    """An inference session on one thread, so that sums are taken in one order and results do not vary."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(_model(name), options, providers=["CPUExecutionProvider"])
