"""What effect a verdict would find: lines fitted to counts, and what is said of a benchmark."""

from __future__ import annotations

import io

import polars as pl
import pytest
from labs.error_rates.power import fitted, needed
from rich.console import Console

from equiview import planning
from equiview.audits import AUDITS
from equiview.audits.power import Power, powers_of
from equiview.benchmarks import load_benchmark
from equiview.report.console import print_plan

LINE = Power("planted", slope=0.12, threshold=2.1)


def counts(seeds: int = 10_000) -> list[dict]:
    """What would be counted of `LINE`, rounded to whole seeds."""
    return [
        {"system": "planted", "effect": effect, "size": size, "seeds": seeds}
        | {"biased": round(seeds * LINE.found(effect, size))}
        for size in (100, 300, 1000)
        for effect in (0.0, 1.0, 1.5, 2.0, 3.0)
    ]


def test_an_effect_that_is_found_in_four_of_five_cases() -> None:
    assert LINE.found(LINE.effect(500), 500) == pytest.approx(0.8)
    assert LINE.found(2.0, LINE.queries(2.0)) == pytest.approx(0.8, abs=0.001)
    assert LINE.effect(2000) - 1 == pytest.approx((LINE.effect(500) - 1) / 2)


def test_the_line_of_counts_is_found_again() -> None:
    line = fitted(counts())
    assert line is not None
    assert (line.slope, line.threshold) == (pytest.approx(0.12, rel=0.02), pytest.approx(2.1, rel=0.02))


def test_nothing_is_said_of_effects_that_were_never_found() -> None:
    assert fitted([row | {"biased": 0} for row in counts()]) is None


def test_a_table_says_how_many_queries_are_needed() -> None:
    assert needed([LINE])[-1] == "| planted | 2,400 | 600 | 150 |"
    assert needed([Power("steep", 5.0, 2.0), Power("flat", 0.001, 2.0)])[-2:] == [
        "| steep | under 100 | under 100 | under 100 |",
        "| flat | over 100,000 | over 100,000 | over 100,000 |",
    ]


@pytest.mark.parametrize("audit", AUDITS.all())
def test_the_power_of_every_audit_is_known(audit: str) -> None:
    powers = powers_of(audit)
    assert powers
    assert all(power.note and power.effect(300) > 1 for power in powers)


def test_a_benchmark_is_told_what_it_can_show() -> None:
    table = planning.power("pictograms-culture", ["association"])
    trials = len(load_benchmark("pictograms-culture").tables["trials"])
    assert table["of"].unique().to_list() == ["trials"]
    assert table["n"].unique().to_list() == [trials]
    wide = planning.power(
        "pictograms-culture", ["association"], settings={"association": {"tolerance": 0.04}}
    )
    beyond = (table["multiple"] - 1) * 0.02
    assert ((wide["multiple"] - 1) * 0.04).to_list() == pytest.approx(beyond.to_list())


def test_it_is_printed_in_a_sentence() -> None:
    asked = pl.DataFrame([{"audit": "association", "purpose": "asks no model"}], schema=planning.PLANNED)
    about = {"audit": "association", "n": 900, "of": "trials", "tolerance": 0.02}
    kinds = ({"multiple": 2.9, "n_for_twice": 5657}, {"multiple": 2.2, "n_for_twice": 2276})
    shown = io.StringIO()
    power = pl.DataFrame([about | kind for kind in kinds], schema=planning.POWER)
    print_plan(asked, power, Console(file=shown, width=400))
    first, second = shown.getvalue().splitlines()
    assert first == "association: asks no model"
    assert (
        "over 900 trials, 4 of 5 verdicts find an effect of 2.2 to 2.9 times the tolerance (0.02)" in second
    )
    assert "twice the tolerance takes up to 5,657 trials" in second
