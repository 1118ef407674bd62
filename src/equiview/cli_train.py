"""`equiview train`: words for training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equiview.cli_make import Makers

app = typer.Typer(
    name="train",
    help="Train a system of your own from an encoder of yours.",
    no_args_is_help=True,
    cls=Makers,
)


@app.command()
def connector(
    encoder: Annotated[str, typer.Option(help="The encoder, which stays as it is, e.g. hf:ID_OR_PATH.")],
    language_model: Annotated[
        str, typer.Option(help="A causal language model of transformers by id or path; it stays as it is.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the connector; a training begun there goes on.")],
    captions: Annotated[
        str, typer.Option(help="Captions of the first stage: a benchmark, or a file .jsonl.")
    ] = "",
    questions: Annotated[
        str, typer.Option(help="Questions and answers of the second stage: a benchmark, or a file .jsonl.")
    ] = "",
    config: Annotated[
        Path | None, typer.Option(help="TOML file with what differs from the recipe's settings.")
    ] = None,
    device: Annotated[str, typer.Option(help="cuda, mps or cpu; the first accelerator by default.")] = "",
) -> None:
    """Join a frozen encoder to a frozen language model, so that it answers and captions (TinyLLaVA)."""
    from equiview import api
    from equiview.report.progress import progress_bars

    with progress_bars() as progress:
        folder = api.train_connector(
            encoder, language_model, out, captions, questions, config=config, device=device, progress=progress
        )
    print(f"Connector: connector:{folder}")


@app.command()
def finetune(
    subject: Annotated[str, typer.Argument(help="The encoder to fine-tune, e.g. hf:ID_OR_PATH.")],
    data: Annotated[str, typer.Option(help="D: a benchmark with images and captions.")],
    out: Annotated[Path, typer.Option(help="Folder of the result; a training begun there goes on.")],
    synthetic: Annotated[
        str,
        typer.Option(help="D': a folder of `equiview build removal`, or a benchmark with synthetic images."),
    ] = "",
    ratio: Annotated[
        float | None, typer.Option(help="|D'| / |D|, as in the paper from 0 to 0.4; all of D' by default.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with what differs from the paper's settings.")
    ] = None,
    device: Annotated[str, typer.Option(help="cuda, mps or cpu; the first accelerator by default.")] = "",
) -> None:
    """Fine-tune an encoder on images with captions, and on images without some of their objects (O)."""
    from equiview import api
    from equiview.report.progress import progress_bars

    with progress_bars() as progress:
        folder = api.train_finetune(
            subject, data, out, synthetic, ratio, config=config, device=device, progress=progress
        )
    print(f"Fine-tuned: finetuned:{folder}")
