"""The folder of a training: begun once, gone on with by the same command, its losses as a figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from equiview.data.figures import Chart, write_figure
from equiview.data.run import versions
from equiview.errors import InputError
from equiview.io.tables import write_bytes
from equiview.subjects import Subject
from equiview.subjects.trained import TrainingCard

Card = TypeVar("Card", bound=TrainingCard)


def in_full(place: str) -> str:
    """A folder by its whole path, so that it is found from anywhere; any other name as it is."""
    path = Path(place).expanduser()
    return str(path.resolve()) if place and path.is_dir() else place


def versions_with(subject: Subject) -> dict[str, str]:
    """Versions of the libraries that train, and of the subject's."""
    return versions("torch", "transformers", "accelerate", "tokenizers") | dict(subject.versions)


def begun(out: Path, started: Card) -> Card:
    """What is already there of this training; InputError when the folder holds another."""
    if not (out / started.file).exists():
        if others := [entry.name for entry in out.iterdir() if not entry.name.startswith(".")]:
            raise InputError(
                f"{out}: is not empty and holds no {started.what} ({others[0]}); choose another folder"
            )
        save_card(out, started)
        return started
    there = type(started).read(out)
    first, second = (card.model_dump(exclude=set(card.progress)) for card in (started, there))
    if different := [name for name in first if first[name] != second[name]]:
        raise InputError(
            f"{out}: holds a {started.what} that differs in {', '.join(different)}; choose another folder"
        )
    return there


def save_card(out: Path, card: TrainingCard) -> None:
    """Write the card of a training."""
    content = json.dumps(card.model_dump(mode="json"), indent=2, ensure_ascii=False)
    write_bytes(content.encode() + b"\n", out / card.file)


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
