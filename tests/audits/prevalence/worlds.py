"""Lists over pools of captions, made outright or by vectors, whose bias is known because we made them."""

import numpy as np
import polars as pl

from equiview.audits.prevalence import PREVALENCE
from equiview.data.languages import languages
from equiview.data.observations import Observations
from tests.audits import steps

TIER = dict(languages().select("code", "tier").iter_rows())
CODES = languages()["code"].to_list()
MUCH = [code for code in CODES if TIER[code] != "low"]
LOW = [code for code in CODES if TIER[code] == "low"]


def observed(ranked, image, codes, group=None, known=None):
    """Tables of lists `(n_images, depth)` over captions with an `image` and a language code each."""
    ranked, image = np.asarray(ranked), np.asarray(image)
    n, depth = ranked.shape
    asked = np.repeat(np.arange(n), depth)
    ids = pl.Series([f"c{row}" for row in range(len(image))])
    items = pl.DataFrame({"item_id": ids, "text": ids, "language": codes})
    items = items.with_columns(tier=pl.col("language").replace_strict(TIER, default=None))
    targets = pl.DataFrame({"query_id": [f"i{row}" for row in image], "item_id": ids})
    rankings = pl.DataFrame(
        {
            "query_id": [f"i{row}" for row in asked],
            "rank": np.tile(np.arange(1, depth + 1, dtype=np.int32), n),
            "item_id": ids[ranked.ravel()],
            "score": np.zeros(n * depth, dtype=np.float32),
            "relevant": (image[ranked.ravel()] == asked) & (True if known is None else known[ranked.ravel()]),
        }
    )
    queries = pl.DataFrame({"query_id": [f"i{row}" for row in range(n)]}).with_columns(
        label=pl.lit(None, pl.String), picture=pl.lit(None, pl.Binary)
    )
    return Observations(
        {
            "queries": queries,
            "items": items if group is None else items.with_columns(group=pl.Series(group)),
            "rankings": rankings,
            "targets": (targets if known is None else targets.filter(known)).with_columns(
                language_rank=pl.lit(None, pl.Int32)
            ),
        }
    )


def pool(n, codes):
    """A caption of each of `n` images in each language: (image, code) of each, image by image."""
    return np.repeat(np.arange(n), len(codes)), codes * n


def filled(low, codes, rng):
    """Lists of which is known where the low tier stands, `low` `(n, depth)`: own ones, then the next's."""
    n = len(low)
    ranked = np.empty(low.shape, dtype=np.int64)
    for side in (False, True):
        at = np.flatnonzero([(TIER[code] == "low") == side for code in codes])
        mixed = rng.random((n, len(at))).argsort(axis=1)
        before = np.cumsum(low == side, axis=1) - 1
        image = (np.arange(n)[:, None] + before // len(at)) % n
        ranked[low == side] = (image * len(codes) + at[mixed[image, before % len(at)]])[low == side]
    return ranked


def nearest(images, captions, depth=100):
    """Rows of the captions nearest to each image by cosine, best first."""
    images, captions = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, captions))
    return np.argsort(-(images @ captions.T), axis=1, kind="stable")[:, :depth]


def audited(observations, **options):
    """The estimates and the verdict, with few replicates."""
    settings = PREVALENCE.configure({"replicates": 500, "cutoffs": [1, 10], **options})
    estimates = steps.measured(PREVALENCE, observations, settings)
    return estimates, PREVALENCE.judge(estimates, settings)
