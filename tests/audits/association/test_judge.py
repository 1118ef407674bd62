"""Verdicts follow the numbers, and say what they rest on."""

import numpy as np
import pytest

from equiview.audits.association import ASSOCIATION
from equiview.audits.saying import with_interval
from equiview.data.estimates import Estimates
from tests.audits.association.outcomes import LANGUAGE, counted, judged
from tests.audits.association.planted import TEXT, audited


def test_a_planted_pull_is_found_and_its_absence_is_not_called_biased():
    verdict, without = (ASSOCIATION.judge(*audited(pull)[1:]) for pull in (1.4, 0.0))
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: ")
    assert "SP" in verdict.answer
    assert verdict.advice
    assert without.finding in {"fair", "unclear"}


def numbers(low, high, p=0.001, n=12, m_sem=0.8, m_cul=0.1, m_non=0.1, **pulls):
    """Estimates of a mean pull and of rates; `pulls` are those of languages, shown to be there."""
    rates = {"M_sem": m_sem, "M_cul": m_cul, "M_non": m_non}
    rows = [
        {"metric": name, "value": v, "low": v, "high": v, "n": 50, "direction": TEXT}
        for name, v in rates.items()
    ]
    pull = {"metric": "mean pull of languages", "value": (low + high) / 2, "low": low, "high": high}
    rows.append(pull | {"n": n, "p": p, "p_holm": p, "direction": TEXT})
    rows.append({"metric": "tied trials", "value": 0.0, "low": 0.0, "high": 0.0, "n": 50, "direction": TEXT})
    rows += [
        {"metric": "M_cul - M_non", "value": v, "low": v, "high": v, "n": 50, "p": 0.01, "p_holm": 0.01,
         "direction": TEXT, "language": language}
        for language, v in pulls.items()
    ]  # fmt: skip
    rows.append(
        {"metric": "trials sharing the query's language", "value": 0.1, "low": 0.1, "high": 0.1, "n": 50}
    )
    return Estimates.of_rows(rows)


def judgement(*ends, tolerance=0.02, **options):
    return ASSOCIATION.judge(numbers(*ends, **options), ASSOCIATION.configure({"tolerance": tolerance}))


def test_one_language_with_a_pull_of_its_own_is_not_fair_nor_biased():
    small, large = judgement(-0.01, 0.015, p=0.9, sw=0.01), judgement(-0.01, 0.015, p=0.9, sw=0.1, de=-0.05)
    assert small.finding == "fair"
    assert large.finding == "unclear"
    assert "but one of its own is shown in Swahili (+10 points), German (-5 points)" in large.answer
    assert large.able


@pytest.mark.parametrize(
    ("low", "high", "p", "finding", "opening"),
    [
        (0.021, 0.2, 0.001, "biased", "Yes: "),
        (0.021, 0.2, 0.06, "unclear", "Unclear: "),  # the test does not reject
        (0.001, 0.2, 0.001, "unclear", "Unclear: "),  # not shown to be beyond the tolerance
        (0.001, 0.003, 0.001, "fair", "No: "),  # a pull of .002
        (-0.02, 0.02, 0.9, "fair", "No: "),
        (-0.03, 0.01, 0.9, "unclear", "Unclear: "),
        (-0.2, -0.03, 0.001, "biased", "Yes, but away from its culture: "),
    ],
)
def test_the_mean_pull_of_languages_decides(low, high, p, finding, opening):
    verdict = judgement(low, high, p=p)
    assert verdict.finding == finding
    assert verdict.answer.startswith(opening)
    assert bool(verdict.advice) == (finding == "biased" and low > 0)
    assert "12 languages" in verdict.answer


def test_the_tolerance_is_a_setting():
    assert judgement(0.03, 0.04, tolerance=0.05).finding == "fair"
    assert "within 5 points" in judgement(0.03, 0.04, tolerance=0.05).answer
    assert judgement(0.06, 0.1, tolerance=0.05).finding == "biased"


def test_fewer_than_six_languages_decide_nothing():
    verdict = judgement(0.3, 0.4, n=5)
    assert verdict.finding == "unclear"
    assert "only 5 languages, at least 6 are needed" in verdict.answer


def test_an_encoder_that_knows_nothing_is_not_called_fair():
    verdict = judgement(-0.01, 0.01, p=0.9, m_sem=0.34, m_cul=0.33, m_non=0.33)
    assert verdict.finding == "unclear"
    assert "the right image wins 34% of trials, not shown to be above chance, 33%" in verdict.answer
    assert judgement(0.03, 0.1, m_sem=0.34, m_cul=0.35, m_non=0.31).finding == "unclear"


