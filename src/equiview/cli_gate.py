"""`equiview check`, `equiview run`, `equiview schema`: commands for those who let a machine decide.

Exit code 3: a gate failed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equiview.cli_make import ENGINE
from equiview.cli_study import AsJson, opened

if TYPE_CHECKING:
    from equiview.studies.gate import Gate

FAILED = 3
"""The exit code of a gate that failed."""


def check(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    fail_if: Annotated[
        list[str] | None, typer.Option(help="What must not hold, e.g. 'AUDIT=biased'; may be repeated.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(help="What must hold, in the same words; may be repeated.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Folder of the run that conditions on differences compare with.")
    ] = None,
    unclear: Annotated[str, typer.Option(help="What the numbers do not decide: fail or pass.")] = "fail",
    junit: Annotated[Path | None, typer.Option(help="Write the result as JUnit XML to this file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the result as Markdown to this file, for a comment.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge runs by conditions over verdicts, numbers and differences; exit code 3 if one fails."""
    from equiview import api
    from equiview.report.progress import progress_bars

    first = opened([baseline])[0] if baseline else None
    with progress_bars(as_json) as progress:
        gate = api.check(
            opened(runs),
            fail_if=fail_if or (),
            require=require or (),
            baseline=first,
            unclear=unclear,  # type: ignore[arg-type]
            progress=progress,
        )
    show_gate(gate, as_json, junit, markdown)


def run(
    file: Annotated[Path, typer.Argument(help="An audit.toml.")],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what would be asked, its cost and the time; audit nothing."),
    ] = False,
    sample: Annotated[
        int,
        typer.Option(min=0, help="Items to encode for the time of a dry run; 0 loads no encoder."),
    ] = 16,
    junit: Annotated[Path | None, typer.Option(help="Write the gate's result as JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the gate's result as Markdown.")] = None,
    engine: Annotated[str, typer.Option(help=f"{ENGINE} Instead of the file's.")] = "",
    as_json: AsJson = False,
) -> None:
    """Audit every system of a file on its benchmarks, compare them, and judge them by its gate."""
    from equiview.auditfile import read_audit_file
    from equiview.board import plan_board, run_board
    from equiview.data.stamped import SCHEMA_VERSION
    from equiview.io.printing import print_json
    from equiview.io.remote import named
    from equiview.report.console import print_results, print_table
    from equiview.report.gate import gate_json
    from equiview.report.progress import progress_bars

    plan = read_audit_file(file)
    plan = plan.model_copy(update={"engine": engine}) if engine else plan
    if dry_run:
        asked, times = plan_board(plan, sample)
        if as_json:
            return print_json({"asked": asked.to_dicts(), "times": times.to_dicts()})
        print_table(asked.filter(asked["model"].is_not_null()), "What would be asked")
        if len(times):
            print_table(times, f"Time at the rate of {sample} items, vectors that are kept not counted")
        return None
    with progress_bars(as_json) as progress:
        board = run_board(plan, file.parent, progress)
    if as_json:
        gate = gate_json(board.gate) if board.gate is not None else None
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "runs": [named(run.folder) for run in board.runs],
                "report": named(board.page) if board.page else None,
                "failed": dict(board.failed),
                "gate": gate,
            }
        )
    else:
        print_results(board.runs, board.comparison)
        for one in board.runs if board.page is None else ():
            print(f"Report: {named(one.folder / 'report.html')}")
        if board.page:
            print(f"Report: {named(board.page)}")
    for label, said in board.failed:
        print(f"equiview: {label}: {said}", file=sys.stderr)
    if board.gate is not None:
        show_gate(board.gate, None if as_json else False, junit, markdown, fails=not board.failed)
    if board.failed:
        raise typer.Exit(1)
    return None


def show_gate(
    gate: Gate,
    as_json: bool | None,
    junit: Path | None = None,
    markdown: Path | None = None,
    *,
    fails: bool = True,
) -> None:
    """Print a gate's result (None: do not), write it where asked for, and exit with 3 if it failed."""
    from equiview.io.printing import print_json
    from equiview.io.tables import write_bytes
    from equiview.report.gate import gate_json, gate_junit, gate_markdown, print_gate

    if junit:
        write_bytes(gate_junit(gate), junit)
    if markdown:
        write_bytes(gate_markdown(gate).encode(), markdown)
    if as_json is not None:
        print_json(gate_json(gate)) if as_json else print_gate(gate)
    if fails and not gate.passed:
        raise typer.Exit(FAILED)


def add_gate(app: typer.Typer) -> None:
    """Add these commands to a command line."""
    app.command()(check)
    app.command("run")(run)
