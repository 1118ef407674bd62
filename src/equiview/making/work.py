"""The output folder: used by one process at a time, and continued by the same command."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from equiview.errors import InputError
from equiview.io.lock import LOCK
from equiview.io.progress import Progress, silent
from equiview.io.stages import is_whole, sweep, write_stage
from equiview.io.tables import checksum
from equiview.making.card import CARD, Card


class Work:
    """A folder to work in, with its card."""

    def __init__(self, folder: Path, card: Card, progress: Progress = silent) -> None:
        self.folder, self.card, self.progress = folder, card, progress

    @classmethod
    def begin(cls, folder: Path, card: Card, progress: Progress = silent) -> Work:
        """Begin in a folder, or continue; InputError where it holds something else, naming the difference.

        A folder with nothing but a card is begun again.
        """
        held = [entry.name for entry in folder.iterdir() if entry.name != LOCK]
        ours = f".{CARD}."  # a card half written, whose writer was killed
        others = [
            name
            for name in held
            if not name.startswith(".") or (name.endswith(".part") and not name.startswith(ours))
        ]
        if CARD not in held and others:
            raise InputError(
                f"{folder}: is not empty and holds no {CARD} ({others[0]}); choose another folder"
            )
        there = Card.read(folder) if CARD in held else None  # a user's own file of that name is refused
        if there is None or held == [CARD]:
            sweep(folder)
            card.save(folder)
            return cls(folder, card, progress)
        if different := card.differs_from(there):
            raise InputError(
                f"{folder}: was begun with another {', '.join(different)}; choose another folder, or delete "
                "it to begin again"
            )
        sweep(folder)
        return cls(folder, there, progress)

    def stage(
        self,
        name: str,
        produce: Callable[[Path], object],
        *,
        in_place: Sequence[str] | None = None,
        again: bool = False,
    ) -> bool:
        """Run one stage unless it is finished and its files unchanged; returns whether it ran.

        `produce` writes to the folder that it is given; its files are then moved to this one at once. A stage
        that writes to this folder itself names in `in_place` the files that show it is finished; `again`
        forces it where they cannot. Later stages depend on this one, so they are done again. InputError where
        it would write over a file that no stage wrote.
        """
        done = self.card.stages.get(name)
        if done is not None and not again and is_whole(self.folder, done):
            return False
        stages = self.card.stages
        earlier = dict(takewhile(lambda stage: stage[0] != name, stages.items()))
        later = {
            stage: dict.fromkeys(files, "")
            for stage, files in stages.items()
            if files and stage not in earlier and stage != name
        }
        ours = {file for files in stages.values() for file in files}

        def note(files: dict[str, str]) -> None:
            """The card names a stage's files before they are there: one that was killed is done again."""
            places = [self.folder / file for file in files if file not in ours]
            if strange := [place for place in places if os.path.lexists(place)]:
                raise InputError(f"{strange[0]}: would be overwritten, but no stage wrote it; move it away")
            self._note(stages=earlier | {name: files} | later, finished=False)

        if in_place is None:
            write_stage(self.folder, name, produce, note)
        else:
            note(dict.fromkeys(in_place, ""))
            produce(self.folder)
            written = {file: checksum(self.folder / file) for file in in_place}
            self._note(stages=self.card.stages | {name: written})
        return True

    def finish(self) -> None:
        """Mark the card as finished."""
        if not self.card.finished:
            self._note(finished=True)

    def _note(self, **changes: Any) -> None:
        self.card = self.card.model_copy(update=changes)
        self.card.save(self.folder)

    def forget_if_nothing_was_made(self) -> None:
        """Remove the card of a folder that contains nothing else."""
        if {entry.name for entry in self.folder.iterdir()} <= {CARD, LOCK}:
            (self.folder / CARD).unlink(missing_ok=True)
