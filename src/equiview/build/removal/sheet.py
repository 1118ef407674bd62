"""The contact sheet: before, what is removed, and after, for a person to look at."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import polars as pl

from equiview.build.removal.areas import Mask, grown, mask_of
from equiview.build.removal.images import PICTURES, Remover
from equiview.build.removal.masks import mask_from
from equiview.build.removal.page import page
from equiview.data.items import blind_order
from equiview.io.tables import write_bytes

SHOWN = 60
SIDE = 240


def write_sheet(remover: Remover, made: Sequence[dict[str, Any]], counts: pl.DataFrame) -> None:
    """Write `index.html` with some of the pictures, drawn by their names, and how often what happened."""
    order = blind_order(pl.Series([entry["file"] for entry in made], dtype=pl.String))[:SHOWN]
    places = remover.images.rows_of(pl.Series([made[place]["image_id"] for place in order]))
    rows = "\n".join(_row(remover, made[place], row) for place, row in zip(order, places, strict=True))
    seen, rejected = (
        "\n".join(
            f"<tr><td>{escape(what)}<td>{count:,}" for _, what, count in counts.filter(kind=kind).rows()
        )
        for kind in ("seen", "rejected")
    )
    content = f"""<h1>Removed objects</h1>
<p>{len(order)} of {len(made):,} pictures, drawn by lot. Filled with: {escape(remover.filling.name)}.
<a href="words.html">Which words of the captions are understood</a></p>
<div class="tables"><table>{seen}</table><table><caption>Rejected</caption>{rejected}</table></div>
{rows}"""
    write_bytes(page("Removed objects", content).encode(), remover.out / "index.html")


def _counts(counts: pl.DataFrame) -> str:
    return "\n".join(f"<tr><td>{escape(what)}<td>{count:,}" for _, what, count in counts.iter_rows())


def _row(remover: Remover, entry: dict[str, Any], row: int) -> str:
    from PIL import Image

    before = remover.images.pictures([row])[0]
    mask = _mask(remover, entry)
    marked = np.asarray(before).copy()
    marked[mask] = marked[mask] // 3 + np.array([150, 20, 20], dtype=np.uint8)
    with Image.open(remover.out / PICTURES / entry["file"]) as opened:
        after = opened.convert("RGB")
    pictures = (("before", before), ("removed", Image.fromarray(marked)), ("after", after))
    shown = "".join(f'<img alt="{label}" src="{_uri(picture)}">' for label, picture in pictures)
    captions = "".join(map(_caption, entry["captions"]))
    removed, kept = escape(", ".join(entry["removed"])), escape(", ".join(entry["kept"]))
    about = f'<p class="small">{escape(entry["image_id"])}, {entry["share"]:.1%} of the picture'
    return (
        f'<section class="row">{shown}<div><p><del>{removed}</del> · {kept}{captions}{about}</div></section>'
    )


def _mask(remover: Remover, entry: dict[str, Any]) -> Mask:
    """The pixels that were filled."""
    width, height = entry["width"], entry["height"]
    record = remover.record(entry["image_id"]) or {}
    (region,) = (known["region"] for known in record["made"] if known["file"] == entry["file"])
    if isinstance(region, dict):
        mask = mask_from(region, width, height, str(remover.record_path(entry["image_id"])))
    else:
        mask = mask_of(np.asarray(region), width, height)
    return grown(mask, remover.settings.grow)


def _caption(caption: dict[str, str]) -> str:
    original = caption["original"]
    was = f'<br><span class="small">was: {escape(original)}</span>' if original else ""
    return f"<p>{escape(caption['caption'])}{was}"


def _uri(picture: Any) -> str:
    small = picture.copy()
    small.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=75)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
