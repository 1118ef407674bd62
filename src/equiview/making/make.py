"""Running a maker: its folder is locked, begun or continued, and finished."""

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
    """A result: its folder, its name, its card, and the output to print."""

    folder: Path
    name: str
    card: Card
    outcome: Outcome


def make(
    maker: Maker[S], settings: S, out: Path, progress: Progress = silent, *, job: Job | None = None
) -> Made:
    """Make a result by these settings in the folder `out`, or continue where it was stopped.

    `job` is by default that of the settings. InputError for invalid inputs, for a folder that holds something
    else, and while another process writes to it.
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
