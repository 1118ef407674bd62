"""`equiview train centre`: an encoder whose pictures and whose texts have their means at the origin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from equiview.making import Job, Maker, Option, Outcome, Settings, Task, register

if TYPE_CHECKING:
    from equiview.io.progress import Progress
    from equiview.making.card import Input
    from equiview.making.work import Work


class CentreSettings(Settings):
    """What a user chooses. Both are inputs, told apart by their content: no setting is recorded."""

    subject: Annotated[str, Option(argument=True, recorded=False)] = Field(description="The encoder.")
    data: Annotated[str, Option(recorded=False)] = Field(description="Benchmark with images and texts.")


class Centre(Job):
    """A folder with the means of unit vectors, `(2, width)`: of pictures and of texts."""

    def __init__(self, settings: CentreSettings) -> None:
        from equiview.benchmarks import load_benchmark
        from equiview.subjects import EmbeddingModel, load_subject

        subject = load_subject(settings.subject)
        assert isinstance(subject, EmbeddingModel)
        self.encoder, self.items = subject, load_benchmark(settings.data)
        self.versions = subject.versions

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The encoder and the benchmark."""
        from equiview.making.card import Input

        encoder = Input(name=self.encoder.name, fingerprint=self.encoder.fingerprint)
        return {"encoder": encoder, "data": Input.of(self.items)}

    def plan(self) -> Sequence[Task]:
        """Every image and text is encoded once."""
        return [Task("encode", sum(self.items.counts.values()), "items")]

    def make(self, work: Work) -> Outcome:
        """One stage."""
        work.stage("means", lambda folder: self._means(folder, work.progress))
        return Outcome()

    def _means(self, folder: Path, progress: Progress) -> None:
        import numpy as np

        means = []
        for items in (self.items.images, self.items.need_texts()):
            vectors = np.asarray(self.encoder.embed(items, progress))
            means.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0))
        np.save(folder / "means.npy", np.stack(means))
        (folder / "encoder.txt").write_text(self.encoder.name)


CENTRE = register(
    Maker(
        name="centre",
        kind="train",
        about="Move the means of pictures and of texts to the origin.",
        settings=CentreSettings,
        job=Centre,
        yields="centred:{out}",
        result="Centred",
    )
)
