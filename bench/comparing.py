"""How the cost of comparing runs grows with how many they are: each pair of them is tested."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from bench.contest import cost_of
from bench.prevalence_path import Seeded, benchmark
from equiview.audits.execute import execute
from equiview.data.languages import languages
from equiview.data.run import Run
from equiview.io.fingerprint import fingerprint
from equiview.report import page
from equiview.studies import compare

RUNS = (2, 4, 8, 16)
AUDITS = ("parity", "prevalence")
WIDTH = 64


class Noisy(Seeded):
    """A system whose captions lie the farther from their image, the higher its number."""

    def __init__(self, images: int, number: int) -> None:
        super().__init__(WIDTH, images, may_encode=True)
        self.number = number
        self.centres = self.centres * (1 - 0.03 * number)

    @property
    def fingerprint(self) -> str:
        """That of the noise, and the number."""
        return fingerprint(super().fingerprint, self.number)


def growth(size: str) -> list[dict[str, Any]]:
    """Cost of reading and comparing runs of two audits, and of their page, by how many runs there are."""
    images = {"small": 40, "medium": 600}.get(size, 3600)
    items = benchmark(images, images * len(languages()))
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / f"{number:02d}" for number in range(RUNS[-1])]
        for number, place in enumerate(places):
            execute(Noisy(images, number), items, AUDITS, place, name=place.name)
        compared, shown = [], []
        for count in RUNS:
            compared.append(cost_of(partial(_compared, places[:count])))
            runs = [Run.open(place) for place in places[:count]]
            shown.append(cost_of(partial(page, runs, compare(runs))))
    return [
        {"of": "comparison", "by": "runs compared", "sizes": RUNS, "costs": compared},
        {"of": "page of a comparison", "by": "runs compared", "sizes": RUNS, "costs": shown},
    ]


def _compared(places: list[Path]) -> pl.DataFrame:
    """The comparison of runs that are opened for it."""
    return compare([Run.open(place) for place in places])
