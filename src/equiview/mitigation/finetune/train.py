"""Fine-tune an encoder on D, or D and D', into a folder that is a subject (docs/mitigation/finetune.md)."""

from __future__ import annotations

import pkgutil
import shutil
from functools import partial
from pathlib import Path

from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.make import make
from equiview.making.work import Work
from equiview.mitigation.finetune import FINETUNE
from equiview.mitigation.finetune.kinds import KINDS, kind_of, tunable
from equiview.mitigation.finetune.pairs import Mixture, load_pairs, load_synthetic, mixed
from equiview.mitigation.finetune.settings import FineTuneMaking, FineTuneSettings
from equiview.mitigation.folder import encoder_input, precision_of, save_losses, versions_with
from equiview.store import Store, stored
from equiview.subjects import Encoder, Subject, load_subject
from equiview.subjects.encoders.torch_encoder import TorchEncoder, chosen_device
from equiview.subjects.finetuned import MODEL, FineTuning

CHECKPOINTS = ".checkpoints"


def finetune(
    subject: Subject,
    out: Path,
    pairs: Mixture,
    *,
    settings: FineTuneSettings | None = None,
    device: str = "",
    store: Store | None = None,
    progress: Progress = silent,
) -> Path:
    """Fine-tune `subject` on `pairs`; returns the folder, which is then `finetuned:DIR`.

    A training that was stopped goes on from its last checkpoint and ends in the same bytes. InputError for a
    subject that cannot be fine-tuned, for a folder that holds another training, and while another process
    writes to it.
    """
    chosen = FineTuneMaking(
        subject=subject.name, data=pairs.real.name, recipe=settings or FineTuneSettings(), device=device
    )
    job = Training(chosen, subject, pairs, store)
    return make(FINETUNE, chosen, out, progress, job=job).folder


class Training(Job):
    """An encoder to fine-tune on pairs."""

    def __init__(
        self, settings: FineTuneMaking, subject: Subject, pairs: Mixture, store: Store | None = None
    ) -> None:
        self.versions = versions_with(subject)
        self.settings, self.pairs, self.store = settings.recipe, pairs, store
        self.subject = tunable(subject)
        self.name = kind_of(self.subject, self.settings.kind)
        self.kind, self.recipe = KINDS.get(self.name), self.settings.recipes[self.name]
        self.device = chosen_device(settings.device, "finetune", "train")
        self.precision = precision_of(self.settings.precision, self.device)
        if len(pairs) < self.recipe.batch:
            raise InputError(
                f"{pairs.real.name!r}: {len(pairs)} pairs are fewer than a batch of {self.recipe.batch}; "
                f"set a smaller '{self.name}.batch'"
            )

    @classmethod
    def named(cls, settings: FineTuneMaking) -> Training:
        """The training of these settings, with encoder and pairs loaded by name."""
        synthetic = load_synthetic(settings.synthetic) if settings.synthetic else None
        pairs = mixed(load_pairs(settings.data), synthetic, settings.ratio, settings.recipe.seed)
        return cls(settings, load_subject(settings.subject), pairs)

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The encoder, D, and the sample of D'."""
        sides = {name: Input.of(pairs) for name, pairs in self.pairs.sides.items()}
        return {"encoder": encoder_input(self.subject), **sides}

    def plan(self) -> list[Task]:
        """Pairs of each side, and steps."""
        pairs = [Task(f"{name} data", len(side), "pairs") for name, side in self.pairs.sides.items()]
        return [*pairs, self.recipe.planned(self.name, len(self.pairs), whole=True)]

    def make(self, work: Work) -> Outcome:
        """Train, then write the subject's card."""
        work.stage("model", partial(self._learn, work))
        work.stage("card", partial(self._describe, work))
        shutil.rmtree(work.folder / CHECKPOINTS, ignore_errors=True)
        return Outcome()

    def _learn(self, work: Work, part: Path) -> None:
        seed = seed_for(self.settings.seed, "adapter")
        kind = pkgutil.resolve_name(self.kind.trainee)
        trainee = kind(self._encoder(), self.pairs, self.recipe, seed, work.progress)

        from equiview.mitigation.finetune.stage import train

        label = " and ".join(side.name for side in self.pairs.sides.values())
        losses = train(
            *(label, trainee, work.folder / CHECKPOINTS, self.recipe, self.settings),
            *(self.device, self.precision, work.progress),
        )
        (part / MODEL).mkdir()
        trainee.save(part / MODEL)
        save_losses(part, {"fine-tuning": losses}, self.kind.unit)

    def _encoder(self) -> Encoder:
        """The encoder: with stored vectors where it is frozen, else in float32 on the device."""
        if not self.kind.scheme:
            return stored(self.subject, self.store)
        if not isinstance(self.subject, TorchEncoder):
            return self.subject
        name = f"{self.subject.scheme}:{self.subject.checkpoint.name}"
        return tunable(load_subject(f"{name},device={self.device},dtype=float32"))

    def _describe(self, work: Work, part: Path) -> None:
        made_of, sides = work.card.inputs, self.pairs.sides
        settings = self.settings.model_dump(
            mode="json", include={"forward", "save_every", "seed", "precision"}
        )
        FineTuning(
            kind=self.name,
            scheme=self.kind.scheme,
            parent=made_of["encoder"],
            data={name: made_of[name] for name in sides},
            pairs={name: len(side) for name, side in sides.items()},
            settings=settings | self.recipe.model_dump(mode="json"),
            versions=work.card.versions,
        ).save(part, of=work.folder)
