import polars as pl
import pytest

from equiview.data.countries import countries, languages_of
from equiview.errors import InputError


def test_there_are_16_countries_and_12_languages():
    assert countries()["country"].n_unique() == len(countries()) == 16
    assert countries()["language"].n_unique() == 12


def test_a_country_without_a_language_is_named():
    assert languages_of(pl.Series(["USA", "Kenya"]), "x").to_list() == ["en", "sw"]
    with pytest.raises(InputError, match="x: no language is known for country Atlantis"):
        languages_of(pl.Series(["USA", "Atlantis"]), "x")
