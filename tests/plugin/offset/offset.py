"""A kind of fine-tuning: an encoder stays as it is, and a vector to be added to its images is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equiview.mitigation.finetune.kinds import Kind
from equiview.mitigation.finetune.recipes import Recipe
from equiview.subjects import EmbeddingModel, load_subject, register

if TYPE_CHECKING:
    from equiview.mitigation.finetune.trainee import Trainee


class OffsetRecipe(Recipe):
    """What `[offset]` of a settings file may hold, and the defaults."""

    batch: int = 8
    learning_rate: float = 0.01
    temperature: float = 0.05


def trainee(encoder: Any, pairs: Any, recipe: OffsetRecipe, seed: int, progress: Any) -> Trainee:
    """The model as the trainer sees it; torch is imported only now."""
    import torch
    from safetensors.torch import save_file

    from equiview.mitigation.finetune.losses import contrastive
    from equiview.mitigation.finetune.trainee import Inputs, Trainee

    class Added(Trainee):
        def __init__(self) -> None:
            super().__init__(pairs)
            self.offset = torch.nn.Parameter(torch.zeros(encoder.encode_texts(["a"]).shape[1]))

        def pictures(self, rows: Sequence[int]) -> Inputs:
            return {"vectors": torch.tensor(encoder.encode_images([pairs.picture(row) for row in rows]))}

        def captions(self, rows: Sequence[int]) -> Inputs:
            return {"vectors": torch.tensor(encoder.encode_texts([pairs.texts[row] for row in rows]))}

        def vectors(self, pictures: Inputs, captions: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
            return pictures["vectors"] + self.offset, captions["vectors"]

        def loss(self, images: torch.Tensor, captions: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
            return contrastive(images @ captions.T / recipe.temperature, same)

        def save(self, folder: Path) -> None:
            save_file({"offset": self.offset.detach()}, folder / "offset.safetensors")
            (folder / "encoder.txt").write_text(encoder.name)

    return Added()


@register("offset", about="an encoder with a vector added to those of images")
class Offset(EmbeddingModel):
    """An encoder with a vector added to those of images."""

    @cached_property
    def encoder(self) -> Any:
        """The encoder before."""
        return load_subject((Path(self.argument) / "encoder.txt").read_text())

    def encode_images(self, images: Sequence[Any]) -> Any:
        """Vectors `(n, width)` of pictures."""
        from safetensors.numpy import load_file

        return (
            self.encoder.encode_images(images)
            + load_file(Path(self.argument) / "offset.safetensors")["offset"]
        )

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Vectors `(n, width)` of texts."""
        return np.asarray(self.encoder.encode_texts(texts))


OFFSET = Kind(
    takes=lambda subject: subject.name.startswith("pictogram:"),
    trainee=trainee,
    recipe=OffsetRecipe,
    scheme="offset",
)
