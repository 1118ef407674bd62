import numpy as np
import pytest

from equiview.audits import Settings
from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.data.headline import Headline, ratio
from equiview.data.metric import quantity
from equiview.data.values import Values, column
from equiview.stats import holm, mean_interval

SETTINGS = Settings(replicates=1000)
SCORES = np.random.default_rng(0).random((50, 3))


def test_a_summary_has_the_mean_interval_and_floor_of_every_column():
    values = Values.of(
        [f"q{row}" for row in range(50)],
        [
            column("R", SCORES[:, 0], k=1, chance=0.25, language="sw"),
            column("SP", np.where(SCORES[:, 1] > 0.5, SCORES[:, 1], np.nan)),
        ],
    )
    estimates = summarise(values, SETTINGS)
    row = estimates.one("R", 1, language="sw")
    assert row.value == pytest.approx(SCORES[:, 0].mean())
    assert row.excess == pytest.approx(row.value - 0.25)
    assert row.low < row.value < row.high
    assert estimates.one("SP").n == (SCORES[:, 1] > 0.5).sum()
    expected = mean_interval(SCORES[:, 0], clusters=values.clusters)
    assert (row.low, row.high) == (float(expected.low), float(expected.high))


def test_gaps_and_ratios_are_of_the_same_draws():
    first, second, _ = Replicates.of(SCORES, SETTINGS).split()
    gap, quotient = first.gap(second), first.ratio(second)
    assert float(gap.value) == pytest.approx(SCORES[:, 0].mean() - SCORES[:, 1].mean())
    np.testing.assert_allclose(gap.draws, first.draws - second.draws)
    np.testing.assert_allclose(quotient.draws, first.draws / second.draws)
    assert float(first.gap(first).draws.max()) == 0


def test_a_headline_of_several_means_varies_all_of_them():
    means = Replicates.of(SCORES, SETTINGS)
    sp = Headline(quantity("SP"), of=(quantity("a"), quantity("b")), combine=ratio)
    np.testing.assert_allclose(means[:2].headline(sp).draws, means.draws[:, 0] / means.draws[:, 1])


def test_tests_of_one_family_are_corrected_together():
    rows = Rows()
    measured = Replicates.of(SCORES[:, :1], SETTINGS)[0]
    for name, p in (("x", 0.01), ("y", 0.04)):
        rows.add(quantity("gap", language=name), measured, 50, 0.0, p=p, family="gap")
    rows.add(quantity("other"), measured, 50, p=0.03, family="other")
    rows.add(quantity("untested"), measured, 50, judged=False)
    estimates = rows.estimates()
    assert [row.p_holm for row in estimates.by("language", "gap")] == holm([0.01, 0.04]).tolist()
    assert estimates.one("other").p_holm == 0.03
    assert estimates.one("untested").p_holm is None
    assert estimates.one("untested").judged is False


def test_what_is_named_among_many_has_a_simultaneous_interval():
    rows = Rows()
    for name, column_ in zip("xyz", Replicates.of(SCORES, SETTINGS).split(), strict=True):
        rows.add(quantity("gap", language=name), column_, 50, among="gaps")
    rows.add(quantity("alone"), Replicates.of(SCORES[:, :1], SETTINGS)[0], 50)
    known = Replicates.of(SCORES[:, :1], SETTINGS).draws[:, 0]
    rows.add_known(quantity("known"), (0.5, 0.4, 0.7), 50, draws=known, among="gaps")
    estimates = rows.estimates()
    for row in (*estimates.by("language", "gap"), estimates.one("known")):
        many = row.of_many()
        times = (row.value - many.low) / (row.value - row.low)
        assert 1.15 < times < 1.35  # 2.39 / 1.96 = 1.22 were they independent and three
        assert many.high - row.value == pytest.approx(times * (row.high - row.value))
    assert estimates.one("alone").of_many() == estimates.one("alone")


def test_a_summary_by_language_has_simultaneous_intervals():
    columns = [column("R", SCORES[:, place] > 0.1, k=1, language=name) for place, name in enumerate("xyz")]
    values = Values.of(
        [f"q{row}" for row in range(50)], [*columns, column("R", SCORES.mean(axis=1) > 0.1, k=1)]
    )
    estimates = summarise(values, SETTINGS)
    for row in estimates.by("language", "R", 1):
        assert row.of_many().low < row.low < row.value < row.high <= row.of_many().high <= 1
    assert estimates.one("R", 1).low_all is None


def test_an_interval_holds_its_value_even_for_a_maximum():
    rows = Rows()
    rows.add(quantity("range"), Replicates(np.asarray(0.9), np.linspace(0, 0.8, 100)), 50)
    assert rows.estimates().one("range").high == 0.9


def test_known_ends_are_kept_as_they_are():
    rows = Rows()
    rows.add_known(quantity("alpha-hat"), (0.5, 0.25, 0.5), 10)
    assert f"{rows.estimates().one('alpha-hat'):.2f}" == "0.50 [0.25, 0.50]"


def test_parts_that_have_nothing_are_passed_over():
    rows = Rows()
    assert rows.estimates() is None
    rows.add_known(quantity("a"), (0, 0, 0), 1)
    assert len(joined([None, rows.estimates(), Rows().estimates()])) == 1


def test_nine_clusters_have_no_interval_and_ten_have_one():
    for n in (9, 10):
        rows = Rows()
        labels = np.repeat(np.arange(n), 3)
        drawn = Replicates.of(np.random.default_rng(0).random((3 * n, 2)), SETTINGS, clusters=labels)
        first, second = drawn.split()
        rows.add(quantity("R"), first, 3 * n)
        rows.add(quantity("gap"), first.gap(second), 3 * n)
        rows.add(quantity("ratio"), first.ratio(second), 3 * n)
        rows.add(quantity("SP"), drawn.headline(Headline(quantity("SP"), (quantity("a"),) * 2, ratio)), 3 * n)
        estimates = rows.estimates()
        assert [row.has_interval for row in estimates] == [n == 10] * 4
        assert estimates.table["low"].null_count() == (4 if n == 9 else 0)
        few = summarise(Values.of(range(n), [column("R", np.arange(n) / 20)]), SETTINGS).one("R")
        assert few.has_interval == (n == 10)
        assert few.value == pytest.approx((n - 1) / 40)
    assert f"{few:.2f}".startswith("0.2")


def test_rows_keep_their_order_with_and_without_intervals():
    rows = Rows()
    draws = np.linspace(0, 1, 100)
    for name, n in (("a", 20), ("b", 3), ("c", 20)):
        rows.add(quantity(name), Replicates(np.asarray(0.5), draws), n)
    assert rows.estimates().table["metric"].to_list() == ["a", "b", "c"]


def test_replicates_of_unknown_origin_count_queries():
    rows = Rows()
    rows.add(quantity("a"), Replicates(np.asarray(0.5), np.linspace(0, 1, 100)), 9)
    rows.add(quantity("b"), Replicates(np.asarray(0.5), np.linspace(0, 1, 100)), 10)
    estimates = rows.estimates()
    assert not estimates.one("a").has_interval
    assert estimates.one("b").has_interval


def test_estimates_stand_in_the_order_in_which_they_are_added():
    rows = Rows()
    measured = Replicates.of(SCORES[:, :1], SETTINGS)[0]
    rows.add(quantity("first"), measured, 50)
    rows.add_known(quantity("second"), (0.5, 0.4, 0.6), 50)
    rows.add(quantity("third"), measured, 50)
    assert rows.estimates().table["metric"].to_list() == ["first", "second", "third"]
