"""Agreement: the library's alpha, an interval around it, and plain words where there is none."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.review import Question, ReviewSettings
from equiview.review.agreement import _alpha, _parts, agreement, agreement_of, alphas
from equiview.review.decisions import Opinion

ASKED = Question(id="right", text="?", choices=("yes", "partly", "no"))


def test_the_example_that_krippendorff_published() -> None:
    # "Computing Krippendorff's Alpha-Reliability" (2011), section C: nominal, any number of observers.
    counts = np.array([
        [3, 0, 0, 0, 0], [0, 3, 1, 0, 0], [0, 0, 4, 0, 0], [0, 0, 4, 0, 0], [0, 4, 0, 0, 0], [1, 1, 1, 1, 0],
        [0, 0, 0, 4, 0], [3, 1, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 0, 0, 3], [2, 0, 0, 0, 0], [0, 0, 1, 0, 0],
    ])  # fmt: skip
    asked = Question(id="q", text="?", choices=tuple("12345"))
    found = agreement_of(asked, counts, seed=0)
    assert found.alpha == pytest.approx(0.743, abs=0.0005)
    assert (found.n, found.judgements) == (11, 40)


tables = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=30).map(np.array)


@given(tables)
def test_the_interval_is_of_the_same_quantity_as_the_value(counts: np.ndarray) -> None:
    counts = counts[counts.sum(axis=1) >= 2]
    if len(counts) == 0 or np.count_nonzero(counts.sum(axis=0)) < 2:
        return
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert _alpha(_parts(counts).sum(axis=0)) == pytest.approx(expected, abs=1e-9)


def test_the_interval_holds_the_value_and_is_the_same_every_time() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 200)
    seen = np.where(rng.random((200, 3)) < 0.8, truth[:, None], rng.integers(0, 3, (200, 3)))
    counts = np.stack([(seen == choice).sum(axis=1) for choice in range(3)], axis=1)
    first, second = (agreement_of(ASKED, counts, seed=5) for _ in range(2))
    assert first == second
    assert first.low is not None
    assert first.alpha is not None
    assert first.high is not None
    assert 0.5 < first.low < first.alpha < first.high < 0.75  # people who know in 8 of 10: 0.64
    few = agreement_of(ASKED, counts[:50], seed=5)
    assert few.low is not None
    assert few.high is not None
    assert few.high - few.low > 1.5 * (first.high - first.low)


def test_samples_in_which_all_answer_alike_are_undefined() -> None:
    counts = np.array([[2, 0, 0]] * 11 + [[1, 1, 0]])
    samples = alphas(counts, seed=0)
    assert np.isnan(samples).any()
    assert not np.isnan(samples).all()


@pytest.mark.parametrize(
    ("counts", "alpha", "note"),
    [
        ([[1, 0, 0], [0, 1, 0]], None, "undefined: no item has two answers yet"),
        ([[0, 0, 2], [0, 0, 3]], None, "undefined: every answer is 'no'"),
        ([[2, 0, 0], [0, 2, 0]], 1.0, "no interval: fewer than 10 items"),
        ([[2, 0, 0], [0, 2, 0]] * 6, 1.0, "no interval: nobody disagrees, so how often somebody would is"),
    ],
)
def test_what_is_undefined_is_said(counts: list[list[int]], alpha: float | None, note: str) -> None:
    found = agreement_of(ASKED, np.array(counts), seed=0)
    assert found.alpha == alpha
    assert found.low is None
    assert found.high is None
    assert found.note.startswith(note)


def test_only_reviewers_count_and_each_question_by_itself() -> None:
    settings = ReviewSettings(title="t", questions=[ASKED, Question(id="other", text="?")])
    opinions = [
        Opinion("reviewer-1", "reviewer", {"right": "yes", "other": "no"}, ""),
        Opinion("reviewer-2", "reviewer", {"right": "no"}, ""),
        Opinion("adjudicator", "adjudicator", {"right": "no"}, ""),
    ]
    right, other = agreement([opinions], settings)
    assert (right.n, right.judgements) == (1, 2)
    assert (other.n, other.alpha) == (0, None)
