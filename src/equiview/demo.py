"""The demo: embedded encoders are audited on embedded benchmarks, compared, and one is corrected; offline."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from threadpoolctl import threadpool_limits

from equiview.api import audit, check_no_run, write_comparison
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.data.manifest import versions
from equiview.data.run import Run
from equiview.engine.processes import in_processes, tell
from equiview.errors import InputError
from equiview.io.files import content_of, parse_json
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_files
from equiview.io.progress import Progress, silent
from equiview.io.tables import checksum, write_bytes
from equiview.making import MAKERS, Job
from equiview.making.make import make
from equiview.mitigation.lists.make import Ordering
from equiview.mitigation.lists.settings import ListMaking
from equiview.mitigation.vectors.make import Fitting
from equiview.report.embed import small_kept
from equiview.report.mitigation import tried
from equiview.report.page import Tried
from equiview.report.tables import FILE as COMPARED
from equiview.store import Store, stored
from equiview.studies import mitigation
from equiview.studies.alike import told_apart
from equiview.studies.compare import Early, compared
from equiview.subjects import Encoder, Subject, load_subject
from equiview.subjects.chat.encoder_answerer import EncoderAnswerer
from equiview.subjects.load import load_encoder


@dataclass(frozen=True)
class Part:
    """What some encoders are asked: a benchmark, how an encoder is called, audits and their settings.

    With `images` only so many of the benchmark's first images are used. `later`: another part has the same
    pictures, and is begun long before, so that this one finds them encoded.
    """

    benchmark: str
    audits: tuple[str, ...]
    encoders: tuple[str, ...]
    called: str = "{}"
    images: int | None = None
    later: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """What its runs are called after: the benchmark, or the audit where that is only a part of one."""
        return self.benchmark.partition(":")[0] if self.images is None else "-".join(self.audits)

    def name_of(self, name: str) -> str:
        """The name of the folder of the run of one of the encoders."""
        return f"{name.partition(':')[2]}-{self.folder}"

    def load(self, kept: Path) -> Benchmark:
        """The benchmark, or its first images; `kept` is the folder of what processes share."""
        whole = _loaded(self.benchmark, kept)
        return whole if self.images is None else without_images(whole, whole.images.ids[self.images :])

    def run(self, name: str, out: Path, kept: Path, seed: int, progress: Progress) -> Run:
        """The run of one of the encoders, in a folder of `out`."""
        short = self.name_of(name)

        def named(label: str, done: int, total: int) -> None:
            progress(f"{short}: {label}", done, total)

        subject = load_subject(self.called.format(name))
        if isinstance(subject, EncoderAnswerer):
            subject.encoder = stored(subject.encoder, Store(kept))
        elif isinstance(subject, Encoder):
            subject = stored(subject, Store(kept))
        return audit(
            subject, self.load(kept), self.audits, out / short,
            seed=seed, settings=self.settings, cache=False, progress=named,
        )  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """What is tried against an encoder's bias: benchmark, audits, and methods with their settings."""

    encoder: str
    benchmark: str
    audits: tuple[str, ...]
    methods: Mapping[str, dict[str, Any]]

    def run(self, out: Path, kept: Path, seed: int, progress: Progress) -> Tried:
        """What helps: methods fitted on half of the images, judged on the others, in `out`/help."""
        out, store = out / "help", Store(kept)
        items, before = _loaded(self.benchmark, kept), stored(load_encoder(self.encoder), store)
        systems: dict[str, Subject] = {"as it is": before}
        for method, given in self.methods.items():
            maker = MAKERS.get(method)
            settings = maker.settings.of(
                {"subject": self.encoder, "benchmark": self.benchmark, "seed": seed} | given
            )
            job: Job = (Ordering if issubclass(maker.settings, ListMaking) else Fitting)(
                settings, before, items
            )
            made = make(maker, settings, out / method, progress, job=job)
            systems[f"{method} by {given['by']}" if "by" in given else method] = load_subject(made.name)
        judged = load_benchmark(f"held-out:{out / next(iter(self.methods))}")
        runs = []
        for called, subject in systems.items():
            asked = stored(subject, store)
            folder = out / f"run-{called.replace(' ', '-')}"
            runs.append(
                audit(
                    asked, judged, self.audits, folder, name=called, seed=seed, cache=False, progress=progress
                )
            )
        about = (
            f"Tried on {self.encoder}: each method was fitted on half of the images of {self.benchmark}, and "
            f"all are judged on the other half ({len(judged.images)} images). Read a change beside what it "
            "costs."
        )
        return tried(mitigation(runs[0], runs[1:]), runs, about)


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
    Part(
        "pictograms-roles", ("amplification",), PEOPLE[:1], "choice:{}", later=True,
        settings={"amplification": FEW},
    ),
    Part(
        "scenes:images=60,gallery=60", ("decorrelation",), ("pictogram:scenes",),
        settings={"decorrelation": FEW},
    ),
)  # fmt: skip
"""What is audited, the four added last on small samples."""
TRIED: Trial | None = Trial(
    "pictogram:skewed",
    "pictograms",
    ("prevalence",),
    {"level": {}, "center": {}, "exposure": {"by": "tier"}},
)
"""What is tried last, when what it takes is encoded."""
PROCESSES = 4
"""At most so many work at once: each takes about 1 GB."""
DONE = "demo.json"
"""The file that says by what a demo was made, and the checksum of each file that it left."""
UNSEEN = ("timings.json", ".lock")
"""Files of runs that are no part of what was made."""
SMALL = "small"
"""The folder, beside the vectors, of pictures as pages show them: many pages show the same."""
Place = tuple[int, int]
"""The number of a part, and of one of its encoders; what is tried comes after all parts."""
AFTER = (
    "The tenth audit takes eight runs or more: equiview study transfer; "
    "docs/getting-started.md has a command for each of the ten"
)
"""What the demo leaves to the reader."""


