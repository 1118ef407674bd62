"""Models for the trainer: from a batch of pairs to vectors and a loss, and finally to a subject's files.

To fine-tune a kind of model of your own, write a `Trainee`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from equiview.mitigation.finetune.pairs import Mixture

Inputs = dict[str, Tensor]


class Trainee(torch.nn.Module, ABC):  # type: ignore[misc]
    """A trainable model that makes vectors of images and captions.

    Only submodules learn and are written to checkpoints.
    """

    def __init__(self, pairs: Mixture) -> None:
        super().__init__()
        self.pairs = pairs

    @abstractmethod
    def pictures(self, rows: Sequence[int]) -> Inputs:
        """The model's input for the images of these pairs; may run in a thread while the model works."""

    @abstractmethod
    def captions(self, rows: Sequence[int]) -> Inputs:
        """The model's input for the captions of these pairs."""

    @abstractmethod
    def vectors(self, pictures: Inputs, captions: Inputs) -> tuple[Tensor, Tensor]:
        """Vectors `(n, width)` of prepared images and of captions; they need not be of length 1."""

    @abstractmethod
    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        """The loss of a batch from unit vectors `(n, width)`; `same` is as in `losses`."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the files of the tuned subject."""

    def forward(self, method: str, *inputs: Any) -> Any:
        """Call a method of this class; the trainer puts mixed precision around `forward` alone."""
        return getattr(self, method)(*inputs)

    def unit_vectors(self, pictures: Inputs, captions: Inputs) -> tuple[Tensor, Tensor]:
        """The vectors, of length 1."""
        images, texts = self.vectors(pictures, captions)
        return functional.normalize(images.float(), dim=1), functional.normalize(texts.float(), dim=1)

    def further(
        self, batch: Batch, images: Tensor, captions: Tensor, backward: Callable[[Tensor], None], call: Any
    ) -> Tensor | None:
        """A second loss of the batch, after adding its own gradients; None for most models.

        `images` and `captions` are the unit vectors, and `call` runs a method as `forward` does.
        """
        return None

    def after_step(self) -> None:
        """Called after each optimiser step."""


class Batch:
    """A batch in parts: rows of pairs, the model's inputs, and which pairs belong together."""

    def __init__(self, trainee: Trainee, rows: Sequence[int], forward: int, device: torch.device) -> None:
        self.rows = list(rows)
        self.device = device
        self.parts = [self.rows[start : start + forward] for start in range(0, len(self.rows), forward)]
        self.captions = [trainee.captions(part) for part in self.parts]
        self.pictures: list[Inputs] = []
        image, text = (
            torch.from_numpy(column[self.rows]) for column in (trainee.pairs.image, trainee.pairs.text)
        )
        self.same = ((image[:, None] == image[None, :]) | (text[:, None] == text[None, :])).to(device)

    def placed(self, inputs: Inputs) -> Inputs:
        """Inputs on the device."""
        return {name: value.to(self.device, non_blocking=True) for name, value in inputs.items()}

    def part(self, place: int) -> tuple[Inputs, Inputs]:
        """The model's inputs for a part, on the device."""
        return self.placed(self.pictures[place]), self.placed(self.captions[place])
