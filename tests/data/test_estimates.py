import polars as pl
import pytest

from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import quantity
from equiview.errors import InputError

ROWS = {
    "metric": ["R", "R", "R", "R", "SP"],
    "k": [1, 1, 1, 5, None],
    "value": [0.5, 0.6, 0.2, 0.9, 0.25],
    "low": [0.4, 0.5, 0.1, 0.8, 0.2],
    "high": [0.6, 0.7, 0.3, 1.0, 0.3],
    "n": [10, 10, 8, 10, 40],
    "chance": [0.1, 0.1, 0.1, 0.5, None],
    "language": [None, "en", "Korea, South=x", None, None],
}


@pytest.fixture
def estimates() -> Estimates:
    return Estimates(pl.DataFrame(ROWS))


def test_columns_that_may_be_null_need_not_be_given(estimates):
    assert estimates.table["excess"].round(6).to_list() == [0.4, 0.5, 0.1, 0.4, None]
    assert estimates.table["p_holm"].null_count() == estimates.table["judged"].null_count() == 5
    assert estimates.keys == ["language"]


def test_a_quantity_is_found_by_metric_cutoff_and_keys(estimates):
    assert estimates.one("R", 1).value == 0.5
    assert estimates.one("R", 5).value == 0.9
    assert estimates.one("SP").chance is None
    assert estimates.at(quantity("R", 1, language="en")).n == 10
    assert estimates.maybe("R", 10) is None
    assert estimates.maybe("R", 1, country="Kenya") is None


def test_keys_with_any_character_are_only_values(estimates):
    assert estimates.one("R", 1, language="Korea, South=x").value == 0.2
    assert [row.quantity.keys for row in estimates.by("language", "R", 1)] == [
        {"language": "en"},
        {"language": "Korea, South=x"},
    ]


def test_a_breakdown_by_a_key_that_is_not_there_is_empty(estimates):
    assert len(estimates.by("country", "R", 1)) == 0


def test_an_estimate_prints_its_value_and_its_interval(estimates):
    row = estimates.one("R", 1)
    assert f"{row:.0%}" == "50% [40%, 60%]"
    assert f"{row:.2f}" == "0.50 [0.40, 0.60]"
    with pytest.raises(AttributeError):
        row.value = 1.0


def test_tables_of_several_audits_keep_apart(estimates):
    other = Estimates(pl.DataFrame({**ROWS, "country": "Kenya"}).drop("language")).stamped("b")
    both = Estimates.concat([estimates.stamped("a"), other])
    assert both.of("a").keys == ["language"]
    assert both.of("b").keys == ["country"]


def test_a_row_and_an_estimate_are_the_same_thing(estimates):
    first = next(iter(estimates))
    assert first == Estimate(quantity("R", 1), 0.5, 0.4, 0.6, 10, 0.1, 0.4)


@pytest.mark.parametrize("value", [{"a": 1}, ["en"], 1.5])
def test_what_an_estimate_is_about_is_text(value):
    frame = pl.DataFrame({"metric": "R", "k": 1, "value": 0.5, "low": 0.4, "high": 0.6, "n": 10})
    with pytest.raises(InputError, match=r"column 'language' holds .*; what a row is about is text"):
        Estimates(frame.with_columns(language=pl.Series([value])), "estimates.parquet")
