"""What the command line does, as functions: audit a subject, compare runs, run the demo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import polars as pl

from equiview.audits import AUDITS
from equiview.audits.execute import execute, finish
from equiview.benchmarks import BENCHMARKS, Benchmark, load_benchmark
from equiview.benchmarks.release import RELEASES
from equiview.data.figures import read_figure
from equiview.data.lock import locked
from equiview.data.progress import Progress, silent
from equiview.data.registry import Registry
from equiview.data.run import Run, check_folder, check_usable
from equiview.data.tables import write_bytes, write_parquet
from equiview.errors import InputError, unknown_name
from equiview.report import page
from equiview.report.domains import with_domains
from equiview.report.paper import FORMATS, render
from equiview.store import readable_part, stored
from equiview.studies import compare, runs_against
from equiview.subjects import SUBJECTS, Encoder, Subject, load_subject
from equiview.subjects.known import known_models
from equiview.subjects.verify import verify as verify_subject

DEMO = {"pictograms": ("prevalence", "parity"), "pictograms-culture": ("association",)}
DEMO_SUBJECTS = ("pictogram:skewed", "pictogram:english", "pictogram:aligned")


def audit(
    subject: str | Subject,
    benchmark: str | Benchmark,
    audits: Sequence[str],
    out: Path,
    *,
    name: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    cache: bool = True,
    on_error: Literal["stop", "skip"] = "stop",
    progress: Progress = silent,
) -> Run:
    """Audit one subject on one benchmark into the folder `out`, report included; continue what was begun.

    With `cache` vectors are kept in the store (`$EQUIVIEW_CACHE`), so that another audit of the same encoder
    encodes nothing again. An image that cannot be read stops the audit, or with
    `on_error="skip"` is left out and named in `left_out.csv` of the folder; what is left is then another
    benchmark, and says so in its name. InputError while another process writes to `out`.
    """
    subject = load_subject(subject) if isinstance(subject, str) else subject
    subject = stored(subject) if cache and isinstance(subject, Encoder) else subject
    items = load_benchmark(benchmark) if isinstance(benchmark, str) else benchmark
    left_out = None
    check_usable(out)
    with locked(out):
        if on_error == "skip":
            items, left_out = readable_part(subject, items, progress)
        run = execute(subject, items, audits, out, name=name, seed=seed, settings=settings, progress=progress)
        if left_out is not None and len(left_out):
            write_bytes(left_out.write_csv().encode(), run.folder / "left_out.csv")
        write_report(run)
    return run


def verify(subject: str | Subject, progress: Progress = silent) -> pl.DataFrame:
    """Check an encoder on known pictures and captions before a long run; a row for each check.

    Columns: check, result (`ok`, `note` or `looks wrong`), seen, advice. InputError for a subject that is no
    model.
    """
    subject = load_subject(subject) if isinstance(subject, str) else subject
    return pl.DataFrame([asdict(check) for check in verify_subject(subject, progress)])


def write_report(run: Run, progress: Progress = silent) -> Path:
    """Make whatever of a run's numbers, figures and page is missing; returns the page's path."""
    finish(run, progress)
    run.stage("report", lambda work: write_bytes(page([run], None), work / "report.html"))
    return run.folder / "report.html"


def write_figures(run: Run) -> list[Path]:
    """Write every figure of a run as SVG and PDF, beside its data in `figures/`; needs matplotlib.

    InputError for a run that is not finished.
    """
    run.need("draw")
    run.check("draw")
    written = []
    paths = run.figure_files
    for path, figure in zip(paths, with_domains([read_figure(path) for path in paths]), strict=True):
        for kind in FORMATS:
            written.append(path.with_suffix(f".{kind}"))
            write_bytes(render(figure, kind, [run.name]), written[-1])
    return written


def write_comparison(
    runs: Sequence[Run], out: Path, progress: Progress = silent, *, against: Run | None = None
) -> pl.DataFrame:
    """Compare runs in pairs; writes `comparison.parquet` and `report.html` to `out` and returns the table.

    With `against` each of the others is compared with that run alone. InputError when `out` is a run: its
    page would be lost.
    """
    _check_no_run(out)
    runs = runs_against(runs, against)
    for run in runs:
        finish(run, progress)
    progress("comparing", 0, 1)
    table = compare(runs, against=against)
    write_parquet(table, out / "comparison.parquet")
    write_bytes(page(runs, table), out / "report.html")
    progress("comparing", 1, 1)
    return table


def demo(out: Path, *, seed: int = 0, progress: Progress = silent) -> tuple[list[Run], pl.DataFrame]:
    """Audit the three embedded encoders on the embedded benchmarks, offline, and compare them in `out`."""
    _check_no_run(out)
    runs = []
    for benchmark, audits in DEMO.items():
        items = load_benchmark(benchmark)
        for name in DEMO_SUBJECTS:
            short = f"{name.partition(':')[2]}-{benchmark}"

            def named(label: str, done: int, total: int, short: str = short) -> None:
                progress(f"{short}: {label}", done, total)

            run = audit(name, items, audits, out / short, seed=seed, cache=False, progress=named)
            runs.append(run)
            progress("runs", len(runs), len(DEMO) * len(DEMO_SUBJECTS))
    return runs, write_comparison(runs, out, progress)


def _check_no_run(out: Path) -> None:
    check_folder(out)
    if (out / "manifest.json").exists():
        raise InputError(f"{out}: holds a run, whose page would be overwritten; choose another folder")


def catalogue(kind: str = "") -> dict[str, pl.DataFrame]:
    """What there is, a table for each of subjects, models, benchmarks and audits, or for `kind` alone.

    A benchmark that comes along is ready; of a published one it says where its files are, or where to get
    them. InputError for another kind.
    """
    kinds: dict[str, Callable[[], pl.DataFrame]] = {
        "subjects": lambda: _entries(SUBJECTS),
        "models": known_models,
        "benchmarks": lambda: _entries(BENCHMARKS).with_columns(
            ready=pl.col("name").str.split(":").list.first().map_elements(_ready, return_dtype=pl.String)
        ),
        "audits": lambda: _entries(AUDITS),
    }
    if kind and kind not in kinds:
        raise unknown_name("list", kind, kinds)
    return {name: table() for name, table in kinds.items() if name == (kind or name)}


def _entries(registry: Registry[Any]) -> pl.DataFrame:
    rows = [(use, entry.about) for entry in registry.all().values() for use in entry.usage]
    return pl.DataFrame(rows, schema=["name", "what it is"], orient="row")


def _ready(name: str) -> str:
    if name not in RELEASES:
        return "with what you name" if name in {"folder", "run"} else "yes"
    ready, where = RELEASES[name].ready()
    return f"yes, in {where}" if ready else f"no: {RELEASES[name].source}"
