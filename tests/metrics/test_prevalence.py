import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import divergences_at, dlbkl, group_exposure, lbkl, prevalence, single_group_share

N_GROUPS = 4
lists = arrays(
    np.int64, st.tuples(st.integers(1, 5), st.integers(1, 15)), elements=st.integers(0, N_GROUPS - 1)
)
shares = (
    st.lists(st.integers(0, 9), min_size=N_GROUPS, max_size=N_GROUPS)
    .filter(any)
    .map(lambda counts: np.array(counts) / sum(counts))
)


def test_the_lists_of_figure_12() -> None:
    high_first, low_first = [0, 0, 0, 0, 1], [1, 1, 1, 0, 0]  # high and medium are 0, low is 1
    np.testing.assert_allclose(lbkl([high_first, low_first], 2), [0.2231, 0.0204], atol=5e-5)
    np.testing.assert_allclose(dlbkl([high_first, low_first], 2), [0.3927, 0.1106], atol=5e-5)


@given(st.integers(0, 1))
def test_the_first_rank_alone_says_nothing(group: int) -> None:
    assert lbkl([[group]], 2) == pytest.approx(9.6685, abs=5e-5)
    assert dlbkl([[group]], 2) == pytest.approx(9.6685, abs=5e-5)


def test_a_list_like_the_prior_scores_zero() -> None:
    assert lbkl([[0, 1, 1, 0]], 2) == pytest.approx(0)
    assert lbkl([[0, 1, 2, 0]], 3, prior=[0.5, 0.25, 0.25]) == pytest.approx(0)
    assert lbkl([[0, 1, 2, 0]], 3, prior="pool", pool_shares=[0.5, 0.25, 0.25]) == pytest.approx(0)


def test_exposure_by_hand() -> None:
    assert group_exposure([[0, 0, 2, 1]], 3).tolist() == [[0.5, 0.25, 0.25]]
    weights = [1, 0.63093, 0.5, 0.43068]
    np.testing.assert_allclose(
        group_exposure([[0, 0, 2, 1]], 3, discount="log2")[0] * sum(weights),
        [weights[0] + weights[1], weights[3], weights[2]],
        atol=1e-4,
    )


def test_few_groups_and_many_are_counted_alike() -> None:
    rows = np.random.default_rng(0).integers(0, 3, (7, 40))  # of groups 3 and above there is nothing
    for discount in (None, "log2"):
        weights = 1 / np.log2(np.arange(2, 42)) if discount else np.ones(40)
        for n_groups in (3, prevalence.FEW, prevalence.FEW + 1):
            for groups in (rows, rows.astype(np.uint8), np.asfortranarray(rows)):
                found = divergences_at(groups, n_groups, [1, 2, 40], discount=discount)
                fair = np.full(n_groups, 1 / n_groups)
                slow = [[slow_divergence(row[:k], fair, weights[:k]) for row in rows] for k in (1, 2, 40)]
                np.testing.assert_allclose(found, slow, rtol=1e-12)


def test_single_group_by_hand() -> None:
    assert single_group_share([[3, 3], [3, 0]]).tolist() == [1, 0]
    assert single_group_share([[5]]).tolist() == [1]


def slow_divergence(row: np.ndarray, prior: np.ndarray, weights: np.ndarray) -> float:
    total = 0.0
    for g, p in enumerate(prior):
        held = sum(w for w, group in zip(weights, row, strict=True) if group == g) / sum(weights)
        if p > 0:
            total += p * np.log(p / (held or 1e-9))
    return total


@given(lists, shares)
def test_agreement_with_the_sum_written_out(groups: np.ndarray, prior: np.ndarray) -> None:
    k = groups.shape[1]
    flat, discounted = np.ones(k), 1 / np.log2(np.arange(2, k + 2))
    for row, plain, ranked in zip(
        groups, lbkl(groups, N_GROUPS, prior=prior), dlbkl(groups, N_GROUPS, prior=prior), strict=True
    ):
        assert plain == pytest.approx(slow_divergence(row, prior, flat), abs=1e-9)
        assert ranked == pytest.approx(slow_divergence(row, prior, discounted), abs=1e-9)


@given(lists, shares, st.permutations(range(N_GROUPS)))
def test_names_of_groups_do_not_matter(groups: np.ndarray, prior: np.ndarray, names: list[int]) -> None:
    renamed, prior_renamed = np.array(names)[groups], np.empty(N_GROUPS)
    prior_renamed[names] = prior
    for metric in (lbkl, dlbkl):
        np.testing.assert_allclose(metric(renamed, N_GROUPS), metric(groups, N_GROUPS), atol=1e-12)
        np.testing.assert_allclose(
            metric(renamed, N_GROUPS, prior=prior_renamed), metric(groups, N_GROUPS, prior=prior), atol=1e-12
        )
    np.testing.assert_array_equal(single_group_share(renamed), single_group_share(groups))
    np.testing.assert_allclose(
        group_exposure(renamed, N_GROUPS, discount="log2")[:, names],
        group_exposure(groups, N_GROUPS, discount="log2"),
    )


