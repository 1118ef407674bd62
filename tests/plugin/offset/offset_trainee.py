"""The model as the trainer sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from equiview.mitigation.finetune.losses import contrastive
from equiview.mitigation.finetune.trainee import Inputs, Trainee


class Added(Trainee):
    """The vectors of an encoder, and one that is added to those of images."""

    def __init__(self, encoder: Any, pairs: Any, recipe: Any, seed: int, progress: Any) -> None:
        super().__init__(pairs)
        self.encoder, self.temperature = encoder, recipe.temperature
        self.offset = torch.nn.Parameter(torch.zeros(encoder.encode_texts(["a"]).shape[1]))

    def pictures(self, rows: Sequence[int]) -> Inputs:
        """Vectors of the images of these pairs."""
        pictures = [self.pairs.picture(row) for row in rows]
        return {"vectors": torch.tensor(self.encoder.encode_images(pictures))}

    def captions(self, rows: Sequence[int]) -> Inputs:
        """Vectors of the captions of these pairs."""
        return {"vectors": torch.tensor(self.encoder.encode_texts([self.pairs.texts[row] for row in rows]))}

    def vectors(self, pictures: Inputs, captions: Inputs) -> tuple[Tensor, Tensor]:
        """Both sides, that of images moved."""
        return pictures["vectors"] + self.offset, captions["vectors"]

    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        """CLIP's loss."""
        return contrastive(images @ captions.T / self.temperature, same)

    def save(self, folder: Path) -> None:
        """What `offset:FOLDER` is loaded from."""
        np.save(folder / "offset.npy", self.offset.detach().numpy())
        (folder / "encoder.txt").write_text(self.encoder.name)
