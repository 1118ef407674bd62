"""The benchmark on disk, in the layout of KnowRecall's data set, with its history and a review for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from equiview import __version__
from equiview.build.history import History
from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.translate import Translations, Wording
from equiview.data.items import Items
from equiview.io.tables import write_bytes, write_parquet
from equiview.subjects import Answerer

FILE = "data/{}-00000-of-00001.parquet"
"""A language's questions, as Hugging Face names the parts of a split."""


def export(
    out: Path,
    chosen: Sequence[Candidate],
    translations: Translations,
    images: Items,
    history: History,
    settings: Mapping[str, Any],
    models: Mapping[str, Answerer],
    counts: Mapping[str, int],
) -> None:
    """Write everything; row i of every language is the same question. Pictures are in the English file."""
    for language in settings["languages"]:
        table = questions(chosen, translations, language, images if language == "en" else None)
        write_parquet(table, out / FILE.format(language))
    write_parquet(history.table, out / "history.parquet")
    write_bytes(history.rejections().write_csv().encode(), out / "rejections.csv")
    card = {
        "equiview": __version__,
        "settings": dict(settings),
        "models": {name: {"name": m.name, "fingerprint": m.fingerprint} for name, m in models.items()},
        "counts": dict(counts),
    }
    write_bytes(json.dumps(card, indent=1, ensure_ascii=False).encode(), out / "builder.json")


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
