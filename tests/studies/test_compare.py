from dataclasses import replace

import numpy as np
import pytest

from equiview.audits import label_of
from equiview.audits.execute import execute
from equiview.audits.parity.spread import SPREADS, spread_headline
from equiview.benchmarks import load_benchmark
from equiview.data.comparison import AFTER, BASE, BEFORE, quantity_of
from equiview.data.headline import Headline, ratio
from equiview.data.metric import quantity
from equiview.data.values import ValueColumn, Values
from equiview.errors import InputError
from equiview.stats import holm
from equiview.studies import compare, paired
from equiview.studies.compare import compared as compared_early
from equiview.studies.differences import difference, differences
from equiview.subjects import load_subject
from tests.conftest import write_world


def run_of(folder, name, out, **settings):
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    return execute(subject, benchmark, ["prevalence"], out, name=name, settings={"prevalence": settings})


@pytest.fixture
def runs(tmp_path):
    worlds = {
        name: write_world(tmp_path / name, skew=skew, images=120)
        for name, skew in (("even", 0.0), ("skewed", 4.0))
    }
    return [run_of(world, name, tmp_path / f"run-{name}") for name, world in worlds.items()]


def test_the_difference_is_of_the_second_less_the_first_and_lies_in_its_interval(runs):
    table = compare(runs)
    assert table.columns == [*BEFORE, "tier", "grouping", "ideal", *AFTER]
    row = table.filter(metric="DLBKL", k=10, grouping="tier").row(0, named=True)
    assert label_of("prevalence", quantity_of(row)) == "DLBKL@10, by tier"
    assert (row["a"], row["b"], row["n"]) == ("even", "skewed", 120)
    assert row["difference"] == pytest.approx(row["value_b"] - row["value_a"])
    assert row["low"] < row["difference"] < row["high"]
    assert row["low"] > 0
    assert row["p_holm"] < 0.01
    values = [run.estimates.one("DLBKL", 10, grouping="tier").value for run in runs]
    assert [row["value_a"], row["value_b"]] == pytest.approx(values)


def compared(headline, first, second):
    """The row of a comparison of two systems whose values are given by column, one row a query."""
    columns = headline.of or (headline.quantity,)
    tables = [
        Values.of(
            [f"q{row}" for row in range(len(matrix))],
            [ValueColumn(wanted, matrix[:, at]) for at, wanted in enumerate(columns)],
        )
        for matrix in (first, second)
    ]
    return difference(headline, *tables, replicates=2000, seed=0)


SP = Headline(quantity("SP"), of=(quantity("M_cul"), quantity("M_sem")), combine=ratio)


def test_a_ratio_is_compared_as_a_ratio():
    # Cultural and semantic wins of 200 trials: SP is 60/120 for the first and 20/160 for the second.
    first = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [60, 120, 20], axis=0)
    second = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [20, 160, 20], axis=0)
    row = compared(SP, first, second)
    assert (row["value_a"], row["value_b"]) == (0.5, 0.125)
    assert row["difference"] == -0.375
    assert row["low"] < -0.375 < row["high"] < 0
    assert row["p"] < 0.01
    assert compared(SP, first, first)["p"] == 1


@pytest.mark.parametrize("headline", [SP, Headline(quantity("M_cul")), spread_headline("sd", "classify")])
def test_pairs_of_many_systems_are_those_of_each_pair_alone(headline):
    rng = np.random.default_rng(5)
    columns = headline.of or (headline.quantity,)
    if headline.pick:
        columns = [quantity("accuracy", task="classify", language=code) for code in ("de", "en", "sw")]
    systems = []
    for place in range(9):
        matrix = (rng.random((90, len(columns))) < 0.3 + 0.05 * place).astype(float)
        if place == 6:
            matrix[:20, 0] = np.nan  # its pairs leave these queries out
        entries = [ValueColumn(wanted, matrix[:, at]) for at, wanted in enumerate(columns)]
        systems.append(Values.of([f"q{row}" for row in range(90)], entries))
    pairs = [(a, b) for b in range(9) for a in range(b)]
    rows = differences(headline, systems, pairs, replicates=400, seed=1)
    alone = [difference(headline, systems[a], systems[b], replicates=400, seed=1) for a, b in pairs]
    assert rows == alone
    assert len({row["p"] for row in rows}) > 5


