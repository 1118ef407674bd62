import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import accuracy_at_k, average_precision_at_k, ndcg_at_k

RELEVANT = np.array(
    [
        [1, 0, 1, 0, 0],
        [0, 0, 0, 0, 1],
        [1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0],
    ],
    dtype=bool,
)
IN_POOL = np.array([2, 1, 8, 3])

tables = arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 12)))


def ndcg(n_relevant: list[float], k: int) -> np.ndarray:
    return ndcg_at_k(RELEVANT, k, n_relevant=n_relevant)


def test_accuracy_by_hand() -> None:
    assert accuracy_at_k(RELEVANT, 1).tolist() == [1, 0, 1, 0]
    assert accuracy_at_k(RELEVANT, 5).tolist() == [1, 1, 1, 0]


def test_ndcg_by_hand() -> None:
    # discounts of ranks 1 to 3: 1, 0.63093, 0.5
    pool = ndcg_at_k(RELEVANT, 3, n_relevant=IN_POOL)
    np.testing.assert_allclose(pool, [1.5 / 1.63093, 0, 1, 0], atol=1e-5)
    retrieved = ndcg_at_k(RELEVANT, 3, ideal="retrieved")
    np.testing.assert_allclose(retrieved, [1.5 / 1.63093, 0, 1, 0], atol=1e-5)
    late = np.array([[0, 1, 0]], dtype=bool)
    np.testing.assert_allclose(ndcg_at_k(late, 2, ideal="retrieved"), [0.63093], atol=1e-5)
    np.testing.assert_allclose(ndcg_at_k(late, 2, n_relevant=[9]), [0.63093 / 1.63093], atol=1e-5)


def test_average_precision_by_hand() -> None:
    # precision at the relevant ranks of the first query: 1 and 2/3
    np.testing.assert_allclose(
        average_precision_at_k(RELEVANT, 3, n_relevant=IN_POOL), [5 / 6, 0, 1, 0], atol=1e-12
    )
    np.testing.assert_allclose(
        average_precision_at_k(RELEVANT, 3, denominator="relevant", n_relevant=IN_POOL),
        [5 / 6, 0, 3 / 8, 0],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        average_precision_at_k(RELEVANT, 3, denominator="cutoff"), [5 / 9, 0, 1, 0], atol=1e-12
    )


@given(tables, st.data())
def test_all_agree_with_a_reading_rank_by_rank(relevant: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, relevant.shape[1]))
    total = relevant.sum(axis=1) + data.draw(st.integers(1, 3))
    for row, n, accuracy, ndcg, precision in zip(
        relevant,
        total,
        accuracy_at_k(relevant, k),
        ndcg_at_k(relevant, k, n_relevant=total),
        average_precision_at_k(relevant, k, n_relevant=total),
        strict=True,
    ):
        hits, gain, best, precisions = 0, 0.0, 0.0, 0.0
        for rank in range(1, k + 1):
            best += (rank <= n) / np.log2(rank + 1)
            if row[rank - 1]:
                hits += 1
                gain += 1 / np.log2(rank + 1)
                precisions += hits / rank
        assert accuracy == (hits > 0)
        assert ndcg == pytest.approx(gain / best)
        assert precision == pytest.approx(precisions / min(n, k))


@given(tables)
def test_agreement_with_scikit_learn(relevant: np.ndarray) -> None:
    from sklearn.metrics import average_precision_score, ndcg_score

    relevant = relevant[relevant.any(axis=1)]
    n, depth = relevant.shape
    if n == 0 or depth < 2:
        return
    scores = np.tile(np.arange(depth, 0, -1), (n, 1))
    total = relevant.sum(axis=1)
    for k in (1, depth):
        for ours in (ndcg_at_k(relevant, k, ideal="retrieved"), ndcg_at_k(relevant, k, n_relevant=total)):
            assert ours.mean() == pytest.approx(ndcg_score(relevant, scores, k=k))
    theirs = [average_precision_score(r, s) for r, s in zip(relevant, scores, strict=True)]
    np.testing.assert_allclose(
        average_precision_at_k(relevant, depth, denominator="relevant", n_relevant=total), theirs
    )


@given(tables)
def test_the_ideal_of_the_retrieved_is_the_lenient_one(relevant: np.ndarray) -> None:
    k = relevant.shape[1]
    total = np.maximum(relevant.sum(axis=1), 1)
    lenient, strict = ndcg_at_k(relevant, k, ideal="retrieved"), ndcg_at_k(relevant, k, n_relevant=total + 2)
    assert (lenient >= strict).all()


@given(tables)
def test_moving_a_relevant_item_up_never_hurts(relevant: np.ndarray) -> None:
    k = relevant.shape[1]
    total = relevant.sum(axis=1) + 1
    best = -np.sort(-relevant.astype(int), axis=1)
    for score in (
        lambda r: ndcg_at_k(r, k, n_relevant=total),
        lambda r: average_precision_at_k(r, k, n_relevant=total),
        lambda r: accuracy_at_k(r, 1),
    ):
        assert (score(best) >= score(relevant) - 1e-12).all()


def test_a_query_that_retrieved_nothing_relevant_scores_zero() -> None:
    assert ndcg_at_k([[False, False]], 2, ideal="retrieved").tolist() == [0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: accuracy_at_k(RELEVANT, 6), MetricInputError, "reaches rank 5 only"),
        (lambda: accuracy_at_k(RELEVANT, 0), MetricInputError, "k must be at least 1"),
        (lambda: accuracy_at_k(RELEVANT, 2.5), MetricInputError, "k must be a whole number"),
        (lambda: accuracy_at_k(RELEVANT, True), MetricInputError, "k must be a whole number"),
        (lambda: ndcg([2, 1, 8, 0], 3), UndefinedMetricError, "query 3 has no relevant item"),
        (lambda: ndcg([1, 1, 8, 3], 1), MetricInputError, "query 0 has 2 relevant retrieved"),
        (lambda: ndcg([2, 1, 8], 1), MetricInputError, "one per query"),
        (lambda: ndcg([2.0, 1, 8, 3], 1), MetricInputError, "whole numbers"),
        (lambda: accuracy_at_k(RELEVANT * 0.5, 1), MetricInputError, "must hold bools"),
        (lambda: accuracy_at_k(RELEVANT * 2, 1), MetricInputError, "must hold bools"),
        (lambda: accuracy_at_k(np.zeros((3, 0), bool), 1), UndefinedMetricError, "empty"),
        (lambda: ndcg_at_k(RELEVANT, 1), MetricInputError, "n_relevant is needed"),
        (lambda: ndcg_at_k(RELEVANT, 1, ideal="best"), MetricInputError, "ideal must be one of"),
        (lambda: average_precision_at_k(RELEVANT, 1), MetricInputError, "n_relevant is needed"),
    ],
)
def test_bad_input_is_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()
