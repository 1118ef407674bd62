"""A real process killed at random moments ends with the bytes of an undisturbed one: 12 kills of 200."""

from collections.abc import Iterator

import pytest
from labs.kills import SHARES, kills, write_data

KILLS = {"observe": 4, "store": 4, "report": 2, "demo": 2}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    folder = tmp_path_factory.mktemp("kills") / "data"
    write_data(folder)
    return folder


def test_every_kind_of_run_is_killed():
    assert KILLS.keys() == SHARES.keys()
    assert sum(KILLS.values()) == 12


@pytest.mark.parametrize(("name", "wanted"), KILLS.items())
def test_killed_at_random_moments_a_run_ends_byte_identical(tmp_path, data, name, wanted):
    assert len(list(kills(name, data, tmp_path, wanted, seed=1, jobs=2))) == wanted
