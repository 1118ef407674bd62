"""`equiview build swatches`: pictures of one colour each, with its names in several languages as captions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from equiview.errors import InputError
from equiview.making import Job, Maker, Option, Outcome, Settings, Task, register

if TYPE_CHECKING:
    from equiview.io.progress import Progress
    from equiview.making.card import Input
    from equiview.making.work import Work


class SwatchSettings(Settings):
    """What a user chooses: each field is an option."""

    colours: Annotated[Path, Option(argument=True, recorded=False)] = Field(
        description="CSV file with a column hex, and name_xx for each language xx."
    )
    languages: tuple[str, ...] = Field(default=("en", "de"), description="Codes between commas.")
    side: int = Field(default=32, ge=8, le=512, description="Pixels of a side.")
    licence: str = Field(default="", description="Licence of the names.")


class Swatches(Job):
    """A folder with `swatches.csv` and a picture for each of its rows."""

    def __init__(self, settings: SwatchSettings) -> None:
        import polars as pl

        self.settings = settings
        self.table = pl.read_csv(settings.colours)
        columns = ["hex", *(f"name_{language}" for language in settings.languages)]
        if absent := set(columns) - set(self.table.columns):
            raise InputError(f"{settings.colours}: has no column {min(absent)!r}; add it, or leave it out")
        self.table = self.table.select(columns)

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The table, by a hash of its content."""
        from equiview.io.fingerprint import fingerprint
        from equiview.making.card import Input

        name, content = self.settings.colours.name, fingerprint(self.table.write_csv())
        return {"colours": Input(name=name, fingerprint=content, licence=self.settings.licence)}

    def plan(self) -> Sequence[Task]:
        """A picture a row; no model is asked."""
        return [Task("paint", len(self.table), "pictures")]

    def make(self, work: Work) -> Outcome:
        """Paint, then write the table; a stage that is done is not done again."""
        work.stage("paint", lambda folder: self._paint(folder, work.progress))
        work.stage("table", lambda folder: self.table.write_csv(folder / "swatches.csv"))
        return Outcome({"Swatches": self.table}, before={"Pictures": str(work.folder / "pictures")})

    def _paint(self, folder: Path, progress: Progress) -> None:
        from PIL import Image

        (folder / "pictures").mkdir()
        side = self.settings.side
        for row, colour in enumerate(self.table["hex"], start=1):
            Image.new("RGB", (side, side), f"#{colour}").save(folder / "pictures" / f"{colour}.png")
            progress("painting", row, len(self.table))


SWATCHES = register(
    Maker(
        name="swatches",
        kind="build",
        about="Pictures of one colour each, with its names.",
        settings=SwatchSettings,
        job=Swatches,
        yields="swatches:{out}",
    )
)
