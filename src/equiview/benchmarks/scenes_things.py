"""What scenes show and how they are told: 72 things in 36 pairs, and sentences in ten languages."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from equiview.benchmarks.pictograms import names
from equiview.benchmarks.scenes_drawing import MOST


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("equiview.benchmarks").joinpath("scene_data.toml").read_text("utf-8"))


def pairs() -> tuple[tuple[str, str], ...]:
    """The things by their English names, two that may appear together in one tuple.

    >>> pairs()[0], len(pairs())
    (('cat', 'fish'), 36)
    """
    return tuple((first, second) for first, second in _data()["pairs"])


@cache
def things() -> tuple[str, ...]:
    """All things, those of a pair side by side: thing `2 i` is of a pair with `2 i + 1`."""
    return tuple(name for pair in pairs() for name in pair)


def told_in() -> tuple[str, ...]:
    """The languages that scenes can be told in."""
    return tuple(_data()["languages"])


@cache
def words(language: str) -> tuple[str, ...]:
    """The things' names in a language; of several names that CLDR gives the first."""
    table = names()
    concept = dict(table.filter(language="en").select("text", "concept").iter_rows())
    name = dict(table.filter(language=language).select("concept", "text").iter_rows())
    return tuple(name[concept[thing]].split(",")[0] for thing in things())


def contents(strength: float, rng: np.random.Generator) -> list[int]:
    """Two to five things of a scene, as rows of `things()`.

    A thing brings the other of its pair with probability `strength`, where there is room; otherwise the
    other one is not in the scene.
    """
    wanted = int(rng.integers(2, MOST + 1))
    shown: list[int] = []
    for first in rng.permutation(len(things()))[: 3 * MOST].tolist():
        if len(shown) >= wanted:
            break
        if first not in shown and first ^ 1 not in shown:
            shown.append(first)
            if rng.random() < strength and len(shown) < MOST:
                shown.append(first ^ 1)
    return shown


def sentence(shown: Sequence[int], language: str, rng: np.random.Generator) -> str:
    """A caption that names the things in any order, by one of the language's sentences."""
    entry = _data()["languages"][language]
    listed = [words(language)[thing] for thing in rng.permutation(np.asarray(shown)).tolist()]
    told = entry["joined"].join(filter(None, [entry["comma"].join(listed[:-1]), listed[-1]]))
    pattern: str = entry["sentences"][rng.integers(len(entry["sentences"]))]
    return pattern.format(told)
