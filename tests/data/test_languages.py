import polars as pl
import pytest

from equiview.data.languages import TIERS, languages, tiers_of
from equiview.errors import InputError


def test_there_are_36_languages_in_three_tiers():
    counts = dict(languages()["tier"].value_counts().iter_rows())
    assert [counts[tier] for tier in TIERS] == [3, 12, 21]
    assert tiers_of(pl.Series(["en", "quz"]), "x").to_list() == ["high", "low"]
    with pytest.raises(InputError, match="no tier is known for language tlh; add a column 'tier'"):
        tiers_of(pl.Series(["en", "tlh"]), "texts.csv")
