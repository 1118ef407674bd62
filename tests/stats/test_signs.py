import math

import numpy as np
import pytest
import scipy.stats

from equiview.errors import StatsInputError
from equiview.stats import holm, sign_flip_test, sign_tail
from equiview.stats.paired import FEW


def all_sums(sizes: np.ndarray) -> np.ndarray:
    """How far from 0 the sum is under each of the 2**n patterns of signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return np.sort(np.abs(sums))


@pytest.mark.parametrize("kind", ["normal", "exponential", "lognormal", "whole", "thirds", "mixed"])
def test_the_tail_is_that_of_all_patterns(kind: str) -> None:
    rng = np.random.default_rng(0)
    sizes = {
        "normal": np.abs(rng.normal(size=20)),
        "exponential": rng.exponential(size=20),
        "lognormal": rng.lognormal(0, 1.5, size=20),
        "whole": rng.integers(1, 4, 20) * 1.0,
        "thirds": rng.integers(1, 6, 20) / 3,
        "mixed": np.concatenate([np.ones(10), np.abs(rng.normal(size=10))]),
    }[kind]
    sums = all_sums(sizes)
    for share, rough in ((0.01, 0.05), (0.001, 0.08), (0.0001, 0.15), (0.00001, 0.3)):
        total = sums[int(len(sums) * (1 - share))]
        exact = np.mean(sums >= total - 1e-9)
        assert sign_tail(sizes, float(total)) == pytest.approx(exact, rel=rough)


@pytest.mark.parametrize("n", [50, 200, 3600])
@pytest.mark.parametrize("reach", [2.5, 4, 6, 10])
def test_equal_sizes_are_the_sign_test(n: int, reach: float) -> None:
    more = int(n / 2 + reach * math.sqrt(n) / 2)
    if more >= n:
        return
    exact = 2 * scipy.stats.binom.sf(more - 1, n, 0.5)
    assert sign_tail(np.full(n, 0.37), 0.37 * (2 * more - n)) == pytest.approx(exact, rel=0.02)
    assert sign_tail(np.full(n, -7.0), -7.0 * (2 * more - n)) == pytest.approx(exact, rel=0.02)


def test_the_ends_of_the_tail() -> None:
    assert sign_tail(np.array([1.0, 2.0, 0.0, 4.0]), 7.0) == 2 / 8
    assert sign_tail(np.ones(30), 31.0) == 2 / 2**30
    assert sign_tail(np.zeros(5), 1.0) == 1
    assert sign_tail(np.ones(5), 0.0) == 1
    assert sign_tail(np.ones(1000), 1000.0) == 2.0**-999
    assert sign_tail(np.ones(2000), 2000.0) > 0


def test_a_clear_difference_survives_the_correction_of_hundreds_of_tests() -> None:
    # Twelve systems, eight headlines: 528 tests, of which 10,000 counted draws could reject none.
    rng = np.random.default_rng(0)
    differences = rng.normal(0.0, 1.0, size=(400, 528))
    differences[:, :300] += 0.4
    counted = sign_flip_test(differences, seed=0)
    reaching = sign_flip_test(differences, seed=0, tail="saddlepoint")
    assert (holm(counted) <= 0.05).sum() == 0
    assert (holm(reaching)[:300] <= 0.05).sum() == 300
    assert (holm(reaching)[300:] <= 0.05).sum() == 0
    theirs = scipy.stats.ttest_1samp(differences, 0).pvalue
    far = reaching < 1e-5
    assert np.abs(np.log(reaching[far] / theirs[far])).max() < 0.8  # near normal: the t test agrees


def test_what_enough_draws_bear_out_is_counted() -> None:
    differences = np.random.default_rng(1).normal(0.1, 1, size=(60, 40))
    counted = sign_flip_test(differences, replicates=2000, seed=3)
    reaching = sign_flip_test(differences, replicates=2000, seed=3, tail="saddlepoint")
    borne_out = counted > (FEW + 1) / 2001
    assert borne_out.any()
    assert not borne_out.all()
    np.testing.assert_array_equal(reaching[borne_out], counted[borne_out])
    np.testing.assert_allclose(reaching, counted, rtol=0.6, atol=3 / 2001)
    again = sign_flip_test(differences, replicates=2000, seed=3, tail="saddlepoint")
    assert again.tobytes() == reaching.tobytes()


def test_a_hundred_draws_is_few() -> None:
    assert FEW == 100


def test_few_clusters_stay_exact() -> None:
    assert float(sign_flip_test([0.1, 0.2, 0.1, 0.3, 0.2], seed=0, tail="saddlepoint")) == 0.0625


def test_false_alarms_far_out_are_as_rare_as_they_should_be() -> None:
    # Heavy and skewless differences: of 20,000 tests without a difference, 20 are expected at .001.
    rng = np.random.default_rng(2)
    alarms = 0
    for seed in range(10):
        differences = rng.standard_t(3, size=(40, 2000))
        alarms += int(
            (sign_flip_test(differences, replicates=500, seed=seed, tail="saddlepoint") < 0.001).sum()
        )
    assert 8 <= alarms <= 35


def test_another_tail_is_named() -> None:
    with pytest.raises(StatsInputError, match="tail must be"):
        sign_flip_test([1.0], seed=0, tail="normal")  # type: ignore[arg-type]
