"""Teach a student by parallel captions, into a folder that is a subject (docs/mitigation/distill.md)."""

from __future__ import annotations

import shutil
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.held_out import write_held_out
from equiview.data.items import Items
from equiview.data.vectors import one_each
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.mitigation.distill.parallel import Parallel, joined, of_benchmark, of_files
from equiview.mitigation.distill.settings import ADAPTER, MODEL, NGRAMS, TOWER, DistillMaking
from equiview.mitigation.folder import (
    encoder_input,
    precision_of,
    save_losses,
    versions_with,
    whole_name,
    whole_path,
)
from equiview.mitigation.split import parts
from equiview.store import stored
from equiview.subjects import Encoder
from equiview.subjects.distilled import Distillation, TextModel
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.torch_encoder import chosen_device
from equiview.subjects.load import load_encoder

if TYPE_CHECKING:
    from equiview.mitigation.distill.students import Student

CHECKPOINTS = ".checkpoints"
CALLED = {TOWER: "its own text tower", ADAPTER: "an adapter", NGRAMS: "n-grams"}


class Distilling(Job):
    """A student to teach."""

    def __init__(self, settings: DistillMaking, subject: Encoder, benchmark: Benchmark | None = None) -> None:
        if subject.similarity != "cosine":
            raise InputError(
                f"{subject.name!r} compares by {subject.similarity}; distillation is for encoders with one "
                "vector an item, compared by their angle"
            )
        self.versions = versions_with(subject)
        self.settings, self.recipe = settings, settings.recipe
        self.subject, self.benchmark = subject, benchmark
        self.device = chosen_device(settings.device, "distill", "train")
        self.precision = precision_of(self.recipe.precision, self.device)
        self.kind, self.model = self._kind()
        self.read: dict[str, Benchmark | Parallel] = {}
        taught = []
        if benchmark is not None:
            fit, self.kept = parts(benchmark, settings.share, settings.apart, settings.seed)
            self.read["benchmark"] = benchmark
            taught.append(of_benchmark(benchmark, fit, settings.source))
        if settings.parallel:
            files = joined([of_files(given, settings.source) for given in settings.parallel])
            self.read["files"] = files
            taught.append(files)
        self.data = joined(taught)

    @classmethod
    def named(cls, settings: DistillMaking) -> Distilling:
        """The distillation of these settings, with encoder and benchmark loaded by name."""
        benchmark = load_benchmark(settings.benchmark) if settings.benchmark else None
        return cls(settings, load_encoder(settings.subject), benchmark)

    def _kind(self) -> tuple[str, TextModel | None]:
        """The kind of student, and the text model that was asked for."""
        wanted = self.settings.student
        if wanted in (ADAPTER, NGRAMS):
            return wanted, None
        if not wanted:
            own = type(self.subject) is HuggingFace and not self.subject.dim
            return (TOWER if own else ADAPTER), None
        return MODEL, TextModel(f"{wanted},device={self.device},dtype=float32", length=self.recipe.max_length)

    @property
    def called(self) -> str:
        """The student's name."""
        return whole_path(self.model.checkpoint.name) if self.model else CALLED[self.kind]

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The encoder, the student, and the captions."""
        known = self.model.checkpoint.fingerprint if self.model else fingerprint(self.kind)
        student = Input(name=self.called, fingerprint=known)
        captions = {name: Input.of(data) for name, data in self.read.items()}
        return {"encoder": encoder_input(self.subject), "student": student} | captions

    def plan(self) -> list[Task]:
        """What the teacher reads, what the student reads, and the steps."""
        tasks = [
            Task(f"texts in {self.settings.source}, for the teacher", len(self.data.sources), "texts"),
            Task(f"texts in {len(self.data.counts)} languages, for the student", len(self.data), "texts"),
            self.recipe.recipes[self.kind].planned(self.kind, len(self.data)),
        ]
        return (
            tasks if self.benchmark is None else [*tasks, Task("images held out", len(self.kept), "images")]
        )

    def make(self, work: Work) -> Outcome:
        """Teach, then write the subject's card."""
        work.stage("model", partial(self._learn, work))
        work.stage("card", partial(self._describe, work))
        shutil.rmtree(work.folder / CHECKPOINTS, ignore_errors=True)
        if self.benchmark is None:
            return Outcome()
        audit = f"--benchmark held-out:{work.folder} --audit parity"
        return Outcome(
            after={
                "Judge it": f"equiview audit distilled:{work.folder} {audit}",
                "And what it was": f"equiview audit {self.subject.name} {audit}",
            }
        )

    @cached_property
    def teacher(self) -> Encoder:
        """The encoder with its store."""
        return stored(self.subject)

    def _learn(self, work: Work, part: Path) -> None:
        from equiview.mitigation.distill.stage import teach

        said = self._read(self.data.sources, work.progress)
        student = self._student(said.shape[1], work.progress)
        losses = teach(
            *(self.kind, student, self.data, said, work.folder / CHECKPOINTS, self.recipe),
            *(self.device, self.precision, work.progress),
        )
        (part / Distillation.made).mkdir()
        student.save(part / Distillation.made)
        save_losses(part, {"distillation": losses}, "squared distance to the teacher's unit vector")

    def _read(self, texts: Items, progress: Progress) -> NDArray[np.float32]:
        """Unit vectors of texts as the encoder reads them, from the store."""
        vectors = np.asarray(one_each(self.teacher.embed(texts, progress)), dtype=np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def _student(self, width: int, progress: Progress) -> Student:
        import torch

        from equiview.mitigation.distill.students import AdapterStudent, NgramStudent, Tower

        seed, texts = self.recipe.seed, self.data.texts.texts  # torch reads 32 bits of a seed
        if self.kind == ADAPTER:
            known = torch.from_numpy(self._read(self.data.texts, progress))
            return AdapterStudent(known, self.recipe.adapter.hidden, seed)
        if self.kind == NGRAMS:
            return NgramStudent(texts, width, seed)
        if self.model:
            self.model.width = width
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                return Tower(self.model, texts)
        assert isinstance(self.subject, HuggingFace)
        name = f"{self.subject.checkpoint.name},device={self.device},dtype=float32"
        return Tower(HuggingFace(name), texts)

    def _describe(self, work: Work, part: Path) -> None:
        made_of = work.card.inputs
        shared = self.recipe.model_dump(
            mode="json",
            include={"forward", "save_every", "seed", "precision", "schedule", "warmup", "weight_decay",
                     "max_grad_norm"},
        )  # fmt: skip
        Distillation(
            kind=self.kind,  # type: ignore[arg-type]
            student=self.called,
            parent=made_of["encoder"],
            data={name: made_of[name] for name in self.read},
            texts=self.data.counts,
            width=self._width(work),
            length=self.recipe.max_length,
            settings=shared | self.recipe.recipes[self.kind].model_dump(mode="json"),
            versions=work.card.versions,
        ).save(part, of=work.folder)
        if self.benchmark is not None:
            name = whole_name(self.settings.benchmark)
            write_held_out(part, name, self.benchmark, self.kept.tolist())

    def _width(self, work: Work) -> int:
        """How many numbers the teacher's vectors have."""
        return int(self._read(self.data.sources.take([0]), work.progress).shape[1])
