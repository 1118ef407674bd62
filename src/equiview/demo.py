"""The demo: embedded encoders are audited on embedded benchmarks, compared, and one is corrected; offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from threadpoolctl import threadpool_limits

from equiview.api import audit, check_no_run, write_comparison
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.partial import without_images
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


@dataclass(frozen=True)
class Part:
    """What some encoders are asked: a benchmark, how an encoder is called, audits and their settings.

    With `images` only so many of the benchmark's first images are used.
    """

    benchmark: str
    audits: tuple[str, ...]
    encoders: tuple[str, ...]
    called: str = "{}"
    images: int | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """What its runs are called after: the benchmark, or the audit where that is only a part of one."""
        return self.benchmark.partition(":")[0] if self.images is None else "-".join(self.audits)

    def load(self) -> Benchmark:
        """The benchmark, or its first images."""
        whole = load_benchmark(self.benchmark)
        return whole if self.images is None else without_images(whole, whole.images.ids[self.images :])


LANGUAGES = ("pictogram:skewed", "pictogram:english", "pictogram:aligned")
PEOPLE = ("pictogram:tied", "pictogram:untied")
FEW = {"replicates": 1000}
"""For what is shown on a small sample."""
DEMO = (
    Part("pictograms", ("prevalence", "parity"), LANGUAGES),
    Part("pictograms-culture", ("association",), LANGUAGES),
    Part("pictograms-quiz", ("knowledge",), LANGUAGES, "choice:{}"),
    Part("pictograms-people", ("social",), PEOPLE),
    Part(
        "pictograms", ("individual",), ("pictogram:skewed", "pictogram:aligned"), images=100,
        settings={
            "individual": FEW | {"sample": 100, "languages": ("en", "de", "ja", "fr", "ar", "th", "hi", "sw")}
        },
    ),
    Part(
        "pictograms-flags", ("memory",), ("pictogram:flags-skewed", "pictogram:flags-aligned"),
        "describe:{}", images=80,
        settings={
            "memory": FEW | {"languages": ("en", "de", "fr", "ar", "th", "sw"), "translator": "names",
                             "detector": "names", "scorer": "pictogram:english"}
        },
    ),
    Part("pictograms-roles", ("amplification",), PEOPLE[:1], "choice:{}", settings={"amplification": FEW}),
    Part(
        "scenes:images=60,gallery=60", ("decorrelation",), ("pictogram:scenes",),
        settings={"decorrelation": FEW},
    ),
)  # fmt: skip
"""What is audited, the four added last on small samples."""
TRIED = (
    "pictogram:skewed",
    "pictograms",
    ("prevalence",),
    {"level": {}, "center": {}, "exposure": {"by": "tier"}},
)
"""What is tried against a bias: encoder, benchmark, audits, and methods with their settings."""
AFTER = (
    "The tenth audit takes eight runs or more: equiview study transfer; "
    "docs/getting-started.md has a command for each of the ten"
)
"""What the demo leaves to the reader."""


def demo(out: Path, *, seed: int = 0, progress: Progress = silent) -> tuple[list[Run], pl.DataFrame]:
    """Audit the embedded encoders on the embedded benchmarks, offline, and compare them in `out`.

    Returns the runs and their paired differences. InputError when `out` is a run: its page would be lost.
    """
    check_no_run(out)
    runs = []
    # Small products: threads of BLAS would wait longer for each other than they work.
    with TemporaryDirectory() as folder, threadpool_limits(1, user_api="blas"):
        store = Store(Path(folder))  # audits of one encoder share its vectors; nothing is kept
        for part in DEMO:
            items = part.load()
            for name in part.encoders:
                short = f"{name.partition(':')[2]}-{part.folder}"

                def named(label: str, done: int, total: int, short: str = short) -> None:
                    progress(f"{short}: {label}", done, total)

                subject = load_subject(part.called.format(name))
                subject = stored(subject, store) if isinstance(subject, Encoder) else subject
                run = audit(
                    subject, items, part.audits, out / short,
                    seed=seed, settings=part.settings, cache=False, progress=named,
                )  # fmt: skip
                runs.append(run)
                progress("runs", len(runs), sum(len(entry.encoders) for entry in DEMO))
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
