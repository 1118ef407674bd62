"""Which of all concepts each image shows, so that no candidate shares one that it must not (P, appendix B).

A chat model is asked about each image. An encoder instead compares images with the names of concepts: what
lies above a threshold is shown. The threshold is chosen on images whose concepts a person has listed: on one
half of them the highest that finds the wanted share of the labels; the other half says how well it does. A
label too many costs a candidate, one that lacks makes a triplet unfair: so recall is what is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.build.step import Step
from equiview.build.xcm.duplicates import cosines, rows_by
from equiview.build.xcm.similar import items_of
from equiview.build.xcm.steps import with_results
from equiview.data.items import Items, blind_order
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.io.files import plain_name
from equiview.io.notices import notice
from equiview.io.pictures import encoded
from equiview.io.progress import Progress
from equiview.io.tables import Column, Schema, read_table
from equiview.stats import wilson_interval
from equiview.subjects import Encoder
from equiview.text.replies import json_in

if TYPE_CHECKING:
    from PIL.Image import Image

LABELLED = Schema(
    "labelled",
    (
        Column("path", pl.String, "file of an image, beside the table", unique=True),
        Column("concepts", pl.String, "every concept that it shows, between semicolons"),
    ),
)
FEWEST = 20
"""Labels of each half of the labelled images: with fewer no threshold can be chosen or judged."""
TOKENS = 200
PARTS = ((0.0, 0.0, 1.0), *((x, y, 0.6) for y in (0.0, 0.5, 1.0) for x in (0.0, 0.5, 1.0)))
"""The whole and nine overlapping parts: the share of the room at the left and above, and of the sides."""
LARGEST = 1024
"""Pixels to which the longer side is reduced before parts are cut."""
UNSEEN = "its concept is not seen in it"
Labels = Sequence[Sequence[str] | None]


def request_for(row: int, name: str, concepts: Sequence[str]) -> Request:
    """The request for the concepts of an image, after P's appendix B, in our words."""
    prompt = f"""Which of these kinds of things does the picture show? Name all that can be seen in it, also \
in the background or as a part of something else, and none that cannot.

{json.dumps(list(concepts), ensure_ascii=False)}

Reply with JSON alone, a list of the names as they stand above, the most prominent first: ["...", ...]"""
    return Request(f"{name}:labels", prompt, "en", row, max_tokens=2 * TOKENS)


def asked_labels(step: Step, out: Path, table: pl.DataFrame, concepts: Sequence[str]) -> Labels:
    """The concepts that a model sees in each image, None where its reply holds no list of them."""
    names = table["item_id"].to_list()
    requests = [request_for(row, name, concepts) for row, name in enumerate(names)]
    known = {concept.casefold(): concept for concept in concepts}
    labels: list[list[str] | None] = []
    for reply in step.ask(requests, items_of(out, table)):
        content = json_in(reply)
        if not isinstance(content, list):
            labels.append(None)
            continue
        said = (known.get(name.strip().casefold()) for name in content if isinstance(name, str))
        labels.append(list(dict.fromkeys(filter(None, said))))
    return labels


@dataclass(frozen=True)
class Sight:
    """An encoder that sees concepts in images: how it is asked for one, and whether it sees parts of images.

    Its similarity of an image and a concept is the highest of what it sees: an encoder has one vector for all
    that is in a picture, in which a small or second thing weighs little.
    """

    encoder: Encoder
    prompt: str
    parts: bool

    def scores(self, images: Items, concepts: Sequence[str], progress: Progress) -> NDArray[np.float32]:
        """Similarities `(n_images, n_concepts)`."""
        frame = {"id": list(concepts), "text": [self.prompt.format(name) for name in concepts]}
        texts = Items("text", pl.DataFrame(frame).with_columns(language=pl.lit("en")), "names of concepts")
        asked = cosines(self.encoder, texts)
        views = PARTS if self.parts else PARTS[:1]
        seen = cosines(self.encoder, images if len(views) == 1 else _parts_of(images, views), progress)
        scores: NDArray[np.float32] = (seen @ asked.T).reshape(len(images), len(views), -1).max(axis=1)
        return scores


def _parts_of(images: Items, views: Sequence[tuple[float, float, float]]) -> Items:
    """The views of each image, drawn when they are asked for."""
    names = [f"{row}:{view}" for row in range(len(images)) for view in range(len(views))]

    @lru_cache(maxsize=16)  # the views of a picture follow each other, in several threads
    def whole(row: int) -> Image:
        (picture,) = images.pictures([row])
        picture.thumbnail((LARGEST, LARGEST))
        return picture

    def draw(name: str) -> bytes:
        row, view = map(int, name.split(":"))
        picture = whole(row)
        left, upper, side = views[view]
        width, height = picture.width * side, picture.height * side
        x, y = left * (picture.width - width), upper * (picture.height - height)
        part = picture.crop((round(x), round(y), round(x + width), round(y + height)))
        return encoded(part, "PNG", compress_level=1)

    return Items("image", pl.DataFrame({"id": names}), images.source, draw)


