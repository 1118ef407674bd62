"""`import equiview as ev`: what the command line does, for a notebook or a program.

A folder may be a str or a Path, audits one name or several, tables polars, pandas or anything that exchanges
data as Arrow. Tables that come back are polars (`.to_pandas()` where pandas is installed).
"""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from equiview import api
from equiview.audits.applying import chosen
from equiview.audits.execute import manifest_of
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.folder import of_tables
from equiview.catalogue import catalogue
from equiview.data.estimates import BASE
from equiview.data.figures import Chart
from equiview.data.run import Run as Folder
from equiview.data.shared import opened
from equiview.data.verdict import Verdict
from equiview.errors import InputError, unknown_name
from equiview.io.files import file_name
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.io.tables import frame_of
from equiview.report.domains import with_domains
from equiview.report.examples import examples_of
from equiview.report.gate import gate_html, gate_text
from equiview.report.notebook import plotly_figure, run_html, run_text
from equiview.scoring import evaluate
from equiview.studies import compare as compare_runs
from equiview.studies.gate import Gate as Judged
from equiview.studies.gate import Unclear, rows_of
from equiview.studies.gate.queries import check_audit, per_query
from equiview.subjects import Subject, load_subject
from equiview.subjects.encoders.embeddings import Arrays
from equiview.subjects.load import as_subject

__all__ = [
    "Gate",
    "InputError",
    "Run",
    "audit",
    "catalogue",
    "check",
    "compare",
    "evaluate",
    "open",
    "verify",
]

Place: TypeAlias = str | Path
RUNS = Path("runs")
"""Where runs go that no folder is named for."""


class Gate:
    """The result of conditions: true if it passes. `table` has a row for each row of numbers checked."""

    def __init__(self, judged: Judged) -> None:
        self._judged = judged

    def __bool__(self) -> bool:
        return self.passed

    @property
    def passed(self) -> bool:
        """Whether every condition lets every run pass."""
        return self._judged.passed

    @property
    def table(self) -> pl.DataFrame:
        """A row for each condition, run and row of numbers (`equiview.studies.gate.CHECKED`)."""
        return self._judged.table

    def __repr__(self) -> str:
        return gate_text(self._judged)

    def _repr_html_(self) -> str:
        return gate_html(self._judged)


