"""What the subjects share that put an encoder to the use of a model that answers."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from equiview.data.items import Items
from equiview.errors import InputError
from equiview.subjects.chat.base import Answerer
from equiview.subjects.encoders.base import Encoder
from equiview.subjects.load import load_encoder


class EncoderAnswerer(Answerer):
    """An encoder that answers: always the same, and derived from the encoder.

    `argument` is the encoder's name, then ",`option`=" and a value, which is kept as `given`, "" without one.
    InputError without an encoder; `example` is one that the error names.
    """

    encoder: Encoder
    follows = True

    def __init__(self, argument: str, encoder: Encoder | None, *, option: str, example: str) -> None:
        super().__init__(argument)
        name, _, self.given = argument.partition(f",{option}=")
        if encoder is None and not name:
            scheme = example.partition(":")[0]
            raise InputError(f"{scheme}: name an encoder, as in {example}")
        self.encoder = encoder or load_encoder(name)

    @property
    def parent(self) -> str:
        """The encoder, which is put to another use."""
        return self.encoder.fingerprint

    @property
    def sampled(self) -> bool:
        """It always says the same."""
        return False

    @property
    def versions(self) -> Mapping[str, str]:
        """The encoder's."""
        return self.encoder.versions


def texts_of(language_of: Mapping[str, str], source: str) -> Items:
    """Distinct texts, each in its language, to be encoded."""
    rows = {
        "id": map(str, range(len(language_of))),
        "text": list(language_of),
        "language": language_of.values(),
    }
    return Items("text", pl.DataFrame(rows, schema=dict.fromkeys(rows, pl.String)), source)
