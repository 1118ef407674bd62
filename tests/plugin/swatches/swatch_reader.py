"""`swatches:DIR`: what `equiview build swatches` made, as a benchmark."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from equiview.benchmarks import Benchmark, benchmark, same_image
from equiview.data.items import Items


@benchmark("swatches", usage=("swatches:DIR",), about="pictures of one colour each, with its names")
def swatches(argument: str) -> Benchmark:
    """Pictures of one colour each, with its names."""
    table = pl.read_csv(Path(argument) / "swatches.csv")
    pictures = pl.format(f"{argument}/pictures/{{}}.png", "hex")
    images = Items("image", table.select(id="hex", path=pictures), argument)
    named = table.unpivot(index="hex", variable_name="language", value_name="text")
    texts = named.select(
        id=pl.format("{}-{}", "hex", "language"),
        text="text",
        language=pl.col("language").str.strip_prefix("name_"),
        image_id="hex",
    )
    captions = Items("text", texts, argument)
    return Benchmark("swatches", images, captions, same_image(images, captions))
