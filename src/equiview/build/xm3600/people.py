"""The review of translated captions by people, and what they rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from equiview.build.decisions import Rejected, read_decisions
from equiview.build.xm3600.captions import Missing
from equiview.data.items import blind_order
from equiview.data.languages import language_name
from equiview.errors import InputError
from equiview.review import Question, ReviewItem, ReviewSettings, ReviewText, write_review
from equiview.review.unchanged import content_keys

SETTINGS = ReviewSettings(
    title="Translated captions",
    instructions="Each item is a caption of the picture as it was written, and a translation. Judge the "
    "translation.",
    questions=(
        Question(id="language", text="Is all of it in the language it should be in?"),
        Question(id="fluency", text="Does it read as somebody who grew up with the language would write?"),
        Question(id="relevance", text="Does it say of the picture what the original says?"),
    ),
)


def rejected_by_people(path: Path, languages: Sequence[str]) -> Rejected:
    """The captions in one of `languages` that people rejected, by a review's export."""
    table = read_decisions(path).filter(value="no")
    reasons: dict[str, str] = {}
    judged: dict[str, str] = {}
    for row in table.iter_rows(named=True):
        if row["item"].count("-") >= 2 and row["item"].split("-")[-2] not in languages:
            continue
        reasons[row["item"]] = ", ".join(filter(None, (reasons.get(row["item"]), row["question"])))
        if key := row.get("fingerprint"):
            judged[row["item"]] = key
    return Rejected(path, reasons, judged)


def check_known(rejected: Rejected, items: Sequence[ReviewItem]) -> None:
    """InputError where people rejected a caption that is not translated here, or otherwise.

    A decision without a fingerprint, written by hand, is taken at its word.
    """
    known = content_keys(items)
    if unknown := sorted(set(rejected.reasons) - set(known)):
        raise InputError(
            f"{rejected.path}: rejects {unknown[0]!r}, which is no translation of this pool; give the "
            "decisions of its own review"
        )
    for item, before in rejected.judged.items():
        if known[item] != before:
            raise InputError(
                f"{rejected.path}: people judged another translation {item!r} than this pool has; give the "
                "decisions of its own review, or captions, models and settings as they were then"
            )


def review_items(translated: Sequence[Missing], texts: Mapping[str, str], pictures: Path) -> list[ReviewItem]:
    """Each translation beside its original and the picture, `KEY.jpg` in `pictures`."""
    return [
        ReviewItem(
            id=missing.id,
            group=language_name(missing.language),
            picture=pictures / f"{missing.image}.jpg",
            fields=tuple(
                ReviewText(label=language_name(code), text=text, language=code)
                for code, text in (
                    (missing.original.language, missing.original.text),
                    (missing.language, texts[missing.id]),
                )
            ),
        )
        for missing in translated
    ]


def write_for_people(
    folder: Path, translated: Sequence[Missing], texts: Mapping[str, str], pictures: Path, count: int
) -> None:
    """A review of `count` translations of each language, drawn by their ids."""
    of_language: dict[str, list[Missing]] = {}
    for missing in translated:
        of_language.setdefault(missing.language, []).append(missing)
    drawn = [
        several[place]
        for several in of_language.values()
        for place in sorted(blind_order(pl.Series([missing.id for missing in several]))[:count])
    ]
    if drawn:
        write_review(folder, SETTINGS, review_items(drawn, texts, pictures))
