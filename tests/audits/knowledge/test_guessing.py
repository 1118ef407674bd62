"""What letters get right by luck, in one language and in two, and what is known beyond that."""

from __future__ import annotations

import numpy as np
import pytest

from equiview.audits.knowledge.guessing import Letters

N = 20_000


def truths(share: float, rng: np.random.Generator) -> np.ndarray:
    """Right options, the first of four in such a share."""
    return np.where(rng.random(N) < share, 0, rng.integers(1, 4, N))


def letters(known: np.ndarray, guess: np.ndarray, truth: np.ndarray) -> Letters:
    return Letters(np.where(known, truth[:, None], guess), truth, np.full(N, 4))


def test_always_one_letter_is_no_skill_however_often_it_is_right() -> None:
    truth = truths(0.4, np.random.default_rng(0))
    always = letters(np.zeros((N, 1), bool), np.zeros((N, 1), int), truth)
    assert always.correct.mean() == pytest.approx(0.4, abs=0.01)
    assert always.net.mean() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("key", [0.25, 0.6])
def test_skill_is_of_what_is_known_whatever_is_guessed(key: float) -> None:
    rng = np.random.default_rng(1)
    truth, known = truths(key, rng), rng.random((N, 1)) < 0.5
    ways = [np.zeros((N, 1), int), np.full((N, 1), 3), rng.integers(0, 4, (N, 1)), np.full((N, 1), -1)]
    nets = [float(letters(known, way, truth).net.mean()) for way in ways]
    shares = np.bincount(truth, minlength=4) / N
    assert nets == pytest.approx([0.5 * (1 - (shares**2).sum())] * 4, abs=0.015)
    for way in ways:
        assert letters(known, way, truth).guessed.mean() == pytest.approx(0.5, abs=0.03)


def test_shared_guesses_are_counted_by_wrong_answers_that_agree() -> None:
    rng = np.random.default_rng(2)
    truth, known = truths(0.4, rng), np.zeros((N, 2), bool)
    x, y = np.array([0]), np.array([1])
    own, same = rng.integers(0, 4, (N, 2)), np.repeat(rng.integers(0, 4, (N, 1)), 2, axis=1)
    for guess, lucky in ((own, 1 / 16), (same, 1 / 4), (np.zeros((N, 2), int), 0.4)):
        both, both_lucky = (part.mean() for part in letters(known, guess, truth).guessed_in(x, y))
        assert both == pytest.approx(1.0, abs=0.03)
        assert both_lucky == pytest.approx(lucky, abs=0.01)


def test_few_questions_with_a_number_of_options_count_all_options_alike() -> None:
    few = Letters(np.zeros((3, 1), int), np.zeros(3, int), np.full(3, 4))
    assert few.net.ravel().tolist() == [0.75, 0.75, 0.75]
