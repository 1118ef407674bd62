"""The command line: commands for the functions of `equiview.api`. It holds no logic.

Exit codes: 0 success, 1 wrong input, 2 a defect of equiview, 3 a gate that failed.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equiview import __version__
from equiview.cli_export import add_exports
from equiview.cli_gate import add_gate
from equiview.cli_list import add_lists
from equiview.cli_make import ENGINE, add_groups
from equiview.cli_study import AsJson, Seed, one_of, opened, written
from equiview.cli_study import app as study_app

if TYPE_CHECKING:
    import polars as pl

    from equiview.data.run import Run

app = typer.Typer(
    name="equiview",
    help="Audit perspectival bias in systems that match images with text.",
    pretty_exceptions_enable=False,
    add_completion=False,
)

add_groups(app)
app.add_typer(study_app)

Everything = Annotated[
    bool, typer.Option("--all", help="Print every answer, every paired difference and every mean.")
]

INTERRUPTED = 130
"""What typer returns for Ctrl-C."""


def main() -> None:
    """Run the command line and exit with its code."""
    atexit.register(gc.freeze)  # or all that was imported would be looked through once more at the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # captions are in many scripts, whatever the terminal's is
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            _check_words(sys.argv[1:])
            code = app(standalone_mode=False)
            if code == INTERRUPTED:
                raise KeyboardInterrupt
            sys.stdout.flush()
        except (typer.Abort, KeyboardInterrupt):
            _complain("stopped; run the same command again to continue where it was")
            _exit_at_once()
            sys.exit(1)
        except BrokenPipeError:  # whoever read our output, such as `head`, has enough
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - closed with the process
            sys.exit(1)
        except Exception as error:
            sys.exit(_say(error))
    sys.exit(code if isinstance(code, int) else 0)


def _exit_at_once() -> None:
    """Exit without finalising Python where threads still wait for a service: libraries abort in them."""
    if any(thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _say(error: Exception) -> int:
    """Say what went wrong in one line, or with a traceback for a defect of ours; returns the exit code."""
    from equiview.errors import as_input_error

    # Errors of usage are click's, which typer carries under one module name or another.
    if hasattr(error, "format_message"):
        command = getattr(getattr(error, "ctx", None), "command_path", "") or "equiview"
        _complain(f"{error.format_message()} (try {command} --help)")
        return 1
    if (said := as_input_error(error)) is not None:
        _complain(str(said))
        return 1
    _print_error("".join(traceback.format_exception(error)).rstrip())
    _complain("this is a defect of equiview, not of your input; please report it with the lines above")
    return 2


def _check_words(words: list[str]) -> None:
    """InputError for a name in another encoding than UTF-8: no run could keep it."""
    from equiview.errors import InputError

    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InputError(f"{word!r} is not UTF-8; rename that file or folder") from None


@app.command("demo")
def demo_(
    out: Annotated[Path, typer.Option(help="Folder for the runs and the report.")] = Path("equiview-demo"),
    seed: Seed = 0,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Audit the embedded encoders on real pictures named in 36 languages; offline, in about a minute."""
    from equiview import demo
    from equiview.report.progress import progress_bars
    from equiview.search.workers import processors

    with progress_bars(as_json) as progress:
        runs, table = demo.demo(
            out, seed=seed, processes=min(processors(), demo.PROCESSES), progress=progress
        )
    _show(runs, table, out / "report.html", as_json, everything=everything)
    if not as_json:
        print(demo.AFTER)


