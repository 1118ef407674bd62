"""The image tower: a small convolutional network that tells drawings apart, trained without a word.

It never sees the held-out artist. Its output has four parts: what is drawn, which country's flag the
drawing bears, and the gender and the skin of the person it shows. The first two are unit vectors, so that
none can drown the other; of the last two see `SeeingTower`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from drawings import SIDE
from examples import Example, Examples
from people import GENDERS, SKINS

WIDTHS = {"concept": 96, "flag": 16, "gender": 8, "skin": 8}
WEIGHTS = {"concept": 1.0, "flag": 0.6, "gender": 0.7, "skin": 0.7}
"""Length of each part, at most, before the whole is scaled to length 1."""
ANYWHERE = 4.0
"""Scale of means over places, plain or of a look, beside the features of each place."""
LOOKS, SEEN = 4, 48
"""Looks at a person for each part that says who is shown, and features that each brings back."""
SHOWN = {"gender": len(GENDERS), "skin": len(SKINS)}
"""Numbers of the parts that say who is shown."""
SOFTNESS = 3.0
"""Inverse temperature of what is said of people: softer than in training, so that doubt shows."""
SCALES = {"concept": 20.0, "flag": 8.0, "gender": 8.0, "skin": 8.0}
"""Inverse temperatures of the softmax over each part's classes."""
SHARES = {"concept": 1.0, "flag": 0.3, "gender": 1.6, "skin": 0.8}
"""Weight of each part's loss."""
NOBODY = 0.15
"""Weight of a drawing that shows nobody, or yellow skin, beside one that does: there are many more."""


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


class Look(nn.Module):
    """What is at the places that matter: `(n, n_in, side, side)` to `(n, LOOKS * SEEN)`.

    Skin may be the few pixels of a golfer's face: a mean over all places hides it, a look finds it.
    """

    def __init__(self, n_in: int) -> None:
        super().__init__()
        self.what = nn.Conv2d(n_in, SEEN, 1, bias=False)
        self.norm = nn.BatchNorm2d(SEEN)
        self.where = nn.Conv2d(n_in, LOOKS, 1)

    def forward(self, x: Tensor) -> Tensor:
        what = functional.relu(self.norm(self.what(x))).flatten(2)
        where = functional.softmax(self.where(x).float().flatten(2), dim=2).to(what.dtype)
        return torch.bmm(where, what.transpose(1, 2)).flatten(1)


