"""The image tower: a small convolutional network that tells drawings apart, trained without a word.

It never sees the held-out artist. One half of its output says what is drawn, the other which country's flag
the drawing bears, if any; both are unit vectors, so that neither can drown the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from drawings import SIDE, Drawings, Flags

CONCEPT_WIDTH, FLAG_WIDTH = 112, 16
FLAG_WEIGHT = 0.5
"""Length of the flag half beside a concept half of length 1, before the whole is scaled to length 1."""


class Block(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(n_out)
        self.second = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(n_out)
        same = stride == 1 and n_in == n_out
        self.short = (
            nn.Identity()
            if same
            else nn.Sequential(
                nn.AvgPool2d(stride) if stride > 1 else nn.Identity(), nn.Conv2d(n_in, n_out, 1)
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.first(x)))
        return functional.relu(self.norm2(self.second(y)) + self.short(x))


class ImageTower(nn.Module):
    """RGB `(n, 3, 48, 48)` in 0..1 to unit vectors `(n, 128)`."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        w = width
        self.body = nn.Sequential(
            nn.Conv2d(3, w, 5, 2, 2, bias=False),
            nn.BatchNorm2d(w),
            nn.ReLU(),
            Block(w, 2 * w, 2),
            Block(2 * w, 2 * w),
            Block(2 * w, 4 * w, 2),
            Block(4 * w, 4 * w),
            Block(4 * w, 8 * w, 2),
        )
        self.drop = nn.Dropout(0.2)
        self.concept = nn.Sequential(
            nn.Linear(8 * w * 9, CONCEPT_WIDTH, bias=False), nn.BatchNorm1d(CONCEPT_WIDTH)
        )
        self.flag = nn.Sequential(nn.Linear(8 * w * 9, FLAG_WIDTH, bias=False), nn.BatchNorm1d(FLAG_WIDTH))

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.drop(self.body((x - 0.6) / 0.35).flatten(1))
        return functional.normalize(self.concept(features), dim=1), functional.normalize(
            self.flag(features), dim=1
        )

    def forward(self, x: Tensor) -> Tensor:
        concept, flag = self.heads(x)
        return torch.cat([concept, FLAG_WEIGHT * flag], dim=1) / (1 + FLAG_WEIGHT**2) ** 0.5


def paste(pixels: NDArray[np.uint8], badges: NDArray[np.uint8], shift: NDArray[np.int64]) -> None:
    """Put a badge `(height, width, 4)` in the lower right corner of each drawing, in place."""
    height, width = badges.shape[1:3]
    for drawing, badge, (up, left) in zip(pixels, badges, shift, strict=True):
        bottom, right = SIDE - up, SIDE - left
        drawing[bottom - height : bottom, right - width : right] = badge