@app.command()
def audit(
    subject: Annotated[str, typer.Argument(help="What to audit, e.g. pictogram:skewed or embeddings:DIR.")],
    benchmark: Annotated[str, typer.Option(help="What to audit it on, e.g. pictograms or folder:DIR.")],
    out: Annotated[
        Path, typer.Option(help="Folder of the run; a run there is continued, and audits are added to it.")
    ],
    audits: Annotated[
        list[str],
        typer.Option("--audit", help="Which audits; several between commas, or all for those that apply."),
    ],
    setting: Annotated[
        list[str] | None, typer.Option(help="AUDIT.NAME=VALUE, e.g. AUDIT.replicates=2000; may be repeated.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What to call it on pages and in tables; no part of what the run is.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Encode and ask everything again; store nothing.")
    ] = False,
    on_error: Annotated[
        str,
        typer.Option(help="For an image that cannot be read: stop, or skip it and list it in left_out.csv."),
    ] = "stop",
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Send no more requests once answers have cost this many US dollars."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would be asked, its cost and what would be found; ask nothing."
        ),
    ] = False,
    engine: Annotated[str, typer.Option(help=ENGINE)] = "local",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Audit one subject on one benchmark."""
    from equiview import api, planning
    from equiview.report.progress import progress_bars

    audits = [name.strip() for given in audits for name in given.split(",") if name.strip()]
    settings = _settings(setting or [])
    if dry_run:
        asked = planning.plan(subject, benchmark, audits, settings=settings)
        names = asked["audit"].unique(maintain_order=True).to_list()
        settings = {name: given for name, given in settings.items() if name in names}
        return _show_plan(asked, planning.power(benchmark, names, settings=settings), as_json)
    with progress_bars(as_json) as progress:
        run = api.audit(
            subject,
            benchmark,
            audits,
            out,
            name=name,
            seed=seed,
            settings=settings,
            cache=not no_cache,
            on_error=one_of("--on-error", on_error, ("stop", "skip")),  # type: ignore[arg-type]
            max_cost=max_cost,
            engine=engine,
            progress=progress,
        )
    if (run.folder / "left_out.csv").exists() and not as_json:
        _complain(f"some images could not be read and are left out: {run.folder / 'left_out.csv'}")
    _show([run], None, run.folder / "report.html", as_json)
    _end_with_failures([run])
    return None


@app.command()
def verify(
    subject: Annotated[str, typer.Argument(help="An encoder, e.g. pictogram:aligned or hf:ID_OR_PATH.")],
    as_json: AsJson = False,
) -> None:
    """Check an encoder on known pictures and captions before a long run; exit code 1 if one looks wrong."""
    from equiview import api
    from equiview.report.progress import progress_bars

    with progress_bars(as_json) as progress:
        checks = api.verify(subject, progress)
    if as_json:
        _print_json({"subject": subject, "checks": checks.to_dicts()})
    else:
        _print_table(checks.rename({"advice": "what to do"}), subject)
    if "looks wrong" in checks["result"]:
        raise typer.Exit(1)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")], as_json: AsJson = False
) -> None:
    """Write figures and page of each run again, by this version, without running its subject."""
    from equiview import api

    _show_paths("reports", written(runs, lambda run: [api.write_report(run, again=True)]), as_json)


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of two or more runs over the same items.")],
    out: Annotated[Path, typer.Option(help="Folder for the comparison.")] = Path("comparison"),
    against: Annotated[
        Path | None, typer.Option(help="Compare each run only with the one in this folder.")
    ] = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs side by side, with paired tests of their differences."""
    from equiview import api
    from equiview.report.progress import progress_bars
    from equiview.studies import averages

    first = opened([against])[0] if against else None
    with progress_bars(as_json) as progress:
        compared, table = api.write_comparison(opened(runs), out, progress, against=first)
    _show(compared, table, out / "report.html", as_json, averages(compared), everything=everything)


@app.command()
def figures(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    as_json: AsJson = False,
) -> None:
    """Write a run's figures for print, as SVG and PDF, into its folder figures/."""
    from equiview import api

    _show_paths("figures", written([run], api.write_figures), as_json)


@app.command()
def advise(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    as_json: AsJson = False,
) -> None:
    """Say what to try against each bias of a run: the command, and what it was worth elsewhere."""
    from equiview import api
    from equiview.report.console import print_advice

    (found,) = opened([run])
    table = api.advise(found)
    _print_json(table.to_dicts()) if as_json else print_advice(found, table)


