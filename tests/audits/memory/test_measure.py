"""The numbers, against plain loops over tables with missing cells, and on tables one can check by eye."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from labs.error_rates.memory import LANGUAGES, observed

from equiview.audits.memory import MEMORY, METRICS
from equiview.audits.memory.cells import Cells, matched_shifts
from equiview.data.metric import quantity
from equiview.metrics import score_consistency
from tests.audits import steps

nan = math.nan
TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 2), st.integers(2, 12), st.integers(2, 4)),
    elements=st.one_of(st.just(nan), st.floats(0, 2.5, width=16)),
)


def measured(own, others=None, **options):
    own = np.asarray(own, dtype=float)
    others = np.zeros_like(own) if others is None else np.asarray(others, dtype=float)
    chosen = MEMORY.configure({"replicates": 100, **options})
    observations = observed(own, others)
    return steps.measured(MEMORY, observations, chosen), steps.valued(MEMORY, observations, chosen)


def mean(numbers):
    numbers = [number for number in numbers if not math.isnan(number)]
    return sum(numbers) / len(numbers) if numbers else nan


def by_loops(own, diagonal=False):
    """EN, LOC, GLO and consistency as the paper defines them, missing scores left out pairwise."""
    n_landmarks, n_languages = own.shape[1:]
    cell = {
        (i, x): mean([own[p, i, x] for p in range(len(own))])
        for i in range(n_landmarks)
        for x in range(n_languages)
    }
    local = {i: i % n_languages for i in range(n_landmarks)}
    wanted = {
        "EN": [cell[i, 0] for i in range(n_landmarks)],
        "LOC": [cell[i, local[i]] for i in range(n_landmarks)],
        "GLO": [cell[i, x] for i in range(n_landmarks) for x in range(1, n_languages) if x != local[i]],
    }
    cells = {}
    for r in range(n_languages):
        for y in range(n_languages):
            if r == y and not diagonal:
                continue
            of = [
                i
                for i in range(n_landmarks)
                if local[i] == r and not math.isnan(cell[i, r]) and not math.isnan(cell[i, y])
            ]
            both = sum(min(cell[i, r], cell[i, y]) for i in of)
            alone = [sum(cell[i, z] for i in of) for z in (r, y)]
            if all(alone):
                cells[LANGUAGES[r], LANGUAGES[y]] = (both / alone[0] + both / alone[1]) / 2
    return {setting: mean(numbers) for setting, numbers in wanted.items()}, cells


@settings(max_examples=30)
@given(TABLES, st.booleans())
def test_settings_and_consistency_agree_with_plain_loops(own, diagonal):
    estimates, _ = measured(own, include_diagonal=diagonal)
    wanted, cells = by_loops(own, diagonal)
    for setting, value in wanted.items():
        row = estimates.maybe("score", setting=setting)
        assert (row is None) == math.isnan(value)
        if row is not None:
            assert row.value == pytest.approx(value)
    rows = {
        (row.quantity.keys["region"], row.quantity.keys["language"]): row.value
        for row in estimates.by(("region", "language"), "consistency")
    }
    assert rows == pytest.approx(cells)
    overall = estimates.maybe("consistency")
    assert (overall is None) == (not cells)
    if overall is not None:
        assert overall.value == pytest.approx(mean(cells.values()))
    for region in {region for region, _ in cells}:
        of = [value for (r, _), value in cells.items() if r == region]
        assert estimates.one("consistency", region=region).value == pytest.approx(mean(of))
    n = own.shape[2]
    possible = min(n, own.shape[1]) * (n if diagonal else n - 1)
    assert estimates.one("undefined cells").value == pytest.approx(1 - len(cells) / possible)


def test_a_cell_is_the_metric_on_the_landmarks_of_the_region():
    own = np.random.default_rng(0).random((2, 30, 3))
    estimates, _ = measured(own)
    scores = own.mean(axis=0)[1::3]  # the landmarks of German regions
    expected = score_consistency(scores)[1]
    for place in (0, 2):
        row = estimates.one("consistency", region="de", language=LANGUAGES[place])
        assert row.value == pytest.approx(expected[place])
        assert row.n == 10
        assert row.low <= row.value <= row.high


def test_shuffling_landmarks_gives_the_floor_of_consistency():
    rng = np.random.default_rng(1)
    easy = rng.random((1, 400, 1))
    alike, apart = (
        measured(np.broadcast_to(table, (1, 400, 2)).copy())[0].one("consistency")
        for table in (easy, rng.random((1, 400, 2)))
    )
    assert alike.value == pytest.approx(1)
    assert alike.excess > 0.3
    assert abs(apart.excess) < 0.05


def test_the_floor_of_a_score_is_that_with_other_landmarks():
    own = np.full((1, 12, 2), 0.8)
    others = np.tile([0.5, 0.6], (1, 12, 1))
    estimates, _ = measured(own, others)
    assert estimates.one("score", language="de").chance == pytest.approx(0.6)
    assert estimates.one("score", setting="EN").excess == pytest.approx(0.3)
    assert estimates.one("margin").value == pytest.approx(0.25)


def test_shifts_and_advantages_of_a_table_one_can_read():
    # English, German, Arabic; the second landmark has no German, the third is in an English region.
    own = np.array([[[0.9, 0.6, 0.3], [0.8, nan, 0.6], [0.7, 0.5, 0.3]]])
    own = np.concatenate([own[:, [2, 0, 1]]])  # regions are en, de, ar in turn
    _, values = measured(own)
    assert values.mean("shift", language="en") == pytest.approx(
        ((0.7 - 0.4) + (0.9 - 0.45) + (0.8 - 0.6)) / 3
    )
    assert values.mean("shift", language="de") == pytest.approx(((0.5 - 0.5) + (0.6 - 0.6)) / 2)
    assert values.mean("local advantage") == pytest.approx(0.6 - 0.3)  # the third has no other foreign score
    assert values.mean("English advantage") == pytest.approx(0.9 - 0.3)
    assert values.mean("missing", language="de") == pytest.approx(1 / 3)


@given(
    arrays(np.float64, (2, 3, 3), elements=st.one_of(st.just(nan), st.floats(0, 1))),
    arrays(np.float64, (2, 3, 3), elements=st.integers(0, 30).map(float)),
)
def test_matched_shifts_agree_with_plain_loops(scores, words):
    shifts, share = matched_shifts(scores, words)
    for i in range(3):
        for x in range(3):
            apart, has = [], []
            for p in range(2):
                if math.isnan(scores[p, i, x]):
                    continue
                near = [
                    scores[p, i, y]
                    for y in range(3)
                    if y != x
                    and not math.isnan(scores[p, i, y])
                    and min(words[p, i, x], words[p, i, y]) > 0
                    and 10 * max(words[p, i, x], words[p, i, y]) <= 11 * min(words[p, i, x], words[p, i, y])
                ]
                has.append(bool(near))
                if near:
                    apart.append(scores[p, i, x] - mean(near))
            assert shifts[i, x] == pytest.approx(mean(apart), nan_ok=True)
            assert share[i, x] == pytest.approx(mean(has), nan_ok=True)


def test_what_is_short_alone_has_no_matched_shift():
    rng = np.random.default_rng(2)
    words = np.where(rng.random((2, 200, 3)) < 0.5, 40, 100)
    words[..., 2] = np.where(rng.random((2, 200)) < 0.9, 40, 100)  # one language is short
    own = 0.5 + words / 500 + 0.01 * rng.normal(size=words.shape)
    observations = observed(own, np.zeros_like(own), words)
    estimates = steps.measured(MEMORY, observations, MEMORY.configure({"replicates": 100}))
    assert estimates.one("shift", language="ar").high < -0.03
    matched = estimates.one("matched shift", language="ar")
    assert matched.low < 0 < matched.high
    assert estimates.one("words", language="ar").value < 50
    assert 0.3 < estimates.one("matched", language="ar").value < 1


def test_prompts_are_told_apart():
    own = np.stack([np.full((12, 2), 0.5), np.full((12, 2), 0.7)])
    estimates, _ = measured(own)
    assert [estimates.one("score", setting="LOC", prompt=prompt).value for prompt in "01"] == [0.5, 0.7]
    assert estimates.one("score", setting="LOC").value == pytest.approx(0.6)


def test_tests_are_corrected_together_and_few_landmarks_are_not_judged():
    rng = np.random.default_rng(3)
    own = 0.7 + 0.05 * rng.normal(size=(1, 60, 3)) - 0.1 * np.array([0, 0, 1])
    own[0, 20:, 1] = nan
    estimates, _ = measured(own)
    assert not estimates.one("shift", language="de").judged
    weak = estimates.one("relative shift", language="ar")
    assert weak.judged
    assert weak.p_holm >= weak.p
    assert weak.high < 0


def test_numbers_do_not_depend_on_the_order_of_landmarks():
    own = np.random.default_rng(4).random((2, 24, 3))
    order = np.arange(24).reshape(8, 3)[::-1].ravel()  # so that each keeps its region
    here, there = (measured(table)[0] for table in (own, own[:, order]))
    for row in here:
        assert there.at(row.quantity).value == pytest.approx(row.value)


def test_a_landmark_without_other_landmarks_has_no_margin():
    estimates, _ = measured(np.full((1, 1, 2), 0.5), np.full((1, 1, 2), nan))
    assert estimates.maybe("margin") is None
    assert estimates.one("score", setting="EN").chance is None


def test_every_number_is_of_a_known_metric_and_in_its_range():
    own = np.random.default_rng(5).random((2, 40, 4))
    estimates, _ = measured(own, own / 2)
    known = {metric.name: metric for metric in METRICS}
    for row in estimates:
        low, high = known[row.quantity.metric].range
        least, most = (row.low, row.high) if row.has_interval else (row.value, row.value)
        assert low is None or low <= least <= row.value
        assert high is None or row.value <= most <= high


def test_cells_are_read_by_name_whatever_their_order():
    own = np.random.default_rng(6).random((2, 6, 3))
    observations = observed(own, own)
    mixed = dict(observations.tables) | {
        "scores": observations["scores"].sample(fraction=1, shuffle=True, seed=1)
    }
    cells = Cells.of(type(observations)(mixed))
    np.testing.assert_array_equal(cells.by_prompt, own)
    assert cells.settings["LOC"].sum() == 6


def test_headlines_are_computed_from_values():
    own = np.random.default_rng(7).random((2, 30, 3))
    estimates, values = measured(own)
    for headline in MEMORY.headlines:
        columns = headline.columns(values)
        assert columns
        means = np.nanmean(values.at(*columns), axis=0)
        assert float(headline.combine(means)) == pytest.approx(estimates.at(headline.quantity).value)
        assert np.isfinite(headline.slopes(means)).all()
    assert quantity("consistency") in [headline.quantity for headline in MEMORY.headlines]
