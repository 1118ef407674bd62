from dataclasses import replace

import pytest

from equiview.audits import decide
from equiview.audits.judging import excludes_bias, shows_bias
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


def test_nothing_to_judge_by_is_unclear():
    assert decide(tolerance=0.05) == "unclear"
    assert decide(GAP, tolerance=0.05, missing="no better than chance") == "unclear"


def test_an_effect_cannot_be_shown_and_excluded_at_once():
    for low in (-0.3, -0.05, 0.0, 0.04, 0.06):
        for width in (0.0, 0.02, 0.4):
            effect = replace(GAP, value=low, low=low, high=low + width)
            assert not (shows_bias(effect, 0.05) and excludes_bias(effect, 0.05))


def test_an_effect_is_what_lies_above_chance():
    half = replace(GAP, value=0.7, low=0.6, high=0.8, chance=0.5)
    assert f"{half.above_chance():.1f}" == "0.2 [0.1, 0.3]"
