"""Making something by a maker: the folder is held, begun or continued, worked in, and finished."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from equiview.data.run import check_folder
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.making.base import Job, Maker, Outcome, S
from equiview.making.card import Card, Input
from equiview.making.options import recorded
from equiview.making.work import Work


@dataclass(frozen=True)
class Made:
    """What was made: its folder, how it is named, its card, and what is shown of it."""

    folder: Path
    name: str
    card: Card
    outcome: Outcome


def make(
    maker: Maker[S], settings: S, out: Path, progress: Progress = silent, *, job: Job | None = None
) -> Made:
    """Make what the settings say in the folder `out`, or go on where it was stopped.

    `job` is that of the settings unless it is given. InputError for inputs that cannot be used, for a folder
    that holds something else, and while another process writes to it.
    """
    check_folder(out)
    with locked(out):
        job = job or maker.job(settings)
        card = Card(
            maker=maker.name,
            inputs=dict(job.inputs(progress)),
            models={
                purpose: Input(name=model.name, fingerprint=model.fingerprint)
                for purpose, model in job.models.items()
            },
            settings=recorded(settings),
            versions=dict(job.versions),
        )
        work = Work.begin(out, card, progress)
        try:
            outcome = job.make(work)
        except BaseException:
            work.forget_if_nothing_was_made()
            raise
        work.finish()
    return Made(out, maker.named(out), work.card, outcome)
