"""The commands that make something. They stand apart so that `equiview --help` need not load the makers."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """Makers of one command: its help, and the name for their results."""

    about: str
    result: str


GROUPS = {
    "build": Group(
        "Build new benchmarks from your own material, with models that answer and people who review.",
        "Benchmark",
    ),
    "train": Group("Train a system of your own from an encoder of yours.", "Subject"),
    "mitigate": Group("Lower a bias of an encoder, and keep data to judge by what it costs.", "Subject"),
}
"""By name."""
