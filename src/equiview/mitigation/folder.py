"""What trainings share: names that are found from anywhere, versions, and losses as a figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from equiview.data.figures import Chart, write_figure
from equiview.data.run import versions
from equiview.extras import require
from equiview.io.tables import write_bytes
from equiview.making.card import Input
from equiview.subjects import Subject
from equiview.subjects.known import in_full, licence_of
from equiview.subjects.trained import Part


def whole_path(place: str) -> str:
    """A folder by its whole path, so that it is found from anywhere; any other name as it is."""
    path = Path(place).expanduser()
    return str(path.resolve()) if place and path.is_dir() else place


def encoder_input(subject: Subject) -> Input:
    """An encoder by a name that is found from anywhere: no abbreviation, a folder by its whole path."""
    scheme, colon, argument = in_full(subject.name).partition(":")
    place, comma, options = argument.partition(",")
    name = f"{scheme}{colon}{whole_path(place)}{comma}{options}"
    return Input(name=name, fingerprint=subject.fingerprint, licence=licence_of(name))


def as_part(made_of: Input) -> Part:
    """An input as the subject knows it."""
    return Part(name=made_of.name, fingerprint=made_of.fingerprint)


def versions_with(subject: Subject) -> dict[str, str]:
    """Versions of the libraries that train, and of the subject's; InputError where one is not installed."""
    for library in ("torch", "transformers", "accelerate", "safetensors"):
        require(library, "train")
    return versions("torch", "transformers", "accelerate", "tokenizers") | dict(subject.versions)


def save_losses(out: Path, losses: Mapping[str, list[dict[str, float]]], unit: str) -> None:
    """Write the loss of every step by stage, and its figure."""
    write_bytes(json.dumps(losses, indent=1).encode(), out / "loss.json")
    write_figure(loss_curve(losses, unit), out / "figures" / "loss.json")


def loss_curve(losses: Mapping[str, Sequence[Mapping[str, float]]], unit: str) -> Chart:
    """The loss of every step (`step`, `loss` and `rate`), a line a stage; `unit` is of the loss."""
    rows = [{"stage": name, **entry} for name, entries in losses.items() for entry in entries]
    return Chart(
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
