"""Ask for descriptions, read in which language they are, translate them, and hold them against pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from equiview.audits.memory.asking import Asked, questions_of, translations_asked
from equiview.audits.memory.languages import Detects, detector_of
from equiview.audits.memory.models import scorers_of, translators_of
from equiview.audits.memory.reading import CATEGORIES, SCORED, category_of, translation_of
from equiview.audits.memory.scoring import Scorer
from equiview.audits.memory.settings import MemorySettings
from equiview.benchmarks import Benchmark
from equiview.data.observations import Observations
from equiview.data.requests import Reply
from equiview.data.run import Run
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.subjects import Answerer
from equiview.text.spaceless import words_in

_CELL = (
    Column("landmark_id", pl.String, "the landmark"),
    Column("language", pl.String, "the language asked in"),
    Column("prompt", pl.Int32, "which prompt of the language, from 0"),
)
_TRANSLATOR = Column("translator", pl.String, "first or second")
SCHEMAS = schemas(
    landmarks=(
        Column("landmark_id", pl.String, "the landmark", unique=True),
        Column("region", pl.String, "the language of its region"),
        Column("name", pl.String, "what it is called, in English where it has such a name"),
        Column("images", pl.Int64, "how many pictures it is scored with"),
        Column("picture", pl.Binary, "one of them, small", nullable=True),
    ),
    models=(
        Column("role", pl.String, "translator or scorer"),
        Column("place", pl.String, "first or second"),
        Column("name", pl.String, "the model"),
        Column("audited", pl.String, "the verdicts of its own run, if one is given", nullable=True),
    ),
    descriptions=(
        *_CELL,
        Column("region", pl.String, "the language of the landmark's region"),
        Column("text", pl.String, "what was replied"),
        Column("stopped", pl.String, "why the reply ended: stop, length or refused"),
        Column("detected", pl.String, "its language; null: none was recognised", nullable=True),
        Column("known", pl.Boolean, "whether the language asked in is known to the detector"),
        Column("category", pl.String, ", ".join(CATEGORIES[:-1]) + f" or {CATEGORIES[-1]}"),
        Column("characters", pl.Int64, "its length in characters"),
        Column("words", pl.Int64, "its length in words; in characters for Chinese, Japanese and Thai"),
    ),
    translations=(
        *_CELL,
        _TRANSLATOR,
        Column("text", pl.String, "the translation; null: there is none", nullable=True),
        Column("problem", pl.String, "why there is none", nullable=True),
    ),
    scores=(
        *_CELL,
        _TRANSLATOR,
        Column("scorer", pl.String, "first or second"),
        Column("words", pl.Int64, "words of the English text that is scored", nullable=True),
        Column("cut", pl.Boolean, "whether the scorer reads only its beginning", nullable=True),
        Column("score", pl.Float64, "CLIPScore, the mean over the landmark's pictures", nullable=True),
        Column("other", pl.Float64, "the mean over the other landmarks of that score", nullable=True),
    ),
)


def observe(
    subject: Answerer, benchmark: Benchmark, settings: MemorySettings, progress: Progress
) -> Observations:
    """Describe every landmark in every language, translate and score.

    Translators, scorers and pictures are checked before the subject is asked, which may cost money. Raises
    InputError also where a request has no answer; the subject keeps the answers that it has.
    """
    questions = questions_of(benchmark, settings)
    foreign = any(question.language != "en" for question in questions)
    translators = translators_of(subject, settings) if foreign or settings.translator else {"first": None}
    audited = _audited(settings.scorer_run)
    scorers = {
        place: Scorer(encoder, benchmark.images, progress)
        for place, encoder in scorers_of(subject, settings).items()
    }
    detector = detector_of(settings.detector)
    replies = subject.ask([question.request for question in questions], None, progress)
    descriptions = _descriptions(questions, replies, detector)
    english, translations = _translated(descriptions, translators, settings, progress)
    parts = [
        _scored(descriptions, texts, scorer, progress).with_columns(
            translator=pl.lit(translator), scorer=pl.lit(place)
        )
        for translator, texts in english.items()
        for place, scorer in scorers.items()
    ]
    return Observations(
        {
            "landmarks": _landmarks(benchmark, questions),
            "models": _models(settings, translators, audited),
            "descriptions": descriptions,
            "translations": translations,
            "scores": pl.concat(parts).select(list(SCHEMAS["scores"].dtypes)),
        }
    )


def _descriptions(questions: Sequence[Asked], replies: Sequence[Reply], detector: Detects) -> pl.DataFrame:
    rows = []
    for question, reply in zip(questions, replies, strict=True):
        detected = detector.detect(reply.text) if reply.text.strip() else None
        known = detector.knows(question.language)
        rows.append(
            {
                "landmark_id": question.landmark_id,
                "language": question.language,
                "prompt": question.prompt,
                "region": question.region,
                "text": reply.text,
                "stopped": reply.stopped,
                "detected": detected,
                "known": known,
                "category": category_of(reply, question.language, detected, known),
                "characters": len(reply.text.strip()),
                "words": words_in(reply.text),
            }
        )
    return SCHEMAS["descriptions"].table(rows)


def _translated(
    descriptions: pl.DataFrame,
    translators: Mapping[str, Answerer | None],
    settings: MemorySettings,
    progress: Progress,
) -> tuple[dict[str, list[str | None]], pl.DataFrame]:
    """The English text of each description by translator, or None; and the translations."""
    rows = list(descriptions.iter_rows(named=True))
    needed = {
        f"{row['landmark_id']}:{row['language']}:{row['prompt']}": (language, row["text"])
        for row in rows
        if row["category"] in SCORED and (language := row["detected"] or row["language"]) != "en"
    }
    english, translations = {}, []
    for place, translator in translators.items():
        translated: dict[str, tuple[str | None, str | None]] = {}
        if translator is not None and needed:
            replies = translator.ask(translations_asked(needed, settings), None, progress)
            found = (translation_of(reply, finished=translator.looks_up) for reply in replies)
            translated = dict(zip(needed, found, strict=True))
        texts = []
        for row in rows:
            cell = {name: row[name] for name in ("landmark_id", "language", "prompt")}
            name = ":".join(map(str, cell.values()))
            text = row["text"] if row["category"] in SCORED else None
            if name in translated:
                text, problem = translated[name]
                translations.append({**cell, "translator": place, "text": text, "problem": problem})
            texts.append(text)
        english[place] = texts
    return english, SCHEMAS["translations"].table(translations)


def _scored(
    descriptions: pl.DataFrame, texts: Sequence[str | None], scorer: Scorer, progress: Progress
) -> pl.DataFrame:
    cells = descriptions.select("landmark_id", "language", "prompt")
    names = ("words", "cut", "score", "other")
    rows: list[tuple[Any, ...]] = [(None,) * len(names)] * len(cells)
    if places := [place for place, text in enumerate(texts) if text is not None]:
        present = [text for text in texts if text is not None]
        own, other = scorer.scores(present, cells["landmark_id"].gather(places).to_list(), progress)
        cuts: Sequence[bool | None] = scorer.encoder.cuts(present) or [None] * len(present)
        numbers = zip(map(words_in, present), cuts, own.tolist(), other.tolist(), strict=True)
        for place, row in zip(places, numbers, strict=True):
            rows[place] = row
    types = SCHEMAS["scores"].dtypes
    scored = pl.DataFrame(rows, schema={name: types[name] for name in names}, orient="row")
    return cells.hstack(scored).with_columns(pl.col("score", "other").fill_nan(None))


def _landmarks(benchmark: Benchmark, questions: Sequence[Asked]) -> pl.DataFrame:
    landmarks = benchmark.images.attribute("landmark_id").to_list()
    first = {landmark: row for row, landmark in reversed(list(enumerate(landmarks)))}
    shown: dict[str, Asked] = {}
    for question in questions:
        if question.landmark_id not in shown or question.language == "en":
            shown[question.landmark_id] = question
    rows = [
        {
            "landmark_id": landmark,
            "region": question.region,
            "name": question.request.question,
            "images": landmarks.count(landmark),
            "picture": benchmark.images.thumbnail(first[landmark]),
        }
        for landmark, question in shown.items()
    ]
    return SCHEMAS["landmarks"].table(rows)


def _models(
    settings: MemorySettings, translators: Mapping[str, Answerer | None], audited: str | None
) -> pl.DataFrame:
    translating = {"first": settings.translator, "second": settings.second_translator}
    rows: list[tuple[str, str, str, str | None]] = [
        *(("translator", place, translating[place] or "none", None) for place in translators),
        ("scorer", "first", settings.scorer or "none", audited),
        ("scorer", "second", settings.second_scorer, None),
    ]
    columns = SCHEMAS["models"].dtypes
    return SCHEMAS["models"].table(dict(zip(columns, row, strict=True)) for row in rows if row[2])


def _audited(folder: str) -> str | None:
    """The verdicts of the scorer's own run, a sentence for each of its audits."""
    if not folder:
        return None
    run = Run.open(Path(folder))
    run.need("measure")
    sentences = [f"{verdict.question} {verdict.answer}" for verdict in run.verdicts]
    return f"{run.name} on {run.manifest.benchmark.name}: {' '.join(sentences)}"
