"""Runs laid out as P's tables; trials won as P published them give P's other tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from equiview.audits.association.tables import TABLES
from equiview.data.countries import countries
from tests.audits.association.outcomes import LANGUAGE, counted, measured

PUBLISHED = json.loads((Path(__file__).parents[2] / "data" / "perspectival.json").read_text())
COUNTRIES = countries()["country"].to_list()
CODES = countries()["code"].to_list()
KINDS = ("m_sem", "m_cul", "m_non")
SPREAD = {"CLIP-L/14", "GME-Qwen2-2B", "XLM-R-L/14"}


def published(name):
    """Estimates of trials won as Table 11 says, with the silhouettes of Table 8."""
    model = PUBLISHED["by_country"][name]
    wins = {}
    for place, country in enumerate(COUNTRIES):
        n = PUBLISHED["trials"][place]
        cultural, other = (round(model[kind][place] * n / 100) for kind in KINDS[1:])
        wins[country] = (n - cultural - other, cultural, other)
    texts = {
        LANGUAGE[country]: apart for country, apart in zip(COUNTRIES, model["text_silhouette"], strict=True)
    }
    images = dict(zip(COUNTRIES, model["image_silhouette"], strict=True))
    return measured(counted(wins), texts=texts, images=images, replicates=100)[0]


@pytest.fixture(scope="module", params=sorted(SPREAD))
def model(request):
    return request.param, published(request.param)


def test_table_11_is_the_wins_by_country(model):
    name, estimates = model
    table = TABLES["table-11"](estimates)
    assert table.columns == ["metric", *CODES]
    assert table["metric"].to_list() == ["M_sem", "M_cul", "M_non"]
    theirs = [PUBLISHED["by_country"][name][kind] for kind in KINDS]
    np.testing.assert_allclose(table.drop("metric").to_numpy(), theirs, atol=0.09)  # a trial is at most .17%


def test_table_4_has_the_share_of_the_web_of_each_countrys_language(model):
    table = TABLES["table-4"](model[1])
    assert table["name"].to_list() == list(CODES)
    assert table.row(0) == ("USA", "USA", "English", 43.95)
    assert table.rows()[-2:] == [
        ("KEN", "Kenya", "Swahili", 0.01),
        ("NGA", "Nigeria", "Yoruba", 0.001),
    ]


def test_table_8_is_self_preference_and_the_silhouettes(model):
    name, estimates = model
    table = TABLES["table-8"](estimates)
    assert table.columns == ["metric", *CODES]
    assert table["metric"].to_list() == ["SP", "TS", "IS"]
    theirs = PUBLISHED["by_country"][name]
    rows = table.drop("metric").to_numpy()
    np.testing.assert_allclose(rows[0], theirs["sp"], atol=0.02)
    np.testing.assert_allclose(rows[1], theirs["text_silhouette"], atol=0.01)
    np.testing.assert_allclose(rows[2], theirs["image_silhouette"])


def test_a_countrys_text_silhouette_is_that_of_its_language(model):
    row = dict(TABLES["table-8"](model[1]).row(1, named=True))
    assert row["USA"] == row["UK"] == row["AUS"]
    assert row["ESP"] == row["ARG"]
    assert row["PRT"] == row["BRA"]


def test_table_7_is_the_correlation_with_both_silhouettes(model):
    name, estimates = model
    row = TABLES["table-7"](estimates).row(0, named=True)
    theirs = PUBLISHED["silhouette_correlation"][name]
    assert row["TSC"] == pytest.approx(theirs["text"], abs=0.02)
    assert row["ISC"] == pytest.approx(theirs["image"], abs=0.2)  # of silhouettes printed as 0.00 to 0.05


def test_table_2_is_the_wins_of_all_trials(model):
    name, estimates = model
    row = TABLES["table-2"](estimates).row(0, named=True)
    theirs = PUBLISHED["overall_wins"][name]
    for column, kind in zip(("M_sem", "M_cul", "M_non"), KINDS, strict=True):
        assert row[column] == pytest.approx(theirs[kind], abs=0.05)
    assert row["SP"] == pytest.approx(theirs["m_cul"] / theirs["m_sem"], abs=0.002)


def test_table_9_counts_the_trials_of_each_country(model):
    table = TABLES["table-9"](model[1])
    counts = dict(table.iter_rows())
    assert list(counts)[:2] == ["Argentina", "Australia"]
    assert [counts[name] for name in COUNTRIES] == PUBLISHED["trials"]
    assert round(counts["Average"]) == 733


def test_table_10_counts_the_trials_of_each_concept(model):
    table = TABLES["table-10"](model[1])
    assert table["concept"].to_list() == ["c0", "c1", "c2"]
    assert table["trials"].sum() == sum(PUBLISHED["trials"])
    assert table["trials"].max() - table["trials"].min() <= 1


def test_a_run_without_silhouettes_or_semantic_wins_has_empty_cells():
    estimates, _ = measured(counted({"Kenya": (0, 0, 4), "USA": (3, 1, 0)}))
    table = TABLES["table-8"](estimates)
    assert table.columns == ["metric", "USA"]
    assert table["USA"].to_list() == [pytest.approx(1 / 3), None, None]
    assert TABLES["table-7"](estimates).row(0) == (None, None)
    assert TABLES["table-11"](estimates)["KEN"].to_list() == [0, 0, 100]