@given(lists, st.randoms(use_true_random=False))
def test_lbkl_is_blind_to_rank(groups: np.ndarray, random) -> None:
    order = list(range(groups.shape[1]))
    random.shuffle(order)
    np.testing.assert_allclose(lbkl(groups[:, order], N_GROUPS), lbkl(groups, N_GROUPS), atol=1e-12)


@given(lists)
def test_both_agree_where_rank_cannot_matter(groups: np.ndarray) -> None:
    alone = single_group_share(groups) == 1
    np.testing.assert_allclose(lbkl(groups, N_GROUPS)[alone], dlbkl(groups, N_GROUPS)[alone], atol=1e-12)
    np.testing.assert_allclose(lbkl(groups[:, :1], N_GROUPS), dlbkl(groups[:, :1], N_GROUPS), atol=1e-12)


@given(lists)
def test_uniform_is_a_prior_like_another(groups: np.ndarray) -> None:
    even = np.full(N_GROUPS, 1 / N_GROUPS)
    expected = lbkl(groups, N_GROUPS)
    np.testing.assert_allclose(lbkl(groups, N_GROUPS, prior=even), expected)
    np.testing.assert_allclose(lbkl(groups, N_GROUPS, prior="pool", pool_shares=even), expected)


@given(lists)
def test_exposure_holds_everything(groups: np.ndarray) -> None:
    for discount in (None, "log2"):
        exposure = group_exposure(groups, N_GROUPS, discount=discount)
        np.testing.assert_allclose(exposure.sum(axis=1), 1)
        assert ((exposure > 0) == [[g in row for g in range(N_GROUPS)] for row in groups]).all()


def test_a_group_that_nobody_expects_contributes_nothing() -> None:
    assert lbkl([[0, 1]], 3, prior=[0.5, 0.5, 0]) == pytest.approx(0)
    assert lbkl([[0, 1, 2, 2]], 3, prior=[0.5, 0.5, 0]) == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lbkl([[0, 0]], 1), UndefinedMetricError, "at least 2"),
        (lambda: lbkl([[0, 2]], 2), MetricInputError, "query 0, rank 2: group 2 is not 0 to 1"),
        (lambda: lbkl([[0, -1]], 2), MetricInputError, "group -1"),
        (lambda: lbkl([[0.0, 1.0]], 2), MetricInputError, "whole numbers"),
        (lambda: lbkl([[0, 1]], 2.0), MetricInputError, "n_groups must be a whole number"),
        (lambda: lbkl([[0, 1]], 2, prior="even"), MetricInputError, "prior must be one of"),
        (lambda: lbkl([[0, 1]], 2, prior="pool"), MetricInputError, "needs pool_shares"),
        (lambda: lbkl([[0, 1]], 2, prior=[0.5, 0.6]), MetricInputError, "sum to 1"),
        (lambda: lbkl([[0, 1]], 2, prior=[1.5, -0.5]), MetricInputError, "not negative"),
        (lambda: lbkl([[0, 1]], 2, prior=[1.0]), MetricInputError, "one share for each of 2"),
        (lambda: lbkl([[0, 1]], 2, eps=0), MetricInputError, "eps"),
        (lambda: dlbkl(np.zeros((2, 0), int), 2), UndefinedMetricError, "empty"),
        (lambda: group_exposure([[0, 1]], 2, discount="ln"), MetricInputError, "discount must be one of"),
        (lambda: single_group_share([[0, -1]]), MetricInputError, "0 or more"),
    ],
)
def test_bad_input_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(("one", "discount"), [(lbkl, None), (dlbkl, "log2")])
def test_divergences_at_cutoffs_are_to_the_bit_those_of_lists_cut(one, discount):
    lists = np.random.default_rng(0).integers(5, size=(40, 23))
    cutoffs = [1, 2, 9, 23]
    together = divergences_at(lists, 5, cutoffs, discount=discount)
    apart = np.array([one(lists[:, :k], 5) for k in cutoffs])
    assert together.tobytes() == apart.tobytes()
    assert divergences_at(lists.astype(np.uint8), 5, cutoffs, discount=discount).tobytes() == apart.tobytes()


@pytest.mark.parametrize("discount", [None, "log2"])
def test_the_same_bytes_however_many_ranks_are_added_at_once(monkeypatch, discount) -> None:
    groups = np.random.default_rng(0).integers(0, 5, (70, 20)).astype(np.uint8)
    shown = divergences_at(groups, 5, [3, 20], discount=discount).tobytes()
    for at_once in (1, 100, 10_000):
        monkeypatch.setattr(prevalence, "AT_ONCE", at_once)
        assert divergences_at(groups, 5, [3, 20], discount=discount).tobytes() == shown
    held = group_exposure(groups, 5, discount=discount)
    assert held.flags.c_contiguous
    assert np.allclose(held.sum(axis=1), 1)


@pytest.mark.parametrize("cutoffs", [[], [0], [2, 1], [1, 1], [4]])
def test_cutoffs_that_no_list_has_are_refused(cutoffs):
    with pytest.raises(MetricInputError, match="cutoff"):
        divergences_at([[0, 1, 1]], 2, cutoffs)
