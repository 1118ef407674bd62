import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.audits.knowledge import KNOWLEDGE
from equiview.audits.knowledge.answers import Answered
from equiview.audits.knowledge.sharing import both_if_independent, consistency
from equiview.data.estimates import Estimates
from equiview.errors import InputError
from equiview.metrics import answer_consistency, independent_consistency
from tests.audits import steps
from tests.audits.knowledge.quizzes import observed

SETTINGS = KNOWLEDGE.configure({"replicates": 200})
measured = partial(steps.measured, KNOWLEDGE)
# de  en  fr, and the region of each question
TABLE = (
    ((1, 1, 1), "de"),
    ((1, 1, 0), "de"),
    ((1, 0, 0), "fr"),
    ((0, 1, 1), "fr"),
    ((0, 1, 1), "fr"),
    ((0, 1, 0), "en"),
)


@pytest.fixture(scope="module")
def estimates() -> Estimates:
    return steps.measured(
        KNOWLEDGE, observed([row for row, _ in TABLE], regions=[region for _, region in TABLE]), SETTINGS
    )


def value(estimates: Estimates, metric: str, **keys: str) -> float:
    return estimates.one(metric, **keys).value


def test_accuracy_by_setting_language_and_region(estimates: Estimates) -> None:
    assert value(estimates, "accuracy", setting="EN") == pytest.approx(5 / 6)
    # local: de, de, fr, fr, fr, en
    assert value(estimates, "accuracy", setting="LOC") == pytest.approx((1 + 1 + 0 + 1 + 1 + 1) / 6)
    # pairs (region, language): de-fr 1/2, fr-de 1/3, en-de 0, en-fr 0
    assert value(estimates, "accuracy", setting="GLO") == pytest.approx((1 / 2 + 1 / 3 + 0 + 0) / 4)
    assert value(estimates, "accuracy", language="de") == pytest.approx(1 / 2)
    assert value(estimates, "accuracy", region="fr") == pytest.approx((1 + 2 + 2) / 9)
    assert value(estimates, "accuracy") == pytest.approx(11 / 18)
    assert estimates.one("accuracy", setting="EN").chance == 0.25
    assert value(estimates, "skill", language="de") == pytest.approx(1 / 4)


def test_consistency_by_pair_and_by_region(estimates: Estimates) -> None:
    # de right in 3, en in 5, both in 2
    assert value(estimates, "consistency", language="de", other="en") == pytest.approx((2 / 3 + 2 / 5) / 2)
    # in the region of fr: fr right in 2, de in 1, both in none; en in 2, both in 2
    assert value(estimates, "consistency", region="fr", language="de") == 0
    assert value(estimates, "consistency", region="fr", language="en") == 1
    assert value(estimates, "consistency", region="fr") == pytest.approx(1 / 2)
    # in the region of de: de 2, en 2, both 2; fr 1, both 1
    assert value(estimates, "consistency", region="de") == pytest.approx((1 + 3 / 4) / 2)
    # in the region of en nothing else is right: neither pair is defined
    assert estimates.maybe("consistency", region="en") is None
    cells = estimates.one("undefined cells")
    assert (cells.value, cells.n) == (2, 6)
    assert value(estimates, "consistency") == pytest.approx((0 + 1 + 1 + 3 / 4) / 4)
    pairs = [(2 / 3 + 2 / 5) / 2, (1 / 3 + 1 / 3) / 2, (3 / 5 + 3 / 3) / 2]
    assert value(estimates, "consistency", over="all-questions") == pytest.approx(np.mean(pairs))
    floors = [(3 / 6 + 5 / 6) / 2, (3 / 6 + 3 / 6) / 2, (5 / 6 + 3 / 6) / 2]
    assert estimates.one("consistency", over="all-questions").chance == pytest.approx(np.mean(floors))


def test_the_diagonal_can_be_averaged_as_the_released_code_does() -> None:
    rows, regions = [row for row, _ in TABLE], [region for _, region in TABLE]
    with_diagonal = KNOWLEDGE.configure({"replicates": 200, "include_diagonal": True})
    estimates = measured(observed(rows, regions=regions), with_diagonal)
    assert value(estimates, "consistency") == pytest.approx((0 + 1 + 1 + 3 / 4 + 3) / 7)
    assert estimates.maybe("consistency", region="fr", language="fr") is None


def test_differences_of_languages(estimates: Estimates) -> None:
    # de less the mean of the others: 0, 1/2, 1, -1, -1, -1/2
    assert value(estimates, "shift", language="de") == pytest.approx(-1 / 6)
    # local less the other local language, regions alike: de 0 and 1, fr -1, 1 and 1
    assert value(estimates, "local advantage") == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert estimates.one("local advantage").n == 5
    assert estimates.one("shift", language="de").judged is False


