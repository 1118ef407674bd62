"""Models known by name, as `equiview.ours.models` lists them: the subject of each, and its licence."""

from __future__ import annotations

from functools import cache

import polars as pl

from equiview.ours.models import models


@cache
def known_models() -> pl.DataFrame:
    """The rows of `equiview.ours.models.models`.

    >>> known_models().filter(pl.col("name") == "GME-Qwen2-2B")["subject"].item()
    'gme:Alibaba-NLP/gme-Qwen2-VL-2B-Instruct'
    """
    return pl.DataFrame(models())


def in_full(name: str) -> str:
    """The full subject of a known model's name, revision and options included; any other `name` unchanged.

    >>> in_full("xlm-r-l/14,device=cpu"), in_full("clip-l/14")[:44]
    ('mclip:M-CLIP/XLM-Roberta-Large-Vit-L-14,device=cpu', 'hf:openai/clip-vit-large-patch14@32bd6428880')
    """
    stem, comma, options = name.partition(",")
    table = known_models().filter(pl.col("name").str.to_lowercase() == stem.lower())
    if not len(table):
        return name
    subject, revision = table.select("subject", "revision").row(0)
    return f"{subject}{f'@{revision}' if revision else ''}{comma}{options}"


def licence_of(name: str) -> str:
    """The licence of a known model's weights, by its name in full; empty for any other.

    >>> licence_of("hf:openai/clip-vit-large-patch14,device=cpu"), licence_of("hf:mine")
    ('MIT', '')
    """
    rows = known_models().filter(subject=name.partition(",")[0].partition("@")[0])
    return str(rows["licence"][0]) if len(rows) else ""
