"""`equiview export`, `track`, `schema`: what a run holds, for other programs, trackers, papers and cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equiview.cli_study import opened


def export(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or of one comparison.")],
    table: Annotated[
        str, typer.Option(help="A table in the layout of its paper; `list` prints their names.")
    ] = "",
    format_: Annotated[
        str,
        typer.Option(
            "--format", help="csv, latex, markdown or json; eval-results, model-card or factsheet of one run."
        ),
    ] = "csv",
    audit: Annotated[str, typer.Option(help="Only the numbers of this audit.")] = "",
    metric: Annotated[str, typer.Option(help="Only these rows: METRIC@K[KEY=VALUE].")] = "",
    out: Annotated[Path | None, typer.Option(help="Write to this file instead.")] = None,
) -> None:
    """Print numbers of runs or of a comparison, a table of a paper filled with them, or a card, to paste."""
    from equiview.errors import InputError
    from equiview.io.tables import write_bytes
    from equiview.report import export as estimates_of
    from equiview.report import export_comparison, export_layout, list_layouts
    from equiview.report.console import print_table

    compared = [folder for folder in runs if (folder / "comparison.parquet").is_file()]
    if table and (audit or metric):
        raise InputError("a table of a paper has rows of its own; leave out --audit and --metric")
    if table == "list":
        return print_table(list_layouts(opened(runs)), "Tables")
    if compared and not table:
        if len(runs) > 1 or audit or metric:
            raise InputError(f"{compared[0]}: is a comparison; export it alone and as a whole")
        text = export_comparison(compared[0], format_)
    elif table:
        text = export_layout(opened(runs), table, format_)
    else:
        text = estimates_of(opened(runs), format_, audit=audit, metric=metric)
    return write_bytes(text.encode(), out) if out else print(text, end="")


def schema(
    name: Annotated[str, typer.Argument(help="One of the schemas; all of them by default.")] = "",
) -> None:
    """Print the JSON schemas of what a run holds, of what is printed as JSON, and of audit.toml."""
    from equiview.io.printing import print_json
    from equiview.schemas import schemas

    print_json(schemas(name))


def track(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    to: Annotated[str, typer.Option(help="The tracker: mlflow or wandb.")],
    place: Annotated[
        str,
        typer.Option(help="MLflow's tracking URI, or the folder of W&B; as these libraries say by default."),
    ] = "",
    project: Annotated[str, typer.Option(help="MLflow's experiment, or the project of W&B.")] = "equiview",
) -> None:
    """Write runs to a tracker of experiments, each once: numbers, settings, verdicts, page and table."""
    from equiview import api
    from equiview.report.progress import progress_bars

    for run in opened(runs):
        with progress_bars() as progress:
            found = api.track(run, to, place=place, project=project, progress=progress)
        print(f"{run.name}: {'written to' if found.new else 'is already in'} {found.place}")


def add_exports(app: typer.Typer) -> None:
    """Add these commands to a command line."""
    app.command()(export)
    app.command()(track)
    app.command()(schema)
