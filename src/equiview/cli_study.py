"""`equiview study`: words for what takes several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(name="study", help="Ask what only several runs together can answer.", no_args_is_help=True)


@app.command()
def transfer(
    before: Annotated[list[Path], typer.Option(help="Folder of a run before; may be given several times.")],
    after: Annotated[list[Path], typer.Option(help="Folder of a run after; may be given several times.")],
    out: Annotated[Path, typer.Option(help="Folder of the study.")],
    metric_before: Annotated[
        list[str] | None, typer.Option(help="METRIC[@K][,KEY=VALUE...]; each audit's headlines by default.")
    ] = None,
    metric_after: Annotated[list[str] | None, typer.Option(help="The same of the runs after.")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="BEFORE=AFTER: attributes that are called differently, race=skin."),
    ] = None,
    select: Annotated[
        str, typer.Option(help="A number by which models are chosen, METRIC[@K][,KEY=VALUE...].")
    ] = "",
    least: Annotated[float, typer.Option(help="Least value of --select.")] = float("-inf"),
    most: Annotated[float, typer.Option(help="Greatest value of --select.")] = float("inf"),
    images: Annotated[str, typer.Option(help="Benchmark whose images are embedded to compare spaces.")] = "",
    setting: Annotated[list[str] | None, typer.Option(help="NAME=VALUE, e.g. tolerance=0.4.")] = None,
) -> None:
    """Does bias before an adaptation predict bias after it? Runs after name what they are derived from."""
    from equiview import api
    from equiview.report.console import print_results
    from equiview.report.progress import progress_bars

    settings = {
        "before": metric_before or [],
        "after": metric_after or [],
        "also": [tuple(text.partition("=")[::2]) for text in also or []],
        "select": select,
        "least": least,
        "most": most,
        **dict(text.partition("=")[::2] for text in setting or []),
    }
    with progress_bars() as progress:
        run = api.write_transfer(before, after, out, settings=settings, images=images, progress=progress)
    print_results([run], None)
    print(f"Report: {run.folder / 'report.html'}")


@app.command()
def neighbourhoods(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs over the same items.")],
    out: Annotated[Path, typer.Option(help="Folder for the study.")] = Path("neighbourhoods"),
    clusters: Annotated[int, typer.Option(min=1, help="Clusters in each model's space of images.")] = 6,
    least: Annotated[int, typer.Option(min=2, help="Images that a group must have.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything drawn at random.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for scripts instead of tables.")
    ] = False,
) -> None:
    """Ask whether bias is the same in every part of the space of images, and write a page of it."""
    from equiview import api
    from equiview.data.run import Run
    from equiview.report.console import print_json, print_table
    from equiview.report.progress import progress_bars

    opened = [Run.open(folder) for folder in runs]
    with progress_bars(as_json) as progress:
        found = api.write_neighbourhoods(
            opened, out, clusters=clusters, least=least, seed=seed, progress=progress
        )
    if as_json:
        tables = {"groups": found.groups, "biases": found.biases, "correlations": found.correlations}
        content = {name: table.to_dicts() for name, table in tables.items()}
        return print_json({"report": str(out / "report.html")} | content)
    print_table(found.groups.drop("clusters"), "Groups")
    if len(found.correlations):
        print_table(found.correlations, "Correlation of local and global bias")
    return print(f"Report: {out / 'report.html'}")