def augment(rgba: Tensor, generator: torch.Generator, strength: float = 1.0) -> Tensor:
    """Vary drawings `(n, 4, side, side)` in 0..1 as another artist might: place, shape, colour, line."""
    n = len(rgba)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(n, *shape, generator=generator) * (high - low) + low

    def chosen(probability: float) -> Tensor:
        return (torch.rand(n, 1, 1, 1, generator=generator) < probability).float()

    angle = uniform(-0.22, 0.22) * strength
    scale_x = torch.exp(uniform(-0.22, 0.16) * strength)
    scale_y = scale_x * torch.exp(uniform(-0.12, 0.12) * strength)
    shear = uniform(-0.12, 0.12) * strength
    cos, sin = torch.cos(angle), torch.sin(angle)
    theta = torch.stack(
        [
            torch.stack([cos / scale_x, (-sin + shear) / scale_x, uniform(-0.12, 0.12) * strength], 1),
            torch.stack([sin / scale_y, cos / scale_y, uniform(-0.12, 0.12) * strength], 1),
        ],
        1,
    )
    alpha = rgba[:, 3:]
    rgba = torch.cat([rgba[:, :3] * alpha, alpha], 1)
    grid = functional.affine_grid(theta, [n, 4, SIDE, SIDE], align_corners=False)
    rgba = functional.grid_sample(rgba, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    colour, alpha = rgba[:, :3], rgba[:, 3:]
    ground = 1 - chosen(0.25) * uniform(0, 0.5, 3, 1, 1)
    x = colour + (1 - alpha) * ground
    # Colour: a matrix for saturation (sometimes none), tint and contrast.
    saturation = uniform(0.5, 1.4, 1, 1) * (torch.rand(n, 1, 1, generator=generator) > 0.08)
    grey = torch.tensor([0.3, 0.59, 0.11]).expand(3, 3)
    matrix = (saturation * torch.eye(3) + (1 - saturation) * grey) * uniform(0.7, 1.3, 3, 1)
    x = torch.bmm(matrix, (x - 0.5).flatten(2)).view_as(x).add_(uniform(0.4, 0.6, 1, 1, 1)).clamp_(0, 1)
    # Line: every second drawing is blurred, or sharpened until outlines stand out.
    half = x[::2]
    soft = functional.avg_pool2d(functional.pad(half, (1, 1, 1, 1), mode="replicate"), 3, 1)
    x[::2] = (half + (half - soft) * uniform(-1, 1.5, 1, 1, 1)[::2]).clamp_(0, 1)
    # A part of every fifth drawing is hidden.
    side = torch.arange(SIDE).float() / SIDE
    left, top, size = (uniform(low, high, 1)[::5] for low, high in ((0, 1), (0, 1), (0.05, 0.15)))
    across, down = (
        ((side - left).abs() < size)[:, None, None, :],
        ((side - top).abs() < size)[:, None, :, None],
    )
    x[::5] = torch.where(across & down, uniform(0, 1, 3, 1, 1)[::5], x[::5])
    return x


def batches(
    drawings: Drawings, flags: Flags, size: int, generator: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """One epoch: RGBA `(size, 4, 48, 48)`, concepts `(size,)`, flags `(size,)`, the last class for none."""
    n_flags = int(flags.country.max()) + 1
    # Monochrome drawings are seen half as often.
    kept = np.flatnonzero((drawings.style != 5) | (generator.random(len(drawings.style)) < 0.5))
    order = generator.permutation(kept)
    for start in range(0, len(order) - size + 1, size):
        rows = order[start : start + size]
        pixels = drawings.pixels[rows].copy()
        flagged = np.flatnonzero(generator.random(size) < 0.4)
        badge = generator.integers(len(flags.country), size=len(flagged))
        country = np.full(size, n_flags)
        country[flagged] = flags.country[badge]
        shift = generator.integers(0, 3, size=(len(flagged), 2))
        some = pixels[flagged]
        paste(some, flags.pixels[badge], shift)
        pixels[flagged] = some
        yield (
            torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255,
            torch.from_numpy(drawings.concept[rows]),
            torch.from_numpy(country),
        )


def train_image_tower(
    drawings: Drawings,
    flags: Flags,
    *,
    epochs: int,
    seed: int,
    batch: int = 128,
    width: int = 24,
    report: object = None,
) -> tuple[ImageTower, list[dict[str, float]]]:
    """Train with cosine softmax over concepts and over flags; returns the averaged tower and its log."""
    torch.manual_seed(seed)
    numbers = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    n_concepts, n_flags = int(drawings.concept.max()) + 1, int(flags.country.max()) + 2
    tower = ImageTower(width).to(memory_format=torch.channels_last)
    concept_classes = nn.Parameter(torch.randn(n_concepts, CONCEPT_WIDTH))
    flag_classes = nn.Parameter(torch.randn(n_flags, FLAG_WIDTH))
    averaged = torch.optim.swa_utils.AveragedModel(
        tower, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995), use_buffers=True
    )
    steps = epochs * (int((drawings.style != 5).sum() + 0.5 * (drawings.style == 5).sum()) // batch + 1)
    optimiser = torch.optim.AdamW(
        [*tower.parameters(), concept_classes, flag_classes], lr=1e-3, weight_decay=0.05
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 3e-3, total_steps=steps + epochs, pct_start=0.15
    )
    log, start = [], time.time()
    for epoch in range(epochs):
        tower.train()
        losses = []
        strength = min(1.0, 0.4 + epoch / max(1, epochs * 0.3))
        for rgba, concept, country in batches(drawings, flags, batch, numbers):
            x = augment(rgba, generator, strength).contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", torch.bfloat16):
                features = tower.body((x - 0.6) / 0.35).flatten(1)
            features = tower.drop(features.float())
            drawn = functional.normalize(tower.concept(features), dim=1)
            badge = functional.normalize(tower.flag(features), dim=1)
            loss = functional.cross_entropy(
                20 * drawn @ functional.normalize(concept_classes, dim=1).T, concept, label_smoothing=0.05
            )
            loss = loss + 0.3 * functional.cross_entropy(
                8 * badge @ functional.normalize(flag_classes, dim=1).T, country
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            averaged.update_parameters(tower)
            losses.append(loss.detach())
        entry = {
            "epoch": epoch + 1,
            "loss": float(torch.stack(losses).mean()),
            "seconds": time.time() - start,
        }
        log.append(entry)
        if callable(report):
            report(averaged.module, entry)
    return averaged.module.eval(), log


@torch.no_grad()
def encode(tower: nn.Module, rgb: NDArray[np.uint8], batch: int = 256) -> Tensor:
    """Unit vectors `(n, 128)` of drawings `(n, 48, 48, 3)`."""
    tower.eval()
    parts = []
    for start in range(0, len(rgb), batch):
        x = torch.from_numpy(rgb[start : start + batch]).permute(0, 3, 1, 2).float() / 255
        parts.append(tower(x.contiguous(memory_format=torch.channels_last)))
    return torch.cat(parts)


def on_white(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Drawings `(n, side, side, 4)` laid on white, `(n, side, side, 3)`."""
    alpha = rgba[..., 3:].astype(np.float32) / 255
    return np.rint(rgba[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
