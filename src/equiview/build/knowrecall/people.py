"""The review of translated questions by people (T, appendix F), and the questions they rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl

from equiview.build.decisions import Rejected, read_decisions
from equiview.build.history import History
from equiview.build.knowrecall.candidates import Candidate, Wording
from equiview.build.knowrecall.prompts import lettered
from equiview.build.knowrecall.translate import Translations
from equiview.data.items import Items, blind_order
from equiview.data.languages import language_name
from equiview.errors import InputError
from equiview.review import Question, ReviewItem, ReviewSettings, ReviewText, write_review
from equiview.review.unchanged import content_keys

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


def rejected_by_people(path: Path, languages: Sequence[str]) -> Rejected:
    """The candidates of which a translation into one of `languages` was rejected, by a review's export."""
    table = read_decisions(path).filter(value="no")
    said: dict[str, list[str]] = {}
    judged: dict[str, str] = {}
    for row in table.iter_rows(named=True):
        candidate, _, language = row["item"].rpartition(":")
        if language in languages:
            said.setdefault(candidate, []).append(f"{row['question']} ({language})")
            if key := row.get("fingerprint"):
                judged[row["item"]] = key
    return Rejected(path, {candidate: ", ".join(reasons) for candidate, reasons in said.items()}, judged)


def check_same_build(
    rejected: Rejected,
    candidates: Sequence[Candidate],
    translate: Callable[[Sequence[Candidate]], Translations],
    images: Items,
) -> None:
    """InputError where people rejected another question than the one that has its number in this build.

    A decision without a fingerprint, written by hand or by an earlier version, is taken at its word.
    """
    judged = {item.rpartition(":")[0] for item in rejected.judged}
    by_id = {candidate.id: candidate for candidate in candidates if candidate.id in judged}
    translations = translate(list(by_id.values()))
    for item, before in rejected.judged.items():
        candidate, _, language = item.rpartition(":")
        wording = translations.get((candidate, language))
        now = wording and content_keys([_item(by_id[candidate], wording, language, images)])[item]
        if candidate in by_id and now != before:
            raise InputError(
                f"{rejected.path}: people judged another question {item!r} than this build has; give the "
                "decisions of its own review, or places, models and settings as they were then"
            )


def check_known(rejected: Rejected, candidates: Iterable[Candidate]) -> None:
    """InputError where people rejected a question that this build does not have."""
    unknown = sorted(set(rejected.reasons) - {candidate.id for candidate in candidates})
    if unknown:
        raise InputError(
            f"{rejected.path}: rejects {unknown[0]!r}, a question that this build does not have; give the "
            "decisions of its own review"
        )


def without_rejected(
    candidates: Sequence[Candidate], rejected: Rejected, history: History
) -> list[Candidate]:
    """The candidates that people did not reject."""
    for candidate in candidates:
        if reasons := rejected.reasons.get(candidate.id):
            history.note(candidate.id, "people", "people rejected a translation", reasons)
    return [candidate for candidate in candidates if candidate.id not in rejected.reasons]
