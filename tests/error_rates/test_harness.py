"""The count of wrong verdicts, tried on the audit of tests/plugin in processes of its own."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import polars as pl
import pytest
from labs.error_rates.harness import System, systems_of
from labs.error_rates.page import summary
from labs.error_rates.running import RESULT, wilson
from labs.error_rates.wanted import WANTS, wants_of

from equiview.data.observations import Observations
from equiview.errors import InputError
from tests.processes import fresh, start

ROOT = Path(__file__).parents[2]
MODULE = "import runpy; runpy.run_module('labs.error_rates', run_name='__main__')"
WORDS = [
    *("--package", "tests.error_rates", "--audits", "brevity"),
    *("--replicates", "100", "--sizes", "60"),
]


def count(out: Path, *arguments: str, seeds: int = 4) -> pl.DataFrame:
    words = [*WORDS, "--out", str(out), "--seeds", str(seeds), "--jobs", "1", *arguments]
    done = fresh(MODULE, words, folder=ROOT, environment=environment())
    assert done.returncode == 0, done.stderr
    return pl.read_csv(out / "brevity.csv", schema_overrides=RESULT)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT)]))}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    count(folder, "--jobs", "2")
    return folder


def lines_of(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "brevity.jsonl").read_text().splitlines()]


def test_every_system_and_effect_is_judged_with_every_seed(out: Path) -> None:
    table = pl.read_csv(out / "brevity.csv", schema_overrides=RESULT)
    assert table["system"].to_list() == ["blind", *["short first"] * 6, "few", "nothing"]
    assert table["effect"].to_list() == [None, 0, 0.5, 1, 1.5, 2, 3, None, None]
    assert table["seeds"].to_list() == [4] * 9
    sums = table.select(pl.sum_horizontal("biased", "fair", "unclear", "failed")).to_series()
    assert sums.to_list() == [4] * 9


def test_more_of_an_effect_is_found_more_often(out: Path) -> None:
    biased = pl.read_csv(out / "brevity.csv", schema_overrides=RESULT).filter(truth="planted")["biased"]
    assert biased.to_list() == sorted(biased.to_list())
    assert biased[-1] == 4


def test_an_audit_that_cannot_measure_has_failed_and_says_why(out: Path) -> None:
    table = pl.read_csv(out / "brevity.csv", schema_overrides=RESULT)
    row = table.filter(system="nothing").row(0, named=True)
    assert (row["failed"], row["fair"]) == (4, 0)
    assert row["error"].startswith("the observations have no table")
    assert table.filter(system="blind")["error"].to_list() == [None]


def test_a_killed_run_goes_on_where_it_was(out: Path, tmp_path: Path) -> None:
    results = tmp_path / "brevity.jsonl"
    words = [*WORDS, "--out", str(tmp_path), "--seeds", "1000", "--jobs", "1"]
    started = start(MODULE, words, tmp_path, folder=ROOT, environment=environment())
    until = time.monotonic() + 600
    while not results.exists() or results.read_bytes().count(b"\n") < 5:
        assert time.monotonic() < until
        assert started.is_alive()
        time.sleep(0.01)
    started.kill()
    started.join()
    kept = results.read_bytes().splitlines(keepends=True)[:5]
    results.write_bytes(b"".join(kept) + b'{"audit": "brev')  # cut off within a line
    count(tmp_path)
    assert results.read_bytes().startswith(b"".join(kept))
    assert len(lines_of(tmp_path)) == 4 * 9
    assert (tmp_path / "brevity.csv").read_bytes() == (out / "brevity.csv").read_bytes()


def test_results_of_other_settings_are_not_counted(out: Path, tmp_path: Path) -> None:
    lines = (out / "brevity.jsonl").read_text()
    (tmp_path / "brevity.jsonl").write_text(lines)
    other = count(tmp_path, "--replicates", "101", seeds=1)
    assert other["seeds"].to_list() == [1] * 9
    again = count(tmp_path)
    assert again["seeds"].to_list() == [4] * 9
    assert len(lines_of(tmp_path)) == 5 * 9  # nothing was done twice, and nothing thrown away


def test_an_audit_without_systems_is_named() -> None:
    with pytest.raises(InputError, match=r"'brevity' has no systems.*SYSTEMS in labs/error_rates/brevity"):
        systems_of("brevity")


def test_a_system_that_knows_one_effect_is_tried_with_it() -> None:
    nothing = Observations({})
    fixed = System("fixed", "planted", lambda seed, size: nothing)
    swept = System("swept", "planted", lambda seed, size, effect=2.0: nothing)
    none = System("none", "none", lambda seed, size, effect=2.0: nothing)
    assert (fixed.effects(), none.effects()) == ((2.0,), (None,))
    assert swept.effects() == (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
    assert swept.effects((2.0,)) == (2.0,)
    assert fixed.observed(0, 1, 2.0) is nothing


def test_wilson_intervals_are_those_of_the_textbook() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)


def row(truth: str, *, biased: int = 0, fair: int = 0, effect: float | None = None, **rest: int) -> dict:
    counts = {"biased": biased, "fair": fair, "seeds": 200, "size": 300} | rest
    return {"audit": "a", "system": "s", "truth": truth, "effect": effect} | counts


@pytest.mark.parametrize(
    ("counts", "reached"),
    [
        (row("none", biased=10), ["met"]),
        (row("none", biased=12), ["open"]),
        (row("none", biased=30), ["missed"]),
        (row("none", biased=0, fair=20, seeds=20), ["open"]),
        (row("planted", effect=1.0, biased=30), ["missed"]),
        (row("planted", effect=1.5, biased=30, fair=30), []),
        (row("planted", effect=2.0, biased=30, fair=30), ["missed"]),
        (row("planted", effect=2.0, biased=190, size=1000), ["met", "met"]),
        (row("planted", effect=3.0, biased=150, size=1000), ["met", "missed"]),
        (row("useless", fair=1), ["met", "missed"]),
        (row("tiny", biased=30), ["missed", "met"]),
    ],
)
def test_what_is_wanted_is_met_missed_or_open(counts: dict, reached: list[str]) -> None:
    assert [how for _, how in wants_of(counts)] == reached


def test_the_page_says_plainly_what_is_missed() -> None:
    rows = [row("none", biased=30), row("planted", effect=2.0, fair=100, size=1000)]
    said = list(summary(rows))
    assert f"| {WANTS[0].sentence} | 1 | 0 | 0 | 1 |" in said
    assert "- a, *s*, 300 queries: “biased” 30 of 200." in said
    assert "- a, *s*, 2 times the tolerance planted, 1,000 queries: “fair” 100 of 200." in said
    assert "None of them is missed." in list(summary([row("none")]))
