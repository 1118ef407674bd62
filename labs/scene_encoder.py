"""An encoder of scenes: a head on what the scene tower sees, and a text tower, trained together on captions.

In training, things come in pairs with a chosen probability, as in the benchmark `scenes`. The tower that sees
knows nothing of pairs; the head, part of whose input is hidden, and the text tower learn them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from equiview.benchmarks.scenes_things import sentence, told_in
from image_tower import on_white
from scene_tower import STYLES, SceneHead, present, scene_pieces, scene_tower, seen
from scenes import paired_scenes
from sources import WORK
from text_tower import SCALE, Reader, TextTower

SCENES, CAPTIONS = 6_000, 6
"""Scenes that training sees, and captions of each."""
STEPS, BATCH = 600, 512
LEFT_OUT = 0.5
"""Share of captions that leave out one of three things or more."""


@dataclass(frozen=True)
class Taught:
    """What training draws from: what is seen in each scene, `(n, 72)`, and captions, some of each scene."""

    seen: Tensor
    texts: list[str]
    scene: NDArray[np.int64]


def taught(strength: float, seed: int) -> Taught:
    """Scenes of the training artists with their captions, half of them English; kept once drawn."""
    path = WORK / f"scenes-{strength:g}-{seed}.pt"
    if not path.is_file():
        rng = np.random.default_rng([seed, round(100 * strength)])
        tower, _ = scene_tower()
        rgba, shown = paired_scenes(scene_pieces(), SCENES, rng, STYLES, strength)
        labels = present(shown)
        texts = [_caption(np.flatnonzero(row).tolist(), rng) for row in labels for _ in range(CAPTIONS)]
        torch.save({"seen": seen(tower, on_white(rgba)), "texts": texts}, path)
    stored = torch.load(path)
    return Taught(stored["seen"], stored["texts"], np.repeat(np.arange(SCENES), CAPTIONS))


def _caption(shown: list[int], rng: np.random.Generator) -> str:
    language = "en" if rng.random() < 0.5 else str(rng.choice(told_in()))
    if len(shown) > 2 and rng.random() < LEFT_OUT:
        untold = shown[rng.integers(len(shown))]
        shown = [thing for thing in shown if thing != untold]
    return sentence(shown, language, rng)


Trained = tuple[SceneHead, TextTower, list[dict[str, float]]]


def scene_encoder(strength: float, seed: int) -> Trained:
    """A trained head and text tower with their log, kept so that a run that was stopped goes on."""
    path = WORK / f"scene-encoder-{strength:g}-{seed}.pt"
    if not path.is_file():
        head, tower, log = _trained(strength, seed)
        torch.save({"head": head.state_dict(), "tower": tower.state_dict(), "log": log}, path)
    stored = torch.load(path)
    head, tower = SceneHead(), TextTower()
    head.load_state_dict(stored["head"])
    tower.load_state_dict(stored["tower"])
    return head.eval(), tower.eval(), stored["log"]


def _trained(strength: float, seed: int) -> Trained:
    """Pull each caption to its scene and push it from the others, and the other way round."""
    data = taught(strength, seed)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    head, tower, reader = SceneHead().train(), TextTower(), Reader(data.texts)
    optimiser = torch.optim.Adam(
        [{"params": tower.parameters(), "lr": 1e-2}, {"params": head.parameters(), "lr": 3e-3}]
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, [1e-2, 3e-3], total_steps=STEPS, pct_start=0.1)
    log, losses, start = [], [], time.time()
    for step in range(STEPS):
        scene = rng.choice(SCENES, size=BATCH, replace=False)
        rows = scene * CAPTIONS + rng.integers(CAPTIONS, size=BATCH)
        images, texts = head(data.seen[scene]), tower(reader.rows(rows))
        scores = SCALE * texts @ images.T
        target = torch.arange(BATCH)
        loss = (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.detach())
        if (step + 1) % 100 == 0:
            log.append({"step": step + 1, "loss": float(torch.stack(losses[-100:]).mean())})
            print(strength, seed, log[-1], flush=True)
    log[-1]["seconds"] = round(time.time() - start, 1)
    return head.eval(), tower.eval(), log
