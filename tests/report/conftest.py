"""Runs and a browser for the tests of the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from equiview.data.run import Run

# Tests are imported by path, so what they share is found here.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from report_runs import audits_of_the_tests, make_run  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def audits() -> Iterator[None]:
    """The audits made for these tests are known while one of them runs."""
    with audits_of_the_tests():
        yield


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Three systems, from skewed to even."""
    folder = tmp_path_factory.mktemp("runs")
    skews = {"pictogram:skewed": 1.0, "pictogram:english": 0.6, "pictogram:aligned": 0.01}
    return [make_run(folder / name.split(":")[1], name, skew) for name, skew in skews.items()]
