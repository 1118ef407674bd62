import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import (
    balanced_recall,
    cross_lingual_gaps,
    gap_parts,
    gini,
    gini_of_rows,
    group_rate_gap,
    group_rate_gaps,
    recall_in_pool,
)

PUBLISHED = json.loads((Path(__file__).parents[1] / "data" / "fairness.json").read_text())
answers = arrays(np.int64, st.tuples(st.integers(2, 30), st.just(3)), elements=st.integers(0, 1))


def right(percent: float) -> np.ndarray:
    """1,000 answers of which this percentage is right."""
    return np.arange(1000) < round(10 * percent)


@pytest.mark.parametrize("portion", ["translation", "independent"])
def test_published_gaps_of_multi30k(portion: str) -> None:
    row = PUBLISHED["multi30k_accuracy"][portion]
    gaps = cross_lingual_gaps(np.stack([right(row["en"]), right(row["de"])], axis=1))
    assert (100 * gaps).round(1).tolist() == [0.0, row["gap"]]


@pytest.mark.parametrize("language", PUBLISHED["fairface_gender_accuracy"])
def test_published_accuracies_decompose(language: str) -> None:
    accuracy = PUBLISHED["fairface_gender_accuracy"]
    groups = np.repeat([1, 0], 1000)
    here, pivot = (
        np.concatenate([right(accuracy[one]["Female"]), right(accuracy[one]["Male"])])
        for one in (language, "en")
    )
    gap = accuracy[language]["Female"] - accuracy[language]["Male"]
    assert 100 * group_rate_gap(here, groups) == pytest.approx(gap)
    parts = gap_parts(here, pivot, groups)
    assert 100 * parts.sum() == pytest.approx(accuracy[language]["Female"] - accuracy["en"]["Male"])


@given(answers)
def test_parts_add_up_to_the_gap_and_are_bounded(table: np.ndarray) -> None:
    here, there, groups = table.T
    assume(0 < groups.sum() < len(groups))
    parts = gap_parts(here, there, groups)
    gap = here[groups == 1].mean() - there[groups == 0].mean()
    assert parts.sum() == pytest.approx(gap, abs=1e-12)
    assert abs(gap) <= np.abs(parts).sum() + 1e-12


@given(answers)
def test_gaps_are_antisymmetric(table: np.ndarray) -> None:
    pairs = np.stack([cross_lingual_gaps(table, pivot) for pivot in range(3)])
    np.testing.assert_array_equal(pairs, -pairs.T)
    groups = table[:, 2]
    assume(0 < groups.sum() < len(groups))
    assert group_rate_gap(table[:, 0], groups) == -group_rate_gap(table[:, 0], 1 - groups)


def test_what_was_not_asked_takes_no_part() -> None:
    correct = [[1, 1], [0, np.nan], [np.nan, 0], [1, np.nan]]
    assert cross_lingual_gaps(correct).tolist() == pytest.approx([0, 2 / 3 - 1 / 2])
    with pytest.raises(UndefinedMetricError, match="column 1"):
        cross_lingual_gaps([[1, np.nan], [0, np.nan]])
    with pytest.raises(MetricInputError, match="from 0 to 1"):
        group_rate_gaps([[1, np.nan], [0, 0]], [1, 0])


@given(answers)
def test_gaps_of_all_languages_are_those_of_each(table: np.ndarray) -> None:
    groups = np.arange(len(table)) % 2
    expected = [group_rate_gap(column, groups) for column in table.T]
    np.testing.assert_allclose(group_rate_gaps(table, groups), expected, atol=1e-15)