def test_culture_that_wins_nearly_always_is_bias_though_meaning_loses():
    assert judgement(0.7, 0.8, m_sem=0.1, m_cul=0.85, m_non=0.05).finding == "biased"


def test_an_encoder_that_knows_one_language_of_twelve_is_not_called_fair():
    wins = dict.fromkeys(LANGUAGE, (110, 110, 110)) | dict.fromkeys(("USA", "UK", "Australia"), (330, 0, 0))
    verdict = judged(counted(wins))
    assert verdict.finding == "unclear"
    assert "more often than by chance in only 1 of 12 languages" in verdict.answer
    assert "not shown to win more often than by chance in Arabic, German, " in verdict.evidence[0]


def test_languages_that_are_not_known_forbid_fair():
    known = dict.fromkeys(LANGUAGE, (3000, 10, 10))
    assert judged(counted(known)).finding == "fair"
    verdict = judged(counted(known | {"Kenya": (1010, 1000, 1010)}))
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(
        "Unclear: the languages together have no pull, but who knows nothing has none either, and the right "
        "image is not shown to win more often than by chance in Swahili. As it is, "
    )


def test_constant_vectors_are_unclear_and_the_ties_are_counted():
    constant = {country: np.ones((10, 3)) for country in LANGUAGE}
    for ties in ("first", "all", "split"):
        verdict = judged(constant, ties=ties)
        assert verdict.finding == "unclear"
        assert ties == "split" or "160 of 160 trials are ties, and they decide the finding" in verdict.answer
        assert any(line.startswith("160 of 160 trials are ties: ") for line in verdict.evidence)


def test_ties_that_decide_nothing_are_said_all_the_same():
    scores = counted(dict.fromkeys(LANGUAGE, (100, 0, 0)))
    scores["Kenya"][0] = 1
    verdict = judged(scores)
    assert verdict.finding == "fair"
    assert "1 of 1,600 trials are ties" in " ".join(verdict.evidence)


def test_a_random_direction_for_each_language_is_no_tie():
    # Six languages lie towards their country, six as far away: each is certain, together they are none.
    signs = dict(zip(sorted(set(LANGUAGE.values())), [1, -1] * 6, strict=True))
    wins = {c: (180, 20, 0) if signs[code] > 0 else (180, 0, 20) for c, code in LANGUAGE.items()}
    verdict = judged(counted(wins), replicates=1000)
    assert verdict.finding == "unclear"
    assert "12 of 12 languages have a pull of their own: Arabic +10 points" in " ".join(verdict.evidence)


def test_the_same_pull_in_every_language_is_a_tie():
    verdict = judged(counted(dict.fromkeys(LANGUAGE, (180, 18, 2))))
    assert verdict.finding == "biased"
    assert "in the mean of 12 languages the difference is +8.0 points" in verdict.answer


def test_languages_with_a_pull_of_their_own_are_named():
    def said(**pulls):
        return " ".join(judgement(-0.01, 0.01, **pulls).evidence)

    assert "none of 2 languages has a pull of its own" in said(th=0.01, hi=0.02)
    assert "1 of 3 languages has a pull of its own: Thai +30 points." in said(th=0.3, hi=0.0, en=-0.02)
    assert "2 of 2 languages have a pull of their own: Thai +30 points, Hindi -20 points." in said(
        th=0.3, hi=-0.2
    )


def test_the_first_direction_is_judged():
    _, table, _ = audited(1.4)
    answers = {
        name: ASSOCIATION.judge(table, ASSOCIATION.configure({"directions": [name]})).answer
        for name in (TEXT, "image-to-image")
    }
    for name, answer in answers.items():
        assert with_interval(table.one("mean pull of languages", direction=name), "+.1f") in answer


def test_evidence_says_how_to_exclude_trials_of_one_language():
    said = {
        strict: ASSOCIATION.judge(numbers(0.1, 0.2), ASSOCIATION.configure({"strict": strict})).evidence[-1]
        for strict in (False, True)
    }
    assert said[False].startswith("In 10% of trials")
    assert "`--setting association.strict=true`" in said[False]
    assert said[True].endswith("they are excluded.")


def test_evidence_names_the_countries_where_culture_gains_most():
    _, table, options = audited(1.4)
    worst = table.by("country", "M_cul - M_non", direction=TEXT).table.sort("value", descending=True)
    assert any(worst["country"][0] in line for line in ASSOCIATION.judge(table, options).evidence)
