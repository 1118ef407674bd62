"""A small copy of the embedded drawings in the layout that Crossmodal-3600 is published in."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from equiview.benchmarks import load_benchmark

LANGUAGES = ("en", "ru", "de", "ja", "tr", "hi", "sw", "te")


def write(place: Path, images: int = 100) -> None:
    """Write the first drawings with their names as captions."""
    drawn = load_benchmark("pictograms")
    names = drawn.images.ids[:images].to_list()
    (place / "images").mkdir(parents=True)
    texts = drawn.texts.table.filter(pl.col("image_id").is_in(names), pl.col("language").is_in(LANGUAGES))
    said = {(row["image_id"], row["language"]): row["text"] for row in texts.iter_rows(named=True)}
    lines = []
    for row, name in enumerate(names):
        (place / "images" / f"{name}.jpg").write_bytes(drawn.images.encoded(row))
        captions = {code: {"caption": [said[name, code]]} for code in LANGUAGES}
        lines.append(json.dumps({"image/key": name, "image/locale": "en", **captions}, ensure_ascii=False))
    (place / "captions.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