@given(answers)
def test_accuracy_is_that_of_scikit_learn(table: np.ndarray) -> None:
    from sklearn.metrics import accuracy_score

    truth = table[:, 0]
    right = table[:, 1:] == truth[:, None]
    expected = accuracy_score(truth, table[:, 1]) - accuracy_score(truth, table[:, 2])
    assert cross_lingual_gaps(right)[1] == pytest.approx(expected, abs=1e-12)


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1e3)), st.floats(0.1, 10))
def test_gini_is_the_mean_difference_and_has_no_unit(values: np.ndarray, scale: float) -> None:
    assume(values.max() > 1e-3)
    plain = np.abs(values[:, None] - values).mean() / (2 * values.mean())
    assert gini(values) == pytest.approx(plain, abs=1e-9)
    assert gini(scale * values) == pytest.approx(gini(values), abs=1e-9)


def test_gini_of_rows_is_that_of_each_row() -> None:
    table = np.random.default_rng(0).random((6, 9))
    np.testing.assert_allclose(gini_of_rows(table), [gini(row) for row in table], atol=1e-15)


def test_a_row_with_nothing_to_share_out_is_nan() -> None:
    assert np.isnan(gini_of_rows([[0, 0], [1, np.nan], [2, 2]])).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cross_lingual_gaps([[1, 0]], pivot=2), "pivot must be a column from 0 to 1"),
        (lambda: cross_lingual_gaps([[1, 2]]), "from 0 to 1"),
        (lambda: group_rate_gap([1, 0], [1, 2]), "groups must be 1"),
        (lambda: gap_parts([1, 0], [1, 0, 1], [1, 0]), "correct_other and groups"),
        (lambda: group_rate_gaps([[1, 0], [0, 1]], [1, 0, 1]), r"groups must have shape \(2,\)"),
        (lambda: gini([-1.0, 1.0]), "not negative"),
    ],
)
def test_bad_input_is_named(call, words) -> None:
    with pytest.raises(MetricInputError, match=words):
        call()


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(UndefinedMetricError, match="one group"):
        group_rate_gap([1, 0], [1, 1])
    with pytest.raises(UndefinedMetricError, match="all 0"):
        gini([0.0, 0.0])


def test_recall_in_a_smaller_pool_is_the_share_of_draws():
    rng = np.random.default_rng(0)
    for rank, candidates, pool, k in ((3, 10, 4, 1), (6, 12, 5, 2), (2, 9, 9, 1), (12, 12, 3, 1)):
        others = np.arange(1, candidates + 1) != rank
        drawn = [rng.choice(np.flatnonzero(others) + 1, pool - 1, replace=False) for _ in range(4000)]
        share = np.mean([(np.sort(some) < rank).sum() < k for some in drawn])
        assert recall_in_pool([rank], [candidates], pool, k)[0] == pytest.approx(share, abs=0.03)


def test_balanced_recall_is_the_share_of_draws():
    rng = np.random.default_rng(1)
    sizes, each = [12, 5], 3
    for ahead, own in (([2, 1], 0), ([2, 1], 1), ([0, 0], 0), ([11, 0], 0), ([0, 3], 0)):
        first, second = [], []
        for _ in range(4000):
            draws = [
                rng.choice(size - (group == own), each - (group == own), replace=False)
                for group, size in enumerate(sizes)
            ]
            before = sum(int((some < better).sum()) for some, better in zip(draws, ahead, strict=True))
            first.append(before == 0)
            second.append(before < 2)
        assert balanced_recall([ahead], [own], sizes, each)[0] == pytest.approx(np.mean(first), abs=0.03)
        assert balanced_recall([ahead], [own], sizes, each, 2)[0] == pytest.approx(np.mean(second), abs=0.03)


def test_pools_and_groups_that_cannot_be_are_refused():
    with pytest.raises(MetricInputError, match="ranks and pool must be from 1 to candidates"):
        recall_in_pool([4], [3], 2, k=1)
    with pytest.raises(MetricInputError, match="ranks and pool must be from 1 to candidates"):
        recall_in_pool([1], [3], 4, k=1)
    with pytest.raises(MetricInputError, match="each must be from 1 to the smallest group's 2"):
        balanced_recall([[0, 0]], [0], [3, 2], each=3)
    with pytest.raises(MetricInputError, match="ahead must be"):
        balanced_recall([[0, 0]], [0], [3, 2, 1], each=1)
