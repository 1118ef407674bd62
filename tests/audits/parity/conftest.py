"""Labelled faces, and what an encoder that harms some of them is found to do."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.subjects import load_subject
from tests.audits.parity.worlds import FACES, Faces, audited


@pytest.fixture(scope="session")
def face_images():
    rng = np.random.default_rng(0)

    def pick(values, p=None):
        return rng.choice(values, FACES, p=p)

    table = pl.DataFrame(
        {
            "id": [f"f{row}" for row in range(FACES)],
            "gender": pick(["male", "female"]),
            "race": pick(["White", "Black", "Latino_Hispanic", "Indian"], [0.4, 0.4, 0.18, 0.02]),
            "age": pick(["0-2", "3-9", "20-29", "30-39", "more than 70"]),
        }
    )
    return Items("image", table)


def captioned(images, languages):
    """The images with a caption each in every language."""
    rows = [(f"{code}-{image}", f"{code} {image}", code) for code in languages for image in images.ids]
    texts = Items("text", pl.DataFrame(rows, schema=["id", "text", "language"], orient="row"))
    of_image = np.tile(np.arange(FACES), len(languages))
    pairs = Relevance.from_pairs(of_image, range(len(rows)), n_queries=FACES, n_items=len(rows))
    return Benchmark("faces", images, texts, pairs)


@pytest.fixture(scope="session")
def faces(face_images):
    """Faces captioned in one language, so that there is nothing to match."""
    return captioned(face_images, ["en"])


@pytest.fixture(scope="session")
def captioned_faces(face_images):
    """Faces captioned in two languages, so that there is matching as well."""
    return captioned(face_images, ["en", "de"])


@pytest.fixture(scope="session")
def harmed(faces):
    return audited(Faces(0.25), faces)


@pytest.fixture(scope="session")
def both(captioned_faces):
    """The same encoder where there is matching as well."""
    return audited(Faces(0.25), captioned_faces)


@pytest.fixture(scope="session")
def things():
    """Drawings with flags, classified by the names of what they show; their countries are two regions."""
    read = load_benchmark("pictograms-culture")
    region = pl.when(pl.col("country").is_in(["USA", "UK", "Kenya", "India"])).then(pl.lit("here"))
    table = read.images.table.with_columns(region=region.otherwise(pl.lit("there")))
    read = replace(read, images=replace(read.images, table=table))
    return audited(load_subject("pictogram:aligned"), read, replicates=100)
