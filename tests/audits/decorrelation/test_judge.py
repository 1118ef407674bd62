"""The verdict: which side of the tolerance, and when it says nothing."""

from __future__ import annotations

import pytest
from labs.error_rates.decorrelation import drawn, ranked, seeing

from equiview.audits.decorrelation import DECORRELATION
from tests.audits import steps


def verdict_of(observations, **given):
    settings = DECORRELATION.configure({"replicates": 200} | given)
    return DECORRELATION.judge(steps.measured(DECORRELATION, observations, settings), settings)


@pytest.fixture(scope="module")
def naming():
    return drawn(0, 300, effect=3.0)


def test_naming_what_is_gone_beyond_the_tolerance_is_biased(naming):
    verdict = verdict_of(naming)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: of the first 10 captions")
    assert "more than captions of the same remaining objects do" in verdict.answer
    assert verdict.advice
    assert verdict.effect.quantity.metric == "excess naming"


def test_a_larger_tolerance_lets_it_pass(naming):
    assert verdict_of(naming, tolerance=0.5).finding == "fair"


def test_naming_it_less_often_than_others_do_is_fair():
    verdict = verdict_of(ranked(0, 300, seeing(precise=1.0)))
    assert verdict.finding == "fair"
    assert verdict.answer.startswith("No: ")


def test_a_system_that_names_two_classes_alone_too_often_is_not_fair():
    verdict = verdict_of(drawn(0, 1_000, effect=12.0, classes=2))
    assert verdict.finding == "unclear"
    assert verdict.answer.endswith(
        " Of single classes too often named though gone: c01 (+64 points), c00 (+59 points)."
    )
    assert "c02" not in verdict.answer


def test_a_system_that_does_not_see_what_is_there_is_not_judged():
    verdict = verdict_of(ranked(0, 300, seeing(knows=0.0)))
    assert verdict.finding == "unclear"
    assert "too little to say that the system sees it" in verdict.answer


def test_too_few_images_are_not_judged():
    verdict = verdict_of(drawn(0, 12))
    assert verdict.finding == "unclear"
    assert "there are 12 synthetic images, at least 30 are needed" in verdict.answer


def test_evidence_says_what_is_right_what_is_named_and_what_the_real_images_find(naming):
    right, gone, real = verdict_of(naming).evidence
    assert right.startswith("ODmAP@1 58.0% (captions at random 9.3%); ODmAP@5 44.6%")
    assert right.endswith("a right caption names any of the objects still there, and nothing that is gone.")
    assert gone.startswith("Most often named though gone: c09 with c08 (77% of captions, 3 images), ")
    assert real == "R@1 on the real images: image to text 100.0%."
