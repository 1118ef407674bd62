"""Numbers of galleries whose truth is known, floors, what is too small; the same for the same input."""

import time

import numpy as np
import polars as pl
import pytest

from equiview.audits.social import SOCIAL
from equiview.audits.social.exposure import _variances, balanced_hits
from equiview.audits.social.gallery import hits_of
from equiview.audits.social.tops import permuted, shown
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.metrics import demographic_divergence
from equiview.stats import holm
from tests.audits import steps
from tests.audits.social.worlds import Tied, audited, people


@pytest.fixture(scope="module")
def untied():
    return audited(Tied(0.0), people(600))


@pytest.fixture(scope="module")
def tied():
    return audited(Tied(0.5), people(600))


def test_an_untied_encoder_is_at_its_floor_and_a_tied_one_above(untied, tied):
    for attribute, shows in (("gender", True), ("skin", False)):
        for (_, estimates, _), is_tied in ((untied, False), (tied, True)):
            row = estimates.one("MaxSkew", 60, attribute=attribute)
            assert row.judged
            assert row.chance > 0.04  # never 0 by chance
            if shows and is_tied:
                assert row.p_holm < 0.05
                assert row.low > row.chance + 0.2
            else:
                assert row.p_holm > 0.05
                assert row.low < row.chance < row.high


def test_skew_and_shares_of_groups_by_eye():
    # One prompt of ten returns six women and no man of a set of which half are women.
    gender = ["woman", "man"] * 60
    tables, _, settings = audited(Tied(0.5), people(120, gender=gender), k=6, share=1.0, cutoffs=[])
    women = [
        image
        for image, _, value in tables["labels"].filter(attribute="gender").iter_rows()
        if value == "woman"
    ]
    first = tables["prompts"]["prompt_id"][0]
    rows = [(first, rank, image, 1.0 - rank / 10) for rank, image in enumerate(women[:6], start=1)]
    rankings = (
        tables["rankings"].clear().vstack(pl.DataFrame(rows, schema=tables["rankings"].schema, orient="row"))
    )
    only = Observations(dict(tables.tables) | {"rankings": rankings, "prompts": tables["prompts"].head(1)})
    estimates = steps.measured(SOCIAL, only, settings)
    assert estimates.one("MaxSkew", 6, attribute="gender").value == pytest.approx(np.log(2))
    assert estimates.one("Skew", 6, attribute="gender", group="woman").value == pytest.approx(np.log(2))
    never = estimates.one("Skew", 6, attribute="gender", group="man")  # ln 0, so half a draw is counted
    assert -2.5 < never.value < -1.5
    assert estimates.one("share shown", 6, attribute="gender", group="man").value == 0
    assert estimates.one("NDKL", 6, attribute="gender").value == pytest.approx(np.log(2))
    # One prompt is too few to judge: nothing is tested and nothing has an interval.
    row = estimates.one("MaxSkew", 6, attribute="gender")
    assert (row.judged, row.p, row.has_interval) == (False, None, False)
    assert SOCIAL.judge(estimates, settings).finding == "unclear"


def test_divergence_is_of_the_levels_beside_it(tied):
    observed, estimates, _ = tied
    for direction in ("image-to-text", "text-to-image"):
        hits = hits_of(observed, direction, 5)
        overall = estimates.one("R", 5, direction=direction)
        assert overall.value == pytest.approx(hits.hit.mean())
        assert overall.chance == pytest.approx(5 / 600)
        levels = estimates.by("group", "R", 5, attribute="skin", direction=direction)
        assert len(levels) == 3
        divergence = estimates.one("KL of R", 5, attribute="skin", direction=direction)
        assert divergence.value == pytest.approx(demographic_divergence([level.value for level in levels]))
        assert divergence.low <= divergence.value <= divergence.high


