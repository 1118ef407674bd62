"""The image tower for scenes: a small network that says which of 72 things a picture shows.

It is trained on scenes of the training artists in which things come independently of each other, and never
sees the held-out artist. `SceneHead` turns what it sees into a vector beside those of captions.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from drawings import training_drawings
from examples import MONOCHROME
from image_tower import Block, augment
from scenes import Pieces, pieces, scenes, things
from sources import TRAINING_STYLES, WORK
from text_tower import OUT

STEPS, BATCH, SEED = 3_000, 64, 0
WIDTH = 20
STYLES = tuple(style for style in range(len(TRAINING_STYLES)) if style != MONOCHROME)


class SceneTower(nn.Module):
    """RGB `(n, 3, 64, 64)` in 0..1 to how probable each of the 72 things is, `(n, 72)`, as logits."""

    def __init__(self, width: int = WIDTH) -> None:
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
            Block(4 * w, 8 * w),
        )
        self.places = nn.Conv2d(8 * w, len(things()), 1)
        nn.init.constant_(self.places.bias, -7.0)

    def forward(self, x: Tensor) -> Tensor:
        """A thing is there if it is at any place: logits of the places are added up as probabilities are."""
        places = self.places(self.body((x - 0.6) / 0.35))
        return torch.logsumexp(places.float().flatten(2), dim=2)


class SceneHead(nn.Module):
    """What is seen, `(n, 72)` in 0..1, to unit vectors `(n, 120)`.

    In training a share of what is seen is hidden, so that the head learns to make up for what it misses by
    what usually comes with it: that is how co-occurrence gets into it.
    """

    def __init__(self, hidden: float = 0.3) -> None:
        super().__init__()
        self.hidden = hidden
        self.linear = nn.Linear(len(things()), OUT)

    def forward(self, seen: Tensor) -> Tensor:
        if self.training:
            seen = seen * (torch.rand_like(seen) >= self.hidden)
        return functional.normalize(self.linear(seen), dim=1)


def scene_pieces() -> Pieces:
    """The training artists' drawings of the things, cut down."""
    drawn = training_drawings()
    return pieces(drawn.pixels, drawn.concept, drawn.style)


def present(shown: NDArray[np.int64]) -> NDArray[np.float32]:
    """Which thing is in which scene, `(n_scenes, 72)`, of concepts `(n_scenes, 5)`."""
    return np.stack([(shown == thing).any(axis=1) for thing in things()], axis=1).astype(np.float32)


def scene_tower() -> tuple[SceneTower, list[dict[str, float]]]:
    """The trained tower and its log; trains it when it is not kept."""
    path = WORK / "scene-tower.pt"
    if not path.is_file():
        tower, log = _trained()
        torch.save({"weights": tower.state_dict(), "log": log}, path)
    stored = torch.load(path)
    tower = SceneTower()
    tower.load_state_dict(stored["weights"])
    return tower.eval(), stored["log"]


def _trained() -> tuple[SceneTower, list[dict[str, float]]]:
    torch.manual_seed(SEED)
    rng, generator = np.random.default_rng(SEED), torch.Generator().manual_seed(SEED)
    drawn, tower = scene_pieces(), SceneTower().to(memory_format=torch.channels_last)
    averaged = torch.optim.swa_utils.AveragedModel(
        tower, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99), use_buffers=True
    )
    optimiser = torch.optim.AdamW(tower.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=STEPS, pct_start=0.15)
    log, losses, start = [], [], time.time()
    for step in range(STEPS):
        rgba, shown = scenes(drawn, BATCH, rng, STYLES)
        flipped = rng.random(BATCH) < 0.5
        rgba[flipped] = rgba[flipped, :, ::-1]
        pixels = torch.from_numpy(rgba).permute(0, 3, 1, 2).float() / 255
        half, one, none = (torch.full((BATCH,), value) for value in (0.5, 1.0, 0.0))
        x = augment(pixels, generator, half, one, one, none)
        with torch.autocast("cpu", torch.bfloat16):
            logits = tower(x.contiguous(memory_format=torch.channels_last))
        loss = functional.binary_cross_entropy_with_logits(
            logits.float(), torch.from_numpy(present(shown)), reduction="sum"
        )
        optimiser.zero_grad()
        (loss / BATCH).backward()
        optimiser.step()
        schedule.step()
        averaged.update_parameters(tower)
        losses.append(loss.detach() / BATCH)
        if (step + 1) % 100 == 0:
            mean = float(torch.stack(losses[-100:]).mean())
            log.append({"step": step + 1, "loss": mean, "seconds": time.time() - start})
            print(log[-1], flush=True)
    return averaged.module, log


@torch.no_grad()
def seen(tower: nn.Module, rgb: NDArray[np.uint8], batch: int = 128) -> Tensor:
    """How probable each thing is in pictures `(n, 64, 64, 3)`, `(n, 72)` in 0..1."""
    parts = []
    for start in range(0, len(rgb), batch):
        x = torch.from_numpy(rgb[start : start + batch]).permute(0, 3, 1, 2).float() / 255
        parts.append(torch.sigmoid(tower(x.contiguous(memory_format=torch.channels_last))))
    return torch.cat(parts)


if __name__ == "__main__":
    torch.set_num_threads(2)
    scene_tower()
