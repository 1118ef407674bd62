"""A world whose pull of culture is set by hand."""

from functools import cache

import numpy as np
import polars as pl

from equiview.audits.association import ASSOCIATION
from equiview.benchmarks import Benchmark
from equiview.benchmarks.trials import SCHEMA as TRIALS
from equiview.benchmarks.trials import make_trials
from equiview.data.countries import countries
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.io.progress import silent
from equiview.subjects import Encoder
from tests.audits import steps

CONCEPTS = [f"c{number}" for number in range(8)]
TEXT = "text-to-image"


@cache
def world():
    rows = [(f"{c}-{k}", c, k) for c in CONCEPTS for k in countries()["country"]]
    images = Items("image", pl.DataFrame(rows, schema=["id", "concept", "country"], orient="row"))
    language = dict(countries().select("country", "language").iter_rows())
    texts = [(f"q-{name}", f"{c} in {language[k]}", language[k], c, k) for name, c, k in rows]
    columns = ["id", "text", "language", "concept", "country"]
    queries = Items("text", pl.DataFrame(texts, schema=columns, orient="row"))
    relevance = Relevance.from_pairs(range(128), range(128), n_queries=128, n_items=128)
    trials = make_trials(images, queries)
    return Benchmark(
        "planted", images, queries, relevance, tables={"trials": trials}, schemas={"trials": TRIALS}
    )


class Planted(Encoder):
    """Vectors are concept plus `pull` times country plus noise."""

    def __init__(self, pull):
        super().__init__()
        self.pull = pull

    def encode_images(self, images):
        raise AssertionError

    def encode_texts(self, texts):
        raise AssertionError

    def embed(self, items, progress=silent):
        rng = np.random.default_rng(0 if items.kind == "image" else 1)
        axes = np.eye(24)
        of_concept = {name: axes[place] for place, name in enumerate(CONCEPTS)}
        of_country = {name: axes[8 + place] for place, name in enumerate(countries()["country"])}
        vectors = [
            of_concept[c] + self.pull * of_country[k] + 0.3 * rng.normal(size=24)
            for c, k in items.table.select("concept", "country").iter_rows()
        ]
        return np.asarray(vectors, dtype=np.float32)


@cache
def observed(pull):
    return ASSOCIATION.observe(Planted(pull), world(), ASSOCIATION.configure({}), silent)


def audited(pull, **settings):
    """Observations, estimates and settings of an audit of the planted world."""
    options = ASSOCIATION.configure({"replicates": 500, **settings})
    return observed(pull), steps.measured(ASSOCIATION, observed(pull), options), options
