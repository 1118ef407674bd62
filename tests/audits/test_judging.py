from dataclasses import replace

import pytest

from equiview.audits import decide
from equiview.audits.judging import (
    at_least_none,
    better_by,
    excludes_bias,
    shown,
    shows_bias,
    size,
    skilled,
    verdict,
)
from equiview.data.estimates import Estimate
from equiview.data.metric import quantity

GAP = Estimate(quantity("gap"), value=0.2, low=0.1, high=0.3, n=100, p=0.001)


@pytest.mark.parametrize(
    ("changes", "tolerance", "finding"),
    [
        ({}, 0.05, "biased"),
        ({"value": -0.2, "low": -0.3, "high": -0.1}, 0.05, "biased"),
        ({}, 0.3, "fair"),
        ({}, 0.15, "unclear"),
        ({"p": 0.2}, 0.05, "unclear"),
        ({"p_holm": 0.2}, 0.05, "unclear"),
        ({"p": 0.2, "p_holm": 0.01}, 0.05, "biased"),
        ({"p": None}, 0.05, "biased"),
        ({"judged": False}, 0.05, "unclear"),
        ({"judged": False}, 0.5, "unclear"),
        ({"high": float("inf")}, 0.05, "biased"),
        ({"low": float("nan"), "high": float("nan")}, 0.05, "unclear"),
        ({"low": 0.0, "high": 0.0, "value": 0.0, "p": 1.0}, 0.05, "fair"),
    ],
)
def test_the_rule_on_one_effect(changes, tolerance, finding):
    assert decide(replace(GAP, **changes), tolerance=tolerance) == finding


def test_one_effect_beyond_the_tolerance_is_enough_and_one_undecided_prevents_fairness():
    small = replace(GAP, value=0.0, low=-0.01, high=0.01, p=0.9)
    undecided = replace(GAP, value=0.05, low=-0.1, high=0.2, p=0.4)
    assert decide(small, GAP, tolerance=0.05) == "biased"
    assert decide(small, undecided, tolerance=0.05) == "unclear"
    assert decide(small, small, tolerance=0.05) == "fair"


def test_who_was_too_few_to_judge_forbids_fair_alone():
    small = replace(GAP, value=0.0, low=-0.01, high=0.01, p=0.9)
    assert decide(small, tolerance=0.05, unjudged=["women"]) == "unclear"
    assert decide(small, GAP, tolerance=0.05, unjudged=["women"]) == "biased"
    assert decide(small, tolerance=0.05, unjudged=[]) == "fair"


def test_nothing_to_judge_by_is_unclear():
    assert decide(tolerance=0.05) == "unclear"
    assert decide(GAP, tolerance=0.05, missing="no better than chance") == "unclear"


def test_an_effect_cannot_be_shown_and_excluded_at_once():
    for low in (-0.3, -0.05, 0.0, 0.04, 0.06):
        for width in (0.0, 0.02, 0.4):
            effect = replace(GAP, value=low, low=low, high=low + width)
            assert not (shows_bias(effect, 0.05) and excludes_bias(effect, 0.05))


@pytest.mark.parametrize(
    ("hits", "n", "chance", "is_skill"),
    [
        (100, 1000, 0.05, True),
        (60, 1000, 0.05, False),
        (14, 1000, 0.005, True),
        (13, 1000, 0.005, False),  # P(13 or more) is .0020, P(14 or more) .0006
        (0, 1000, 0.0, False),
        (1, 1000, None, True),
        (1000, 1000, 1.0, False),
    ],
)
def test_a_level_shows_skill_where_so_many_hits_are_rare_for_who_guesses(hits, n, chance, is_skill):
    level = replace(GAP, value=hits / n, n=n, chance=chance)
    assert skilled(level) == is_skill


@pytest.mark.parametrize(
    ("low", "p", "said"),
    [
        (0.1, 0.0001, ""),
        (0.1, None, ""),
        (0.1, 0.0002, "hardly"),
        (0.0, 0.0001, "no"),
        (-0.1, 0.5, "no"),
        (float("nan"), 0.0001, "no"),
    ],
)
def test_a_margin_is_shown_by_its_interval_and_its_test(low, p, said):
    assert better_by(replace(GAP, low=low, p=p)) == said


def test_where_only_more_is_bias_an_interval_ends_at_none():
    assert at_least_none(replace(GAP, low=-0.2)) == replace(GAP, low=0.0)
    below = at_least_none(replace(GAP, value=-0.2, low=-0.3, high=-0.1))
    assert (below.value, below.low, below.high) == (-0.2, 0.0, 0.0)
    assert decide(below, tolerance=0.05) == "fair"


def test_a_size_has_its_ends_the_other_way_round_below_none():
    assert size(GAP) == GAP
    assert size(replace(GAP, value=-0.2, low=-0.3, high=-0.1)) == GAP


def test_evidence_is_said_once_and_advice_where_there_is_bias():
    lines = ["One.", "", "Two.", "Two.", "Yes: so."]
    found = [verdict(finding, "Yes: so. And", lines, advice=("Do.",)) for finding in ("biased", "unclear")]
    assert [entry.evidence for entry in found] == [("One.", "Two.")] * 2
    assert [entry.advice for entry in found] == [("Do.",), ()]


def test_effects_that_show_bias_come_largest_first_whichever_way_they_go():
    below = replace(GAP, value=-0.25, low=-0.3, high=-0.1)
    assert shown([replace(GAP, low=0.0), GAP, below], 0.05) == [below, GAP]


def test_an_effect_is_what_lies_above_chance():
    half = replace(GAP, value=0.7, low=0.6, high=0.8, chance=0.5)
    assert f"{half.above_chance():.1f}" == "0.2 [0.1, 0.3]"
