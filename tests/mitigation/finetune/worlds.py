"""A little world of colours: pictures with captions, synthetic ones as a folder, and tiny checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from PIL import Image

from equiview.data.items import Items
from equiview.mitigation.finetune.pairs import Mixture, Pairs
from equiview.mitigation.finetune.settings import FineTuneSettings
from tests.subjects.encoders import tiny
from tests.subjects.encoders.test_vsepp import write as write_vsepp

COLOURS = {"dog": (200, 30, 30), "sofa": (30, 200, 30), "word": (30, 30, 200), "hund": (200, 200, 30)}
SCHEMES = {"clip": "hf", "siglip": "hf", "blip": "hf", "vsepp": "vsepp"}
KINDS = {"clip": "dual", "siglip": "dual", "blip": "blip", "vsepp": "vsepp"}


def draw(folder: Path, n: int, side: int = 32) -> list[str]:
    """Pictures of one colour each, with noise."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for row in range(n):
        colour = list(COLOURS.values())[row % 4]
        noisy = np.clip(np.asarray(colour) + rng.normal(0, 20, (side, side, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save(folder / f"{row}.png")
    return [f"{row}.png" for row in range(n)]


def captions(n: int) -> list[str]:
    """What each picture shows; four captions in all."""
    return [f"a {list(COLOURS)[row % 4]}" for row in range(n)]


def world(folder: Path, n: int = 16) -> Path:
    """A benchmark in a folder."""
    files = draw(folder, n)
    pl.DataFrame({"id": files, "path": files}).write_csv(folder / "images.csv")
    texts = {"id": [f"t{row}" for row in range(n)], "text": captions(n), "language": "en", "image_id": files}
    pl.DataFrame(texts).write_csv(folder / "texts.csv")
    return folder


def removals(folder: Path, n: int = 8) -> Path:
    """A folder as `equiview build removal` writes it; the last picture has no caption, the others two."""
    files = draw(folder / "images", n)
    said = [[text, f"{text} on a sofa"] for text in captions(n)]
    said[-1] = []
    columns = {"id": [str(row + 1) for row in range(n)], "path": [f"images/{name}" for name in files]}
    classes = {"target": ["cat"] * n, "removed": [["cat"]] * n, "kept": [["sofa"]] * n}
    table = pl.DataFrame(columns | classes | {"source_id": columns["id"], "captions": said})
    table.write_parquet(folder / "removals.parquet")
    return folder


def pairs(folder: Path, n: int = 16) -> Mixture:
    """The pairs of the world, without synthetic ones."""
    files = draw(folder, n)
    images = Items("image", pl.DataFrame({"id": files, "path": [str(folder / name) for name in files]}))
    return Mixture(Pairs("world", images, np.arange(n), tuple(captions(n))))


def checkpoint(kind: str, folder: Path) -> str:
    """The name of a tiny subject of the real classes."""
    place = write_vsepp(folder) if kind == "vsepp" else tiny.build(tiny.ALL[kind], folder)
    return f"{SCHEMES[kind]}:{place}"


SHORT: dict[str, Any] = {
    "forward": 4,
    "save_every": 3,
    "precision": "fp32",
    **{
        kind: {"batch": 8, "learning_rate": 1e-3, "steps": 5} for kind in ("dual", "blip", "vsepp", "adapter")
    },
}


def settings(**changes: Any) -> FineTuneSettings:
    """A training of a second."""
    return FineTuneSettings.of(SHORT | changes)


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The gradient of each parameter that has one."""
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
