"""The steps of a build on disk: a table a step, with a row for everything that came to it.

`steps/NAME.parquet` has what came in, with `reason` where it was rejected and null where it is kept, and
`detail`, what was seen. The next step begins with what is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from equiview.build.history import HISTORY
from equiview.io.tables import write_parquet

CONCEPTS, IMAGES, DUPLICATES, LABELS, PEOPLE, TRIPLETS = (
    *("concepts", "images", "duplicates", "labels"),
    *("people", "triplets"),
)
STEPS = (CONCEPTS, IMAGES, DUPLICATES, LABELS, PEOPLE, TRIPLETS)
RESULT: dict[str, pl.DataType | type[pl.DataType]] = {"reason": pl.String, "detail": pl.String}
IMAGE: dict[str, pl.DataType | type[pl.DataType]] = {
    "item_id": pl.String, "concept_id": pl.Int64, "concept": pl.String, "country": pl.String,
    "query": pl.String, "text": pl.String, "rank": pl.Int64, "url": pl.String, "title": pl.String,
    "page": pl.String, "author": pl.String, "licence": pl.String, "licence_url": pl.String,
    "file": pl.String, "sha256": pl.String, "width": pl.Int64, "height": pl.Int64, **RESULT,
}  # fmt: skip
"""What is known of an image; `file` is below the folder of the build."""


def file_of(step: str) -> str:
    """The file of a step, in the folder of the build."""
    return f"steps/{step}.parquet"


def write_step(folder: Path, step: str, table: pl.DataFrame) -> None:
    """Write the table of a step."""
    write_parquet(table, folder / file_of(step))


def read_step(folder: Path, step: str) -> pl.DataFrame:
    """The table of a step that is done."""
    return pl.read_parquet(folder / file_of(step), glob=False)


def kept(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that were not rejected, without the columns of the result."""
    return table.filter(pl.col("reason").is_null()).drop(*RESULT)


def with_results(table: pl.DataFrame, results: Iterable[tuple[str | None, str | None]]) -> pl.DataFrame:
    """`table` with (reason, detail) of each row.

    >>> table = pl.DataFrame({"item_id": ["a", "b"]})
    >>> judged = with_results(table, [(None, None), ("it is too small", "3 x 2")])
    >>> kept(judged)["item_id"].to_list()
    ['a']
    """
    rows = pl.DataFrame(list(results), schema=RESULT, orient="row")
    return pl.concat([table, rows], how="horizontal")


def history(folder: Path, steps: Iterable[str]) -> pl.DataFrame:
    """What became of everything in the steps, as `HISTORY` says."""
    parts = [
        read_step(folder, step).select(
            "item_id",
            step=pl.lit(step),
            language=pl.lit(None, pl.String),
            passed=pl.col("reason").is_null(),
            reason="reason",
            detail="detail",
        )
        for step in steps
    ]
    return pl.concat(parts).select(*HISTORY.dtypes)


def left_after(folder: Path, steps: Iterable[str]) -> Mapping[str, int]:
    """How many are left after each step."""
    return {step: int(read_step(folder, step)["reason"].null_count()) for step in steps}


def paths_of(folder: Path, table: pl.DataFrame) -> list[str]:
    """The file of each image."""
    return [str(folder / name) for name in table["file"]]


def row_of(**values: Any) -> dict[str, Any]:
    """A row of `IMAGE`, null where nothing is given."""
    return dict.fromkeys(IMAGE) | values
