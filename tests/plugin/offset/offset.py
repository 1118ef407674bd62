"""A kind of fine-tuning: an encoder stays as it is, and a vector to be added to its images is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equiview.mitigation.finetune.kinds import Kind
from equiview.mitigation.finetune.recipes import Recipe
from equiview.subjects import EmbeddingModel, load_subject, register


class OffsetRecipe(Recipe):
    """What `[offset]` of a settings file may hold, and the defaults."""

    batch: int = 8
    learning_rate: float = 0.01
    temperature: float = 0.05


@register("offset", about="an encoder with a vector added to those of images")
class Offset(EmbeddingModel):
    """An encoder with a vector added to those of images."""

    @cached_property
    def encoder(self) -> Any:
        """The encoder before."""
        return load_subject((Path(self.argument) / "encoder.txt").read_text())

    def encode_images(self, images: Sequence[Any]) -> Any:
        """Vectors `(n, width)` of pictures."""
        return self.encoder.encode_images(images) + np.load(Path(self.argument) / "offset.npy")

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Vectors `(n, width)` of texts."""
        return self.encoder.encode_texts(texts)


OFFSET = Kind(
    "offset_trainee:Added",
    takes=lambda subject: subject.name.startswith("pictogram:"),
    recipe=OffsetRecipe,
    scheme="offset",
)
