import numpy as np
import pytest

from equiview.data.headline import Headline, ratio
from equiview.data.metric import quantity
from equiview.data.values import Values, column
from equiview.errors import InputError

VALUES = Values.of(
    ["a", "b", "c"],
    [
        column("R", [1, 0, np.nan], k=1, language="sw", chance=0.1),
        column("R", [1, 1, 1], k=5, language="sw"),
        column("SP", [0.5, 0.5, 0.2]),
    ],
    clusters=["x", "x", "y"],
)


def test_columns_are_addressed_by_what_they_are_about():
    assert VALUES.mean("R", 1, language="sw") == 0.5
    assert VALUES.quantities == (
        quantity("R", 1, language="sw"),
        quantity("R", 5, language="sw"),
        quantity("SP"),
    )
    assert quantity("SP") in VALUES
    assert quantity("SP", language="sw") not in VALUES
    with pytest.raises(InputError, match="no column 'R@10'"):
        VALUES.at(quantity("R", 10))


def test_rows_that_share_a_cluster_share_its_number():
    assert VALUES.clusters.tolist() == [0, 0, 1]


def test_columns_can_be_picked_and_given_a_floor():
    picked = VALUES.select(lambda entry: entry.metric == "R").with_chance(lambda entry: (entry.k or 1) / 10)
    assert picked.matrix.shape == (3, 2)
    assert picked.columns["chance"].to_list() == [0.1, 0.5]


def test_two_columns_about_one_thing_are_refused():
    with pytest.raises(InputError, match="values name a quantity twice"):
        Values.of(["a"], [column("R", [1.0], k=1), column("R", [0.0], k=1)])


def test_values_without_columns_are_a_table_all_the_same():
    assert Values.of(["a", "b"], []).matrix.shape == (2, 0)


def test_the_slopes_of_a_headline_are_its_derivatives():
    plain = Headline(quantity("R", 1))
    assert plain.slopes(np.array([0.3])).tolist() == [1.0]
    quotient = Headline(quantity("SP"), of=(quantity("x"), quantity("y")), combine=ratio)
    means = np.array([0.3, 0.7])
    step = 1e-7
    for place, slope in enumerate(quotient.slopes(means)):
        moved = means + step * np.eye(2)[place]
        numeric = (quotient.combine(moved) - quotient.combine(means)) / step
        assert slope == pytest.approx(numeric, rel=1e-5)


def test_a_headline_of_missing_columns_is_not_there():
    assert Headline(quantity("SP")).columns(VALUES)
    assert not Headline(quantity("SP"), of=(quantity("SP"), quantity("none"))).columns(VALUES)
