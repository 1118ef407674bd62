"""The correlation of self-preference with silhouettes, and how many countries it takes."""

import numpy as np
import pytest

from equiview.audits.association.measure import _correlations
from equiview.audits.association.settings import AssociationSettings
from equiview.audits.estimating import Replicates, Rows
from equiview.data.metric import quantity

TEXT = "text-to-image"


@pytest.mark.parametrize(("countries", "measured"), [(3, False), (4, True)])
def test_a_correlation_takes_four_countries(countries, measured):
    rows, draws = Rows(), np.linspace(0, 1, 100)
    for place, country in enumerate(["Germany", "France", "Italy", "Spain"][:countries]):
        for wanted, value in (
            (quantity("SP", direction=TEXT, country=country), 0.2 + place**2),
            (quantity("silhouette", space="images", country=country), 0.1 * place),
        ):
            rows.add(wanted, Replicates(np.asarray(value), draws), 50)
    correlations = _correlations(rows.estimates(), AssociationSettings(directions=(TEXT,)))
    assert (correlations is not None) == measured
    if measured:
        assert [row.n for row in correlations] == [4]
