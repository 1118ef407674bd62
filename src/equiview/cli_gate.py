"""`equiview check`, `equiview run`, `equiview schema`: commands for those who let a machine decide.

Exit code 3: a gate failed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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


def show_gate(gate: Gate, as_json: bool, junit: Path | None = None, markdown: Path | None = None) -> None:
    """Print a gate's result, write it where that was asked for, and exit with 3 if it failed."""
    from equiview.io.tables import write_bytes
    from equiview.report.console import print_json
    from equiview.report.gate import gate_json, gate_junit, gate_markdown, print_gate

    if junit:
        write_bytes(gate_junit(gate), junit)
    if markdown:
        write_bytes(gate_markdown(gate).encode(), markdown)
    print_json(gate_json(gate)) if as_json else print_gate(gate)
    if not gate.passed:
        raise typer.Exit(FAILED)


def add_gate(app: typer.Typer) -> None:
    """Add these commands to a command line."""
    app.command()(check)
