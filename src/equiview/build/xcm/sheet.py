"""The contact sheet of a step: what was kept, and what was rejected and why, for a person to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from equiview.build.xcm.steps import CONCEPTS, DUPLICATES, IMAGES, LABELS, PEOPLE, TRIPLETS
from equiview.data.items import blind_order
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.pictures import data_uri, decoded, encoded
from equiview.io.templates import write_page

KEPT, REJECTED = 40, 12
"""Rows shown of what is kept, and of each reason."""
SIDE = 200
ABOUT = {
    CONCEPTS: "Concepts, without those that say what another one says.",
    IMAGES: "Images that the searches found, without those that cannot be used.",
    DUPLICATES: "Images that repeat no other of their concept. Beside a rejected one is the one it repeats.",
    LABELS: "Images whose concepts are known.",
    PEOPLE: "Images that people accepted.",
    TRIPLETS: "Images of which a triplet was made: the query's own image, then the semantically relevant, "
    "the culturally relevant and the non-relevant candidate.",
}


def write_sheet(
    folder: Path, out: Path, step: str, table: pl.DataFrame, beside: Mapping[str, tuple[str, ...]]
) -> None:
    """Write `sheets/STEP.html` to `folder`; pictures are in `out`.

    `beside` has for some items the files of the pictures shown with theirs.
    """
    rejected = table.drop_nulls("reason")
    counted = rejected.group_by("reason", maintain_order=True).len().sort("len", descending=True)
    kept = table.filter(pl.col("reason").is_null())
    parts = [("Kept", len(kept), list(_rows(out, kept, KEPT, beside)))]
    for reason, count in counted.iter_rows():
        rows = list(_rows(out, rejected.filter(reason=reason), REJECTED, beside))
        parts.append((f"Rejected: {reason}", count, rows))
    write_page(
        folder / "sheets" / f"{step}.html",
        *("equiview.build", "step.html"),
        title=f"Step: {step}",
        about=ABOUT[step],
        came=len(table),
        left=len(kept),
        rejected=counted.rows(),
        parts=parts,
    )  # fmt: skip


def _rows(
    out: Path, table: pl.DataFrame, most: int, beside: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[list[tuple[str, str]], list[str]]]:
    """Some rows, drawn by their ids: pictures as (label, data URI), and lines of words."""
    order = blind_order(table["item_id"])[:most]
    for row in table[order].iter_rows(named=True):
        files = [row.get("file"), *beside.get(row["item_id"], ())]
        pictures = [(Path(file).name, uri) for file in files if file and (uri := _uri(out / file))]
        yield pictures, list(_lines(row))


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    yield row["item_id"]
    if "country" in row:
        yield f"{row['concept']}, {row['country']}: {row['text']}"
    if row.get("labels"):
        yield f"shows: {', '.join(row['labels'])}"
    if row["detail"]:
        yield row["detail"]
    origin = [row.get(name) for name in ("title", "author", "licence")]
    if any(origin):
        yield "; ".join(filter(None, origin))


def _uri(path: Path) -> str:
    """A small copy of a picture; empty where it cannot be read, which the steps have said."""
    try:
        picture = decoded(content_of(path))
    except (InputError, ValueError):
        return ""
    picture.thumbnail((SIDE, SIDE))
    return data_uri(encoded(picture, "WEBP", quality=75))