def test_a_ratio_over_nothing_differs_in_nothing():
    never = np.repeat([[1.0, 0.0], [0.0, 0.0]], [30, 30], axis=0)
    row = compared(SP, never, never)
    assert (row["value_a"], row["difference"], row["low"], row["p"]) == (np.inf, None, None, 1)


def test_equal_ratios_of_different_sizes_are_seldom_told_apart():
    # Two systems with the same relative gap: one has gap and margin twice as large. The margin's own spread
    # must count, or such pairs are told apart far more often than one time in twenty.
    relative = Headline(
        quantity("relative gap"),
        of=(quantity("gap"), quantity("right"), quantity("wrong")),
        combine=lambda means: means[..., 0] / (means[..., 1] - means[..., 2]),
    )
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(200):
        first = np.array([0.1, 0.6, 0.2]) + rng.normal(size=(80, 3)) * [0.03, 0.2, 0.2]
        second = np.array([0.2, 1.0, 0.2]) + rng.normal(size=(80, 3)) * [0.06, 0.4, 0.4]
        rejected += compared(relative, first, second)["p"] < 0.05
    assert rejected <= 20


def test_a_query_that_one_system_was_not_asked_takes_no_part():
    first, second = np.array([[1.0], [0.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [np.nan], [1.0]])
    row = compared(Headline(quantity("R", 1)), first, second)
    assert row["n"] == 3
    assert row["difference"] == pytest.approx(1 / 3)
    assert row["difference"] == pytest.approx(row["value_b"] - row["value_a"])


def test_a_run_against_its_twin_differs_in_nothing(tmp_path):
    folder = write_world(tmp_path / "w")
    twins = [run_of(folder, name, tmp_path / name) for name in ("one", "two")]
    table = compare(twins)
    assert table["difference"].abs().max() == 0
    assert table["p_holm"].min() == 1


def test_runs_over_other_items_do_not_compare(tmp_path, runs):
    other = run_of(write_world(tmp_path / "o", images=30), "other", tmp_path / "run-o")
    with pytest.raises(InputError, match="only runs over the same items, with an audit in common, compare"):
        compare([runs[0], other])


def test_comparing_needs_two_different_runs(runs):
    with pytest.raises(InputError, match="at least two"):
        compare(runs[:1])
    with pytest.raises(InputError, match="two runs are of 'even'"):
        compare([runs[0], runs[0]])


def test_runs_of_other_settings_are_refused_by_name_and_value(tmp_path):
    folder = write_world(tmp_path / "w", images=30)
    pool = run_of(folder, "pool", tmp_path / "pool", prior="pool")
    uniform = run_of(folder, "uniform", tmp_path / "uniform", prior="uniform")
    words = r"audit 'prevalence' was run with prior \"pool\" in .*pool and \"uniform\" in .*uniform"
    with pytest.raises(InputError, match=words):
        compare([pool, uniform])


def test_runs_of_other_seeds_and_replicates_compare(tmp_path):
    folder = write_world(tmp_path / "w", images=30)
    first = run_of(folder, "first", tmp_path / "first", seed=1, replicates=500)
    second = run_of(folder, "second", tmp_path / "second", seed=2, replicates=900)
    assert compare([first, second])["difference"].abs().max() == 0


def test_rows_of_runs_that_were_compared_before_are_used_as_they_are(runs):
    early = compared_early(runs)
    assert [audit for audit, _ in early] == ["prevalence"]
    assert paired(runs, None, early).equals(compare(runs))
    (rows,) = early.values()
    rows[0]["difference"] = 7.0
    assert paired(runs, None, early)["difference"][0] == 7
    assert compared_early(runs[:1]) == {("prevalence", ((runs[0].folder, "even"),)): []}
    assert paired([replace(runs[0], label="other"), runs[1]], None, early)["a"][0] == "other"


def test_against_one_run_every_other_is_compared_with_it_alone(tmp_path):
    worlds = [write_world(tmp_path / f"w{skew}", skew=skew, images=120) for skew in (0.0, 1.0, 4.0)]
    three = [run_of(world, name, tmp_path / name) for world, name in zip(worlds, "xyz", strict=True)]
    table = compare(three, against=three[1])
    assert set(table.select("a", "b").unique().iter_rows()) == {("y", "x"), ("y", "z")}
    assert compare([three[0], three[2]], against=three[1]).equals(
        compare([three[1], three[0], three[2]], against=three[1])
    )
    every = compare(three)
    assert len(every) == 3 * len(table) // 2
    same = every.filter(a="y", b="z").join(
        table.filter(b="z"), on=("metric", "k", "grouping", "ideal", "tier"), nulls_equal=True
    )
    assert (same["p"] == same["p_right"]).all()
    assert (same["p_holm_right"] <= same["p_holm"]).all()
    with pytest.raises(InputError, match="at least two"):
        compare([three[0]], against=three[0])


def test_a_clear_difference_is_shown_among_many_systems():
    # R@1 of .025 against .427: 10,000 draws reach no less than 1 / 10,001, which 528 tests make .05 at least.
    rng = np.random.default_rng(0)
    first, second = rng.random((1000, 1)) < 0.025, rng.random((1000, 1)) < 0.427
    row = compared(Headline(quantity("R", 1)), first.astype(float), second.astype(float))
    assert row["p"] * 528 < 1e-50


def of_languages(rates, images=300, seed=0):
    """Right answers in as many languages as there are rates."""
    right = np.random.default_rng(seed).random((images, len(rates))) < rates
    return Values.of(
        [f"q{row}" for row in range(images)],
        [
            ValueColumn(quantity("R", 1, task="t", language=f"l{at:02d}"), right[:, at].astype(float))
            for at in range(len(rates))
        ],
    )


@pytest.mark.parametrize("spread", ["range", "sd"])
def test_even_systems_of_two_levels_have_no_spread_to_tell_apart(spread):
    headline = Headline(
        quantity(f"{spread} over languages", task="t"),
        combine=SPREADS[spread],
        smooth=False,
        pick=lambda values: values.quantities,
    )
    perfect, lower = of_languages(np.ones(12)), of_languages(np.full(12, 0.86), seed=1)
    uneven = of_languages(np.linspace(0.6, 1.0, 12), seed=2)
    row = difference(headline, perfect, lower, replicates=2000, seed=0)
    assert row["value_a"] == 0 < row["value_b"]  # as published
    assert row["p"] > 0.05
    assert difference(headline, lower, uneven, replicates=2000, seed=0)["p"] * 66 < 0.001


def test_p_is_corrected_over_the_pairs_of_a_headline_and_not_over_headlines(tmp_path):
    worlds = [write_world(tmp_path / f"w{skew}", skew=skew, images=60) for skew in (0.0, 1.0, 4.0)]
    table = compare([run_of(world, name, tmp_path / name) for world, name in zip(worlds, "xyz", strict=True)])
    keys = [name for name in table.columns if name not in BASE]
    for _, family in table.group_by("metric", "k", *keys):
        assert len(family) == 3
        assert family["p_holm"].to_list() == pytest.approx(holm(family["p"].to_numpy()).tolist())


def test_what_a_classifier_has_learnt_is_shared_by_all_that_it_tests():
    # Ten classifiers, each 5 points off by what it happened to learn: images alone would call that certain.
    rng = np.random.default_rng(0)
    columns = [quantity("LIC", attribute="gender", seed=str(at)) for at in range(10)]
    headline = Headline(
        quantity("LIC", attribute="gender"),
        combine=lambda means: means.mean(axis=-1),
        pick=lambda values: tuple(entry for entry in values.quantities if "seed" in entry.keys),
        tested="test_share",
    )

    def captioner(shift):
        own = np.full((1000, 10), np.nan)
        for at in range(10):
            own[at * 100 : at * 100 + 100, at] = shift + rng.normal(0, 0.05) + rng.normal(0, 0.02, 100)
        listed = [ValueColumn(headline.quantity, np.nanmean(own, axis=1))]
        listed += [ValueColumn(wanted, own[:, at]) for at, wanted in enumerate(columns)]
        return Values.of([f"q{row}" for row in range(1000)], listed)

    blind = [captioner(0.0) for _ in range(40)]
    pairs = list(zip(blind[::2], blind[1::2], strict=True))
    plain = Headline(headline.quantity)
    told = [difference(headline, a, b, replicates=500, seed=0, share=0.1)["p"] <= 0.05 for a, b in pairs]
    naive = [difference(plain, a, b, replicates=500, seed=0)["p"] <= 0.05 for a, b in pairs]
    assert sum(told) <= 2
    assert sum(naive) >= 10
    row = difference(headline, blind[0], captioner(0.3), replicates=500, seed=0, share=0.1)
    assert row["p"] < 0.01
    assert row["low"] < row["difference"] < row["high"]


def test_a_hub_that_all_queries_share_is_no_difference_and_many_captions_are():
    # Each of 200 queries shows a Swahili caption in one system and an English one in the other.
    def values(shown, images):
        queries = Values.of(
            range(200), [ValueColumn(SHARE, np.full(200, shown)), ValueColumn(BLIND, np.full(200, 0.5))]
        )
        held = np.zeros(200)
        held[:images] = 200 / images
        shared = [ValueColumn(SHARE, shown * held), ValueColumn(BLIND, 0.5 * held)]
        return replace(queries, shared=(Values.of(range(200), shared),))

    headline = Headline(quantity("exposure ratio", 1), of=(SHARE, BLIND), combine=ratio)
    p = {}
    for images in (1, 200):
        tables = (values(shown, images) for shown in (1.0, 0.0))
        found = difference(headline, *tables, replicates=500, seed=0)
        assert (found["value_a"], found["value_b"], found["n"]) == (2.0, 0.0, 200)
        p[images] = found["p"]
    assert p[1] > 0.5
    assert p[200] < 1e-6


def test_columns_that_were_asked_of_different_queries_are_tested_together():
    # Of half of the queries one thing was asked, of half another: the headline is the difference of the two.
    first, second = quantity("M", language="de"), quantity("M", language="sw")
    headline = Headline(
        quantity("lead"), of=(first, second), combine=lambda means: means[..., 0] - means[..., 1]
    )

    def values(of_first, of_second):
        table = np.full((40, 2), np.nan)
        table[:30, 0], table[30:, 1] = of_first, of_second
        listed = [ValueColumn(wanted, table[:, at]) for at, wanted in enumerate((first, second))]
        return Values.of(range(40), listed)

    rng = np.random.default_rng(0)
    noise = [rng.normal(size=size) for size in (30, 10)]
    found = difference(headline, values(*noise), values(noise[0] + 2, noise[1]), replicates=500, seed=0)
    assert found["n"] == 40
    assert found["difference"] == pytest.approx(2)
    assert found["p"] < 1e-6
    assert difference(headline, values(*noise), values(*noise), replicates=500, seed=0)["p"] == 1
    unasked = values(noise[0], np.full(10, np.nan))
    assert difference(headline, unasked, unasked, replicates=500, seed=0) == {"n": 0}


SHARE, BLIND = quantity("exposure", 1), quantity("expected exposure", 1)
