"""The contact sheet: before, what is removed, and after, for a person to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from equiview.build.removal.areas import Mask, grown, mask_of
from equiview.build.removal.images import PICTURES, Remover
from equiview.build.removal.masks import mask_from
from equiview.data.items import blind_order
from equiview.io.pictures import data_uri, encoded
from equiview.io.templates import write_page

SHOWN = 60
SIDE = 240


def write_sheet(
    remover: Remover,
    made: Sequence[dict[str, Any]],
    counts: pl.DataFrame,
    still_seen: Sequence[dict[str, Any]] = (),
) -> None:
    """Write `index.html`: counts, and samples, drawn by name, of pictures and of those a check rejected."""
    seen, rejected = (counts.filter(kind=kind).drop("kind").rows() for kind in ("seen", "rejected"))
    write_page(
        remover.out / "index.html",
        *("equiview.build", "removal.html"),
        shown=_sample(remover, made),
        made=len(made),
        still_seen=_sample(remover, still_seen),
        all_seen=len(still_seen),
        filling=remover.filling.name,
        seen=seen,
        rejected=rejected,
    )  # fmt: skip


def _sample(remover: Remover, made: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    """Some entries, each with its pictures."""
    order = blind_order(pl.Series([entry["file"] for entry in made], dtype=pl.String))[:SHOWN]
    places = remover.images.rows_of(pl.Series([made[place]["image_id"] for place in order], dtype=pl.String))
    return [
        (made[place], _pictures(remover, made[place], row)) for place, row in zip(order, places, strict=True)
    ]


def _pictures(remover: Remover, entry: dict[str, Any], row: int) -> list[tuple[str, str]]:
    """What is shown of a picture, as (label, data URI)."""
    from PIL import Image

    before = remover.images.pictures([row])[0]
    mask = filled_pixels(remover, entry)
    marked = np.asarray(before).copy()
    marked[mask] = marked[mask] // 3 + np.array([150, 20, 20], dtype=np.uint8)
    with Image.open(remover.out / PICTURES / entry["file"]) as opened:
        after = opened.convert("RGB")
    shown = (("before", before), ("removed", Image.fromarray(marked)), ("after", after))
    return [(label, _uri(picture)) for label, picture in shown]


def filled_pixels(remover: Remover, entry: dict[str, Any]) -> Mask:
    """The pixels that were filled."""
    width, height = entry["width"], entry["height"]
    record = remover.record(entry["image_id"]) or {}
    (region,) = (known["region"] for known in record["made"] if known["file"] == entry["file"])
    if isinstance(region, dict):
        mask = mask_from(region, width, height, str(remover.record_path(entry["image_id"])))
    else:
        mask = mask_of(np.asarray(region), width, height)
    return grown(mask, remover.settings.grow)


def _uri(picture: Any) -> str:
    small = picture.copy()
    small.thumbnail((SIDE, SIDE))
    return data_uri(encoded(small, "WEBP", quality=75))
