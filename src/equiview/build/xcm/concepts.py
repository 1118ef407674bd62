"""Concepts with their names: read from a table or asked of a model, those that say the same left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from equiview.build.step import Step
from equiview.build.xcm.duplicates import cosines, repeats
from equiview.build.xcm.settings import XcmSettings, needs, spoken, table_of_countries
from equiview.build.xcm.steps import with_results
from equiview.data.items import Items
from equiview.data.languages import language_name
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.io.tables import Column, Schema, read_table
from equiview.subjects import Encoder
from equiview.text.replies import json_in

CONCEPTS = Schema("concepts", (Column("concept", pl.String, "the concept, in English", unique=True),))
NAME = "name_"
TOGETHER = 40
"""Concepts that are translated in one request."""
ATTEMPTS = 2
LONGEST = 60
"""Characters of a concept."""


def read_concepts(path: Path) -> pl.DataFrame:
    """The concepts of a table with their names; InputError for one that is blank, odd or there twice."""
    table = read_table(path, CONCEPTS)
    if not len(table):
        raise InputError(f"{path}: holds no concept; a triplet needs three")
    named = [name for name in table.columns if name.startswith(NAME)]
    table = table.select(pl.col("concept", *named).cast(pl.String).str.strip_chars())
    first: dict[str, int] = {}
    for row, concept in enumerate(table["concept"], start=1):
        if not concept or len(concept) > LONGEST or not concept.isprintable():
            raise InputError(f"{path}, row {row}: concept {concept!r} is no name of a concept; correct it")
        if (other := first.setdefault(concept.casefold(), row)) != row:
            raise InputError(f"{path}: rows {other} and {row} hold the same concept {concept!r}; drop one")
    return table


def asked_concepts(step: Step, settings: XcmSettings) -> pl.DataFrame:
    """The concepts that a model lists, in its order; InputError where it lists none.

    After P's appendix A, in our words: it asks for what all the countries have, each in its own way.
    """
    (reply,) = step.ask([concepts_request(settings)])
    content = json_in(reply)
    listed = content if isinstance(content, list) else []
    names = [" ".join(str(name).split()).lower() for name in listed if isinstance(name, str)]
    good = [name for name in names if name and len(name) <= LONGEST and name.isprintable()]
    concepts = list(dict.fromkeys(good))[: settings.count]
    if not concepts:
        raise InputError(f"{step.model.name}: listed no concept ({reply[:100]!r}); name another model")
    return pl.DataFrame({"concept": concepts})


def concepts_request(settings: XcmSettings) -> Request:
    """The request for a list of concepts."""
    prompt = f"""List {settings.count} concepts for a data set of photographs from these countries: \
{", ".join(row["country"] for row in table_of_countries(settings))}.

A concept is a common noun, or two words at most, in English, for a kind of thing that every one of these \
countries has and that looks different in each, such as "food", "train", "wedding" or "house". It is neither \
a proper name nor something that only one country has. No two concepts mean the same, and none is a kind of \
another.

Reply with JSON alone, a list of {settings.count} strings: ["food", "train", ...]"""
    return Request("concepts", prompt, "en", max_tokens=20 * settings.count + 200)


def names_requests(concepts: Sequence[str], language: str, attempt: int = 0) -> list[Request]:
    """The requests for the names of concepts in a language, some concepts in each."""
    requests = []
    for start in range(0, len(concepts), TOGETHER):
        part = json.dumps(list(concepts[start : start + TOGETHER]), ensure_ascii=False)
        prompt = f"""Translate these names of kinds of things into {language_name(language)}, as somebody \
who grew up with the language would type them to search for photographs:

{part}

Reply with JSON alone, an object with the English name as the key and the translation as the value."""
        name = f"names {start}:{language}"
        requests.append(Request(name, prompt, language, max_tokens=40 * TOGETHER + 200, repeat=attempt))
    return requests


def with_names(table: pl.DataFrame, step: Step | None, settings: XcmSettings) -> pl.DataFrame:
    """`table` with a name in each language of the countries; null where the model gives none twice.

    InputError where names lack and there is no model to ask.
    """
    for language in spoken(settings):
        column = f"{NAME}{language}"
        known = _known(table, language)
        for attempt in range(ATTEMPTS):
            lacking = [concept for concept in table["concept"] if concept not in known]
            if not lacking:
                break
            if step is None:
                raise needs(f"a table without the {column} of {lacking[0]!r} ({len(lacking)} lack)", "writer")
            for reply in step.ask(names_requests(lacking, language, attempt)):
                known |= _names_in(json_in(reply), lacking)
        names = [known.get(concept) for concept in table["concept"]]
        table = table.with_columns(pl.Series(column, names, dtype=pl.String))
    wanted = [f"{NAME}{language}" for language in spoken(settings)]
    return table.select("concept", *wanted)


def lacking_names(table: pl.DataFrame, language: str) -> list[str]:
    """The concepts without a name in a language."""
    known = _known(table, language)
    return [concept for concept in table["concept"] if concept not in known]


def _known(table: pl.DataFrame, language: str) -> dict[str, str]:
    column = f"{NAME}{language}"
    if column not in table.columns:
        return {}
    return {concept: name for concept, name in table.select("concept", column).iter_rows() if name}


def _names_in(content: Any, asked: Sequence[str]) -> Mapping[str, str]:
    if not isinstance(content, dict):
        return {}
    given = {concept: content.get(concept) for concept in asked}
    names = {concept: " ".join(name.split()) for concept, name in given.items() if isinstance(name, str)}
    return {concept: name for concept, name in names.items() if name and name.isprintable()}


def judged(table: pl.DataFrame, encoder: Encoder | None, same: float, progress: Progress) -> pl.DataFrame:
    """`table` with what is rejected: concepts that say what an earlier one says, and those without names.

    P, section 3.2.1: similarity of BGE-M3 from .92. `same` is a cosine.
    """
    concepts = table["concept"].to_list()
    results: list[tuple[str | None, str | None]] = [(None, None)] * len(concepts)
    for row, names in enumerate(table.drop("concept").iter_rows()):
        lacking = [
            name.removeprefix(NAME) for name, value in zip(table.columns[1:], names, strict=True) if not value
        ]
        if lacking:
            results[row] = "it has no name in every language", ", ".join(lacking)
    left = [row for row, (reason, _) in enumerate(results) if reason is None]
    if encoder is not None and left:
        frame = {"id": [concepts[row] for row in left], "text": [concepts[row] for row in left]}
        texts = Items("text", pl.DataFrame(frame).with_columns(language=pl.lit("en")), "concepts")
        vectors = cosines(encoder, texts, progress)
        for place, other in enumerate(repeats(vectors, same)):
            if other >= 0:
                likeness = float(vectors[place] @ vectors[other])
                said = f"{concepts[left[other]]} ({likeness:.3f})"
                results[left[place]] = "it says what another says", said
    return with_results(table.with_columns(item_id="concept"), results)
