"""The benchmark on disk, in the layout of KnowRecall's data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.translate import Translations
from equiview.data.items import Items
from equiview.io.tables import write_parquet

FILE = "data/{}-00000-of-00001.parquet"
"""A language's questions, as Hugging Face names the parts of a split."""

FIELDS: dict[str, pl.DataType | type[pl.DataType]] = {
    "question": pl.String,
    "options": pl.List(pl.String),
    "answer": pl.String,
    "image": pl.Struct({"bytes": pl.Binary, "path": pl.String}),
    "landmark_id": pl.String,
    "domestic_language_code": pl.String,
}


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
    for c in chosen:
        wording = c.wording if language == "en" else translations[c.id, language]
        picture = None
        if images is not None:
            picture = {"bytes": images.encoded(c.picture), "path": c.landmark.pictures[0].name}
        answer = wording.options[c.truth]
        rows.append((*wording[:2], answer, picture, c.landmark.id, c.landmark.language))
    return pl.DataFrame(rows, schema=FIELDS, orient="row")
