"""The benchmark on disk, in the layout of KnowRecall's data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.translate import Translations, Wording
from equiview.data.items import Items
from equiview.io.tables import write_parquet

FILE = "data/{}-00000-of-00001.parquet"
"""A language's questions, as Hugging Face names the parts of a split."""


def export(
    out: Path,
    chosen: Sequence[Candidate],
    translations: Translations,
    images: Items,
    languages: Sequence[str],
) -> None:
    """Write a file a language; row i of each is the same question. Pictures are in the English file."""
    for language in languages:
        table = questions(chosen, translations, language, images if language == "en" else None)
        write_parquet(table, out / FILE.format(language))


def questions(
    chosen: Sequence[Candidate], translations: Translations, language: str, images: Items | None
) -> pl.DataFrame:
    """The rows of one language, in the released fields."""
    rows = []
    for candidate in chosen:
        wording = wording_of(candidate, translations, language)
        picture = None
        if images is not None:
            picture = {
                "bytes": images.encoded(candidate.picture),
                "path": candidate.landmark.pictures[0].name,
            }
        rows.append(
            {
                "question": wording.question,
                "options": list(wording.options),
                "answer": wording.options[candidate.truth],
                "image": picture,
                "landmark_id": candidate.landmark.id,
                "domestic_language_code": candidate.landmark.language,
            }
        )
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "question": pl.String,
        "options": pl.List(pl.String),
        "answer": pl.String,
        "image": pl.Struct({"bytes": pl.Binary, "path": pl.String}),
        "landmark_id": pl.String,
        "domestic_language_code": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def wording_of(candidate: Candidate, translations: Translations, language: str) -> Wording:
    """A question in one of its languages."""
    if language == "en":
        return Wording(candidate.question, candidate.options, candidate.answer)
    return translations[candidate.id, language]
