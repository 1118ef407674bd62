"""The drawings as the image tower that ships sees them, encoded once and cached.

What is trained on them needs no trained tower beside the one that ships, with its 8-bit weights.
"""

from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from onnxruntime import InferenceSession
from PIL import Image
from torch import Tensor, nn

from concepts import concepts
from corpus import NO_FLAG
from drawings import SIDE, held_out_drawings, training_drawings, training_flags
from equiview.benchmarks.pictograms import flags, with_flag
from examples import GENDERLESS, MONOCHROME, paste
from image_tower import encode, on_white
from people import held_out_people, training_people
from sources import ROOT, WORK, noto
from text_tower import Bank

IMAGE_TOWER = ROOT / "src" / "equiview" / "subjects" / "encoders" / "pictogram_models" / "image.onnx"
SEED = 0
VARIANTS = 2
"""Training drawings of each concept with each flag."""


class ShippedTower(nn.Module):
    """The image tower that ships, with 8-bit weights."""

    def __init__(self) -> None:
        super().__init__()
        self.session = InferenceSession(IMAGE_TOWER)

    def forward(self, x: Tensor) -> Tensor:
        """Unit vectors `(n, 120)` of pixels `(n, 3, side, side)` from 0 to 1."""
        pixels = (x * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
        parts = [
            self.session.run(None, {"pixels": part})[0] for part in np.split(pixels, range(64, len(x), 64))
        ]
        return torch.from_numpy(np.concatenate(parts))


def cached(name: str) -> Path:
    """A file of what this image tower made: another tower has others."""
    return WORK / f"{name}-{sha256(IMAGE_TOWER.read_bytes()).hexdigest()[:12]}.pt"


def bank() -> Bank:
    """Training drawings without and with flags, and training people."""
    path = cached("bank")
    drawings, badges, persons = training_drawings(), training_flags(), training_people()
    # Monochrome drawings show no skin, and one artist has no women of their own.
    rows_of_people = np.flatnonzero(~np.isin(persons.style, (MONOCHROME, GENDERLESS)))
    if not path.is_file():
        tower = ShippedTower()
        rng = np.random.default_rng(SEED)
        plain = encode(tower, on_white(drawings.pixels))
        flagged = []
        for flag in range(NO_FLAG):
            rows = np.concatenate([_one_each(drawings.concept, rng) for _ in range(VARIANTS)])
            pixels = drawings.pixels[rows].copy()
            of_flag = np.flatnonzero(badges.country == flag)
            some = badges.pixels[rng.choice(of_flag, size=len(rows))]
            paste(pixels, some, np.zeros((len(rows), 2), dtype=np.int64))
            flagged.append(encode(tower, on_white(pixels)).reshape(VARIANTS, len(concepts()), -1))
        flagged_by_concept = torch.stack(flagged).permute(2, 0, 1, 3).contiguous()
        shown = encode(tower, on_white(persons.pixels[rows_of_people]))
        torch.save({"plain": plain, "flagged": flagged_by_concept, "people": shown}, path)
    stored = torch.load(path)
    return Bank(
        stored["plain"],
        drawings.concept,
        stored["flagged"],
        stored["people"],
        persons.person[rows_of_people],
    )


def _one_each(concept: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A row of each concept, at random."""
    order = rng.permutation(len(concept))
    _, first = np.unique(concept[order], return_index=True)
    return order[first]


def held_out() -> NDArray[np.float32]:
    """Noto's drawings without a flag, `(n_concepts, 120)`."""
    return encode(ShippedTower(), held_out_drawings()).numpy()


def held_out_persons() -> NDArray[np.float32]:
    """Noto's people, `(n_people, 120)` in the order of `people()`."""
    return encode(ShippedTower(), held_out_people()).numpy()


def held_out_flagged() -> NDArray[np.float32]:
    """Noto's drawings with each of Noto's 16 flags, `(n_concepts, 16, 120)`."""
    path = cached("held-out-flagged")
    if not path.is_file():
        tower = ShippedTower()
        badges = [Image.open(io.BytesIO(picture)) for picture in flags()["picture"]]
        rows = []
        for concept in concepts():
            drawing = noto(concept, 96)
            assert drawing is not None
            shown = [
                with_flag(drawing, badge).resize((SIDE, SIDE), Image.Resampling.LANCZOS) for badge in badges
            ]
            rows.append(encode(tower, np.stack([np.asarray(image) for image in shown])))
        torch.save(torch.stack(rows), path)
    return torch.load(path).numpy()
