"""`equiview study`: commands that need several runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from equiview.data.run import Run

app = typer.Typer(name="study", help="Studies over several runs.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts instead of tables.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything drawn at random.")]


def opened(folders: list[Path]) -> list[Run]:
    """The runs in these folders, or at these URLs."""
    from equiview.data.shared import opened as opened_run

    return [opened_run(folder) for folder in folders]


def one_of(option: str, value: str, choices: tuple[str, ...]) -> str:
    """The value of an option. InputError for one that is none of its choices."""
    from equiview.errors import unknown_name

    if value not in choices:
        raise unknown_name(f"value of {option}", value, choices)
    return value


def written(folders: list[Path], write: Callable[[Run], list[Path]]) -> list[Path]:
    """What is written to each of these runs, at a URL too."""
    from equiview.data.run import Run
    from equiview.data.shared import shared

    paths = []
    for place in folders:
        with shared(place) as (folder, _):
            paths += write(Run.open(folder))
    return paths


@app.command()
def transfer(
    before: Annotated[
        list[Path], typer.Option(help="Folder of a run before the adaptation; may be repeated.")
    ],
    after: Annotated[list[Path], typer.Option(help="Folder of a run after it; may be repeated.")],
    out: Annotated[Path, typer.Option(help="Folder of the study.")],
    metric_before: Annotated[
        list[str] | None, typer.Option(help="METRIC[@K][,KEY=VALUE...]; each audit's headlines by default.")
    ] = None,
    metric_after: Annotated[list[str] | None, typer.Option(help="The same for the runs after.")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="BEFORE=AFTER: attributes that have different names, e.g. race=skin."),
    ] = None,
    select: Annotated[
        str, typer.Option(help="Choose models by this number, METRIC[@K][,KEY=VALUE...].")
    ] = "",
    least: Annotated[float, typer.Option(help="Least value of --select.")] = float("-inf"),
    most: Annotated[float, typer.Option(help="Greatest value of --select.")] = float("inf"),
    images: Annotated[str, typer.Option(help="Benchmark whose images are embedded to compare spaces.")] = "",
    setting: Annotated[list[str] | None, typer.Option(help="NAME=VALUE, e.g. tolerance=0.4.")] = None,
) -> None:
    """Test whether bias before an adaptation predicts bias after it."""
    from equiview import api
    from equiview.io.remote import named
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
    print(f"Report: {named(run.folder / 'report.html')}")


@app.command()
def neighbourhoods(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs over the same items.")],
    out: Annotated[Path, typer.Option(help="Folder for the study.")] = Path("neighbourhoods"),
    clusters: Annotated[int, typer.Option(min=1, help="Clusters in each model's space of images.")] = 6,
    least: Annotated[int, typer.Option(min=2, help="Images that a group must have.")] = 100,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Test whether bias is the same in every part of the space of images, and write a report."""
    from equiview import api
    from equiview.io.printing import print_json
    from equiview.io.remote import named
    from equiview.report.console import print_table
    from equiview.report.progress import progress_bars

    with progress_bars(as_json) as progress:
        found = api.write_neighbourhoods(
            opened(runs), out, clusters=clusters, least=least, seed=seed, progress=progress
        )
    if as_json:
        tables = {"groups": found.groups, "biases": found.biases, "correlations": found.correlations}
        content = {name: table.to_dicts() for name, table in tables.items()}
        return print_json({"report": named(out / "report.html")} | content)
    print_table(found.groups.drop("clusters"), "Groups")
    if len(found.correlations):
        print_table(found.correlations.rename({"p_holm": "p (Holm)"}), "Correlation of local and global bias")
    return print(f"Report: {named(out / 'report.html')}")


@app.command()
def mitigation(
    before: Annotated[Path, typer.Argument(help="Folder of the run of the encoder before.")],
    after: Annotated[list[Path], typer.Argument(help="Folders of runs of the encoder after.")],
    out: Annotated[Path, typer.Option(help="Folder for the study.")] = Path("mitigation"),
    ratio: Annotated[
        list[float] | None,
        typer.Option(min=0, help="Made pairs for each real pair, once for each run after, in their order."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what fine-tuning or a correction changed, and at what cost, and write a report."""
    from equiview import api
    from equiview.io.printing import print_json
    from equiview.io.remote import named
    from equiview.report.console import print_table
    from equiview.report.progress import progress_bars

    first, *others = opened([before, *after])
    with progress_bars(as_json) as progress:
        found = api.write_mitigation(first, others, out, ratios=ratio or (), progress=progress)
    if as_json:
        tables = {"systems": found.systems, "changes": found.changes, "parts": found.parts}
        content = {name: table.to_dicts() for name, table in tables.items()}
        return print_json({"report": named(out / "report.html")} | content)
    print_table(found.systems, "Before and after")
    for sentence in found.absent:
        print(f"{sentence}.")
    return print(f"Report: {named(out / 'report.html')}")
