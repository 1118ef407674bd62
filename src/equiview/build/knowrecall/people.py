"""The review of translated questions by people (T, appendix F), and the questions they rejected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from equiview.build.history import History
from equiview.build.knowrecall.candidates import Candidate, Wording
from equiview.build.knowrecall.prompts import lettered
from equiview.build.knowrecall.translate import Translations
from equiview.data.items import Items, blind_order
from equiview.data.languages import language_name
from equiview.io.tables import Column, Schema, read_table
from equiview.review import Question, ReviewItem, ReviewSettings, ReviewText, write_review

DECISIONS = Schema(
    "decisions",
    (
        Column("item", pl.String, "the question and its language, as CANDIDATE:LANGUAGE"),
        Column("question", pl.String, "what people were asked of it"),
        Column("value", pl.String, "what they decided, empty where nothing is decided", nullable=True),
    ),
)
SETTINGS = ReviewSettings(
    title="Translated questions",
    instructions="Each item is a question about the place in the picture, in English and translated. "
    "Judge the translation, its four options included. You need not know the right answer.",
    questions=(
        Question(id="language", text="Is all of it in the language it should be in?"),
        Question(id="fluency", text="Does it read as somebody who grew up with the language would write?"),
        Question(id="relevance", text="Does it ask the same, with the same options?"),
    ),
)


def write_for_people(
    folder: Path,
    chosen: Sequence[Candidate],
    translations: Translations,
    images: Items,
    languages: Sequence[str],
    count: int,
) -> None:
    """A review of `count` questions of each language but English, drawn by their ids."""
    order = blind_order(pl.Series([candidate.id for candidate in chosen]))[:count]
    items = [
        _item(chosen[place], translations[chosen[place].id, language], language, images)
        for language in languages
        if language != "en"
        for place in order
    ]
    if items:
        write_review(folder, SETTINGS, items)


def _item(candidate: Candidate, translated: Wording, language: str, images: Items) -> ReviewItem:
    name = language_name(language)
    fields = tuple(
        ReviewText(label=label, text=f"{wording.question}\n{lettered(wording.options)}", language=code)
        for label, wording, code in (("English", candidate.wording, "en"), (name, translated, language))
    )
    picture = images.encoded(candidate.picture)
    return ReviewItem(id=f"{candidate.id}:{language}", group=name, picture=picture, fields=fields)


def rejected_by_people(path: Path) -> dict[str, str]:
    """The reasons of rejected candidates, from the decisions of a review's export."""
    table = read_table(path, DECISIONS).filter(value="no")
    said: dict[str, list[str]] = {}
    for row in table.iter_rows(named=True):
        candidate, _, language = row["item"].rpartition(":")
        said.setdefault(candidate, []).append(f"{row['question']} ({language})")
    return {candidate: ", ".join(reasons) for candidate, reasons in said.items()}


def without_rejected(
    candidates: Sequence[Candidate], rejected: dict[str, str], history: History
) -> list[Candidate]:
    """The candidates that people did not reject."""
    for candidate in candidates:
        if reasons := rejected.get(candidate.id):
            history.note(candidate.id, "people", "people rejected a translation", reasons)
    return [candidate for candidate in candidates if candidate.id not in rejected]
