"""Rates, self-preference and silhouettes of a world whose pull of culture is set by hand."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.association import ASSOCIATION
from equiview.audits.association.measure import RATES, SCORES, Trials, self_preference_in, sp_and_silhouette
from equiview.data.countries import countries
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.metrics import self_preference, win_rates
from equiview.stats import pearson_interval
from tests.audits import steps
from tests.audits.association.planted import TEXT, audited, observed, world


def test_every_metric_is_described_and_every_key_is_a_column():
    _, estimates, _ = audited(0.7)
    assert set(estimates.table["metric"]) == {metric.name for metric in ASSOCIATION.metrics}
    assert set(estimates.keys) == {"direction", "country", "language", "concept", "space"}
    assert not any(set(name) & set("()[]@") for name in estimates.table["metric"])


def test_more_pull_is_more_self_preference():
    ratios = [audited(pull)[1].one("SP", direction=TEXT) for pull in (0.0, 0.7, 1.4)]
    values = [ratio.value for ratio in ratios]
    assert values == sorted(values)
    assert values[-1] > 1
    assert all(ratio.low <= ratio.value <= ratio.high for ratio in ratios)


@pytest.mark.parametrize("ties", ["first", "all", "split"])
def test_rates_and_self_preference_are_those_of_the_metrics(ties):
    observations, estimates, _ = audited(0.7, ties=ties)
    trials = observations["trials"].filter(direction=TEXT)
    parts = {None: trials, "India": trials.filter(country="India")}
    for country, part in parts.items():
        scores = part.select(SCORES).to_numpy()
        rates = [estimates.one(name, direction=TEXT, country=country).value for name in RATES]
        assert rates == win_rates(scores, ties=ties).tolist()
        sp = estimates.one("SP", direction=TEXT, country=country).value
        assert sp == pytest.approx(self_preference(scores, ties=ties), rel=1e-12)


def test_headlines_of_values_are_the_estimates():
    observations, estimates, options = audited(0.7)
    values = steps.valued(ASSOCIATION, observations, options)
    for headline in ASSOCIATION.headlines:
        assert headline.columns(values)
        means = np.nanmean(values.at(*headline.columns(values)), axis=0)
        row = estimates.at(headline.quantity)
        assert float(headline.combine(means)) == pytest.approx(row.value, rel=1e-12)


def test_the_slopes_of_self_preference_are_those_of_a_ratio():
    slopes = self_preference_in(TEXT).slopes(np.array([0.2, 0.8]))
    np.testing.assert_allclose(slopes, [1 / 0.8, -0.2 / 0.8**2])


def test_values_have_a_row_for_each_trial_and_a_cluster_for_each_query():
    observations, _, options = audited(0.7)
    values = steps.valued(ASSOCIATION, observations, options)
    assert values.rows["query_id"].to_list() == world().tables["trials"]["trial_id"].to_list()
    assert values.rows["cluster"].to_list() == world().tables["trials"]["query_id"].to_list()


def test_overall_is_pooled_counts_and_groups_add_up():
    _, estimates, _ = audited(0.7)
    overall = estimates.one("M_cul", direction=TEXT)
    for key in ("country", "language", "concept"):
        rows = estimates.by(key, "M_cul", direction=TEXT).table
        assert rows["n"].sum() == overall.n
        assert (rows["value"] * rows["n"]).sum() / overall.n == pytest.approx(overall.value)


def test_rates_sum_to_one_and_carry_their_chance():
    _, estimates, _ = audited(0.7)
    rates = [estimates.one(name, direction=TEXT) for name in RATES]
    assert sum(rate.value for rate in rates) == pytest.approx(1)
    assert all(rate.chance == pytest.approx(1 / 3) for rate in rates)
    assert estimates.one("SP", direction=TEXT).chance == 1


def test_self_preference_is_absent_where_neither_kind_wins():
    observations = observed(0.7)
    lost = observations["trials"].with_columns(
        nonrelevant_score=pl.when(country="India").then(9.0).otherwise("nonrelevant_score")
    )
    options = ASSOCIATION.configure({"replicates": 100})
    estimates = steps.measured(ASSOCIATION, Observations({**observations.tables, "trials": lost}), options)
    assert estimates.maybe("SP", direction=TEXT, country="India") is None
    assert estimates.one("M_non", direction=TEXT, country="India").value == 1
    assert estimates.maybe("SP", direction=TEXT, country="Japan") is not None


def test_strict_excludes_trials_of_the_querys_language():
    shared = world().tables["trials"]["shares_language"].sum()
    assert shared > 0
    every, strict = (audited(0.7, strict=strict)[1] for strict in (False, True))
    counts = [estimates.one("M_sem", direction=TEXT).n for estimates in (every, strict)]
    assert counts[0] - counts[1] == shared
    counted = strict.one("trials sharing the query's language")
    assert counted.value * counted.n == pytest.approx(shared)


def test_strict_without_any_trial_left_says_so():
    trials = observed(0.7)["trials"].with_columns(shares_language=pl.lit(True))
    options = ASSOCIATION.configure({"strict": True})
    with pytest.raises(InputError, match="strict=true leaves no trial"):
        _ = Trials(Observations({"trials": trials}), options).scored


def test_silhouettes_see_countries_stand_apart():
    apart, mixed = (audited(pull)[1].one("silhouette", space="images").value for pull in (3.0, 0.0))
    assert apart > 0.2 > mixed


@pytest.mark.parametrize(("space", "key"), [("texts", "language"), ("images", "country")])
def test_the_correlation_is_over_countries(space, key):
    _, estimates, _ = audited(0.7)
    pairs = sp_and_silhouette(estimates, TEXT, space)
    assert sorted(pairs["country"]) == sorted(countries()["country"])
    kenya = {"language": "sw", "country": "Kenya"}[key]
    assert (
        pairs.filter(country="Kenya")["silhouette"].item()
        == estimates.one("silhouette", space=space, **{key: kenya}).value
    )
    pearson = pearson_interval(pairs["value"].to_numpy(), pairs["silhouette"].to_numpy())
    row = estimates.one("Pearson of SP and silhouette", direction=TEXT, space=space)
    assert (row.value, row.low, row.high, row.n) == (pearson.value, pearson.low, pearson.high, 16)


def test_directions_are_seeded_apart_and_alike_in_any_company():
    both, single = (audited(0.7)[1], audited(0.7, directions=["image-to-image"])[1])
    row = both.one("SP", direction="image-to-image")
    assert single.one("SP", direction="image-to-image") == row
    assert len(single.by((), "SP", direction=TEXT)) == 0
