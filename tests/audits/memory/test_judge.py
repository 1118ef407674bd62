"""What the verdict says, and what it leaves undecided."""

import re

import numpy as np
import polars as pl
import pytest
from labs.error_rates.memory import local_better, noise, observed, simulated, weaker

from equiview.audits.memory import MEMORY
from equiview.data.observations import Observations
from tests.audits import steps


def judged(observations, **options):
    settings = MEMORY.configure({"replicates": 200, **options})
    return MEMORY.judge(steps.measured(MEMORY, observations, settings), settings)


def changed(observations, **tables):
    return Observations(dict(observations.tables) | tables)


def test_a_weaker_language_is_named_with_how_much_is_left_at_equal_length():
    verdict = judged(simulated(0, 200, weaker(0.4)))
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: landmarks are described worse in Arabic (by ")
    assert verdict.effect.quantity.keys == {"language": "ar"}
    assert verdict.advice
    assert any(
        line.startswith("Shift among descriptions about as long, as a score: Arabic -0.0")
        for line in verdict.evidence
    )


def test_a_local_advantage_is_named():
    verdict = judged(simulated(0, 200, local_better(0.5)))
    assert verdict.finding == "biased"
    assert (
        "landmarks are described better in the language of their region than in foreign ones"
        in verdict.answer
    )


def test_a_language_that_describes_few_landmarks_is_named_and_forbids_fair():
    rng = np.random.default_rng(0)
    own = 0.75 + 0.01 * rng.normal(size=(2, 58, 5))
    own[..., 2] -= 0.15  # Arabic, four times nearer to other landmarks than the rest
    own[:, 29:, 2] = np.nan
    verdict = judged(observed(own, np.full_like(own, 0.55)))
    assert verdict.finding == "unclear"
    assert "too few landmarks described in Arabic (29), at least 30 are needed; " in verdict.answer
    own[..., 3] -= 0.15  # so is Japanese, described throughout
    verdict = judged(observed(own, np.full_like(own, 0.55)))
    assert verdict.finding == "biased"
    assert "Japanese (by " in verdict.answer
    assert verdict.evidence[0].startswith("Not judged: too few landmarks described in Arabic (29)")


def test_a_language_that_is_refused_more_often_forbids_fair():
    rng = np.random.default_rng(0)
    own = 0.75 + 0.01 * rng.normal(size=(2, 100, 5))
    refused = own.copy()
    refused[:, :40, 2] = np.nan  # two of five in Arabic; the rest is described as well as in the others
    verdict = judged(observed(refused, np.full_like(own, 0.55)))
    assert verdict.finding == "unclear"
    assert (
        "more often in some languages than in others, and not shown to be within 10% of them (Arabic 40%, "
        in (verdict.answer)
    )
    refused[:, :40] = np.nan  # of the same landmarks in all languages
    assert judged(observed(refused, np.full_like(own, 0.55))).finding == "fair"


def test_the_largest_of_many_languages_carries_the_interval_of_all():
    verdict = judged(simulated(0, 200, weaker(0.4)))
    assert re.search(r"in Arabic \(by \d+% \[\d+%, \d+%\], the largest of 6\)", verdict.answer)


def test_equal_languages_are_fair():
    verdict = judged(simulated(0, 200, noise(0.01), prompt=0.01))
    assert verdict.finding == "fair"
    assert verdict.answer.startswith(
        "No: landmarks are described alike in all 5 languages, and in local ones"
    )
    assert not verdict.advice


def test_an_interval_around_the_tolerance_is_not_decided():
    verdict = judged(simulated(1, 200, weaker(0.1)))
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(
        "Unclear at 10%: what differs most is that descriptions in Arabic score less"
    )


def test_descriptions_of_no_place_are_not_decided():
    rng = np.random.default_rng(0)
    own = 0.5 + 0.05 * rng.normal(size=(2, 100, 3))
    verdict = judged(observed(own, np.full_like(own, 0.5)))
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith("Unclear: descriptions fit their own landmarks no better than others")
    assert verdict.effect is None


def test_too_few_landmarks_are_not_decided():
    verdict = judged(simulated(0, 12, weaker(0.5)))
    assert verdict.answer == "Unclear: only 12 landmarks have a score, at least 30 are needed."


def test_nothing_but_refusals_is_not_decided():
    own = np.full((2, 40, 3), np.nan)
    verdict = judged(observed(own, own))
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith("Unclear: no description has a score")
    assert "Of all replies: 100.0% refused." in verdict.evidence


def test_a_language_that_is_mostly_refused_is_named():
    rng = np.random.default_rng(0)
    own = 0.7 + 0.02 * rng.normal(size=(2, 60, 3))
    own[:, :40, 1] = np.nan
    verdict = judged(observed(own, own - 0.2))
    assert verdict.finding == "unclear"
    assert "most landmarks have no description that can be scored in German (67%)" in verdict.answer


def test_a_model_that_answers_in_another_language_is_not_decided():
    observations = simulated(0, 60, noise(0.02))
    english = pl.when(pl.col("language") == "ja").then(pl.lit("en")).otherwise(pl.col("detected"))
    astray = observations["descriptions"].with_columns(detected=english)
    verdict = judged(changed(observations, descriptions=astray))
    assert verdict.finding == "unclear"
    assert "most replies are in another language than asked for in Japanese (0%)" in verdict.answer


def test_languages_that_the_detector_does_not_know_are_said_to_be():
    observations = simulated(0, 60, noise(0.02))
    unknown = observations["descriptions"].with_columns(known=pl.col("language") != "ja")
    verdict = judged(changed(observations, descriptions=unknown))
    assert any(
        "Not known to the detector, or without a reply: Japanese." in line for line in verdict.evidence
    )


def test_texts_that_the_scorer_cuts_are_counted():
    observations = simulated(0, 60, noise(0.02))
    cut = observations["scores"].with_columns(cut=pl.col("prompt") == 0)
    verdict = judged(changed(observations, scores=cut))
    assert "The scorer reads only the beginning of 50% of the texts." in verdict.evidence


@pytest.mark.parametrize("option", ["scorer_run", "prompts", "translator"])
def test_limits_follow_the_settings(option):
    observations = simulated(0, 40, noise(0.02))
    plain, chosen = judged(observations).limits, judged(observations, **{option: "none"}).limits
    assert plain != chosen
    if option == "scorer_run":
        assert any("Its own run is in none." in limit for limit in chosen)
    else:
        assert len(chosen) == len(plain) - 1
