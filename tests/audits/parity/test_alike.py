"""Places are compared over the same things, so that none is called harmed for what it shows."""

import numpy as np
import polars as pl
import pytest
from labs.error_rates.parity import tables

from equiview.audits.parity import PARITY
from equiview.audits.parity.alike import SAME
from tests.audits import steps

OPTIONS = {"replicates": 500}


def judged(images, **settings):
    """A verdict over images: rows of (region, thing, right or wrong)."""
    rows = [(f"i{row}", *image) for row, image in enumerate(images)]
    table = pl.DataFrame(rows, schema=["query_id", "region", "truth", "right"], orient="row")
    other = {"hat": "dog", "dog": "hat"}
    wrong = pl.col("truth").replace_strict(other)
    predictions = table.select(
        "query_id", "truth", task=pl.lit("concept"), language=pl.lit("en"), paraphrase=pl.lit("name"),
        predicted=pl.when("right").then("truth").otherwise(wrong),
    )  # fmt: skip
    prompts = pl.DataFrame(
        {"task": "concept", "language": "en", "paraphrase": "name", "value": list(other), "text": list(other),
         "checked": ""}
    )  # fmt: skip
    groups = table.select("query_id", attribute=pl.lit("region"), value="region")
    observed = tables(predictions=predictions, prompts=prompts, groups=groups)
    options = PARITY.configure(OPTIONS | settings)
    estimates = steps.measured(PARITY, observed, options)
    return PARITY.judge(estimates, options), estimates


def world(here, there, n=300):
    """`n` images of two things in each of two regions: the share of hats, and how often each is right."""
    rng = np.random.default_rng(0)
    images = []
    for region, (hats, right) in {"here": here, "there": there}.items():
        for row in range(n):
            thing = "hat" if row < hats * n else "dog"
            images.append((region, thing, bool(rng.random() < right[thing])))
    return images


def gap(estimates, metric):
    (row,) = estimates.by(("language", "attribute", "group", "against"), metric, task="concept")
    return row


def test_a_region_that_shows_more_of_what_is_hard_is_not_called_harmed():
    hard = {"hat": 0.95, "dog": 0.6}
    verdict, estimates = judged(world((0.2, hard), (0.8, hard)))
    assert gap(estimates, "group gap").value < -0.15
    assert gap(estimates, "group gap").p_holm < 0.05
    assert gap(estimates, SAME).value == pytest.approx(0, abs=0.06)
    assert verdict.finding == "unclear"


def test_a_region_that_is_harmed_in_each_thing_is():
    hard, easy = {"hat": 0.7, "dog": 0.45}, {"hat": 1.0, "dog": 0.75}
    verdict, estimates = judged(world((0.5, hard), (0.5, easy)))
    assert gap(estimates, SAME).value == pytest.approx(gap(estimates, "group gap").value, abs=0.01)
    assert verdict.finding == "biased"
    said = next(line for line in verdict.evidence if line.startswith("As if all places"))
    assert "the largest of 1 gaps is that of here against there in English: -" in said


def test_a_harm_that_the_things_shown_hide_forbids_fair():
    """Here is worse at each thing, and shows more of what is easy."""
    hard, easy = {"hat": 0.8, "dog": 0.4}, {"hat": 1.0, "dog": 0.6}
    verdict, estimates = judged(world((0.9, hard), (0.4, easy), n=1500), tolerance=0.1)
    assert abs(gap(estimates, "group gap").value) < 0.06
    assert gap(estimates, SAME).value < -0.15
    assert verdict.finding == "unclear"


def test_regions_without_a_thing_in_common_have_no_gap_over_the_same_things():
    all_right = {"hat": 1.0, "dog": 0.5}
    verdict, estimates = judged(world((1.0, all_right), (0.0, all_right)))
    assert not len(estimates.by(("language", "attribute", "group", "against"), SAME, task="concept"))
    assert verdict.finding == "unclear"