def seen_labels(
    out: Path,
    table: pl.DataFrame,
    concepts: Sequence[str],
    sight: Sight,
    threshold: float,
    progress: Progress,
) -> Labels:
    """The concepts whose similarity to each image is `threshold` or more, the most similar first.

    The vectors of one concept's images are in memory at a time.
    """
    images = items_of(out, table)
    labels: list[Sequence[str]] = [()] * len(table)
    for rows in rows_by(table["concept_id"].to_list()):
        for row, score in zip(rows, sight.scores(images.take(rows), concepts, progress), strict=True):
            order = np.argsort(-score, kind="stable")
            labels[row] = [concepts[place] for place in order if score[place] >= threshold]
    return labels


def judged(table: pl.DataFrame, labels: Labels, *, keep_unseen: bool) -> pl.DataFrame:
    """`table` with `labels`, and without images in which their concept is not seen or nothing could be."""
    shown: list[Sequence[str]] = []
    results: list[tuple[str | None, str | None]] = []
    for concept, found in zip(table["concept"], labels, strict=True):
        shown.append(found if found is not None else [])
        if found is None:
            results.append(("what it shows cannot be read from the reply", None))
        elif concept not in found and not keep_unseen:
            results.append((UNSEEN, ", ".join(found) or None))
        else:
            results.append((None, None))
    return with_results(table.with_columns(labels=pl.Series(shown, dtype=pl.List(pl.String))), results)


@dataclass(frozen=True)
class Threshold:
    """A threshold, and a table of how it does on the labelled images that it was not chosen on."""

    value: float
    table: pl.DataFrame


def read_labelled(path: Path) -> tuple[Items, list[list[str]]]:
    """The labelled images with their concepts; InputError for a table that cannot be used."""
    table = read_table(path, LABELLED)
    if not len(table):
        raise InputError(f"{path}: holds no labelled image")
    names = [plain_name(name, f"{path}, row {row}") for row, name in enumerate(table["path"], start=1)]
    files = pl.DataFrame({"id": names, "path": [str(path.parent / name) for name in names]})
    listed = [
        [name.strip().casefold() for name in text.split(";") if name.strip()] for text in table["concepts"]
    ]
    return Items("image", files, str(path)), listed


def chosen_threshold(
    images: Items,
    listed: Sequence[Sequence[str]],
    concepts: Sequence[str],
    sight: Sight,
    recall: float,
    progress: Progress,
) -> Threshold:
    """The highest threshold that finds `recall` of the labels in one half of the images, drawn by name.

    Its table has recall and precision in the other half, with Wilson's 95% intervals and n. InputError where
    a half has fewer than 20 labels of these concepts.
    """
    shown = np.array([[concept.casefold() in names for concept in concepts] for names in listed])
    known = {concept.casefold() for concept in concepts}
    if strange := sorted({name for names in listed for name in names} - known):
        notice(f"{images.source}: {len(strange)} labels are no concepts of this build ({strange[0]!r}, ...)")
    order = blind_order(images.ids)
    halves = order[::2], order[1::2]
    for half in halves:
        if (n := int(shown[half].sum())) < FEWEST:
            raise InputError(
                f"{images.source}: half of its images have {n} labels of these concepts, too few to choose "
                f"a threshold by; label more, until each half has {FEWEST}"
            )
    scores = sight.scores(images, concepts, progress)
    fitted = np.sort(scores[halves[0]][shown[halves[0]]])[::-1]
    value = float(fitted[int(np.ceil(recall * len(fitted))) - 1])
    return Threshold(value, pl.DataFrame(list(_measured(scores[halves[1]], shown[halves[1]], value))))


def _measured(
    scores: NDArray[np.float32], shown: NDArray[np.bool_], value: float
) -> Iterator[dict[str, Any]]:
    said = scores >= value
    right = int((said & shown).sum())
    for name, n in (("recall", int(shown.sum())), ("precision", int(said.sum()))):
        share = right / n if n else None
        low, high = wilson_interval(share, n) if share is not None else (None, None)
        bounds = {"low": None if low is None else float(low), "high": None if high is None else float(high)}
        yield {"threshold": value, "measure": name, "value": share, **bounds, "n": n}