class ImageTower(nn.Module):
    """RGB `(n, 3, 64, 64)` in 0..1 to the unit vectors of each part."""

    def __init__(self, width: int = 28) -> None:
        super().__init__()
        w = width
        self.near = nn.Sequential(
            nn.Conv2d(3, w, 5, 2, 2, bias=False),
            nn.BatchNorm2d(w),
            nn.ReLU(),
            Block(w, 2 * w, 2),
            Block(2 * w, 2 * w),
        )
        self.far = nn.Sequential(Block(2 * w, 4 * w, 2), Block(4 * w, 4 * w), Block(4 * w, 8 * w, 2))
        self.person = Block(2 * w, 2 * w)
        self.looks = nn.ModuleDict({name: Look(2 * w) for name in SHOWN})
        self.drop = nn.Dropout(0.2)
        self.heads = nn.ModuleDict(
            {
                name: nn.Sequential(
                    nn.Linear(8 * w * 17 + (LOOKS * SEEN if name in SHOWN else 0), size, bias=False),
                    nn.BatchNorm1d(size),
                )
                for name, size in WIDTHS.items()
            }
        )

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """What each part is read from: what is where and what is anywhere, and looks at who is shown."""
        near = self.near((x - 0.6) / 0.35)
        far, person = self.far(near), self.person(near)
        read = dict.fromkeys(WIDTHS, torch.cat([far.flatten(1), ANYWHERE * far.mean((2, 3))], dim=1))
        for name, look in self.looks.items():
            read[name] = torch.cat([read[name], ANYWHERE * look(person)], dim=1)
        return read

    def parts(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Unit vectors by part."""
        return {name: functional.normalize(head(features[name]), dim=1) for name, head in self.heads.items()}


class SeeingTower(nn.Module):
    """The image tower as it ships: RGB `(n, 3, 64, 64)` in 0..1 to unit vectors `(n, 120)`.

    Of gender and skin it has how probable each is, less the mean: they sum to nothing. Where nobody is
    shown, or yellow skin, the part is nothing; and a text that goes with all alike has nothing there, so
    that it does not prefer any, nor those in between.
    """

    def __init__(self, tower: ImageTower, classes: dict[str, Tensor]) -> None:
        super().__init__()
        self.tower = tower
        for name in SHOWN:
            self.register_buffer(name, functional.normalize(classes[name].detach(), dim=1))
        self.register_buffer("kept", torch.eye(WIDTHS["concept"]))

    def leave_out(self, directions: Tensor) -> None:
        """Leave out of what is drawn the directions `(n, 96)` that say who is shown."""
        basis = torch.linalg.svd(directions, full_matrices=False).Vh
        self.kept = torch.eye(WIDTHS["concept"]) - basis.T @ basis

    def forward(self, x: Tensor) -> Tensor:
        parts = self.tower.parts(self.tower.features(x))
        parts["concept"] = functional.normalize(parts["concept"] @ self.kept, dim=1)
        shown = [WEIGHTS[name] * parts[name] for name in ("concept", "flag")]
        for name in SHOWN:
            probable = functional.softmax(SOFTNESS * parts[name] @ getattr(self, name).T, dim=1)
            shown.append(probable @ torch.from_numpy(centred(name)))
        return functional.normalize(torch.cat(shown, dim=1), dim=1)


def centred(name: str) -> NDArray[np.float32]:
    """Probabilities of a part's classes, the last for none, to the part: `(n_classes, n_classes - 1)`."""
    n = SHOWN[name]
    corners = (np.eye(n) - 1 / n) / np.sqrt(1 - 1 / n)
    return (WEIGHTS[name] * np.vstack([corners, np.zeros(n)])).astype(np.float32)


def augment(
    rgba: Tensor,
    generator: torch.Generator,
    strength: Tensor,
    colour_strength: Tensor,
    size: Tensor,
    hue: Tensor,
) -> Tensor:
    """Vary drawings `(n, 4, side, side)` in 0..1 as another artist might: place, shape, colour, line.

    `strength` `(n,)` is of place and shape; `colour_strength` `(n,)` of 1 allows any tint and no colour at
    all.
    """
    n = len(rgba)
    tint = colour_strength[:, None, None]

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(n, *shape, generator=generator) * (high - low) + low

    def chosen(probability: float) -> Tensor:
        return (torch.rand(n, 1, 1, 1, generator=generator) < probability).float()

    angle = uniform(-0.22, 0.22) * strength
    scale_x = torch.exp(uniform(-0.22, 0.16) * strength) * size
    across, down = (uniform(-1, 1) * (1 / size - 1) + uniform(-0.12, 0.12) * strength for _ in range(2))
    scale_y = scale_x * torch.exp(uniform(-0.12, 0.12) * strength)
    shear = uniform(-0.12, 0.12) * strength
    cos, sin = torch.cos(angle), torch.sin(angle)
    theta = torch.stack(
        [
            torch.stack([cos / scale_x, (-sin + shear) / scale_x, across], 1),
            torch.stack([sin / scale_y, cos / scale_y, down], 1),
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
    kept = torch.rand(n, 1, 1, generator=generator) > 0.08
    saturation = (1 + tint * uniform(-0.5, 0.4, 1, 1)) * (kept | (tint < 1))
    grey = torch.tensor([0.3, 0.59, 0.11]).expand(3, 3)
    turned = _turned(hue)
    matrix = (saturation * torch.eye(3) + (1 - saturation) * grey) * (1 + tint * uniform(-0.3, 0.3, 3, 1))
    matrix = matrix @ turned
    x = (
        torch.bmm(matrix, (x - 0.5).flatten(2))
        .view_as(x)
        .add_(0.5 + tint[..., None] * uniform(-0.1, 0.1, 1, 1, 1))
        .clamp_(0, 1)
    )
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


def _turned(hue: Tensor) -> Tensor:
    """Rotations of colours about grey by angles `(n,)`, `(n, 3, 3)`."""
    cos, sin = torch.cos(hue)[:, None, None], torch.sin(hue)[:, None, None] / 3**0.5
    around = torch.tensor([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    return cos * torch.eye(3) + (1 - cos) / 3 + sin * around


@dataclass
class Training:
    """All that training goes on from: kept after every epoch, so that a run that was stopped continues."""

    tower: ImageTower
    classes: nn.ParameterDict
    optimiser: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    averaged: torch.optim.swa_utils.AveragedModel
    numbers: np.random.Generator
    generator: torch.Generator
    log: list[dict[str, float]]

    def save(self, path: Path) -> None:
        state = {
            name: getattr(self, name).state_dict()
            for name in ("tower", "classes", "optimiser", "schedule", "averaged")
        }
        random = {
            "numbers": self.numbers.bit_generator.state,
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
        }
        part = path.with_suffix(".part")
        torch.save(state | {"random": random, "log": self.log}, part)
        part.replace(path)

    def load(self, path: Path) -> None:
        state = torch.load(path, weights_only=False)
        for name in ("tower", "classes", "optimiser", "schedule", "averaged"):
            getattr(self, name).load_state_dict(state[name])
        self.numbers.bit_generator.state = state["random"]["numbers"]
        self.generator.set_state(state["random"]["generator"])
        torch.set_rng_state(state["random"]["torch"])
        self.log = state["log"]


def train_image_tower(
    examples: Examples, *, epochs: int, seed: int, batch: int = 128, checkpoint: Path | None = None
) -> tuple[SeeingTower, list[dict[str, float]]]:
    """Train with cosine softmax over the classes of each part; returns the averaged tower and its log.

    With `checkpoint`, a run that was stopped goes on after the last epoch that was finished.
    """
    state = _begin(examples, epochs=epochs, seed=seed, batch=batch)
    if checkpoint is not None and checkpoint.is_file():
        state.load(checkpoint)
    start = time.time() - (state.log[-1]["seconds"] if state.log else 0.0)
    for epoch in range(len(state.log), epochs):
        state.tower.train()
        strength = min(1.0, 0.4 + epoch / max(1, epochs * 0.3))
        losses = [_step(state, example, strength) for example in examples.epoch(batch, state.numbers)]
        mean = {name: float(torch.stack([loss[name] for loss in losses]).mean()) for name in WIDTHS}
        state.log.append({"epoch": epoch + 1, **mean, "seconds": time.time() - start})
        print({key: round(value, 3) for key, value in state.log[-1].items()}, flush=True)
        if checkpoint is not None:
            state.save(checkpoint)
    return SeeingTower(state.averaged.module, dict(state.classes)).eval(), state.log


def _begin(examples: Examples, *, epochs: int, seed: int, batch: int) -> Training:
    torch.manual_seed(seed)
    tower = ImageTower().to(memory_format=torch.channels_last)
    classes = nn.ParameterDict(
        {name: nn.Parameter(torch.randn(examples.n_classes[name], size)) for name, size in WIDTHS.items()}
    )
    averaged = torch.optim.swa_utils.AveragedModel(
        tower, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995), use_buffers=True
    )
    optimiser = torch.optim.AdamW([*tower.parameters(), *classes.values()], lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 3e-3, total_steps=epochs * examples.steps(batch) + 1, pct_start=0.15
    )
    numbers, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    return Training(tower, classes, optimiser, schedule, averaged, numbers, generator, [])


def _step(state: Training, example: Example, strength: float) -> dict[str, Tensor]:
    """One step of training; returns the loss of each part."""
    place = torch.from_numpy(example.place_strength) * strength
    varied = (torch.from_numpy(of) for of in (example.colour_strength, example.size, example.hue))
    x = augment(example.rgba(), state.generator, place, *varied)
    with torch.autocast("cpu", torch.bfloat16):
        features = state.tower.features(x.contiguous(memory_format=torch.channels_last))
    parts = state.tower.parts({name: state.tower.drop(read.float()) for name, read in features.items()})
    losses = {}
    for name, part in parts.items():
        scores = SCALES[name] * part @ functional.normalize(state.classes[name], dim=1).T
        labels = torch.from_numpy(example.labels[name])
        losses[name] = _loss(scores, labels, 0.05 if name == "concept" else 0, nobody=SHOWN.get(name))
    state.optimiser.zero_grad()
    sum(SHARES[name] * loss for name, loss in losses.items()).backward()
    state.optimiser.step()
    if state.schedule.last_epoch < state.schedule.total_steps - 1:
        state.schedule.step()
    state.averaged.update_parameters(state.tower)
    return {name: loss.detach() for name, loss in losses.items()}


def _loss(scores: Tensor, labels: Tensor, smoothing: float, nobody: int | None) -> Tensor:
    """Cross-entropy with labels `(n, most)` that share a row's weight; -1 is none, a row may have none.

    Rows labelled `nobody` weigh `NOBODY`.
    """
    log = functional.log_softmax(scores, dim=1)
    given = (labels >= 0).float()
    count = given.sum(1)
    true = (log.gather(1, labels.clamp(min=0)) * given).sum(1) / count.clamp(min=1)
    loss = -(1 - smoothing) * true - smoothing * log.mean(1)
    known = (count > 0).float()
    if nobody is not None:
        known = torch.where(labels[:, 0] == nobody, NOBODY, known)
    return (loss * known).sum() / known.sum().clamp(min=1)


@torch.no_grad()
def encode(tower: nn.Module, rgb: NDArray[np.uint8], batch: int = 256) -> Tensor:
    """Unit vectors `(n, 120)` of drawings `(n, 64, 64, 3)`."""
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
