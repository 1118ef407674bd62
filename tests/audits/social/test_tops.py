"""Counts of groups in lists agree with the metrics by their definitions, ties and unknown groups included."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.audits.social.divergence import Divergence
from equiview.audits.social.groups import Grouping
from equiview.audits.social.influence import skew_of_images
from equiview.audits.social.tops import Lists, largest_skew, permuted, resampled, shown
from equiview.data.observations import Observations
from equiview.metrics import max_skew, ndkl, skew


def lists_of(ranked, scores=None, depth=None, cutoffs=(), n_images=None):
    """Lists of image rows, best first, one for each prompt; scores fall by rank if none are given."""
    n_images = n_images or 1 + max(max(row) for row in ranked)
    rows = [
        (f"q{place}", rank, f"i{image}", -float(rank) if scores is None else scores[place][rank - 1])
        for place, row in enumerate(ranked)
        for rank, image in enumerate(row, start=1)
    ]
    tables = {
        "prompts": pl.DataFrame(
            {"prompt_id": [f"q{n}" for n in range(len(ranked))], "concept": ["c"] * len(ranked)}
        ),
        "images": pl.DataFrame({"image_id": [f"i{n}" for n in range(n_images)]}),
        "rankings": pl.DataFrame(
            rows,
            schema={"prompt_id": pl.String, "rank": pl.Int32, "image_id": pl.String, "score": pl.Float32},
            orient="row",
        ),
    }
    return Lists.of(Observations(tables), depth or len(ranked[0]), cutoffs)


def grouping_of(codes):
    codes = np.asarray(codes, dtype=np.int16)
    names = tuple(str(n) for n in range(codes.max() + 1))
    return Grouping("gender", names, codes, int((codes < 0).sum()), {}, True)


def test_a_case_by_eye() -> None:
    # Eight people, half of them of each group; the first four shown are 3 and 1.
    lists = lists_of([[0, 1, 2, 4]], n_images=8)
    grouping = grouping_of([0, 0, 0, 0, 1, 1, 1, 1])
    shares = shown(lists, grouping, grouping.of_image[None])[0, 0, -1]
    assert shares.tolist() == [0.75, 0.25]
    assert largest_skew(shares, grouping.shares) == pytest.approx(np.log(1.5))


def test_unknown_groups_stay_in_the_list_and_count_in_no_share() -> None:
    lists = lists_of([[0, 1, 2, 3]], n_images=6)
    grouping = grouping_of([-1, 0, 1, 1, 0, 0])
    assert shown(lists, grouping, grouping.of_image[None])[0, 0, -1].round(4).tolist() == [0.3333, 0.6667]
    assert grouping.shares.tolist() == [0.6, 0.4]


def test_a_list_that_shows_nobody_known_has_no_share() -> None:
    lists = lists_of([[0, 1]], n_images=4)
    grouping = grouping_of([-1, -1, 0, 1])
    assert np.isnan(shown(lists, grouping, grouping.of_image[None])).all()


def test_ties_at_a_cut_are_kept() -> None:
    lists = lists_of([[0, 1, 2, 3, 4]], scores=[[4, 3, 2, 2, 2]], depth=3, cutoffs=(1,))
    grouping = grouping_of([0, 0, 1, 1, 1, 0][:5])
    shares = shown(lists, grouping, grouping.of_image[None])[0, 0]
    assert shares.tolist() == [[1, 0], [0.4, 0.6]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_they_are_the_metrics_by_definition(data) -> None:
    n_groups = data.draw(st.integers(2, 4))
    n_images = data.draw(st.integers(n_groups + 2, 14))
    codes = list(range(n_groups)) + data.draw(
        st.lists(st.integers(0, n_groups - 1), min_size=n_images - n_groups, max_size=n_images - n_groups)
    )
    k = data.draw(st.integers(1, n_images))
    ranked = [data.draw(st.permutations(range(n_images)))[:k] for _ in range(data.draw(st.integers(1, 4)))]
    lists, grouping = lists_of(ranked, n_images=n_images), grouping_of(codes)
    groups = np.asarray(codes)[np.asarray(ranked)]
    shares = shown(lists, grouping, grouping.of_image[None])[0][:, -1]
    assert largest_skew(shares, grouping.shares) == pytest.approx(max_skew(groups, grouping.shares))
    with np.errstate(divide="ignore"):
        assert np.log(shares / grouping.shares) == pytest.approx(skew(groups, grouping.shares))
    assert Divergence(lists, grouping).of(grouping.of_image) == pytest.approx(ndkl(groups, grouping.shares))


def test_ndkl_leaves_unknown_groups_out() -> None:
    codes = [0, -1, 1, 1, -1, 0]
    lists, grouping = lists_of([[0, 1, 2, 3], [4, 5, 1, 3]], n_images=6), grouping_of(codes)
    expected = [ndkl([[0, 1, 1]], grouping.shares)[0], ndkl([[0, 1]], grouping.shares)[0]]
    assert Divergence(lists, grouping).of(grouping.of_image) == pytest.approx(expected)


def test_permutations_keep_who_is_unknown_and_how_many_there_are() -> None:
    grouping = grouping_of([0, 1, 1, -1, 2, 2, 2, -1])
    for codes in permuted(grouping, 50, np.random.default_rng(0)):
        assert (codes[:, [3, 7]] == -1).all()
        assert (np.sort(codes, axis=1) == np.sort(grouping.of_image)).all()


def test_resampling_draws_as_many_as_there_are() -> None:
    grouping = grouping_of([0, 1, 1, -1])
    weights = np.concatenate(list(resampled(grouping, 30, np.random.default_rng(0))))
    assert weights.shape == (30, 4)
    assert (weights.sum(axis=1) == 3).all()
    assert not weights[:, 3].any()


def test_what_an_image_adds_is_the_slope_by_its_weight():
    lists = lists_of([[0, 1, 2, 4], [0, 1, 5, 4], [6, 0, 5, 2]], cutoffs=(2,), n_images=8)
    codes = np.array([0, 0, 1, 1, 0, 1, 2, -1])
    grouping = grouping_of(codes)
    added = skew_of_images(lists, grouping)
    assert added.shape == (8, 2)
    assert added.mean(axis=0) == pytest.approx([0, 0])
    assert not added[7].any()  # of no known group

    def skew(weights):
        pool = np.array([weights[codes == group].sum() for group in range(3)]) / weights[codes >= 0].sum()
        shares = shown(lists, grouping, grouping.of_image[None], weights[None].astype(np.float32))[0]
        return largest_skew(shares, pool).mean(axis=0)

    step = 2.0**-6
    for image in range(7):
        more, less = (skew(1 + sign * step * (np.arange(8) == image)) for sign in (1, -1))
        assert added[image] / 8 == pytest.approx((more - less) / (2 * step), abs=1e-3)
