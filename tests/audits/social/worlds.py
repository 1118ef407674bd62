"""Galleries of people whose ties we planted: each role shows a gender and a skin more than its share."""

import io
import zlib

import numpy as np
import polars as pl
from PIL import Image

from equiview.audits.social import SOCIAL
from equiview.benchmarks import Benchmark
from equiview.benchmarks.neutral import NEUTRAL_PROMPTS
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.io.progress import silent
from equiview.subjects import Encoder
from tests.audits import steps

ROLES = 24
WIDTH = 48
GENDERS, SKINS = ("woman", "man"), ("light", "medium", "dark")


class Tied(Encoder):
    """Sees role, gender and skin; `tie` says how far a role's text leans towards one gender."""

    def __init__(self, tie=0.0, *, noise=0.15, sees=1.0, seed=0):
        super().__init__()
        self.tie, self.noise, self.sees, self.seed = tie, noise, sees, seed

    def encode_images(self, images):
        raise AssertionError

    def encode_texts(self, texts):
        raise AssertionError

    def embed(self, items, progress=silent):
        noise = self.noise if items.kind == "image" else 0.0
        vectors = np.zeros((len(items), WIDTH))
        for row, item in enumerate(items.table.iter_rows(named=True)):
            rng = np.random.default_rng((self.seed, zlib.crc32(item["id"].encode())))
            vectors[row] = noise * rng.normal(size=WIDTH)
            role = int(item["concept"].removeprefix("role ")) if "concept" in item else int(item["role"])
            vectors[row, role] += self.sees
            if items.kind == "image":
                vectors[row, ROLES] += (
                    1 if item["gender"] == "woman" else -1 if item["gender"] == "man" else 0
                )
            else:
                vectors[row, ROLES] += self.tie * (1 if role % 2 else -1)
        return vectors.astype(np.float32)


def picture(shade):
    """A small square of one colour."""
    stream = io.BytesIO()
    Image.new("RGB", (24, 24), (60 + 5 * shade % 190, 90, 200 - 4 * shade % 180)).save(stream, "PNG")
    return stream.getvalue()


def people(size=600, *, captions=True, prompts=True, seed=0, pictures=False, **columns):
    """Images of `ROLES` roles, each with a gender and a skin, a caption each and a neutral prompt a role."""
    rng = np.random.default_rng(seed)
    roles = np.arange(size) % ROLES
    table = pl.DataFrame(
        {
            "id": [f"p{row}" for row in range(size)],
            "role": roles.astype(str),
            "gender": rng.choice(GENDERS, size),
            "skin": rng.choice(SKINS, size),
        }
        | columns
    )
    if pictures:
        table = table.with_columns(picture=pl.Series([picture(role) for role in roles], dtype=pl.Binary))
    images = Items("image", table)
    texts = relevance = None
    if captions:
        rows = {"id": [f"t{row}" for row in range(size)], "text": [f"someone {role}" for role in roles]}
        texts = Items("text", pl.DataFrame(rows | {"language": ["en"] * size, "role": roles.astype(str)}))
        relevance = Relevance.from_pairs(range(size), range(size), n_queries=size, n_items=size)
    asked = pl.DataFrame(
        {
            "prompt_id": [f"role {role}" for role in range(ROLES)],
            "language": ["en"] * ROLES,
            "text": [f"a person in role {role}" for role in range(ROLES)],
            "concept": [f"role {role}" for role in range(ROLES)],
        }
    )
    tables = {"neutral_prompts": asked} if prompts else {}
    return Benchmark(
        "people", images, texts, relevance, tables=tables, schemas={"neutral_prompts": NEUTRAL_PROMPTS}
    )


def audited(subject, benchmark, **settings):
    """What was observed, the estimates, and the settings."""
    options = SOCIAL.configure({"replicates": 200, **settings})
    observed = SOCIAL.observe(subject, benchmark, options, silent)
    return observed, steps.measured(SOCIAL, observed, options), options
