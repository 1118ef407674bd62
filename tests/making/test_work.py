"""The folder of a making: begun, continued, refused, and its stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from equiview.errors import InputError
from equiview.making import Job, Maker, Outcome, Settings, Task
from equiview.making.card import CARD, Card, Input
from equiview.making.make import Made, make
from equiview.making.work import Work


class Size(Settings):
    """One number."""

    size: int = 1


class Letters(Job):
    """Two files in two stages; `made` counts how often each stage was done."""

    def __init__(self, settings: Size, source: str = "s") -> None:
        self.settings, self.source = settings, source
        self.made: list[str] = []
        self.fails: Callable[[], None] = lambda: None

    def inputs(self, progress: Any) -> Mapping[str, Input]:
        return {"letters": Input(name="letters", fingerprint=self.source, licence="CC0-1.0")}

    def plan(self) -> list[Task]:
        return [Task("write", 2, "letters")]

    def make(self, work: Work) -> Outcome:
        work.stage("a", lambda folder: self._write(folder, "a"))
        self.fails()
        work.stage("b", lambda folder: self._write(folder, "b"))
        return Outcome()

    def _write(self, folder: Path, name: str) -> None:
        self.made.append(name)
        (folder / "in").mkdir()
        (folder / "in" / name).write_text(name * self.settings.size)


LETTERS = Maker(
    name="letters", kind="build", about="Letters.", settings=Size, job=Letters, yields="letters:{out},x=y"
)


def run(out: Path, job: Letters) -> Made:
    return make(LETTERS, job.settings, out, job=job)


def stop() -> None:
    raise InputError("stopped")


def test_a_folder_is_finished_once(tmp_path: Path) -> None:
    first, second = Letters(Size()), Letters(Size())
    made = run(tmp_path / "out", first)
    assert made.name == f"letters:{tmp_path / 'out'},x=y"
    assert made.card.made_from == "letters (CC0-1.0)"
    before = (tmp_path / "out" / CARD).read_bytes()
    run(tmp_path / "out", second)
    assert (first.made, second.made) == (["a", "b"], [])
    assert (tmp_path / "out" / CARD).read_bytes() == before
    assert sorted(json.loads(before)["stages"]) == ["a", "b"]


def test_what_was_stopped_goes_on_after_the_last_stage_that_is_whole(tmp_path: Path) -> None:
    first, second = Letters(Size()), Letters(Size())
    first.fails = stop
    with pytest.raises(InputError, match="stopped"):
        run(tmp_path / "out", first)
    assert not Card.read(tmp_path / "out").finished
    (tmp_path / "out" / ".b.part").mkdir()  # as a kill leaves it
    assert run(tmp_path / "out", second).card.finished
    assert second.made == ["b"]
    assert not (tmp_path / "out" / ".b.part").exists()


def test_a_file_that_was_changed_is_made_again_with_what_rests_on_it(tmp_path: Path) -> None:
    run(tmp_path / "out", Letters(Size()))
    (tmp_path / "out/in/a").write_text("other")
    again = Letters(Size())
    run(tmp_path / "out", again)
    assert again.made == ["a", "b"]
    assert (tmp_path / "out/in/a").read_text() == "a"


def test_a_file_of_somebody_else_is_never_overwritten(tmp_path: Path) -> None:
    first = Letters(Size())
    first.fails = stop
    with pytest.raises(InputError, match="stopped"):
        run(tmp_path / "out", first)
    (tmp_path / "out/in/b").write_text("mine")
    with pytest.raises(InputError, match=r"in/b: would be overwritten, but no stage wrote it; move it away"):
        run(tmp_path / "out", Letters(Size()))
    assert (tmp_path / "out/in/b").read_text() == "mine"
    (tmp_path / "out/in/b").unlink()
    assert run(tmp_path / "out", Letters(Size())).card.finished


def test_what_was_killed_between_its_files_is_done_again(tmp_path: Path) -> None:
    run(tmp_path / "out", Letters(Size()))
    whole = (tmp_path / "out" / CARD).read_bytes()
    (tmp_path / "out/in/a").unlink()
    first = Letters(Size())
    first.fails = stop
    with pytest.raises(InputError, match="stopped"):
        run(tmp_path / "out", first)
    second = Letters(Size())
    run(tmp_path / "out", second)
    assert (first.made, second.made) == (["a"], ["b"])
    assert (tmp_path / "out" / CARD).read_bytes() == whole


def test_another_setting_and_another_input_are_named(tmp_path: Path) -> None:
    run(tmp_path / "out", Letters(Size()))
    with pytest.raises(InputError, match="out: was begun with another letters, size; choose another folder"):
        run(tmp_path / "out", Letters(Size(size=2), "other"))


def test_where_nothing_was_made_another_may_begin(tmp_path: Path) -> None:
    Work.begin(_made(tmp_path / "out"), Card(maker="letters", inputs={}, settings={"size": 5}))
    run(tmp_path / "out", Letters(Size()))
    assert (tmp_path / "out/in/a").read_text() == "a"


def test_a_folder_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    (_made(tmp_path / "out") / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"out: is not empty and holds no maker\.json \(mine\.txt\)"):
        run(tmp_path / "out", Letters(Size()))
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name != ".lock"] == ["mine.txt"]


def test_a_damaged_card_is_named(tmp_path: Path) -> None:
    run(tmp_path / "out", Letters(Size()))
    (tmp_path / "out" / CARD).write_text("{}")
    with pytest.raises(InputError, match=r"maker\.json: damaged or of another version \(maker: "):
        run(tmp_path / "out", Letters(Size()))


def test_nothing_is_left_of_what_failed_before_anything_was_made(tmp_path: Path) -> None:
    job = Letters(Size())
    job._write = lambda folder, name: stop()  # type: ignore[method-assign]
    with pytest.raises(InputError, match="stopped"):
        run(tmp_path / "out", job)
    assert not (tmp_path / "out").exists()


def test_a_stage_in_place_is_known_by_its_files_or_told_to_be_done_again(tmp_path: Path) -> None:
    folder = _made(tmp_path / "out")
    work = Work.begin(folder, Card(maker="letters", inputs={}, settings={}))

    def write(place: Path) -> None:
        (place / "x").write_text("x")

    done = [work.stage("x", write, in_place=("x",)), work.stage("x", write, in_place=("x",))]
    (folder / "x").unlink()
    done += [work.stage("x", write, in_place=("x",)), work.stage("x", write, in_place=("x",), again=True)]
    assert done == [True, False, True, True]


def test_a_kind_that_has_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match="kind 'bake' is none of build, train"):
        Maker(name="x", kind="bake", about="", settings=Size, job=Letters, yields="x:{out}")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("content", ['{"my": 1}', "years of work", ""])
def test_a_file_of_the_cards_name_that_is_no_card_is_not_overwritten(tmp_path: Path, content: str) -> None:
    (tmp_path / CARD).write_text(content)
    with pytest.raises(InputError, match=r"maker.json: damaged or of another version"):
        run(tmp_path, Letters(Size()))
    assert (tmp_path / CARD).read_text() == content


def test_files_half_written_by_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".film.part").write_text("a download")
    with pytest.raises(InputError, match=r"is not empty and holds no maker\.json \(\.film\.part\)"):
        run(tmp_path, Letters(Size()))
    assert (tmp_path / ".film.part").read_text() == "a download"
    (tmp_path / ".film.part").rename(tmp_path / f".{CARD}.x.part")  # as a process killed at its first file
    run(tmp_path, Letters(Size()))
