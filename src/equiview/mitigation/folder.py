"""Shared by trainings: names with absolute paths, versions, precision, and the figure of losses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from equiview.data.figures import Chart, write_figure
from equiview.data.manifest import versions
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.tables import write_bytes
from equiview.making.card import Input
from equiview.subjects import Subject
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import library_bars_off
from equiview.subjects.known import in_full, licence_of

if TYPE_CHECKING:
    import torch


def whole_path(place: str) -> str:
    """A folder as an absolute path, which is valid everywhere; any other name unchanged."""
    path = Path(place).expanduser()
    return str(path.resolve()) if place and path.is_dir() else place


def whole_name(name: str) -> str:
    """`SCHEME:FOLDER,options` with the folder as an absolute path; any other name unchanged."""
    scheme, colon, argument = name.partition(":")
    place, comma, options = argument.partition(",")
    return f"{scheme}{colon}{whole_path(place)}{comma}{options}"


def encoder_input(subject: Subject) -> Input:
    """An encoder by a name that is valid everywhere: no abbreviations, absolute paths."""
    name = whole_name(in_full(subject.name))
    return Input(name=name, fingerprint=subject.fingerprint, licence=licence_of(name))


def versions_with(subject: Subject) -> dict[str, str]:
    """Versions of the training libraries and the subject's; InputError for a missing library."""
    for library in ("torch", "transformers", "accelerate", "safetensors"):
        require(library, "train")
    return versions("torch", "transformers", "accelerate", "tokenizers") | dict(subject.versions)


def save_checkpoint(checkpoint: Checkpoint, model: Any, folder: Path) -> None:
    """Write a model of transformers: the weights as they are now, all else as in its checkpoint."""
    for path in checkpoint.files:
        if path not in checkpoint.weights and not path.name.endswith(".index.json"):
            copy = folder / path.relative_to(checkpoint.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    with library_bars_off():
        model.save_pretrained(folder)


def save_losses(out: Path, losses: Mapping[str, list[dict[str, float]]], unit: str) -> None:
    """Write each step's `step`, `loss` and `rate` by stage, and the figure; `unit` is that of the loss."""
    write_bytes(json.dumps(losses, indent=1).encode(), out / "loss.json")
    rows = [{"stage": name, **entry} for name, entries in losses.items() for entry in entries]
    chart = Chart(
        name="loss",
        title="Loss while training",
        see=f"The loss of each step, in {unit}. It falls while the model learns.",
        table=pl.DataFrame(
            rows, schema={"stage": pl.String, "step": pl.Int64, "loss": pl.Float64, "rate": pl.Float64}
        ),
        mark="lines",
        x="step",
        y="loss",
        x_title="step",
        y_title=f"loss ({unit})",
        color="stage",
        domain=tuple(losses),
    )
    write_figure(chart, out / "figures" / "loss.json")


def precision_of(name: str, device: torch.device) -> str:
    """The precision of forward passes: the given one, or for auto the best of the device."""
    if name == "fp16" and device.type != "cuda":
        raise InputError(
            f"setting 'precision': fp16 needs CUDA, and the device is {device}; say bf16 or fp32"
        )
    if name != "auto":
        return name
    if device.type == "cuda":
        import torch

        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    return "fp32"
