"""Students as the trainer sees them: from rows of texts to unit vectors, and finally to a subject's files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from equiview.mitigation.folder import save_checkpoint
from equiview.subjects.distilled import STUDENT, TextModel, new_ngrams, ngrams_of
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.torch_encoder import readable
from equiview.subjects.finetuned import new_heads

Inputs = dict[str, Tensor]


class Student(nn.Module, ABC):  # type: ignore[misc]
    """A text tower that learns; only submodules do, and are written to checkpoints."""

    @abstractmethod
    def inputs(self, rows: Sequence[int]) -> Inputs:
        """What it reads of the texts of these rows."""

    @abstractmethod
    def vectors(self, **inputs: Tensor) -> Tensor:
        """Their vectors `(n, width)`."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the files that the distilled subject reads."""

    def forward(
        self, targets: Tensor, labels: Tensor, num_items_in_batch: Any = None, **inputs: Tensor
    ) -> Any:
        """The squared distance of unit vectors from those of the teacher `(n, width)`, a mean over texts.

        `num_items_in_batch` is how many texts a whole step learns from; `labels` are their rows.
        """
        unit = functional.normalize(self.vectors(**inputs).float(), dim=1)
        distances = ((unit - targets) ** 2).sum(dim=1)
        return {"loss": distances.sum() / (num_items_in_batch or len(labels))}

    accepts_loss_kwargs = True  # so that a step made of several forward passes is one step of all of them


class Tower(Student):
    """A text model of transformers, or the text tower of a dual encoder of transformers."""

    def __init__(self, tower: HuggingFace, texts: Sequence[str]) -> None:
        super().__init__()
        self.tower, self.texts = tower, texts
        tower.load()
        self.model = tower.model.requires_grad_(True)
        self.head = tower.head.requires_grad_(True) if isinstance(tower, TextModel) else None

    def inputs(self, rows: Sequence[int]) -> Inputs:
        """The tower's own tokens."""
        return self.tower.padded(self.tower.tokens(readable([self.texts[row] for row in rows])))

    def vectors(self, **inputs: Tensor) -> Tensor:
        """The tower's own vectors."""
        return self.tower.text_vectors(inputs)

    def save(self, folder: Path) -> None:
        """A checkpoint of transformers: the weights as they are now, all else as it was."""
        save_checkpoint(self.tower.checkpoint, self.model, folder)
        if self.head is not None:
            _save(self.head, folder)


class Network(Student):
    """A small network over what was prepared of each text."""

    def __init__(self, network: Any, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = network()

    def save(self, folder: Path) -> None:
        """The weights of the network."""
        _save(self.network, folder)


class AdapterStudent(Network):
    """A network over vectors that were computed once, `(n_texts, width)` of length 1."""

    def __init__(self, known: Tensor, hidden: int, seed: int) -> None:
        super().__init__(lambda: new_heads(known.shape[1], hidden)["texts"], seed)
        self.known = known

    def inputs(self, rows: Sequence[int]) -> Inputs:
        """Vectors of the texts."""
        return {"known": self.known[list(rows)]}

    def vectors(self, **inputs: Tensor) -> Tensor:
        """The vectors, moved."""
        moved: Tensor = self.network(inputs["known"])
        return moved


class NgramStudent(Network):
    """A table of hashed n-grams and words, and two layers."""

    def __init__(self, texts: Sequence[str], width: int, seed: int) -> None:
        super().__init__(lambda: new_ngrams(width), seed)
        self.texts = texts

    def inputs(self, rows: Sequence[int]) -> Inputs:
        """Features of the texts."""
        return {"features": ngrams_of([self.texts[row] for row in rows])}

    def vectors(self, **inputs: Tensor) -> Tensor:
        """The mean of their rows, through the layers."""
        made: Tensor = self.network(inputs["features"])
        return made


def _save(module: nn.Module, folder: Path) -> None:
    save_file(
        {name: value.cpu().contiguous() for name, value in module.state_dict().items()}, folder / STUDENT
    )
