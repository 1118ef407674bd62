"""`equiview build`: words for the builders of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equiview.cli_make import Makers

if TYPE_CHECKING:
    import polars as pl

app = typer.Typer(
    name="build",
    help="Build new benchmarks from your own material, with models that answer and people who review.",
    no_args_is_help=True,
    cls=Makers,
)
Places = Annotated[
    Path, typer.Argument(help="Folder with landmarks.csv, images/ID/ and, for KnowRecall, articles/ID.txt.")
]
Out = Annotated[Path, typer.Option(help="Folder of the benchmark; a build begun there is continued.")]
MaxCost = Annotated[
    float | None, typer.Option(min=0, help="US dollars after which nothing more is asked; what came is kept.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Ask everything again and keep no answers.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked at most, and ask nothing.")]
Languages = Annotated[str, typer.Option(help="Codes between commas; the paper's by default.")]


@app.command()
def removal(
    benchmark: Annotated[str, typer.Argument(help="Images with objects and captions, as coco:DIR.")],
    out: Out,
    fill: Annotated[str, typer.Option(help="Put in place: inpaint, zero, mean or blur.")] = "inpaint",
    model: Annotated[Path | None, typer.Option(help="ONNX inpainting model; else Telea's way.")] = None,
    classes: Annotated[str, typer.Option(help="Classes to remove, between commas; all by default.")] = "",
    keep_below: Annotated[float, typer.Option(min=0, max=1, help="A class that loses less stays.")] = 0.4,
    along_above: Annotated[float, typer.Option(min=0, max=1, help="One that loses more goes too.")] = 0.8,
    largest: Annotated[float, typer.Option(max=1, help="Share of the image that may be removed.")] = 0.7,
    strict: Annotated[bool, typer.Option("--strict", help="Count what goes along as removed.")] = False,
    grow: Annotated[int, typer.Option(min=0, help="Pixels around objects that are filled as well.")] = 0,
    per_image: Annotated[int, typer.Option(min=1, help="Pictures made of an image, at most.")] = 1,
    captions: Annotated[str, typer.Option(help="Phrases (dropped), prompts or model.")] = "phrases",
    per_picture: Annotated[int, typer.Option(min=1, help="Captions of a picture, at most.")] = 1,
    words: Annotated[Path | None, typer.Option(help="TOML file of words that name classes.")] = None,
    spacy: Annotated[str, typer.Option(help="Pipeline of spaCy that finds noun phrases.")] = "",
    captioner: Annotated[str, typer.Option(help="Model that writes captions, as chat:MODEL.")] = "",
    quality: Annotated[int, typer.Option(min=1, max=100, help="Quality of the JPEG files.")] = 95,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    max_cost: MaxCost = None,
    no_cache: NoCache = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn by lot.")] = 0,
) -> None:
    """Pictures from which objects were removed, with captions that do not name them."""
    from equiview.build.removal.build import build_removal
    from equiview.build.removal.images import RemovalSettings
    from equiview.making.models import load_answerers
    from equiview.report.progress import progress_bars

    rules = {"keep_below": keep_below, "along_above": along_above, "largest": largest, "strict": strict}
    settings = RemovalSettings.of(
        {"rules": rules, "classes": _codes(classes), "grow": grow, "per_image": per_image,
         "captions": captions, "per_picture": per_picture, "quality": quality, "seed": seed}
    )  # fmt: skip
    models = load_answerers(
        {"captioner": captioner} if captioner else {}, cache=not no_cache, max_cost=max_cost
    )
    with progress_bars() as progress:
        counts = build_removal(
            benchmark, out, settings, fill=fill, model=model, words=words, spacy=spacy,
            captioner=models.get("captioner"), jobs=jobs, progress=progress,
        )  # fmt: skip
    _show_removal(counts, out)


def _show_removal(counts: pl.DataFrame, out: Path) -> None:
    import json

    from equiview.report.console import print_table

    print_table(counts.filter(kind="seen").drop("kind"), "Removed objects")
    rejected = counts.filter(kind="rejected").drop("kind")
    if len(rejected):
        print_table(rejected, "Rejected")
    print(f"Filled with: {json.loads((out / 'builder.json').read_text('utf-8'))['filling']}")
    print(f"Look at: {out / 'index.html'}")
    print(f"Benchmark: coco:{out},split=removed")


def _codes(languages: str) -> list[str]:
    return [code.strip() for code in languages.split(",") if code.strip()]
