"""A correction of vectors, such as of texts by language: what `mitigated:DIR` applies, as arrays in one file.

With `x` a text's vector, `l` its language, `h(x)` its mean similarity with the images nearest to it among
those kept, and `q` an image's vector, the corrected similarity is

    x'    = x M_l + c_l, of length 1 where vectors are compared by cosine
    score = a_l (q x' - hub h(x')) + b_l

It is one dot product, of `(a_l x', b_l - a_l hub h(x'))` and `(q, 1)`, so that any database can serve it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.tables import write_bytes
from equiview.search import top_k
from equiview.search.scaling import unit

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Correction:
    """What to do with vectors of `width` numbers of texts in `languages`, or of items of other groups.

    Arrays by language have a row for each of `languages`, then one for every other language. `maps`
    `(0 | 1 | n + 1, width, width)`, one for all or one a language, none for no map; `moves` `(n + 1, width)`;
    `scales` and `shifts` `(n + 1,)`; `images` `(n_images, width)`, none where `hub` is 0.

    >>> shifted = Correction.none(("en", "sw"), width=2)
    >>> shifted.shifts[1] = 0.5
    >>> shifted.texts(np.eye(2, dtype=np.float32), ["sw", "xx"]).tolist()
    [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]
    >>> shifted.queries(np.eye(2, dtype=np.float32)).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """

    languages: tuple[str, ...]
    maps: Floats
    moves: Floats
    scales: Floats
    shifts: Floats
    images: Floats
    hub: float = 0.0
    nearest: int = 10
    cosine: bool = True

    @classmethod
    def none(cls, languages: Sequence[str], width: int, *, cosine: bool = True) -> Correction:
        """One that changes nothing."""
        rows = len(languages) + 1
        return cls(
            languages=tuple(languages),
            maps=np.zeros((0, width, width), np.float32),
            moves=np.zeros((rows, width), np.float32),
            scales=np.ones(rows, np.float32),
            shifts=np.zeros(rows, np.float32),
            images=np.zeros((0, width), np.float32),
            cosine=cosine,
        )

    @property
    def width(self) -> int:
        """Numbers of a vector before it is corrected."""
        return int(self.moves.shape[1])

    @property
    def by_group(self) -> bool:
        """Whether languages or groups are treated differently, so that those of items must be known."""
        return len(self.maps) > 1 or self.adds or bool((self.moves != self.moves[0]).any())

    @property
    def adds(self) -> bool:
        """Whether a corrected vector has one number more, and is compared by dot product."""
        return bool(self.hub or self.shifts.any() or (self.scales != 1).any())

    def texts(self, vectors: Floats, languages: Sequence[str | None]) -> Floats:
        """Corrected vectors of texts, or items of groups `(n, width)`; `(n, width + 1)` if it `adds`."""
        rows = self.rows_of(languages)
        moved = self.moved(self._unit(vectors), rows)
        if not self.adds:
            return moved
        last = self.shifts[rows] - self.scales[rows] * self.hub * self.hubs(moved)
        return np.column_stack([moved * self.scales[rows, None], last])

    def queries(self, vectors: Floats) -> Floats:
        """Vectors of images `(n, width)`, or `(n, width + 1)` if it `adds`."""
        unit = self._unit(vectors)
        return np.column_stack([unit, np.ones(len(unit), np.float32)]) if self.adds else unit

    def rows_of(self, languages: Sequence[str | None]) -> NDArray[np.int64]:
        """The row of each text's language."""
        row_of: dict[str | None, int] = {language: row for row, language in enumerate(self.languages)}
        return np.array([row_of.get(language, len(row_of)) for language in languages], dtype=np.int64)

    def moved(self, unit: Floats, rows: NDArray[np.int64]) -> Floats:
        """`x'` of vectors `(n, width)` of texts in the languages of `rows`."""
        if not len(self.maps) and not self.moves.any():
            return unit
        made = unit.copy()
        for row in np.unique(rows):
            of_row = rows == row
            if len(self.maps):
                made[of_row] = unit[of_row] @ self.maps[row if len(self.maps) > 1 else 0]
            made[of_row] += self.moves[row]
        return self._unit(made)

    def hubs(self, moved: Floats) -> Floats:
        """`h(x')` of texts, `(n,)`; 0 without images."""
        if not len(self.images):
            return np.zeros(len(moved), np.float32)
        scores = top_k(moved, self.images, min(self.nearest, len(self.images))).scores
        return np.asarray(scores.mean(axis=1), dtype=np.float32)

    def _unit(self, vectors: Floats) -> Floats:
        return unit(vectors) if self.cosine else np.asarray(vectors, dtype=np.float32)

    def save(self, path: Path) -> None:
        """Write it as `.npz`; the same correction gives the same bytes."""
        stream = io.BytesIO()
        arrays: dict[str, Any] = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        np.savez(stream, **arrays)
        write_bytes(stream.getvalue(), path)

    @classmethod
    def read(cls, path: Path) -> Correction:
        """Read what `save` wrote; InputError for anything else."""
        try:
            with np.load(io.BytesIO(content_of(path)), allow_pickle=False) as held:
                arrays = {field.name: held[field.name] for field in fields(cls)}
            read = cls(
                languages=tuple(map(str, arrays.pop("languages"))),
                hub=float(arrays.pop("hub")),
                nearest=int(arrays.pop("nearest")),
                cosine=bool(arrays.pop("cosine")),
                **{name: np.asarray(array, dtype=np.float32) for name, array in arrays.items()},
            )
            read._check()
        except InputError:
            raise
        except Exception as error:  # a damaged archive fails in as many ways as zip and numpy have
            raise InputError(f"{path}: cannot be read as a correction ({error}); make it again") from None
        return read

    def _check(self) -> None:
        rows, width = len(self.languages) + 1, self.width
        shapes: dict[str, list[tuple[int, ...]]] = {
            "maps": [(n, width, width) for n in (0, 1, rows)],
            "moves": [(rows, width)],
            "scales": [(rows,)],
            "shifts": [(rows,)],
            "images": [(len(self.images), width)],
        }
        for name, allowed in shapes.items():
            array = getattr(self, name)
            if array.shape not in allowed or not np.isfinite(array).all():
                raise ValueError(f"{name} of shape {array.shape}, or with what is no number")
