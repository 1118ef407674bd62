"""Checkpoints of a training: it goes on from what it wrote, and from nothing else."""

import pickle
import shutil
from pathlib import Path

import pytest
from labs.fuzz.left import trained_on, write_checkpoint

from equiview.errors import InputError
from equiview.mitigation.training import Watcher
from tests.faults.faults import FAULTS

FILES = ("model.safetensors", "optimizer.pt", "rng_state.pth", "scheduler.pt", "trainer_state.json", "whole")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("training") / "stopped"
    write_checkpoint(place)
    return place


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained_on(tmp_path_factory.mktemp("training") / "whole")


def test_it_goes_on_and_ends_alike(stopped: Path, whole: str, tmp_path: Path) -> None:
    shutil.copytree(stopped, tmp_path / "here")
    assert trained_on(tmp_path / "here") == whole


def test_a_checkpoint_is_due_after_minutes_of_work_and_progress_is_told_at_once(
    whole: str, tmp_path: Path
) -> None:
    """A step of 4 takes 40 seconds by this clock; no number of steps asks for a checkpoint."""
    told: list[int] = []
    watcher = Watcher(
        "a line", lambda _, done, total: told.append(done), 1.0, lambda: 40.0 * max(told, default=0)
    )
    assert trained_on(tmp_path / "here", watcher, save_every=99) == whole
    assert told == [0, 1, 2, 3, 4]
    kept = sorted(path.name for path in (tmp_path / "here").glob("checkpoint-*"))
    assert kept == ["checkpoint-2", "checkpoint-4"]
    assert all((tmp_path / "here" / name / "whole").is_file() for name in kept)
    shutil.rmtree(tmp_path / "here" / "checkpoint-4")
    assert trained_on(tmp_path / "here", save_every=99) == whole


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "fault", ["missing", "empty", "cut off", "only zeros", "noise", "a pipe", "nested JSON"]
)
def test_a_damaged_checkpoint_is_refused_or_not_used(
    stopped: Path, whole: str, tmp_path: Path, fault: str, name: str
) -> None:
    here = tmp_path / "here"
    shutil.copytree(stopped, here)
    FAULTS[fault](here / "checkpoint-2" / name)
    if name == "whole" and fault in {"missing", "a pipe"}:  # a checkpoint that was never whole
        assert trained_on(here) == whole
        return
    with pytest.raises(InputError, match="checkpoint-2"):
        trained_on(here)
    shutil.rmtree(here / "checkpoint-2")
    assert trained_on(here) == whole


def test_a_pickle_in_a_checkpoint_is_not_opened(stopped: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    here = tmp_path / "here"
    shutil.copytree(stopped, here)
    (here / "checkpoint-2" / "optimizer.pt").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(InputError, match="is damaged, or of an earlier version"):
        trained_on(here)
    (here / "checkpoint-2" / "optimizer.bin").write_bytes(b"more")
    with pytest.raises(InputError, match="is damaged, or of an earlier version"):
        trained_on(here)
    assert not (tmp_path / "sprung").exists()
