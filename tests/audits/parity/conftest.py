"""Labelled faces, and what an encoder that harms some of them is found to do."""

import numpy as np
import polars as pl
import pytest

from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
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


@pytest.fixture(scope="session")
def faces(face_images):
    """Faces without captions."""
    texts = Items(
        "text", pl.DataFrame(schema=dict.fromkeys(["id", "text", "language"], pl.String)), may_be_empty=True
    )
    none = Relevance.from_pairs([], [], n_queries=FACES, n_items=0)
    return Benchmark("faces", face_images, texts, none)


@pytest.fixture(scope="session")
def captioned_faces(face_images):
    """Faces with a caption each in English and German, so that there is matching as well."""
    rows = [
        (f"{code}-{image}", f"{code} {image}", code) for code in ("en", "de") for image in face_images.ids
    ]
    texts = Items("text", pl.DataFrame(rows, schema=["id", "text", "language"], orient="row"))
    images = np.tile(np.arange(FACES), 2)
    pairs = Relevance.from_pairs(images, range(len(rows)), n_queries=FACES, n_items=len(rows))
    return Benchmark("captioned faces", face_images, texts, pairs)


@pytest.fixture(scope="session")
def harmed(faces):
    return audited(Faces(0.25), faces)
