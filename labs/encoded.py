"""The drawings as the trained image tower sees them, encoded once and cached."""

from __future__ import annotations

import io

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
from image_tower import ImageTower, encode, on_white, paste, train_image_tower
from sources import ROOT, WORK, noto
from text_tower import Bank

EPOCHS, SEED = 28, 0
VARIANTS = 2
"""Training drawings of each concept with each flag."""


def image_tower() -> tuple[ImageTower, list[dict[str, float]]]:
    """The trained image tower and its log; trains it when it is not cached."""
    path = WORK / "image-tower.pt"
    if not path.is_file():
        tower, log = train_image_tower(
            training_drawings(),
            training_flags(),
            epochs=EPOCHS,
            seed=SEED,
            report=lambda _, entry: print(entry),
        )
        torch.save({"weights": tower.state_dict(), "log": log}, path)
    stored = torch.load(path)
    tower = ImageTower()
    tower.load_state_dict(stored["weights"])
    return tower.eval(), stored["log"]


class ShippedTower(nn.Module):
    """The image tower that ships, with 8-bit weights: what was trained on it need not train it again."""

    def __init__(self) -> None:
        super().__init__()
        model = ROOT / "src" / "equiview" / "subjects" / "encoders" / "pictogram_models" / "image.onnx"
        self.session = InferenceSession(model)

    def forward(self, x: Tensor) -> Tensor:
        """Unit vectors `(n, 128)` of pixels `(n, 3, side, side)` from 0 to 1."""
        pixels = (x * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
        parts = [
            self.session.run(None, {"pixels": part})[0] for part in np.split(pixels, range(64, len(x), 64))
        ]
        return torch.from_numpy(np.concatenate(parts))


def bank(tower: nn.Module | None = None) -> Bank:
    """Training drawings without and with flags, encoded by `tower`, or by the trained one."""
    path = WORK / f"bank{'' if tower is None else '-' + type(tower).__name__}.pt"
    drawings, badges = training_drawings(), training_flags()
    if not path.is_file():
        tower = tower or image_tower()[0]
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
        torch.save({"plain": plain, "flagged": torch.stack(flagged).permute(2, 0, 1, 3).contiguous()}, path)
    stored = torch.load(path)
    return Bank(stored["plain"], drawings.concept, stored["flagged"])


def _one_each(concept: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A row of each concept, at random."""
    order = rng.permutation(len(concept))
    _, first = np.unique(concept[order], return_index=True)
    return order[first]


def held_out(tower: nn.Module | None = None) -> NDArray[np.float32]:
    """Noto's drawings without a flag, `(n_concepts, 128)`, as `tower` sees them, or the trained one."""
    tower = tower or image_tower()[0]
    return encode(tower, held_out_drawings()).numpy()


def held_out_flagged() -> NDArray[np.float32]:
    """Noto's drawings with each of Noto's 16 flags, `(n_concepts, 16, 128)`."""
    path = WORK / "held-out-flagged.npy"
    if not path.is_file():
        tower, _ = image_tower()
        badges = [Image.open(io.BytesIO(picture)) for picture in flags()["picture"]]
        rows = []
        for concept in concepts():
            drawing = noto(concept, 96)
            assert drawing is not None
            shown = [
                with_flag(drawing, badge).resize((SIDE, SIDE), Image.Resampling.LANCZOS) for badge in badges
            ]
            rows.append(encode(tower, np.stack([np.asarray(image) for image in shown])).numpy())
        np.save(path, np.stack(rows))
    return np.load(path)