def demo(
    out: Path, *, seed: int = 0, processes: int = 1, progress: Progress = silent
) -> tuple[list[Run], pl.DataFrame]:
    """Audit the embedded encoders on the embedded benchmarks, offline, and compare them in `out`.

    Up to `processes` work at once; the files are the same. A script that asks for several does so below
    `if __name__ == "__main__"`. Returns the runs and their paired differences. Nothing is done where all of
    it is there, as it was left, by the same equiview. InputError when `out` is a run: its page would be lost.
    """
    check_no_run(out)
    by = _made_by(seed)
    if (there := _finished(out, by)) is not None:
        return there
    _loaded.cache_clear()  # a folder may have changed since an earlier call
    tasks = _tasks()
    found: dict[Place, Run | Tried] = {}
    with TemporaryDirectory() as folder:  # audits of one encoder share its vectors; nothing is kept
        done: Iterable[tuple[Place, Run | Tried]]
        if processes == 1:
            done = map(partial(_run, out, Path(folder), seed, progress), tasks)
        else:
            work = partial(_run, out, Path(folder), seed, tell)
            done = in_processes(work, tasks, processes, progress=progress)
        early: Early = {}
        for place, result in done:
            found[place] = result
            progress("parts", len(found), len(tasks))
            early = {**early, **_compared(found, place[0])}  # while the others work
        results = [found[place] for place in sorted(found)]
        runs = [result for result in results if isinstance(result, Run)]
        helps = next((result for result in results if isinstance(result, Tried)), None)
        with small_kept(Path(folder) / SMALL):
            made = write_comparison(runs, out, progress, helps=helps, early=early)
    write_bytes(json.dumps(_left(out, by), indent=2).encode() + b"\n", out / DONE)
    return made


def _compared(found: Mapping[Place, Run | Tried], number: int) -> Early:
    """The comparisons of a part's encoders, once all of them are there."""
    of_part = [found[place] for place in sorted(found) if place[0] == number]
    runs = [result for result in of_part if isinstance(result, Run)]
    return compared(runs) if number < len(DEMO) and len(runs) == len(DEMO[number].encoders) else {}


def _made_by(seed: int) -> str:
    """A hash of all that decides what a demo writes: parts, seed, libraries, and equiview's own files.

    What is asked comes with equiview: benchmarks, encoders, pages.
    """
    own = Path(__file__).parent
    paths = sorted(path for path in own.rglob("*") if path.is_file() and path.suffix != ".pyc")
    names = [path.relative_to(own).as_posix() for path in paths]
    return fingerprint(DEMO, TRIED, seed, versions("onnxruntime"), names, hash_files([*map(str, paths)]))


def _left(out: Path, by: str) -> dict[str, Any]:
    """What was made so, and the checksum of each file of a demo, but for those that say how long it took."""
    folders = [*(out / part.name_of(name) for part in DEMO for name in part.encoders), out / "help"]
    inside = [path for folder in folders for path in folder.rglob("*") if path.name not in UNSEEN]
    paths = sorted(path for path in (*inside, out / COMPARED, out / "report.html") if path.is_file())
    return {"by": by, "files": {path.relative_to(out).as_posix(): checksum(path) for path in paths}}


def _finished(out: Path, by: str) -> tuple[list[Run], pl.DataFrame] | None:
    """The runs and their differences where a demo that was made so left its files as they are."""
    path = out / DONE
    try:
        if not path.is_file() or parse_json(content_of(path), str(path)) != _left(out, by):
            return None
    except InputError:  # damaged
        return None
    runs = [Run.open(out / part.name_of(name)) for part in DEMO for name in part.encoders]
    return told_apart(runs), pl.read_parquet(out / COMPARED)


@cache
def _loaded(benchmark: str, kept: Path) -> Benchmark:
    """A benchmark, of which several encoders are asked: made by one process, and kept for the others."""
    path = kept / f"{fingerprint(benchmark)}.benchmark"
    if path.exists():
        made: Benchmark = pickle.loads(path.read_bytes())
        return made
    made = load_benchmark(benchmark)
    _ = made.fingerprint  # pictures are hashed once, too
    write_bytes(pickle.dumps(made), path)
    return made


def _tasks() -> list[tuple[Place, Part | Trial]]:
    """What is to be done, by its place in the result: parts' first encoders, what is tried, the rest.

    Parts that are begun later are among the rest. So encoders that share an image tower find its vectors of a
    part's pictures in the store, and what takes long, the first parts, is not begun last.
    """
    tasks: list[tuple[Place, Part | Trial]] = [
        ((number, encoder), part) for number, part in enumerate(DEMO) for encoder in range(len(part.encoders))
    ]
    tasks.sort(key=lambda task: (task[0][1] > 0 or DEMO[task[0][0]].later, *task[0]))
    if TRIED:
        tasks.insert(sum(not part.later for part in DEMO), ((len(DEMO), 0), TRIED))
    return tasks


def _run(
    out: Path, kept: Path, seed: int, progress: Progress, task: tuple[Place, Part | Trial]
) -> tuple[Place, Run | Tried]:
    """A place and its result."""
    place, asked = task
    # Small products: threads of BLAS would wait longer for each other than they work.
    with threadpool_limits(1, user_api="blas"), small_kept(kept / SMALL):
        if isinstance(asked, Trial):
            return place, asked.run(out, kept, seed, progress)
        return place, asked.run(asked.encoders[place[1]], out, kept, seed, progress)
