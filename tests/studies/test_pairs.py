"""Every audit's headlines compare two systems, and alike ones are seldom said to differ."""

import polars as pl
import pytest
from labs import pair_rates

from equiview.audits import AUDITS


@pytest.mark.parametrize("audit", AUDITS.all())
def test_two_systems_compare_by_the_headlines_of_every_audit(audit):
    place, pair = next((at, pair) for at, pair in enumerate(pair_rates.PAIRS) if pair.audit == audit)
    found = pair_rates.tested(place, seed=0, size=100)
    assert found["p"]
    assert all(0 < p <= 1 for _, p in found["p"].values()), pair.name


@pytest.mark.parametrize(
    ("audit", "name", "metric"),
    [
        ("social", "two blind lists", "MaxSkew beyond chance"),
        ("decorrelation", "hubs, 12 classes", "ODmAP"),
        ("prevalence", "two with hubs", "exposure ratio"),
    ],
)
def test_what_lists_share_makes_no_difference(audit, name, metric):
    place = [(pair.audit, pair.name) for pair in pair_rates.PAIRS].index((audit, name))
    rows = [pair_rates.tested(place, seed, 100)["p"].values() for seed in range(10)]
    smallest = [min(p for about, p in row if about == metric) for row in rows]
    assert sum(p <= 0.05 for p in smallest) <= 3  # more are to be had of fair tests in 1 of 1,000 at most


def test_what_truly_differs_is_found():
    place = [(pair.audit, pair.name) for pair in pair_rates.PAIRS].index(("social", "blind and tied"))
    found = pair_rates.tested(place, seed=0, size=300)["p"]
    assert found["MaxSkew beyond chance, gender attribute"][1] < 0.001


def test_counts_say_how_often_each_headline_differs(tmp_path):
    raw = tmp_path / "raw.jsonl"
    for seed, p in enumerate((0.01, 0.05, 0.5)):
        row = {"audit": "social", "pair": "two blind", "size": 100, "seed": seed, "p": {"R@5": ["R", p]}}
        pair_rates.append(raw, row)
    counted = pair_rates.counts(raw)
    assert counted.row(0) == ("social", "two blind", "R@5", "alike", 100, 3, 2)
    page = tmp_path / "page.md"
    page.write_text(f"before\n<!-- {pair_rates.PART} -->\nold\n<!-- end -->\nafter\n")
    pair_rates.write_docs(pl.concat([counted.with_columns(headline=pl.lit("MaxSkew"))]), page)
    assert "| social | two blind |" in page.read_text()
    assert "Of 3 tests of what is alike 66.7% say" in page.read_text()
    assert page.read_text().endswith("after\n")
    assert "old" not in page.read_text()


def test_every_audit_has_a_pair():
    assert {pair.audit for pair in pair_rates.PAIRS} == set(AUDITS.all())
    assert len({(pair.audit, pair.name) for pair in pair_rates.PAIRS}) == len(pair_rates.PAIRS)