class Run:
    """A finished run. Shown in a notebook, it says what was found, how large it is, and who is worst off.

    InputError for a folder that holds no run.
    """

    def __init__(self, folder: Place | Folder) -> None:
        self._run = folder if isinstance(folder, Folder) else opened(folder)

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self._run.folder

    @property
    def name(self) -> str:
        """What it is called: its name for display, or its subject."""
        return self._run.name

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The answer of each audit, by its name."""
        return {verdict.audit: verdict for verdict in self._run.verdicts}

    @property
    def plots(self) -> list[str]:
        """The names of its figures, for `plot`."""
        return list(self._figures)

    def frame(self, metric: str = "", *, by: str | Sequence[str] = (), audit: str = "") -> pl.DataFrame:
        """Its numbers as a table: all of them, or the rows of a metric, in the words of a gate's condition.

        `metric` is `METRIC@K[KEY=VALUE]`; without `audit` its rows of all audits that have it. `by` names a
        key, such as "language", or several, and only rows that are by all of them are given. Columns without
        a value are left out. InputError for a metric or a key that is not there.
        """
        check_audit(self._run, audit)
        estimates = self._run.estimates
        whole = estimates.of(audit).table if audit else estimates.table
        table = rows_of(self._run, metric, audit) if metric else whole
        keys = [name for name in table.columns if name not in BASE and not table[name].is_null().all()]
        for key in filter(None, _several(by)):
            if key not in keys:
                raise unknown_name("key of these rows", key, keys)
            table = table.filter(pl.col(key).is_not_null())
        return table.select(name for name in table.columns if not table[name].is_null().all())

    def per_query(self, metric: str, *, audit: str = "") -> pl.DataFrame:
        """What a metric is for each query: what its means and intervals are computed from.

        `metric` and `audit` are as for `frame`. A row for each query and row of numbers that is meant: audit,
        metric, k, the keys, query_id, cluster (queries of one are not independent) and value. InputError for
        a metric that is no mean over queries, such as a range or a ratio.
        """
        return per_query(self._run, metric, audit)

    def plot(self, name: str) -> Any:
        """One of its figures (`plots` names them) as a plotly figure; needs plotly.

        InputError for another name, for lists of pictures, and where plotly is not installed.
        """
        figure = self._figures.get(name)
        if figure is None:
            raise unknown_name("figure", name, self._figures)
        if not isinstance(figure, Chart):
            raise InputError(f"figure {name!r} is no chart but lists of pictures; see examples() or show()")
        return plotly_figure(figure, self.name)

    def examples(self, n: int = 3, *, k: int = 5, audit: str = "") -> pl.DataFrame:
        """The first `k` results of `n` queries, evenly spread from the best answered to the worst.

        Columns: query, asked, answered (the rank of the first right result; null: none), rank, result,
        language, relevant, score. InputError where no audit of the run kept lists.
        """
        return examples_of(self._run, n, k, audit)

    def check(
        self,
        *require: str,
        fail_if: str | Sequence[str] = (),
        baseline: Run | Place | None = None,
        unclear: Unclear = "fail",
    ) -> Gate:
        """Judge it by conditions that must hold, and others that must not; see `check` and docs/gate.md."""
        return check(self, require=require, fail_if=fail_if, baseline=baseline, unclear=unclear)

    def track(self, to: str, *, place: Place = "", project: str = "equiview") -> str:
        """Write it to a tracker of experiments, `"mlflow"` or `"wandb"`, unless it is there; returns where.

        `place` is MLflow's tracking URI, or the folder of W&B; see docs/python.md. InputError for a tracker
        that is not installed or cannot be written to.
        """
        return api.track(self._run, to, place=str(place), project=project).place

    def show(self) -> None:
        """Open its page in the browser."""
        page = self.folder / "report.html"
        if not page.is_file():
            api.write_report(self._run)
        webbrowser.open(page.resolve().as_uri())

    @cached_property
    def _figures(self) -> dict[str, Any]:
        found = [figure for audit in self._run.manifest.audits for figure in self._run.figures(audit)]
        return {figure.name: figure for figure in with_domains(found)}

    def __repr__(self) -> str:
        return run_text(self._run)

    def _repr_html_(self) -> str:
        return run_html(self._run)


def open(folder: Place) -> Run:
    """The run in a folder; InputError when it holds none."""
    return Run(folder)


def audit(
    subject: Any,
    benchmark: Any,
    audits: str | Sequence[str],
    out: Place | None = None,
    *,
    name: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    cache: bool = True,
    on_error: Literal["stop", "skip"] = "stop",
    max_cost: float | None = None,
    engine: str = "local",
    progress: Progress = silent,
) -> Run:
    """Audit a subject on a benchmark, take up the same run where it was left, or add audits to it.

    `subject` is a name (`equiview list subjects`), an object with `encode_images` and `encode_texts`, or two
    arrays, `(n_images, width)` and `(n_texts, width)`, whose rows are those of the two tables. `benchmark`
    is a name (`equiview list benchmarks`), a `Benchmark`, or two tables, of images and of texts, in the
    columns of `folder:DIR`. The audit "all" stands for every one that applies. Without `out` the run goes to
    a folder of its own below `runs`. The other arguments are those of `equiview.api.audit`, and so are the
    errors.
    """
    items = _benchmark(benchmark)
    who = _subject(subject, items)
    names = _several(audits)
    names, settings = chosen(who, items, names, settings)
    if out is None:
        manifest = manifest_of(who, items, names, seed=seed, settings=settings, progress=progress)
        identity = manifest.model_dump_json(exclude={"name"})
        folder = RUNS / _slug(who.name, items.name, *manifest.audits, identity)
    else:
        folder = Path(out).expanduser()
    done = api.audit(
        who, items, names, folder,
        name=name, seed=seed, settings=settings, cache=cache, on_error=on_error, max_cost=max_cost,
        engine=engine, progress=progress,
    )  # fmt: skip
    return Run(done)


def compare(*runs: Run | Place, against: Run | Place | None = None, out: Place | None = None) -> pl.DataFrame:
    """The paired differences of runs over the same items, `b` minus `a`, with interval and p value.

    With `out` the page of the comparison is written to that folder. InputError as for
    `equiview.studies.compare`.
    """
    folders = [_folder(run) for run in runs]
    first = None if against is None else _folder(against)
    if out is None:
        return compare_runs(folders, against=first)
    return api.write_comparison(folders, Path(out).expanduser(), against=first)[1]


def check(
    *runs: Run | Place,
    require: str | Sequence[str] = (),
    fail_if: str | Sequence[str] = (),
    baseline: Run | Place | None = None,
    unclear: Unclear = "fail",
) -> Gate:
    """Judge runs by conditions over verdicts, numbers and differences to `baseline`; see docs/gate.md.

    What the numbers do not decide fails, or passes with `unclear="pass"`. InputError, never a pass, for a
    condition that cannot be read or is about nothing.
    """
    return Gate(
        api.check(
            [_folder(run) for run in runs],
            require=_several(require),
            fail_if=_several(fail_if),
            baseline=None if baseline is None else _folder(baseline),
            unclear=unclear,
        )
    )


def verify(subject: Any, progress: Progress = silent) -> pl.DataFrame:
    """Check an encoder on known pictures and captions before a long run; see `equiview.api.verify`."""
    return api.verify(subject if isinstance(subject, str) else as_subject(subject), progress)


def _folder(run: Run | Place) -> Folder:
    return run._run if isinstance(run, Run) else Run(run)._run


def _several(words: str | Sequence[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _benchmark(given: Any) -> Benchmark:
    if isinstance(given, str):
        return load_benchmark(given)
    if isinstance(given, Benchmark):
        return given
    if isinstance(given, Sequence) and len(given) == 2:
        images, texts = (frame_of(part, what) for part, what in zip(given, ("images", "texts"), strict=True))
        return of_tables(images, texts)
    raise InputError(
        f"{type(given).__name__} is no benchmark: name one, or give two tables, of images and of texts"
    )


def _subject(given: Any, items: Benchmark) -> Subject:
    if isinstance(given, str):
        return load_subject(given)
    if isinstance(given, tuple | list):
        if len(given) != 2:
            raise InputError(f"{len(given)} arrays of vectors; give two, of the images and of the texts")
        images, texts = given
        arrays = Arrays(images, texts, (items.images, items.need_texts()))
        arrays.name = "arrays"
        return arrays
    return as_subject(given)


def _slug(subject: str, benchmark: str, *rest: str) -> str:
    """A folder's name that says what it holds, and that no other run has."""
    *audits, whole = rest
    safe = file_name("-".join([subject, benchmark, *audits]))
    return f"{safe[:80].strip('-.')}-{fingerprint(whole)[:8]}"