def test_a_group_that_is_never_matched_is_seen(untied):
    observed, _, settings = untied
    women = observed["labels"].filter(attribute="gender", value="woman")["image_id"]
    matches = (
        observed["matches"]
        .with_columns(
            rank=pl.when(pl.col("image_id").is_in(women.to_list())).then(600).otherwise(1).cast(pl.Int32)
        )
        .drop("ahead")
    )
    estimates = steps.measured(SOCIAL, Observations(dict(observed.tables) | {"matches": matches}), settings)
    row = estimates.one("KL of R", 5, attribute="gender", direction="image-to-text")
    assert row.value == pytest.approx(np.log(2))
    assert row.p_holm < 0.05
    man = estimates.one("log ratio of R", 5, attribute="gender", group="man")
    assert man.value == pytest.approx(np.log(2))
    verdict = SOCIAL.judge(estimates, settings)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: images of 'woman' (gender) are matched with their captions 0.0")
    assert verdict.effect.quantity == quantity("log ratio of R", 5, attribute="gender", group="woman")


def test_where_nothing_is_matched_divergence_is_undefined_and_levels_are_not_judged(untied):
    observed, _, settings = untied
    matches = observed["matches"].with_columns(rank=pl.lit(600, dtype=pl.Int32))
    estimates = steps.measured(SOCIAL, Observations(dict(observed.tables) | {"matches": matches}), settings)
    assert not len(estimates.table.filter(metric="KL of R"))
    levels = estimates.table.filter(pl.col("group").is_not_null(), metric="R")
    assert levels["value"].unique().to_list() == [0.0]
    assert levels["judged"].unique().to_list() == [False]
    verdict = SOCIAL.judge(estimates, settings)
    assert verdict.finding == "unclear"
    assert "no better than chance at matching" in verdict.answer


def test_small_groups_are_left_out_and_said():
    gender = np.where(
        np.arange(600) % 40 == 0, "other", np.where(np.arange(600) % 2, "woman", "man")
    ).tolist()
    _, estimates, settings = audited(Tied(0.5), people(600, gender=gender))
    small = estimates.one("share of the set", attribute="gender", group="other")
    assert (small.judged, small.n, small.value) == (False, 15, 0.025)
    groups = {
        row.quantity.keys["group"] for row in estimates.by("group", "share shown", 60, attribute="gender")
    }
    assert groups == {"woman", "man"}
    evidence = " ".join(SOCIAL.judge(estimates, settings).evidence)
    assert "Too small to judge: other (gender)" in evidence
    # They are known people all the same: shares of the others are of all who are known.
    shares = [row.chance for row in estimates.by("group", "share shown", 60, attribute="gender")]
    assert sum(shares) == pytest.approx(0.975)


def test_a_tiny_gallery_is_measured_and_not_judged():
    _, estimates, settings = audited(Tied(2.0), people(40))
    assert estimates.table.filter(metric="MaxSkew")["judged"].unique().to_list() == [False]
    assert SOCIAL.judge(estimates, settings).finding == "unclear"


def test_tests_of_attributes_and_of_intersections_are_two_families(tied):
    _, estimates, _ = tied
    between = pl.col("attribute") == "gender x skin"
    ratios = pl.col("metric").is_in(["Skew", "log ratio of R"])
    largest = (pl.col("metric") == "MaxSkew") & (pl.col("k") == 60)
    for read, n, weight in (((ratios | largest) & ~between, 12, 0.8), (ratios & between, 12, 0.2)):
        rows = estimates.table.filter(read)
        assert len(rows) == n
        expected = np.minimum(holm(rows["p"].to_list()) / weight, 1.0)
        assert rows["p_holm"].to_list() == pytest.approx(expected.tolist())


def test_a_share_is_worth_as_many_draws_as_exchanging_groups_shows(tied):
    observed, _, settings = tied
    gallery = SOCIAL.view(observed, settings)
    grouping = next(one for one in gallery.groups if one.attribute == "skin")
    by_images, _ = _variances(gallery.lists, grouping)
    rng = np.random.default_rng(0)
    drawn = np.concatenate(
        [
            shown(gallery.lists, grouping, codes)[:, :, -1].mean(axis=1)
            for codes in permuted(grouping, 2000, rng)
        ]
    )
    pool = grouping.shares
    np.testing.assert_allclose(drawn.var(axis=0), by_images * pool * (1 - pool), rtol=0.15)


