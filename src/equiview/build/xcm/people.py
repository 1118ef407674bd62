"""The review of images by people (P, section 3.2.1 and appendix F), and what they rejected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from equiview.build.decisions import DECISIONS, read_decisions
from equiview.build.xcm.steps import with_results
from equiview.data.countries import countries
from equiview.data.languages import language_name
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.pictures import decoded, encoded
from equiview.review import Question, ReviewItem, ReviewSettings, ReviewText, write_review
from equiview.review.layout import read_items
from equiview.review.unchanged import content_keys

WIDTH, HEIGHT, SMALL = 640, 480, 156
"""Pixels of the image that is judged, and the height of those beside it."""
GAP = 6
QUESTIONS = (
    Question(
        id="duplicate",
        text="Does one of the small pictures at the right, if there are any, show the same scene or object, "
        "without another time of day or another viewpoint that makes it look different?",
    ),
    Question(id="concept", text="Does the large picture show the concept?"),
    Question(
        id="country",
        text="Could it be of the country?",
        choices=("yes", "no", "cannot tell"),
    ),
    Question(
        id="harmful",
        text="Is it something that no data set should show: people humiliated or hurt, hatred, nudity, or "
        "somebody's private data?",
    ),
)
REJECTED = {
    ("duplicate", "yes"): "people: it repeats another",
    ("concept", "no"): "people: it does not show the concept",
    ("country", "no"): "people: it is not of the country",
    ("harmful", "yes"): "people: it is harmful",
}
UNDECIDED = "people have not decided"
INSTRUCTIONS = (
    "Each item is a picture that a search found for a concept and a country. Small pictures at its right are "
    "the most similar ones of the same concept that were found before it. A slight shift, a crop or a zoom "
    "of the same scene is a repetition; day instead of night, or a viewpoint from which other things are "
    "seen, is none."
)


def write_for_people(folder: Path, out: Path, table: pl.DataFrame, names: pl.DataFrame, people: int) -> None:
    """A review of all images; `names` are the concepts with their names, by `concept_id`."""
    asked = ReviewSettings(
        title="Images of concepts in countries",
        instructions=INSTRUCTIONS,
        questions=QUESTIONS,
        people_per_item=people,
    )
    write_review(folder, asked, _items(out, table, names))


def _items(out: Path, table: pl.DataFrame, names: pl.DataFrame) -> Iterator[ReviewItem]:
    files = dict(table.select("item_id", "file").iter_rows())
    native = {row["concept_id"]: row for row in names.iter_rows(named=True)}
    language_of = dict(countries().select("country", "language").iter_rows())
    for row in table.iter_rows(named=True):
        beside = [files[name] for name in row["near"] if name in files]
        language = language_of[row["country"]]
        fields = [ReviewText(label="Concept", text=row["concept"], language="en")]
        if language != "en":
            name = native[row["concept_id"]][f"name_{language}"]
            fields.append(ReviewText(label=language_name(language), text=name, language=language))
        fields.append(ReviewText(label="Country", text=row["country"], language="en"))
        picture = _composed(out, row["file"], beside)
        yield ReviewItem(id=row["item_id"], group=row["country"], picture=picture, fields=tuple(fields))


def _composed(out: Path, file: str, beside: Sequence[str]) -> bytes:
    """An image with small ones at its right, as WebP."""
    import PIL.Image

    large = decoded(content_of(out / file))
    large.thumbnail((WIDTH, HEIGHT))
    small = [decoded(content_of(out / name)) for name in beside]
    for picture in small:
        picture.thumbnail((WIDTH, SMALL))
    column = max((picture.width + GAP for picture in small), default=0)
    height = max(large.height, sum(picture.height + GAP for picture in small) - GAP)
    whole = PIL.Image.new("RGB", (large.width + column, height), "white")
    whole.paste(large, (0, 0))
    top = 0
    for picture in small:
        whole.paste(picture, (large.width + GAP, top))
        top += picture.height + GAP
    return encoded(whole, "WEBP", quality=80)


def decisions_of(path: Path | None) -> pl.DataFrame:
    """What people decided, as the columns of `DECISIONS`; nothing where there was no review yet."""
    if path is None:
        return DECISIONS.table()
    table = read_decisions(path)
    if "fingerprint" not in table.columns:
        table = table.with_columns(fingerprint=pl.lit(None, pl.String))
    return table.select(*DECISIONS.dtypes)


def judged(table: pl.DataFrame, decided: pl.DataFrame, path: Path | None, review: Path) -> pl.DataFrame:
    """`table` without the images that people rejected or have not decided on; all are kept without decisions.

    InputError for decisions about an image that the review does not have, or has with another picture.
    """
    if path is None:
        return with_results(table, [(None, None)] * len(table))
    keys = content_keys(read_items(review))
    answers: dict[str, dict[str, str | None]] = {}
    for row in decided.iter_rows(named=True):
        name, key = row["item"], row["fingerprint"]
        if name not in keys or (key is not None and key != keys[name]):
            other = "an image that this build does not have" if name not in keys else "another image"
            raise InputError(
                f"{path}: people judged {name!r}, {other}; give the decisions of this build's own review"
            )
        answers.setdefault(name, {})[row["question"]] = row["value"]
    return with_results(table, [_verdict(answers.get(name, {})) for name in table["item_id"]])


def _verdict(answers: dict[str, str | None]) -> tuple[str | None, str | None]:
    for (question, value), reason in REJECTED.items():
        if answers.get(question) == value:
            return reason, None
    lacking = [question.id for question in QUESTIONS if not answers.get(question.id)]
    return (UNDECIDED, ", ".join(lacking)) if lacking else (None, None)
