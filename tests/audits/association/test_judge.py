"""Verdicts follow the numbers, and say what they rest on."""

import polars as pl
import pytest

from equiview.audits.association import ASSOCIATION
from equiview.data.estimates import Estimates
from tests.audits.association.planted import TEXT, audited


def judged(pull):
    _, estimates, options = audited(pull)
    return ASSOCIATION.judge(estimates, options)


def test_a_planted_pull_is_found_and_its_absence_is_not_called_biased():
    verdict = judged(1.4)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: ")
    assert "SP" in verdict.answer
    assert verdict.advice
    assert judged(0.0).finding in {"fair", "unclear"}


def estimates(low, high):
    rates = {"M_sem": 0.8, "M_cul": 0.1 + (low + high) / 2, "M_non": 0.1}
    rows = [
        {"metric": name, "value": v, "low": v, "high": v, "n": 50, "direction": TEXT}
        for name, v in rates.items()
    ]
    pull = {"metric": "M_cul - M_non", "value": (low + high) / 2, "low": low, "high": high, "n": 50}
    shared = {"metric": "trials sharing the query's language", "value": 0.1, "low": 0.1, "high": 0.1, "n": 50}
    return Estimates(pl.from_dicts([*rows, pull | {"direction": TEXT}, shared | {"direction": None}]))


@pytest.mark.parametrize(
    ("low", "high", "finding", "opening"),
    [
        (0.001, 0.2, "biased", "Yes: "),
        (-0.04, 0.049, "fair", "No: "),
        (0.0, 0.049, "fair", "No: "),
        (-0.04, 0.05, "unclear", "Too few trials"),
    ],
)
def test_the_interval_of_the_pull_decides(low, high, finding, opening):
    verdict = ASSOCIATION.judge(estimates(low, high), ASSOCIATION.configure({}))
    assert verdict.finding == finding
    assert verdict.answer.startswith(opening)
    assert bool(verdict.advice) == (finding == "biased")


def test_evidence_says_how_to_exclude_trials_of_one_language():
    said = {
        strict: ASSOCIATION.judge(estimates(0.1, 0.2), ASSOCIATION.configure({"strict": strict})).evidence[-1]
        for strict in (False, True)
    }
    assert said[False].startswith("In 10% of trials")
    assert "`--setting association.strict=true`" in said[False]
    assert said[True].endswith("they are excluded.")


def test_evidence_names_the_countries_where_culture_gains_most():
    _, table, options = audited(1.4)
    worst = table.by("country", "M_cul - M_non", direction=TEXT).table.sort("value", descending=True)
    assert any(worst["country"][0] in line for line in ASSOCIATION.judge(table, options).evidence)
