"""Worlds whose gaps are known because we made them: captions as vectors, and faces that an encoder harms."""

import numpy as np
import polars as pl

from equiview.audits.parity import PARITY
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.prompts import shipped_prompts
from equiview.data.observations import Observations
from equiview.io.progress import silent
from equiview.subjects import Encoder, load_subject
from tests.audits import steps

PROMPTS = shipped_prompts()
FACES = 700
AXES = {value: place for place, value in enumerate(v for p in PROMPTS.values() for v in p.values)}


def audited(subject, benchmark, **settings):
    """What was observed, the estimates, and the settings."""
    options = PARITY.configure({"replicates": 500, **settings})
    observed = PARITY.observe(subject, benchmark, options, silent)
    return observed, steps.measured(PARITY, observed, options), options


def of_world(folder, **settings):
    """`audited` of the vectors and tables in a folder."""
    return audited(load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}"), **settings)


class Faces(Encoder):
    """Sees gender, race and age; worse at gender of Black women, and worse the more when asked in Turkish."""

    def __init__(self, harm=0.0):
        super().__init__()
        self.harm = harm

    def encode_images(self, images):
        raise AssertionError

    def encode_texts(self, texts):
        raise AssertionError

    def embed(self, items, progress=silent):
        rng = np.random.default_rng(1)
        vectors = rng.normal(size=(len(items), 40)) * 0.35
        for row, item in enumerate(items.table.iter_rows(named=True)):
            if items.kind == "image":
                for task, prompts in PROMPTS.items():
                    if value := prompts.values_of(pl.Series([item[task]]))[0]:
                        vectors[row, AXES[value]] += 1
                if (item["gender"], item["race"]) == ("female", "Black"):
                    vectors[row, 30] += 1
            elif item["id"].startswith("prompt:"):
                _, _, language, _, value = item["id"].split(":")
                vectors[row] = 0
                vectors[row, AXES[value]] = 1
                if value == "Male":
                    vectors[row, 30] = self.harm * (6 if language == "tr" else 1)
        return vectors.astype(np.float32)


def ranked(ranks, candidates=12):
    """Observations of matching, from image to text, from `ranks[language][image]` among `candidates`."""
    rows = [
        (
            image,
            "image-to-text",
            language,
            1,
            rank,
            candidates[language] if isinstance(candidates, dict) else candidates,
        )
        for language, of_image in ranks.items()
        for image, rank in of_image.items()
    ]
    schemas = {
        name: {column.name: column.dtype for column in schema.columns}
        for name, schema in PARITY.schemas.items()
    }
    tables = {name: pl.DataFrame(schema=schema) for name, schema in schemas.items()}
    return Observations(tables | {"matches": pl.DataFrame(rows, schema=schemas["matches"], orient="row")})


class Known(Encoder):
    """Vectors that are known already, of items called by a letter and a row."""

    def __init__(self, images, texts):
        super().__init__()
        self.known = {"image": images, "text": texts}

    def encode_images(self, images):
        raise AssertionError

    def encode_texts(self, texts):
        raise AssertionError

    def embed(self, items, progress=silent):
        return self.known[items.kind][[int(name[1:]) for name in items.ids]].astype(np.float32)
