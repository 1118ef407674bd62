"""What a page carries inside itself: data compressed into its text, pictures as data URIs, scripts by hash.

A page asks no network for anything. Data is gzip in base64 in elements the browser does not run; the page's
script inflates them when they are needed. The content security policy admits our scripts by their hashes and
nothing else, so a caption that looks like code stays a caption.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.io.pictures import data_uri, on_white

SIDE, QUALITY = 72, 75
"""The longer side, in pixels, and the WebP quality of pictures on a page."""
EFFORT = 2
"""Of WebP, from 0 to 6: its usual 4 takes two thirds longer to save 3% of the bytes."""
LEAST = 600
"""Bytes up to which a picture is not encoded again."""
DIGITS = 6
"""Significant digits of numbers on a page: more than is shown, and far fewer bytes."""
TENS = np.array([10.0**power for power in range(23)])
"""The powers of ten that are exact."""
HANGS = 1e-6
"""Of the last digit, more than scaling can round."""


def packed(content: bytes) -> str:
    """`content` as gzip in base64, the same text for the same bytes."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def packed_json(value: Any) -> str:
    """`value` as compressed JSON."""
    return packed(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())


@lru_cache(maxsize=20_000)
def small(content: bytes) -> bytes:
    """A picture no larger than a page shows it, as WebP, or as it is where that is no smaller.

    Transparency becomes white, on which a page shows pictures: it would take as many bytes as the picture.
    What cannot be read as a picture is returned as it is.
    """
    if len(content) <= LEAST:
        return content
    if not _kept:
        return _made_small(content)
    kept = _kept[-1] / hashlib.blake2b(content, digest_size=16).hexdigest()
    if not kept.exists():
        handle, name = tempfile.mkstemp(dir=_kept[-1])  # whole or not at all; it need not outlive the machine
        with open(handle, "wb") as stream:
            stream.write(_made_small(content))
        os.replace(name, kept)
    return kept.read_bytes()


@contextmanager
def small_kept(folder: Path) -> Iterator[None]:
    """Keep what `small` makes in a folder, where other processes that write pages find it."""
    folder.mkdir(exist_ok=True)
    _kept.append(folder)
    try:
        yield
    finally:
        _kept.remove(folder)


_kept: list[Path] = []
"""Where small pictures are kept: in the last of these."""


def _made_small(content: bytes) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    try:
        with Image.open(io.BytesIO(content)) as image:
            shown = on_white(image)
            shown.thumbnail((SIDE, SIDE))
            shown.save(stream, "WEBP", quality=QUALITY, method=EFFORT)
    except (OSError, ValueError):
        return content
    return min(content, stream.getvalue(), key=len)


class Pictures:
    """The pictures of a page, each once however many figures and lists show it, in compressed pieces."""

    size = 24  # pictures a piece: a screenful of thumbnails

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def add(self, content: bytes | None) -> int | None:
        """The number by which the page's script finds this picture."""
        if content is None:
            return None
        return self._numbers.setdefault(small(content), len(self._numbers))

    def add_all(self, contents: Iterable[bytes | None]) -> list[int | None]:
        """The number of each picture, made small on all processors at once."""
        contents = list(contents)
        with ThreadPoolExecutor() as pool:
            list(pool.map(small, filter(None, contents)))  # kept, so that adding them finds them ready
        return [self.add(content) for content in contents]

    def pieces(self) -> list[tuple[str, str]]:
        """(element id, compressed text) of every piece."""
        shown = [data_uri(content) for content in self._numbers]
        starts = range(0, len(shown), self.size)
        return [(f"pictures-{i}", packed_json(shown[at : at + self.size])) for i, at in enumerate(starts)]


def columns(table: pl.DataFrame) -> dict[str, Any]:
    """A table as the page's script reads it: names, kinds and columns of values, pictures left out."""
    kept = [name for name, dtype in table.schema.items() if dtype != pl.Binary]
    return {
        "names": kept,
        "numeric": [table.schema[name].is_numeric() for name in kept],
        "values": [_finite(table[name]) for name in kept],
    }


def _finite(column: pl.Series) -> list[Any]:
    if column.dtype.is_float():
        values = column.cast(pl.Float64).to_numpy()
        shown = bounded(np.nan_to_num(values, posinf=0.0, neginf=0.0)).astype(object)
        for odd, word in ((np.isnan, None), (np.isposinf, "∞"), (np.isneginf, "−∞")):
            shown[odd(values)] = word
        return list(shown)
    plain = column.dtype.is_numeric() or column.dtype == pl.Boolean
    return (column if plain else column.cast(pl.String)).to_list()


def bounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Finite numbers `(n,)` in `DIGITS` significant digits, each the float that this decimal number reads as.

    >>> bounded(np.array([1 / 3, -123456789.0, 0.0])).tolist()
    [0.333333, -123457000.0, 0.0]
    """
    size = np.abs(np.where(values == 0, 1.0, values))
    power = DIGITS - 1 - np.floor(np.log10(size)).astype(np.int64)
    unit = TENS[np.minimum(np.abs(power), len(TENS) - 1)]
    with np.errstate(over="ignore"):
        digits = np.where(power < 0, values / unit, values * unit)
        whole = np.rint(digits)
        # Whole numbers and powers of ten are exact here, so that the last step rounds once, as reading does.
        rounded = np.where(power < 0, whole * unit, whole / unit)
    # Where a digit hangs on how `digits` was rounded, or the power is not exact, Python's writing decides.
    sure = (np.abs(np.abs(digits - whole) - 0.5) > HANGS) & (np.abs(power) < len(TENS))
    sure &= (np.abs(digits) >= TENS[DIGITS - 1]) & (np.abs(digits) < TENS[DIGITS]) | (values == 0)
    for place in np.flatnonzero(~sure).tolist():
        rounded[place] = float(f"{values[place]:.{DIGITS}g}")
    return np.asarray(rounded)


def asset(name: str) -> str:
    """The text of a file in `assets/`."""
    return files("equiview.report").joinpath("assets", name).read_text("utf-8")


def script_hash(script: str) -> str:
    """How a content security policy names an inline script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def plotly() -> tuple[str, str]:
    """Plotly's script, compressed, and the hash by which the page admits it."""
    script = asset("vendor/plotly-cartesian.min.js")
    return packed(script.encode()), script_hash(script)
