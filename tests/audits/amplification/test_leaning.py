"""What goes with whom: against the published definition, and what leaning must and must not see."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.audits.amplification.leaning import Tasks
from equiview.metrics import directional_amplification
from equiview.metrics.amplification import amplification_of_counts

CASES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=6, max_size=40
).filter(lambda rows: len({row[2] for row in rows}) == 3)


def tasks_of(true, replied, group, image=None):
    """Questions with one answer each."""
    n_tasks = max(*true, *replied) + 1
    names = [f"t{place}" for place in range(n_tasks)]
    arrays = [np.eye(n_tasks)[np.asarray(labels)] for labels in (replied, true)]
    kept = arrays[1].any(axis=0)
    return Tasks(
        [f"g{place}" for place in range(max(group) + 1)],
        [name for name, keep in zip(names, kept, strict=True) if keep],
        np.arange(len(true)),
        np.asarray(group),
        np.arange(len(true)) if image is None else np.asarray(image),
        arrays[0][:, kept],
        arrays[1][:, kept],
    )


@given(CASES)
def test_amplification_is_that_of_the_metric(rows):
    true, replied, group = map(list, zip(*rows, strict=True))
    tasks = tasks_of(true, replied, group)
    for variant in ("paper", "reference"):
        expected = directional_amplification(true, replied, group, variant=variant)
        assert tasks.amplification(variant) == pytest.approx(expected)


def test_leaning_of_two_groups_is_the_distance_in_variation():
    # 3 of 4 women and 1 of 4 men have task 0; leaving one image out changes no direction here.
    true = ([0] * 30 + [1] * 10) + ([0] * 10 + [1] * 30)
    tasks = tasks_of(true, true, [0] * 40 + [1] * 40)
    replied, in_truth = tasks.leaning()
    means = [in_truth[tasks.group == group].mean() for group in (0, 1)]
    assert np.mean(means) == pytest.approx(0.5)
    np.testing.assert_array_equal(replied, in_truth)


def test_what_is_said_more_often_of_everybody_counts_for_nobody():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 200)
    true = (rng.random(600) < 0.2 + 0.2 * group).astype(int)
    replied = np.where(rng.random(600) < 0.5, 2, true)  # an answer of its own, of half of everybody
    both = tasks_of(true.tolist(), true.tolist(), group.tolist())
    said, in_truth = tasks_of([*true.tolist(), 2], [*replied.tolist(), 2], [*group.tolist(), 0]).leaning()
    assert np.isfinite(both.leaning()[0]).all()
    means = [np.mean([part[:600][group == g].mean() for g in (0, 1, 2)]) for part in (said, in_truth)]
    assert means[0] == pytest.approx(means[1] / 2, abs=0.05)


def test_accidents_of_the_truth_neither_amplify_nor_reduce():
    """Where nothing goes with anybody the published number is below 0 on average, leaning 0."""
    published, ours = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        true, replied = rng.integers(0, 5, (2, 60))
        tasks = tasks_of(true.tolist(), replied.tolist(), rng.permutation([0, 1] * 30).tolist())
        said, in_truth = tasks.leaning()
        ours.append(np.mean([(said - in_truth)[tasks.group == g].mean() for g in (0, 1)]))
        published.append(tasks.amplification("paper"))
    assert np.mean(published) < -0.02
    assert abs(np.mean(ours)) < 3 * np.std(ours) / np.sqrt(60)


def test_what_replies_alone_tie_to_a_group_is_leaning():
    # Pictures in pairs that differ in who is shown: people say the same of both, the subject does not.
    true, group = [0, 1] * 40, [0] * 40 + [1] * 40
    replied = [0] * 30 + [1] * 10 + [1] * 30 + [0] * 10
    tasks = tasks_of(true, replied, group)
    said, in_truth = tasks.leaning()
    means = [[part[tasks.group == g].mean() for g in (0, 1)] for part in (said, in_truth)]
    assert np.mean(means[0]) == pytest.approx(0.5)
    assert np.mean(means[1]) == pytest.approx(0)
    apart = tasks.redrawn(200, 0)
    assert abs(apart.mean()) < 1e-12
    assert 0.05 < apart.std() < 0.5
    assert tasks.even
    assert not tasks_of(replied, replied, group).even


def test_a_thing_that_hardly_goes_with_a_group_goes_with_nobody():
    true, group = [0] * 21 + [1] * 19 + [0] * 19 + [1] * 21, [0] * 40 + [1] * 40
    tasks = tasks_of(true, true, group)
    assert not tasks._signs(np.ones((1, 80)), tasks.by_image[0]).any()  # 2 of 40: a standard error is 4.5
    assert tasks._signs(np.ones((1, 80)), tasks.by_image[0], near=True).any()


def test_what_is_balanced_by_design_goes_with_nobody():
    true, group = [0, 1] * 20, [0] * 20 + [1] * 20  # leaving one out, each would go against its group
    replied = [1 - value if place % 5 == 0 else value for place, value in enumerate(true)]
    said, in_truth = tasks_of(true, replied, group).leaning()
    np.testing.assert_array_equal(said, 0)
    np.testing.assert_array_equal(in_truth, 0)


def test_questions_of_one_image_are_left_out_together():
    tasks = tasks_of([0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], image=[0, 0, 1, 1])
    said, _ = tasks.leaning()
    np.testing.assert_array_equal(said, 0)  # without the image there is nobody of its group


def test_resampling_is_about_the_value_and_shuffling_about_nothing():
    rng = np.random.default_rng(1)
    group = rng.permutation([0, 1] * 150)
    true = (rng.random(300) < 0.4 + 0.2 * group).astype(int)
    replied = (rng.random(300) < 0.2 + 0.6 * group).astype(int)
    tasks = tasks_of(true.tolist(), replied.tolist(), group.tolist())
    value = tasks.amplification("paper")
    draws = tasks.resampled("paper", 1000, 0)
    assert value > 0.1
    assert abs(draws.mean() - value) < 0.005
    assert tasks.shuffled("paper", 200, 0).mean() < 0.02
    np.testing.assert_array_equal(draws, tasks.resampled("paper", 1000, 0))


def test_counts_of_several_data_sets_are_measured_at_once():
    true, given_, people = np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([[0.0, 4.0], [2.0, 2.0]]), [4.0, 4.0]
    several = amplification_of_counts(np.stack([true, true]), np.stack([given_, true]), [people, people])
    assert several.tolist() == [0.125, 0.0]


def test_gaps_are_shares_by_group():
    gaps = tasks_of([0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]).gaps()
    row = gaps.filter(task="t0", group="g0")
    assert row.select("replied", "true", "n").row(0) == (1.0, 0.5, 2)
    assert isinstance(gaps, pl.DataFrame)
