"""The demo: embedded encoders are audited on embedded benchmarks, compared, and one is corrected; offline."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from equiview.api import audit, check_no_run, write_comparison
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.io.progress import Progress, silent
from equiview.making import MAKERS, Job
from equiview.making.make import make
from equiview.mitigation.lists.make import Ordering
from equiview.mitigation.lists.settings import ListMaking
from equiview.mitigation.vectors.make import Fitting
from equiview.report.mitigation import tried
from equiview.report.page import Tried
from equiview.store import Store, stored
from equiview.studies import mitigation
from equiview.subjects import Encoder, Subject, load_subject
from equiview.subjects.load import load_encoder

LANGUAGES = ("pictogram:skewed", "pictogram:english", "pictogram:aligned")
DEMO = (
    ("pictograms", "{}", ("prevalence", "parity"), LANGUAGES),
    ("pictograms-culture", "{}", ("association",), LANGUAGES),
    ("pictograms-quiz", "choice:{}", ("knowledge",), LANGUAGES),
    ("pictograms-people", "{}", ("social",), ("pictogram:tied", "pictogram:untied")),
)
"""Benchmark, how an encoder is asked, audits, and which encoders."""
TRIED = (
    "pictogram:skewed",
    "pictograms",
    ("prevalence",),
    {"level": {}, "center": {}, "exposure": {"by": "tier"}},
)
"""What is tried against a bias: encoder, benchmark, audits, and methods with their settings."""
AFTER = (
    "Does an encoder name objects that are not there? "
    "equiview audit pictogram:scenes --benchmark scenes --audit decorrelation --out scenes"
)
"""What the demo leaves to the reader."""


def demo(out: Path, *, seed: int = 0, progress: Progress = silent) -> tuple[list[Run], pl.DataFrame]:
    """Audit the embedded encoders on the embedded benchmarks, offline, and compare them in `out`.

    Returns the runs and their paired differences. InputError when `out` is a run: its page would be lost.
    """
    check_no_run(out)
    runs = []
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))  # audits of one encoder share its vectors; nothing is kept
        for benchmark, called, audits, encoders in DEMO:
            items = load_benchmark(benchmark)
            for name in encoders:
                short = f"{name.partition(':')[2]}-{benchmark}"

                def named(label: str, done: int, total: int, short: str = short) -> None:
                    progress(f"{short}: {label}", done, total)

                subject = load_subject(called.format(name))
                subject = stored(subject, store) if isinstance(subject, Encoder) else subject
                runs.append(
                    audit(subject, items, audits, out / short, seed=seed, cache=False, progress=named)
                )
                progress("runs", len(runs), sum(len(entry[-1]) for entry in DEMO))
        helps = _tried(out / "help", store, seed, progress) if TRIED else None
    return write_comparison(runs, out, progress, helps=helps)


def _tried(out: Path, store: Store, seed: int, progress: Progress) -> Tried:
    """What helps the demo's skewed encoder: methods fitted on half of the images, judged on the others."""
    name, benchmark, audits, methods = TRIED
    items, before = load_benchmark(benchmark), stored(load_encoder(name), store)
    systems: dict[str, Subject] = {"as it is": before}
    for method, given in methods.items():
        maker = MAKERS.get(method)
        settings = maker.settings.of({"subject": name, "benchmark": benchmark, "seed": seed} | given)
        job: Job = (Ordering if issubclass(maker.settings, ListMaking) else Fitting)(settings, before, items)
        made = make(maker, settings, out / method, progress, job=job)
        systems[f"{method} by {given['by']}" if "by" in given else method] = load_subject(made.name)
    judged = load_benchmark(f"held-out:{out / next(iter(methods))}")
    runs = []
    for called, subject in systems.items():
        kept = stored(subject, store) if isinstance(subject, Encoder) else subject
        folder = out / f"run-{called.replace(' ', '-')}"
        runs.append(
            audit(kept, judged, audits, folder, name=called, seed=seed, cache=False, progress=progress)
        )
    about = (
        f"Tried on {name}: each method was fitted on half of the images of {benchmark}, and all are judged "
        f"on the other half ({len(judged.images)} images). Read a change beside what it costs."
    )
    return tried(mitigation(runs[0], runs[1:]), runs, about)
