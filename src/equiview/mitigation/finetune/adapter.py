"""Adapters of other encoders: small networks that change the vectors of a frozen encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from equiview.data.items import Items
from equiview.data.vectors import one_each
from equiview.io.progress import Progress
from equiview.mitigation.finetune.encoders import freeze
from equiview.mitigation.finetune.losses import contrastive
from equiview.mitigation.finetune.pairs import Mixture
from equiview.mitigation.finetune.recipes import AdapterRecipe
from equiview.mitigation.finetune.trainee import Inputs, Trainee
from equiview.subjects import Encoder
from equiview.subjects.finetuned import HEADS, new_heads


class Adapter(Trainee):
    """Two small networks over vectors that were computed once."""

    def __init__(
        self, encoder: Encoder, pairs: Mixture, recipe: AdapterRecipe, seed: int, progress: Progress
    ) -> None:
        super().__init__(pairs)
        self.temperature = recipe.temperature
        self.image_vectors = _images(encoder, pairs, progress)
        self.text_vectors = _texts(encoder, pairs, progress)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.heads = new_heads(self.image_vectors.shape[1], recipe.hidden)
        freeze(self.heads, recipe.frozen)

    def pictures(self, rows: Sequence[int]) -> Inputs:
        """Vectors of the images."""
        return {"vectors": self.image_vectors[self.pairs.image[list(rows)]]}

    def captions(self, rows: Sequence[int]) -> Inputs:
        """Vectors of the captions."""
        return {"vectors": self.text_vectors[self.pairs.text[list(rows)]]}

    def vectors(self, pictures: Inputs, captions: Inputs) -> tuple[Tensor, Tensor]:
        """Both sides through their networks."""
        return self.heads["images"](pictures["vectors"]), self.heads["texts"](captions["vectors"])

    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        """CLIP's loss."""
        return contrastive(images @ captions.T / self.temperature, same)

    def save(self, folder: Path) -> None:
        """The weights of the networks."""
        save_file({name: value.cpu() for name, value in self.heads.state_dict().items()}, folder / HEADS)


def _images(encoder: Encoder, pairs: Mixture, progress: Progress) -> Tensor:
    """Unit vectors of the images of D, then of D'; images in no pair have a row of zeros."""
    parts = []
    for side in (pairs.real, pairs.synthetic):
        if side is not None:
            used = np.unique(side.image)
            vectors = one_each(encoder.embed(side.images.take(used), progress))
            whole = np.zeros((len(side.images), vectors.shape[1]), dtype=np.float32)
            whole[used] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            parts.append(whole)
    return torch.from_numpy(np.concatenate(parts))


def _texts(encoder: Encoder, pairs: Mixture, progress: Progress) -> Tensor:
    """Unit vectors of the distinct captions, in the order of `pairs.text`."""
    import polars as pl

    distinct = list(dict.fromkeys(pairs.texts))
    names = [str(row) for row in range(len(distinct))]
    table = pl.DataFrame({"id": names, "text": distinct, "language": "und"})
    vectors = one_each(encoder.embed(Items("text", table, "captions"), progress)).astype(np.float32)
    return torch.from_numpy(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
