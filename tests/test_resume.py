"""A real process killed at random moments ends with the bytes of an undisturbed one: 19 kills of 300."""

from collections.abc import Iterator

import pytest
from labs.kills import SHARES, kills, write_data

from equiview.making import MAKERS

KILLS = {
    "observe": 3,
    "store": 3,
    "report": 2,
    "demo": 2,
    "ask": 1,
    "removal": 3,
    "knowrecall": 1,
    "visrecall": 1,
    "xm3600": 1,
    "xcm": 1,
    "review": 1,
}
TRAININGS = {"finetune", "distill", "connector"}
"""They take a minute, and are killed at chosen moments by tests of their own."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    folder = tmp_path_factory.mktemp("kills") / "data"
    write_data(folder)
    return folder


def test_every_kind_of_run_is_killed():
    assert KILLS.keys() | TRAININGS == SHARES.keys()
    long = {name for name, entry in MAKERS.all().items() if entry.value.kind != "mitigate"}
    assert long <= SHARES.keys()  # other mitigations take seconds, and are one stage


@pytest.mark.parametrize(("name", "wanted"), KILLS.items())
def test_killed_at_random_moments_a_run_ends_byte_identical(tmp_path, data, name, wanted):
    assert len(list(kills(name, data, tmp_path, wanted, seed=1))) == wanted
