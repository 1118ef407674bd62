"""`mitigated:DIR`: an encoder whose vectors are corrected; its parent is the encoder before.

The folder is made by `equiview mitigate METHOD`. The encoder is loaded by its name; `encoder=NAME` gives
another place of the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.subjects.base import of_inner
from equiview.subjects.correction import Correction
from equiview.subjects.encoders.base import Encoder, checked_vectors
from equiview.subjects.load import load_encoder
from equiview.subjects.trained import Derived, DerivedCard, Part, check_same

OPTIONS = ("encoder",)
Sides = tuple[Literal["image", "text"], ...]


class Mitigation(DerivedCard):
    """The content of `mitigation.json`: which encoder is corrected, how, and by what data."""

    file: ClassVar[str] = "mitigation.json"
    what: ClassVar[str] = "mitigated encoder"
    made: ClassVar[str] = "correction.npz"

    method: str
    strength: float
    data: Part
    by: str = "language"
    """The attribute whose values the correction tells apart."""
    sides: Sides = ("text",)
    """What is corrected; the rest stays as it is."""
    tried: tuple[dict[str, float], ...] = ()
    """What was tried while fitting, in order: how well classifiers of INLP told groups, or weights."""


class Mitigated(Derived, Encoder):
    """An encoder whose vectors are corrected."""

    inner: Encoder
    card: Mitigation

    versions, cuts, looks = map(of_inner, ("versions", "cuts", "looks"))

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, options = split_argument(argument, "mitigated", OPTIONS)
        if not name:
            raise InputError("mitigated: name the folder of a mitigation, as in mitigated:DIR")
        self.folder = Path(name).expanduser()
        self.card = Mitigation.read(self.folder)
        self.correction = Correction.read(self.folder / Mitigation.made)
        called = options.get("encoder", self.card.parent.name)
        self.inner = load_encoder(called)
        check_same(called, self.inner.fingerprint, self.card.parent, self.folder, "encoder")
        self.similarity = "dot" if self.correction.adds else self.inner.similarity

    @property
    def about(self) -> str:
        """What it was before, and what was done to it."""
        card = self.card
        return f"{card.parent.name} by {card.method}, strength {card.strength:g}, fitted on {card.data.name}"

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """Corrected vectors of items in row order, `(len(items), width)`."""
        vectors = np.asarray(self.inner.embed(items, progress), dtype=np.float32)
        width = self.correction.width
        if vectors.shape[1] != width:
            raise InputError(f"{self.folder}: corrects vectors of {width} numbers, not of {vectors.shape[1]}")
        if items.kind not in self.card.sides:
            return checked_vectors(self.correction.queries(vectors), items, self.name)
        groups: Sequence[str | None] = [None] * len(items)
        if self.correction.by_group:
            groups = items.attribute(self.card.by).cast(pl.String).to_list()
        return checked_vectors(self.correction.texts(vectors, groups), items, self.name)
