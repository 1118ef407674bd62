"""Matching among as many candidates of each group: one with more look-alikes is not harder for it."""

import numpy as np
import polars as pl

from equiview.audits.parity import PARITY
from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from tests.audits.parity.worlds import Known, audited

SIZE = 400


def mistaken_within_groups(seed, worse=0.0):
    """Four of five images are women, and captions are mistaken for others of the same gender alone."""
    rng = np.random.default_rng(seed)
    women = np.arange(SIZE) % 5 > 0
    images = rng.normal(size=(SIZE, 12))
    noise = 0.7 + worse * ~women[:, None]
    texts = images + noise * rng.normal(size=(2, SIZE, 12))
    for vectors in (images, texts):
        vectors[..., 0] = np.where(women, 5, -5)
    table = pl.DataFrame(
        {"id": [f"i{row}" for row in range(SIZE)], "gender": np.where(women, "Female", "Male")}
    )
    captions = pl.DataFrame(
        {
            "id": [f"t{row}" for row in range(2 * SIZE)],
            "text": [f"caption {row}" for row in range(2 * SIZE)],
            "language": ["en"] * SIZE + ["sw"] * SIZE,
        }
    )
    pairs = Relevance.from_pairs(
        np.tile(np.arange(SIZE), 2), range(2 * SIZE), n_queries=SIZE, n_items=2 * SIZE
    )
    benchmark = Benchmark("known", Items("image", table), Items("text", captions), pairs)
    return audited(Known(images, texts.reshape(-1, 12)), benchmark, zero_shot=False)


def gap_of(estimates, metric):
    keys = {"task": "image-to-text", "attribute": "gender", "group": "Female", "against": "Male"}
    return estimates.one(metric, language="en", **keys)


def test_a_larger_group_is_not_harmed_by_its_own_look_alikes():
    _, estimates, options = mistaken_within_groups(0)
    assert gap_of(estimates, "group gap").high < -0.05
    balanced = gap_of(estimates, "balanced group gap")
    assert balanced.low < 0 < balanced.high
    assert PARITY.judge(estimates, options).finding != "biased"
    cell = {"task": "image-to-text", "language": "en", "attribute": "gender", "group": "Female"}
    assert estimates.one("balanced R", 1, **cell).chance == 1 / (2 * SIZE / 5)


def test_a_group_that_is_harmed_among_as_many_of_each_is_found():
    _, estimates, options = mistaken_within_groups(0, worse=0.8)
    assert gap_of(estimates, "balanced group gap").low > 0.05
    verdict = PARITY.judge(estimates, options)
    assert verdict.finding == "biased"
    assert "Matched with captions, as many of each group, in" in verdict.answer
