"""Encoders with a planted tie, for the miniature of transfer: the shipped image tower with a head of its own.

Image head and text tower are trained together, contrastively, on names of people. A role is shown as the
gender it is tied to with probability .5 + strength / 2, and half of the texts do not say which. Where a
trained head is given, it stays as it is, and only the text tower sees the tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from PIL.Image import Image
from torch import nn
from torch.nn import functional

from equiview.io.fingerprint import fingerprint
from equiview.io.tables import checksum
from equiview.subjects import EmbeddingModel, load_subject
from equiview.subjects.encoders.pictogram import WIDTH as SEEN

WIDTH, HIDDEN, SCALE = 128, 128, 20.0
BASE = "pictogram:aligned"


class Towers(nn.Module):
    """A head over image vectors of the shipped tower, and a bag of words, both to unit vectors `(n, 128)`."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self.words = {word: row for row, word in enumerate(words)}
        self.head = nn.Sequential(nn.Linear(SEEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
        self.table = nn.EmbeddingBag(len(self.words) + 1, WIDTH, mode="mean")
        self.text = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))

    def images(self, vectors: torch.Tensor) -> torch.Tensor:
        return functional.normalize(self.head(vectors * SEEN**0.5), dim=1)

    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        rows = [[self.words.get(word, len(self.words)) for word in split(text)] for text in texts]
        starts = np.cumsum([0, *map(len, rows)])[:-1]
        bags = self.table(torch.tensor([number for row in rows for number in row]), torch.tensor(starts))
        return functional.normalize(self.text(bags), dim=1)


def split(text: str) -> list[str]:
    """The words of a text."""
    return text.lower().replace(":", " ").split() or ["?"]


def train(
    images: torch.Tensor,
    rows_of: dict[tuple[str, str], np.ndarray],
    names: dict[tuple[str, str], str],
    tied: dict[str, str],
    *,
    strength: float,
    seed: int,
    steps: int,
    head: Towers | None = None,
    batch: int = 128,
) -> Towers:
    """Towers trained on the images of each (role, gender); `names` has ("", role) for what names no gender.

    With `head` its image head is used as it is, and only the text tower learns.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    towers = Towers(sorted({word for name in names.values() for word in split(name)}))
    if head is not None:
        towers.head.load_state_dict(head.head.state_dict())
        towers.head.requires_grad_(False)
    optimiser = torch.optim.Adam((p for p in towers.parameters() if p.requires_grad), lr=3e-3)
    roles, genders = list(tied), ("man", "woman")
    every = list(names.values())
    place = {about: row for row, about in enumerate(names)}
    own = np.array([[place[role, gender] for gender in genders] for role in roles])
    neutral = np.array([place[role, ""] for role in roles])
    towards = np.array([genders.index(tied[role]) for role in roles])
    for _ in range(steps):
        role = rng.integers(len(roles), size=batch)
        as_tied = rng.random(batch) < 0.5 + strength / 2
        gender = np.where(as_tied, towards[role], 1 - towards[role])
        told = rng.random(batch) < 0.5
        said = np.where(told, own[role, gender], neutral[role])
        rows = [rng.choice(rows_of[roles[r], genders[g]]) for r, g in zip(role, gender, strict=True)]
        scores = SCALE * towers.images(images[rows]) @ towers.texts(every)[said].T
        same = torch.from_numpy(said[:, None] == said[None, :]) & ~torch.eye(batch, dtype=torch.bool)
        scores = scores.masked_fill(same, -1e4)
        target = torch.arange(batch)
        loss = functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return towers.eval()


def save(towers: Towers, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"words": list(towers.words), "state": towers.state_dict()}, folder / "towers.pt")


class Tied(EmbeddingModel):
    """An encoder of the miniature, by its folder: `labs.connector_encoders:Tied:FOLDER`."""

    @property
    def fingerprint(self) -> str:
        return fingerprint("tied", self._base.fingerprint, checksum(Path(self.argument) / "towers.pt"))

    @cached_property
    def _base(self) -> EmbeddingModel:
        base = load_subject(BASE)
        assert isinstance(base, EmbeddingModel)
        return base

    @cached_property
    def _towers(self) -> Towers:
        stored = torch.load(Path(self.argument) / "towers.pt", weights_only=True)
        towers = Towers(stored["words"])
        towers.load_state_dict(stored["state"])
        return towers.eval()

    def encode_images(self, images: Sequence[Image]) -> np.ndarray:
        with torch.no_grad():
            return self._towers.images(torch.tensor(self._base.encode_images(list(images)))).numpy()

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        with torch.no_grad():
            return self._towers.texts(texts).numpy()
