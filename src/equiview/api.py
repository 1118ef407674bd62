"""What the command line does, as functions: audit a subject, compare runs, run the demo."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import polars as pl

from equiview.audits import AUDITS
from equiview.audits.applying import chosen
from equiview.audits.execute import execute, finish
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.figures import read_figure
from equiview.data.run import Run, check_folder, check_usable
from equiview.data.shared import opened as opened_run
from equiview.data.shared import shared
from equiview.data.stamped import write_stamped
from equiview.engine import Engine, opened, using
from equiview.errors import InputError
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.io.tables import safe_csv, write_bytes
from equiview.making import MAKERS, Maker, Settings
from equiview.making.make import Made
from equiview.making.make import make as make_in
from equiview.making.plan import planned
from equiview.report import page, page_of
from equiview.report.domains import with_domains
from equiview.report.mitigation import mitigation_page
from equiview.report.neighbourhoods import neighbourhoods_page
from equiview.report.page import Tried
from equiview.report.paper import FORMATS, render
from equiview.report.trackers import Tracked
from equiview.report.trackers import track as track_in
from equiview.store import readable_part, stored, stored_answers
from equiview.studies import (
    Changed,
    Neighbourhoods,
    mitigation,
    neighbourhoods,
    paired,
    runs_against,
    told_apart,
)
from equiview.studies.compare import Early
from equiview.studies.gate import Gate, Unclear
from equiview.studies.gate import check as check_gate
from equiview.subjects import Answerer, Subject, load_subject
from equiview.subjects.budget import Budget
from equiview.subjects.parts import share
from equiview.subjects.verify import verify as verify_subject


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
    max_cost: float | None = None,
    engine: str | Engine = "local",
    progress: Progress = silent,
) -> Run:
    """Audit one subject on one benchmark into the folder `out`, report included; continue what was begun.

    Audits that a run in `out` holds already stay in it. "all" among `audits` stands for every audit that
    applies (`equiview.audits.applying`); an audit that fails costs only itself (`Run.failures`).

    With `cache` vectors and answers are kept in the store (`$EQUIVIEW_CACHE`), so that another audit of the
    same encoder encodes nothing again, and a model that answers is asked nothing twice. Once answers and
    vectors of services have cost `max_cost` US dollars nothing more is asked, and an InputError says what was
    spent. An image that cannot be read stops the audit, or with `on_error="skip"` is left out and named in
    `left_out.csv` of the folder; what is left is then another benchmark, and says so in its name. `engine`
    says where vectors are computed, items ranked and means bootstrapped: `local`, `ray`, or `ray:ADDRESS` of
    a Ray cluster (docs/scaling.md); the run is the same. `out` may stand for a URL, `s3://bucket/runs/a`: the
    run's folder is then a copy of it (docs/object-stores.md). InputError while another process writes to
    `out`.
    """
    subject = load_subject(subject) if isinstance(subject, str) else subject
    if cache:
        subject = stored_answers(subject) if isinstance(subject, Answerer) else stored(subject)
    share(subject, Budget(max_cost))
    items = load_benchmark(benchmark) if isinstance(benchmark, str) else benchmark
    left_out = None
    with shared(out) as (folder, send):
        check_usable(folder)
        with opened(engine) as where, using(where), locked(folder):
            if on_error == "skip":
                items, left_out = readable_part(subject, items, progress)
            names, of_names = chosen(subject, items, audits, settings)
            run = execute(
                subject, items, names, folder,
                name=name, seed=seed, settings=of_names, report=page_of, progress=progress,
                after_stage=send,
            )  # fmt: skip
            if left_out is not None and len(left_out):
                write_bytes(safe_csv(left_out).encode(), run.folder / "left_out.csv")
    return run


def verify(subject: str | Subject, progress: Progress = silent) -> pl.DataFrame:
    """Check an encoder on known pictures and captions before a long run; a row for each check.

    Columns: check, result (`ok`, `note` or `looks wrong`), seen, advice. InputError for a subject that is no
    model.
    """
    subject = load_subject(subject) if isinstance(subject, str) else subject
    return pl.DataFrame([asdict(check) for check in verify_subject(subject, progress)])


def write_report(run: Run, progress: Progress = silent, *, again: bool = False) -> Path:
    """Make whatever of a run's numbers, figures and page is missing; returns the page's path.

    With `again` figures and page are made whether or not they are there, as after an upgrade.
    """
    finish(run, progress, page_of, redraw=again)
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


def track(
    run: Run, to: str, *, place: str = "", project: str = "equiview", progress: Progress = silent
) -> Tracked:
    """Write a run to a tracker of experiments, `"mlflow"` or `"wandb"`, unless it is there.

    Its page is made where it is missing. InputError as for `equiview.report.trackers.track`.
    """
    write_report(run, progress)
    return track_in(run, to, place=place, project=project)


def advise(run: Run, progress: Progress = silent) -> pl.DataFrame:
    """What to try against each bias of a run, the best first, with the command and what it was worth.

    In the layout `equiview.studies.advise.ADVICE`. InputError as for its measuring, where that is not done.
    """
    from equiview.studies.advise import advise as advice_on

    finish(run, progress)
    return advice_on(run)


def write_comparison(
    runs: Sequence[Run],
    out: Path,
    progress: Progress = silent,
    *,
    against: Run | None = None,
    helps: Tried | None = None,
    early: Early | None = None,
) -> tuple[list[Run], pl.DataFrame]:
    """Compare runs in pairs; writes `comparison.parquet` and `report.html` to `out`.

    Returns the runs that were compared, in order, and the table.

    With `against` each of the others is compared with that run alone; `helps` is a last card of the page, of
    what was tried; `early` is what was compared of all runs of an audit before. InputError when `out` is a
    run: its page would be lost.
    """
    with _results(out) as folder:
        runs = runs_against(runs, against)
        for run in runs:
            finish(run, progress)
        progress("comparing", 0, 1)
        table = paired(runs, against, early)
        write_stamped(table, folder / "comparison.parquet", "comparison")
        write_bytes(page(runs, table, helps), folder / "report.html")
        progress("comparing", 1, 1)
    return runs, table


def check(
    runs: Sequence[Run],
    *,
    fail_if: Sequence[str] = (),
    require: Sequence[str] = (),
    baseline: Run | None = None,
    unclear: Unclear = "fail",
    progress: Progress = silent,
) -> Gate:
    """Judge runs by conditions over verdicts, numbers and differences to `baseline`; see docs/gate.md.

    InputError as for `equiview.studies.gate.check`.
    """
    for run in (*runs, *([baseline] if baseline else [])):
        finish(run, progress)
    return check_gate(runs, fail_if=fail_if, require=require, baseline=baseline, unclear=unclear)


def write_neighbourhoods(
    runs: Sequence[Run],
    out: Path,
    *,
    clusters: int = 6,
    least: int = 100,
    seed: int = 0,
    progress: Progress = silent,
) -> Neighbourhoods:
    """Study bias in groups of images that all models keep together, and write it to `out`.

    Writes `groups.parquet`, `biases.parquet`, `correlations.parquet` and `report.html`. InputError when `out`
    is a run: its page would be lost.
    """
    with _results(out) as folder:
        runs = told_apart(runs)
        for run in runs:
            finish(run, progress)
        found = neighbourhoods(runs, clusters=clusters, least=least, seed=seed, progress=progress)
        for name in ("groups", "biases", "correlations"):
            write_stamped(getattr(found, name), folder / f"{name}.parquet", f"neighbourhoods/{name}")
        write_bytes(neighbourhoods_page(found, runs), folder / "report.html")
    return found


def write_mitigation(
    before: Run, after: Sequence[Run], out: Path, *, ratios: Sequence[float] = (), progress: Progress = silent
) -> Changed:
    """Study what fine-tuning or a correction changed, and write it to `out`.

    Writes `systems.parquet`, `changes.parquet`, `parts.parquet` and `report.html`. InputError as for
    `equiview.studies.mitigation`, and when `out` is a run: its page would be lost.
    """
    with _results(out) as folder:
        for run in (before, *after):
            finish(run, progress)
        found = mitigation(before, after, ratios)
        for name in ("systems", "changes", "parts"):
            write_stamped(getattr(found, name), folder / f"{name}.parquet", f"mitigation/{name}")
        write_bytes(mitigation_page(found, [before, *after]), folder / "report.html")
    return found


def write_transfer(
    before: Sequence[Path],
    after: Sequence[Path],
    out: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    images: str = "",
    progress: Progress = silent,
) -> Run:
    """Does what runs measured before predict what runs measured after? A run folder with its report.

    `settings` are those of `equiview.studies.transfer.TransferSettings`; `images` names a benchmark by whose
    images the spaces of the models are compared. InputError as for `equiview.studies.transfer.transfer`.
    """
    from equiview.studies.transfer import TransferSettings, transfer

    with shared(out) as (folder, send):
        run = transfer(
            [opened_run(place) for place in before],
            [opened_run(place) for place in after],
            folder,
            settings=TransferSettings.of(settings or {}),
            images=load_benchmark(images).images if images else None,
            progress=progress,
            after_stage=send,
        )
        write_report(run)
    return run


def make(
    maker: str | Maker[Any],
    settings: Mapping[str, Any] | Settings,
    out: Path,
    *,
    engine: str | Engine = "local",
    progress: Progress = silent,
) -> Made:
    """Make a benchmark or a subject in the folder `out` by a maker; what was begun there is continued.

    `equiview list makers` names makers; `settings` are those of the maker, or what differs from their
    defaults, and `engine` is as for `audit`. Figures are drawn as SVG beside their data where matplotlib is
    installed. InputError for settings and inputs that are wrong, for a folder that holds something else, and
    while another process writes to it.
    """
    maker = MAKERS.get(maker) if isinstance(maker, str) else maker
    with opened(engine) as where, using(where):
        made = make_in(maker, _configured(maker, settings), out, progress)
    if importlib.util.find_spec("matplotlib"):
        for path in (out / "figures").glob("*.json"):
            write_bytes(render(read_figure(path), "svg"), path.with_suffix(".svg"))
    return made


def plan_making(maker: str | Maker[Any], settings: Mapping[str, Any] | Settings) -> dict[str, pl.DataFrame]:
    """What `make` would ask of models, at which price, and what else it would do; a table for each."""
    maker = MAKERS.get(maker) if isinstance(maker, str) else maker
    return planned(maker.job(_configured(maker, settings)))


def _configured(maker: Maker[Any], settings: Mapping[str, Any] | Settings) -> Settings:
    return settings if isinstance(settings, Settings) else maker.settings.of(settings)


def settings(audit: str = "") -> pl.DataFrame:
    """The settings of an audit, or of all: setting, default, what it is and which words there are for it.

    InputError for an unknown audit.
    """
    rows = [
        {
            "setting": f"{name}.{setting}",
            "default": json.dumps(
                field.get_default(call_default_factory=True), ensure_ascii=False, default=str
            ),
            "about": "; ".join(filter(None, [field.description, _choices(field.annotation)])),
        }
        for name in ([audit] if audit else AUDITS.all())
        for setting, field in AUDITS.get(name).settings.model_fields.items()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("setting", "default", "about"), pl.String))


def _choices(annotation: Any) -> str:
    """The words that a setting may be, where these are all there are.

    >>> _choices(tuple[Literal["one", "two"], ...]), _choices(int)
    ('one or two', '')
    """
    if get_origin(annotation) is Literal:
        *others, last = filter(None, map(str, get_args(annotation)))
        return f"{', '.join(others)} or {last}" if others else last
    return next(filter(None, map(_choices, get_args(annotation))), "")


@contextmanager
def _results(out: Path) -> Iterator[Path]:
    """The folder for what is written to `out`, which is no run."""
    with shared(out) as (folder, _):
        check_no_run(folder)
        yield folder


def check_no_run(out: Path) -> None:
    """InputError where a folder is a run, whose page would be lost."""
    check_folder(out)
    if (out / "manifest.json").exists():
        raise InputError(f"{out}: holds a run, whose page would be overwritten; choose another folder")
