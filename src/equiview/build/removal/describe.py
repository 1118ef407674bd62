"""Captions by a model that looks at the new pictures (O, section 3.3: a captioning model)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.io.progress import Progress
from equiview.subjects import Answerer

PROMPT = (
    "Describe this picture in one plain sentence of at most 15 words, as a caption. Name only what can "
    "be seen. Reply with the sentence alone."
)
TOKENS = 60


def described(paths: Sequence[Path], model: Answerer, progress: Progress) -> list[str]:
    """What a model says of each picture, the first line of its reply; empty where it says nothing."""
    names = [path.name for path in paths]
    images = Items("image", pl.DataFrame({"id": names, "path": [str(path) for path in paths]}))
    replies = model.ask(requests_for(names), images, progress)
    return [next((line.strip() for line in reply.text.splitlines() if line.strip()), "") for reply in replies]


def requests_for(names: Sequence[str]) -> list[Request]:
    """What is asked of each picture, its row being its place."""
    return [Request(name, PROMPT, "en", image=row, max_tokens=TOKENS) for row, name in enumerate(names)]