def test_what_a_language_is_bad_at_everywhere_is_no_local_advantage() -> None:
    rows = [(1, 1, 0)] * 7
    estimates = steps.measured(
        KNOWLEDGE, observed(rows, regions=["de", "de", "de", "de", "fr", "en", "en"]), SETTINGS
    )
    assert value(estimates, "local advantage") == pytest.approx(0)
    assert value(estimates, "accuracy", setting="LOC") - value(estimates, "accuracy", setting="GLO") != 0


def test_unread_replies_are_wrong_and_counted() -> None:
    estimates = measured(observed([(1, -1, 1), (0, -1, 1), (1, 1, 1), (1, 1, -1)]), SETTINGS)
    assert value(estimates, "unread") == pytest.approx(3 / 12)
    assert value(estimates, "unread", language="en") == 1 / 2
    assert value(estimates, "read", rule="letter") == pytest.approx(9 / 12)
    assert value(estimates, "accuracy", language="en") == 1 / 2
    assert estimates.maybe("consistency") is None
    assert value(estimates, "consistency", over="all-questions") > 0


def test_a_question_must_be_answered_in_every_language() -> None:
    whole = observed([(1, 1, 1), (0, 0, 1)])
    answers = whole["answers"]
    for wrong in (answers[:-1], answers[[0, 0, 1, 2, 3, 4]], answers.filter(language="en")):
        with pytest.raises(InputError, match="table 'answers'"):
            steps.measured(
                KNOWLEDGE, type(whole)({"answers": wrong, "pictures": whole["pictures"]}), SETTINGS
            )


tables = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=4, max_size=12)
)


@given(tables, st.integers(0, 2**31))
@settings(max_examples=40)
def test_a_plain_loop_gives_the_same(correct: list[list[int]], seed: int) -> None:
    languages = ("de", "en", "fr", "sw")[: len(correct[0])]
    rng = np.random.default_rng(seed)
    regions = [str(name) for name in rng.choice(languages, len(correct))]
    estimates = measured(observed(correct, languages, regions), SETTINGS)

    cells, shares, undefined = [], [], 0
    for region in sorted(set(regions)):
        rows = [row for row, own in zip(correct, regions, strict=True) if own == region]
        for at, language in enumerate(languages):
            if language not in ("en", region):
                shares.append(sum(row[at] for row in rows) / len(rows))
            if language == region:
                continue
            own = languages.index(region)
            n_x, n_y = sum(row[own] for row in rows), sum(row[at] for row in rows)
            n_xy = sum(row[own] * row[at] for row in rows)
            if n_x and n_y:
                cells.append((n_xy / n_x + n_xy / n_y) / 2)
            else:
                undefined += 1
    if shares:
        assert value(estimates, "accuracy", setting="GLO") == pytest.approx(np.mean(shares))
    if cells:
        assert value(estimates, "consistency") == pytest.approx(np.mean(cells))
    missing = estimates.maybe("undefined cells")
    assert (missing.value if missing else 0) == undefined


@given(tables)
@settings(max_examples=40)
def test_pairs_agree_with_the_metrics(correct: list[list[int]]) -> None:
    languages = ("de", "en", "fr", "sw")[: len(correct[0])]
    estimates = measured(observed(correct, languages), SETTINGS)
    by_metric, floor = answer_consistency(correct), independent_consistency(correct)
    for x, y in Answered(observed(correct, languages), SETTINGS).pairs():
        row = estimates.maybe("consistency", language=languages[x], other=languages[y])
        assert (row is None) == np.isnan(by_metric[x, y])
        if row is not None:
            assert (row.value, row.chance) == pytest.approx((by_metric[x, y], floor[x, y]))


def test_shares_behave_at_their_ends() -> None:
    assert consistency(0.5, 0.5, 0.5) == 1
    assert both_if_independent(0.5, 0.5) == 0.25


def test_a_headline_of_consistency_is_the_estimate() -> None:
    rng = np.random.default_rng(0)
    observations = observed((rng.random((60, 3)) < 0.6).astype(int).tolist())
    headline = KNOWLEDGE.headlines[0]
    table = steps.valued(KNOWLEDGE, observations, SETTINGS)
    means = np.nanmean(table.at(*headline.columns(table)), axis=0)
    wanted = measured(observations, SETTINGS).at(headline.quantity)
    assert wanted is not None
    assert float(headline.combine(means)) == pytest.approx(wanted.value)


def test_45_000_answers_are_measured_in_seconds() -> None:
    languages = ("ar", "de", "el", "en", "es", "fr", "he", "it", "ja", "ko", "pt", "ru", "sr", "th", "zh")
    rng = np.random.default_rng(0)
    known = rng.random((3000, 1)) < 0.5
    correct = (known | (rng.random((3000, 15)) < 0.25)).astype(int).tolist()
    regions = [languages[row % 15] for row in range(3000)]
    observations = observed(correct, languages, regions, [f"i{row // 2}" for row in range(3000)])
    began = time.process_time()
    estimates = measured(observations, KNOWLEDGE.configure({}))
    assert time.process_time() - began < 10
    assert abs(value(estimates, "lost consistency")) < 0.02
    assert len(estimates.by(("region", "language"), "consistency")) == 15 * 14
