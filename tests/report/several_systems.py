"""Pages of several systems of known bias, of every audit that comes along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from labs.error_rates.amplification import Says, captioning, captions, leaning
from tests.audits.association.planted import Planted, world
from tests.audits.knowledge.quizzes import Model, quiz
from tests.audits.memory import rules
from tests.audits.parity.worlds import Faces
from tests.audits.social.worlds import Tied, people
from tests.conftest import write_world

from equiview.audits.execute import execute
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.data.run import Run
from equiview.subjects import Subject, load_subject

SKEWS = {"skewed": 3.0, "tilted": 0.4, "even": 0.0}
QUICK = {"replicates": 200}


def of_world(folder: Path, audits: tuple[str, ...] = ("prevalence", "parity", "individual")) -> list[Run]:
    """Three systems over the same captions, from one that moves two languages aside to one that moves none.

    Small pools, so that one panel has gaps beyond the tolerance and another has none.
    """
    for name, skew in SKEWS.items():
        write_world(folder / name, images=120, skew=skew)
    benchmark = load_benchmark(f"folder:{folder / 'even'}")
    return [
        executed(load_subject(f"embeddings:{folder / name}"), benchmark, audits, folder / f"{name}-run", name)
        for name in SKEWS
    ]


def of_trials(folder: Path) -> list[Run]:
    """Two systems over the same trials, one of which is pulled by the country of the query."""
    pulls = {"pulled": 1.2, "not pulled": 0.0}
    return [
        executed(Planted(pull), world(), ("association",), folder / name, name)
        for name, pull in pulls.items()
    ]


def of_captions(folder: Path) -> list[Run]:
    """Two captioners of the same images: what one names where it is wrong leans on gender."""
    rng = np.random.default_rng(0)
    world = captions(200, rng)
    leans = {"leaning": 0.9, "alike": 0.2}
    return [
        executed(
            Says(captioning(leaning(lean), 0.4)(world.women, world.truth, rng)),
            world.data, ("amplification",), folder / name, name,
        )
        for name, lean in leans.items()
    ]  # fmt: skip


def of_faces(folder: Path) -> list[Run]:
    """Two systems that classify faces, one of which harms a group."""
    rng = np.random.default_rng(0)
    labels = {"gender": ("male", "female"), "race": ("White", "Black"), "age": ("0-2", "20-29")}
    table = pl.DataFrame(
        {"id": [f"f{row}" for row in range(700)]}
        | {name: rng.choice(values, 700) for name, values in labels.items()}
    )
    images = Items("image", table)
    rows = [(f"{code}-{image}", f"{code} {image}", code) for code in ("en", "de") for image in images.ids]
    texts = Items("text", pl.DataFrame(rows, schema=["id", "text", "language"], orient="row"))
    pairs = Relevance.from_pairs(np.tile(np.arange(700), 2), range(1400), n_queries=700, n_items=1400)
    benchmark = Benchmark("faces", images, texts, pairs)
    harms = {"harming": 0.25, "harmless": 0.0}
    return [
        executed(Faces(harm), benchmark, ("parity",), folder / name, name) for name, harm in harms.items()
    ]


def of_quiz(folder: Path) -> list[Run]:
    """Two systems that answer a quiz, one of which knows less in Swahili."""
    weak = {"forgetful": "sw", "steady": ""}
    return [
        executed(Model(language), quiz(240), ("knowledge",), folder / name, name)
        for name, language in weak.items()
    ]


def of_people(folder: Path) -> list[Run]:
    """Two systems asked for people in roles, one of which ties each role to a gender."""
    ties = {"tied": 0.5, "not tied": 0.0}
    return [
        executed(Tied(tie), people(300, pictures=True), ("social",), folder / name, name)
        for name, tie in ties.items()
    ]


def of_places(folder: Path) -> list[Run]:
    """Two models that describe places, one of which is cut off in German."""
    place = rules.write(folder / "places", 36)
    translator = f"{rules.__name__}:Translator:{place}"
    options = {"translator": translator, "detector": "names", "scorer": "pictogram:english"}
    ways = {"whole": "", "cut off": "cut"}
    return [
        execute(
            load_subject(f"{rules.__name__}:Describer:{way}"),
            load_benchmark(f"visrecall:{place}"),
            ("memory",),
            folder / name,
            name=name,
            settings={"memory": options | QUICK},
        )
        for name, way in ways.items()
    ]


def of_removals(folder: Path) -> list[Run]:
    """Two systems on images without one of their objects, one of which knows little of what is there."""
    benchmark = load_benchmark("scenes:images=150,gallery=200")
    return [
        executed(load_subject(f"pictogram:{name}"), benchmark, ("decorrelation",), folder / name, name)
        for name in ("scenes", "aligned")
    ]


def executed(subject: Subject, benchmark: Benchmark, audits: tuple[str, ...], folder: Path, name: str) -> Run:
    """A run measured and drawn with few replicates."""
    return execute(subject, benchmark, audits, folder, name=name, settings=dict.fromkeys(audits, QUICK))
