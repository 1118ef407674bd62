"""A gallery that workers cannot hold is read a part at a time, and gives what this process gives."""

import numpy as np
import pytest

from equiview.engine import Engine, Local, using
from equiview.search import Targets, ranked_within, sharded
from equiview.search.scaling import Scaled, unit


class Small(Engine):
    """Workers that have room for some bytes; what they do is done here."""

    def __init__(self, workers: int, room: int) -> None:
        self.has = workers, room

    @property
    def workers(self):
        return self.has[0]

    @property
    def room(self):
        return self.has[1]

    def map(self, work, parts, **given):
        return Local().map(work, parts, **given)


class Read(Scaled):
    """Notes how many rows are read at a time."""

    most = 0

    def __getitem__(self, rows):
        scaled = super().__getitem__(rows)
        Read.most = max(Read.most, len(scaled))
        return scaled


@pytest.mark.parametrize("room", [2_000, 9_000, 10**6])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_gallery_is_scaled_in_parts_that_workers_hold(workers, room, monkeypatch):
    monkeypatch.setattr(sharded, "SHARED_FROM", 0)
    monkeypatch.setattr(Read, "most", 0)
    rng = np.random.default_rng(room)
    queries, stored = (rng.standard_normal((count, 12), dtype=np.float32) for count in (23, 200))
    stored[100:] = 2 * stored[:100]  # the same directions
    at = np.argwhere(rng.random((23, 200)) < 0.2)
    targets = Targets(at[:, 0], at[:, 1], rng.integers(0, 3, 200))
    here, ranks = ranked_within(queries, unit(stored), 7, targets)
    with using(Small(workers, room)):
        there, their = ranked_within(queries, Read(stored), 7, targets)
    assert there.items.tobytes() == here.items.tobytes()
    assert there.scores.tobytes() == here.scores.tobytes()
    assert their.tolist() == ranks.tolist()
    assert Read.most * 12 * 4 <= room