def test_every_group_is_as_often_among_the_candidates(untied):
    observed, estimates, settings = untied
    assert "ahead" in observed["matches"].columns
    gallery = SOCIAL.view(observed, settings)
    grouping = next(one for one in gallery.groups if one.attribute == "gender")
    for hits, (image, right) in zip(gallery.hits.values(), balanced_hits(gallery, grouping), strict=True):
        assert len(right) == len(hits.hit) == len(image)
        # With fewer candidates the right one is no harder to find; the smaller group decides how many.
        assert (right >= hits.hit - 1e-9).all()
        assert right.mean() < estimates.one("R", 5, direction=hits.direction).value * 1.3


def test_values_are_the_means_that_are_reported(tied):
    observed, estimates, settings = tied
    values = steps.valued(SOCIAL, observed, settings)
    for wanted in (
        quantity("MaxSkew", 60, attribute="gender"),
        quantity("NDKL", 60, attribute="skin"),
        quantity("R", 5, direction="image-to-text"),
        quantity("R", 5, direction="text-to-image", attribute="gender", group="woman"),
    ):
        mean = float(np.nanmean(values.at(wanted)[:, 0]))
        assert mean == pytest.approx(estimates.at(wanted).value)
    beyond = quantity("MaxSkew beyond chance", attribute="gender")
    assert float(np.nanmean(values.at(beyond)[:, 0])) == pytest.approx(estimates.at(beyond).value, abs=0.02)


def test_the_same_input_gives_the_same_numbers(tied):
    observed, estimates, settings = tied
    assert steps.measured(SOCIAL, observed, settings).table.equals(estimates.table)
    again = SOCIAL.observe(Tied(0.5), people(600), settings, lambda *_: None)
    assert all(again[name].equals(observed[name]) for name in observed.tables)


def test_the_order_of_the_images_does_not_matter():
    benchmark = people(240, captions=False)
    order = np.random.default_rng(1).permutation(240)
    shuffled = type(benchmark)(
        "people", benchmark.images.take(order), tables=benchmark.tables, schemas=benchmark.schemas
    )
    _, first, _ = audited(Tied(0.5), benchmark)
    _, second, _ = audited(Tied(0.5), shuffled)
    assert first.table.equals(second.table)


def test_names_of_groups_do_not_matter():
    benchmark = people(240, captions=False)
    names = benchmark.images.table["gender"].replace({"woman": "[a, b]='", "man": "<b>"})
    _, first, _ = audited(Tied(0.5), benchmark)
    _, second, _ = audited(Tied(0.5, seed=0), people(240, captions=False))
    assert first.table.equals(second.table)
    odd = type(benchmark)(
        "people",
        type(benchmark.images)("image", benchmark.images.table.with_columns(gender=names)),
        tables=benchmark.tables,
        schemas=benchmark.schemas,
    )

    class Blind(Tied):
        def embed(self, items, progress=lambda *_: None):
            table = items.table
            if "gender" in table.columns:
                table = table.with_columns(
                    gender=pl.col("gender").replace({"[a, b]='": "woman", "<b>": "man"})
                )
            return super().embed(type(items)(items.kind, table), progress)

    observed, third, settings = audited(Blind(0.5), odd)
    value = first.one("MaxSkew", 24, attribute="gender").value
    assert third.one("MaxSkew", 24, attribute="gender").value == pytest.approx(value)
    assert steps.drawn(SOCIAL, observed, third, settings)


def test_a_large_gallery_is_measured_in_seconds():
    benchmark = people(4000, captions=False, prompts=False, role=["0"] * 4000)

    class Fast(Tied):
        def embed(self, items, progress=lambda *_: None):
            return np.random.default_rng(len(items)).normal(size=(len(items), 16)).astype(np.float32)

    observed = SOCIAL.observe(Fast(), benchmark, SOCIAL.configure({}), lambda *_: None)
    began = time.process_time()
    steps.measured(SOCIAL, observed, SOCIAL.configure({}))
    assert time.process_time() - began < 20