@app.command()
def review(
    folder: Annotated[Path, typer.Argument(help="Folder of the review: review.json and the items.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 for any free port.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    people: Annotated[int | None, typer.Option(min=1, help="Number of reviewers.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--export", help="Write what people judged to this .csv, .jsonl or .parquet file."),
    ] = None,
) -> None:
    """Let people judge items in a browser and print a link for each reviewer; or export the judgements."""
    if out is not None:
        from equiview.review import export_review

        for path in export_review(folder, out):
            print(path)
        return
    from equiview.review.serving import serve_review

    serve_review(folder, host=host, port=port, people=people, say=lambda line: print(line, flush=True))


add_gate(app)
add_exports(app)
add_lists(app)


@app.callback(invoke_without_command=True)
def _front(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def _settings(given: list[str]) -> dict[str, dict[str, Any]]:
    """Read AUDIT.NAME=VALUE; a value is read as JSON, a list where it has commas, or else as text."""
    from equiview.errors import InputError

    read: dict[str, dict[str, Any]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        audit_name, dot, key = name.partition(".")
        if not (audit_name and dot and key and equals):
            raise InputError(f"--setting {text!r} is not of the form AUDIT.NAME=VALUE")
        try:
            parsed = json.loads(f"[{value}]" if "," in value and not value.startswith("[") else value)
        except (ValueError, RecursionError):
            parsed = value
        read.setdefault(audit_name, {})[key] = parsed
    return read


def _show(
    runs: list[Run],
    comparison: pl.DataFrame | None,
    path: Path,
    as_json: bool,
    means: pl.DataFrame | None = None,
    *,
    everything: bool = False,
) -> None:
    from equiview.io.remote import named
    from equiview.report.console import print_results

    if not as_json:
        print_results(runs, comparison, means, everything=everything)
        return print(f"Report: {named(path)}")
    entries = [
        {
            "folder": named(run.folder),
            "subject": run.name,
            "verdicts": [verdict.model_dump(mode="json") for verdict in run.verdicts],
            "failures": [failure.model_dump(mode="json") for failure in run.failures],
            "estimates": run.estimates.table.to_dicts(),
        }
        for run in runs
    ]
    tables = {"comparison": comparison, "averages": means}
    rows = {name: None if table is None else table.to_dicts() for name, table in tables.items()}
    from equiview.data.stamped import SCHEMA_VERSION

    return _print_json({"schema_version": SCHEMA_VERSION, "report": named(path), "runs": entries} | rows)


def _show_paths(name: str, paths: list[Path], as_json: bool) -> None:
    from equiview.io.remote import named

    words = [named(path) for path in paths]
    _print_json({name: words}) if as_json else print(*words, sep="\n")


def _show_plan(asked: pl.DataFrame, power: pl.DataFrame, as_json: bool) -> None:
    if as_json:
        return _print_json({"asked": asked.to_dicts(), "found": power.to_dicts()})
    from equiview.report.console import print_plan

    return print_plan(asked, power)


def _end_with_failures(runs: list[Run]) -> None:
    """Name the audits that failed, and exit with 1, or with 2 for a defect of ours."""
    failures = [(run, failure) for run in runs for failure in run.failures]
    for run, failure in failures:
        what = "measured" if run.is_observed(failure.audit) else "observed (the same command tries it again)"
        _complain(f"audit {failure.audit!r} could not be {what}: {failure.message}")
        if failure.trace:
            _print_error(failure.trace)
    if failures:
        raise typer.Exit(2 if any(failure.trace for _, failure in failures) else 1)


def _print_table(frame: pl.DataFrame, title: str) -> None:
    from equiview.report.console import print_table

    print_table(frame, title)


def _print_json(content: Any) -> None:
    from equiview.io.printing import print_json

    print_json(content)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _complain(f"warning: {message}")


def _complain(message: str) -> None:
    """Print one line, without the line breaks that a file's or a library's message may have."""
    _print_error(f"equiview: {' '.join(message.split())}")


def _print_error(text: str) -> None:
    from equiview.io.remote import named
    from equiview.io.secrets import redacted

    print(named(redacted(text)), file=sys.stderr)
