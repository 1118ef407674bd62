"""A user's own model: any object with `encode_images` and `encode_texts`, as an encoder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.tables import checksum
from equiview.subjects.encoders.base import EmbeddingModel

if TYPE_CHECKING:
    from PIL.Image import Image

METHODS = ("encode_images", "encode_texts")
SIMILARITIES = ("cosine", "dot", "maxsim")
ATTRIBUTES = (
    "similarity",
    "image_batch",
    "text_batch",
    "by_language",
    "accelerator",
    "one_thread",
    "computes",
)


class OwnModel(EmbeddingModel):
    """An encoder of the user's own."""

    def __init__(self, model: Any, argument: str) -> None:
        super().__init__(argument)
        self.model = model
        for name in ATTRIBUTES:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        if self.similarity not in SIMILARITIES:
            raise InputError(
                f"{self.called}: similarity is {self.similarity!r}; expected one of {', '.join(SIMILARITIES)}"
            )
        for name in ("image_batch", "text_batch"):
            size = getattr(self, name)
            if not isinstance(size, int) or size < 1:
                raise InputError(f"{self.called}: {name} is {size!r}; expected a whole number from 1")

    @property
    def called(self) -> str:
        """The class of the user's own."""
        return type(self.model).__name__

    @property
    def fingerprint(self) -> str:
        """The class's fingerprint if it has one, else a hash of its source, argument and a few vectors."""
        stated = getattr(self.model, "fingerprint", None)
        if stated is not None:
            return str(stated)
        kind = type(self.model)
        try:
            source = checksum(Path(inspect.getfile(kind)))
        except (TypeError, OSError):  # a class that was typed into a notebook is in no file
            source = ""
        return fingerprint(kind.__qualname__, source, self.argument, self._probed)

    @property
    def declares_fingerprint(self) -> bool:
        """Whether the class has a fingerprint."""
        return getattr(self.model, "fingerprint", None) is not None

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions that the class states."""
        return dict(getattr(self.model, "versions", {}))

    @property
    def parent(self) -> str | None:
        """The parent that the class states."""
        parent = getattr(self.model, "parent", None)
        return None if parent is None else str(parent)

    def rebuilt(self) -> tuple[Callable[..., EmbeddingModel], tuple[Any, ...]]:
        """Its class, with its argument."""
        return _made, (type(self.model), self.argument)

    def encode_images(self, images: Sequence[Image]) -> Any:
        """What the class makes of RGB images."""
        return self.model.encode_images(images)

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """What the class makes of strings."""
        return self.model.encode_texts(texts)

    def encode_texts_in(self, texts: Sequence[str], language: str) -> Any:
        """What the class makes of strings of one language; where it states `by_language`, that method's."""
        told = self.model.encode_texts_in(texts, language) if self.by_language else None
        return self.encode_texts(texts) if told is None else told

    def cuts(self, texts: Sequence[str]) -> list[bool] | None:
        """Whether the class reads only the beginning of each text, where it has a method `cuts`."""
        method = getattr(self.model, "cuts", None)
        return None if method is None else [bool(cut) for cut in method(texts)]


def _made(kind: type[Any], argument: str) -> OwnModel:
    return OwnModel(kind(argument) if argument else kind(), argument)
