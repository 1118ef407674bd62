"""The benchmarks run, their results agree, and the page says what they found."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import CONTESTS, COSTS, ON_CUDA, RESULTS, UNSET, agrees, measured
from bench.contest import Contest, Way, held
from bench.page import PAGE, exponent, with_tables
from labs.marked import END

ROOT = Path(__file__).parents[1]
OF_MODELS = {"pictures", "texts", "pictures on CUDA"}
"""They silence libraries for their whole process."""


@pytest.mark.parametrize("name", sorted({*CONTESTS, *ON_CUDA} - OF_MODELS))
def test_ways_to_a_result_agree(name: str) -> None:
    found = json.loads(json.dumps(measured(name, "small", 1)))
    rows = found["found"]["rows"]
    assert agrees(found), rows
    assert sum(row["apart"] is not None for row in rows) > 1 or found["found"]["missing"]
    assert all(row["processor"] >= 0 and row["seconds"] > 0 for row in rows)


def test_a_way_with_another_result_is_found_out() -> None:
    ways = [Way("equiview", lambda: 1.0, float), Way("wrong", lambda: 1.1, float)]
    found = held(Contest("nothing", ways, lambda left, right: abs(left - right), 0.05), 1)
    assert [row["agrees"] for row in found["rows"]] == [True, False]
    assert not agrees({"found": found})


def kernel_of(environment: dict[str, str]) -> str:
    """The kernels that a process takes in an environment, which chooses none but for what is given."""
    said = "from bench.contest import machine; print(machine()['kernel'])"
    clean = {name: value for name, value in os.environ.items() if name not in UNSET}
    words = [sys.executable, "-c", said]
    done = subprocess.run(
        words, cwd=ROOT, env=clean | environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_one_command_measures_and_writes_the_page(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bench", "--small", "--rounds", "1", "--out", str(tmp_path)]
    forced = {"OPENBLAS_CORETYPE": "Prescott"}  # taken out again
    names = ["top-k", "growth of numbers", "pictures on CUDA"]
    subprocess.run([*words, *names], cwd=ROOT, env=os.environ | forced, check=True, stdout=subprocess.DEVNULL)
    found = json.loads((tmp_path / "results.json").read_text())
    assert list(found) == names
    usual = kernel_of({})
    assert found["top-k"]["machine"]["kernel"] == usual
    if platform.machine() in ("AMD64", "x86_64"):
        assert kernel_of(forced) != usual
    assert with_tables(PAGE.read_text(), found) == (tmp_path / PAGE.name).read_text()


def test_the_page_says_what_was_found() -> None:
    found = json.loads(RESULTS.read_text())
    page = PAGE.read_text()
    assert {*CONTESTS, *COSTS} <= set(found) <= {*CONTESTS, *COSTS, *ON_CUDA}
    assert page.count(END) == len({*CONTESTS, *COSTS, *ON_CUDA})
    assert with_tables(page, found) == page
    assert not [name for name, what in found.items() if not agrees(what)]


def test_an_exponent_is_the_slope_on_logarithmic_scales() -> None:
    curve = {"sizes": [1, 2, 4], "costs": [[3.0, None], [12.0, None], [48.0, None]]}
    assert exponent(curve) == pytest.approx(2)


def test_memory_has_an_exponent_where_there_is_enough_of_it() -> None:
    curve = {"sizes": [1, 2, 4], "costs": [[1.0, 10.0], [1.0, 20.0], [1.0, 40.0]]}
    assert (exponent(curve), exponent(curve, 1)) == pytest.approx((0, 1))
    assert exponent({"sizes": [1, 2], "costs": [[1.0, 0.0], [1.0, 50.0]]}, 1) is None
    assert exponent({"sizes": [1, 2], "costs": [[1.0, None], [1.0, None]]}, 1) is None
