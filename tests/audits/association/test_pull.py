"""The mean pull of languages, its test and interval, and what ties could change of it."""

import numpy as np
import pytest

from equiview.audits.association.pull import FROM_CULTURE, MEAN_PULL, PULL, TIED, TO_CULTURE
from equiview.data.countries import countries
from equiview.stats import sign_flip_test
from tests.audits.association.outcomes import LANGUAGE, TEXT, counted, measured
from tests.audits.association.planted import audited

COUNTRIES = countries()["country"].to_list()


def test_each_language_counts_once():
    # English: USA +4 of 10, UK 0 of 10, so +20%; German +10%; French -30%; the others 0
    wins = dict.fromkeys(COUNTRIES, (10, 0, 0)) | {
        "USA": (6, 4, 0),
        "UK": (8, 1, 1),
        "Germany": (9, 1, 0),
        "France": (7, 0, 3),
    }
    del wins["Australia"]
    pull = measured(counted(wins))[0].one(MEAN_PULL, direction=TEXT)
    assert pull.n == 12
    assert pull.value == pytest.approx((0.2 + 0.1 - 0.3) / 12)
    assert pull.p == 1
    assert pull.low < 0 < pull.high


def test_p_is_that_of_flipping_the_signs_of_languages():
    _, estimates, _ = audited(0.7)
    pulls = [row.value for row in estimates.by("language", PULL, direction=TEXT)]
    pull = estimates.one(MEAN_PULL, direction=TEXT)
    assert len(pulls) == pull.n == 12
    assert pull.value == pytest.approx(np.mean(pulls))
    assert pull.p == pull.p_holm == float(sign_flip_test(pulls, seed=0))
    assert (pull.low > 0) == (pull.p <= 0.05)


def test_few_trials_without_a_mistake_are_no_certainty():
    few, many = (
        measured(counted(dict.fromkeys(COUNTRIES, (count, 0, 0))))[0].one(MEAN_PULL, direction=TEXT)
        for count in (1, 100)
    )
    assert few.value == many.value == 0
    assert few.high == -few.low > 0.1
    assert many.high < 0.005


def test_languages_are_tested_one_by_one_and_corrected_together():
    wins = dict.fromkeys(COUNTRIES, (60, 0, 0)) | {"Thailand": (30, 30, 0)}
    rows = list(measured(counted(wins))[0].by("language", PULL, direction=TEXT))
    assert {row.quantity.keys["language"] for row in rows} == set(LANGUAGE.values())
    for row in rows:
        assert row.p_holm >= row.p
        assert (row.p_holm <= 0.1) == (row.quantity.keys["language"] == "th")


def test_values_by_country_and_concept_are_not_tested():
    _, estimates, _ = audited(0.7)
    for key in ("country", "concept"):
        assert all(row.p is None for row in estimates.by(key, PULL, direction=TEXT))


TIES = [
    # scores, then the pull with ties for culture, and against it
    ((1, 1, 0), 1, 0),
    ((1, 0, 1), 0, -1),
    ((0, 1, 1), 1, -1),
    ((1, 1, 1), 1, -1),
]


@pytest.mark.parametrize(("scores", "most", "least"), TIES)
def test_ties_are_decided_for_culture_and_against_it(scores, most, least):
    table = {name: np.array([scores] * 3, dtype=float) for name in COUNTRIES}
    estimates, _ = measured(table)
    tied = estimates.one(TIED, direction=TEXT)
    assert (tied.value, tied.n) == (1, 48)
    assert estimates.one(MEAN_PULL, direction=TEXT, ties=TO_CULTURE).value == most
    assert estimates.one(MEAN_PULL, direction=TEXT, ties=FROM_CULTURE).value == least


def test_without_ties_there_is_nothing_to_vary():
    estimates, _ = measured(counted(dict.fromkeys(COUNTRIES, (3, 1, 1))))
    assert estimates.one(TIED, direction=TEXT).value == 0
    assert estimates.maybe(MEAN_PULL, direction=TEXT, ties=TO_CULTURE) is None


def test_both_directions_are_estimated():
    _, estimates, _ = audited(0.7)
    pulls = [estimates.one(MEAN_PULL, direction=name) for name in (TEXT, "image-to-image")]
    assert pulls[0].value != pulls[1].value
