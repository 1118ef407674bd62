"""Neutral prompts: what is asked of a gallery of people without naming the attribute that is looked at.

A file has templates and concepts by language; every template is filled with every concept::

    [templates]
    en = ["{person}", "a photo of {person}"]
    [concepts.kind]
    en = "a kind person"

The file that comes with equiview, `prompt_data/neutral.toml`, has 11 templates and 29 concepts in each of
eight languages: as many as "From Global to Local: Social Bias Transfer in CLIP" (S) asks, though not the
same. `berg` names theirs: the published prompts of Berg et al. (2022), in English. A benchmark may bring
prompts of its own as a table `neutral_prompts`, and a user a table of them as a file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from equiview.benchmarks.base import Benchmark
from equiview.data.languages import by_label, read_languages
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.tables import Column, Schema, read_table
from equiview.io.toml import parse_toml_as
from equiview.text.spaceless import is_spaceless

SLOT = "{person}"
PRESETS = ("berg",)
"""Published prompts that ship, by the name of their file."""
NEUTRAL_PROMPTS = Schema(
    "neutral_prompts",
    (
        Column("prompt_id", pl.String, "a distinct name of the prompt", unique=True),
        Column("language", pl.String, "its language"),
        Column("text", pl.String, "what is asked"),
        Column("concept", pl.String, "what it is about; prompts of one concept count as one question"),
    ),
)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    templates: dict[str, list[str]] = Field(min_length=1)
    concepts: dict[str, dict[str, str]] = Field(min_length=1)


@cache
def shipped_neutral_prompts() -> pl.DataFrame:
    """The prompts that come with equiview, as `NEUTRAL_PROMPTS`.

    >>> prompts = shipped_neutral_prompts()
    >>> prompts.filter(language="en").height, prompts["language"].n_unique()
    (319, 8)
    """
    return _parse(_data("neutral").read_bytes(), "neutral prompts")


def read_neutral_prompts(path: Path) -> pl.DataFrame:
    """Prompts of a user: one of `PRESETS`, a `.toml` file of templates and concepts, or a table.

    >>> read_neutral_prompts(Path("berg"))["text"][0]
    'This is the face of a good person'

    The table has the columns of `NEUTRAL_PROMPTS`. InputError says what is wrong.
    """
    if str(path) in PRESETS:
        return _parse(_data(str(path)).read_bytes(), f"prompts of {path}")
    if path.suffix == ".toml":
        return _parse(content_of(path), str(path))
    return _filled(read_table(path, NEUTRAL_PROMPTS), str(path))


def neutral_prompts_of(benchmark: Benchmark, given: Iterable[str] = ()) -> tuple[pl.DataFrame, str]:
    """The prompts to ask, and where they are from: files of the user, else the benchmark's own, else ours."""
    paths = [Path(name) for name in given]
    if paths:
        table = pl.concat(
            [
                read_neutral_prompts(path).select(column.name for column in NEUTRAL_PROMPTS.columns)
                for path in paths
            ]
        )
        source = ", ".join(map(str, paths))
        return NEUTRAL_PROMPTS.check(table, source), source
    if NEUTRAL_PROMPTS.name in benchmark.tables:
        source = f"benchmark {benchmark.name!r}, table {NEUTRAL_PROMPTS.name!r}"
        return _filled(benchmark.need_table(NEUTRAL_PROMPTS.name, NEUTRAL_PROMPTS), source), source
    return shipped_neutral_prompts(), "neutral prompts"


def named_attributes(text: str, language: str, attributes: Iterable[str]) -> list[tuple[str, str]]:
    """The words of a text that name one of `attributes`, as (attribute, word); of known languages alone.

    >>> named_attributes("a photo of an old woman", "en", ["gender", "age"])
    [('gender', 'woman'), ('age', 'old')]
    >>> named_attributes("ein Feuerwehrmann", "de", ["gender"])
    [('gender', 'feuerwehrmann')]
    >>> named_attributes("一个女人", "zh", ["gender"])
    [('gender', '女')]
    """
    text = text.casefold()
    for phrase in attribute_words().get("exceptions", {}).get(language, ()):
        text = text.replace(phrase, " ")
    words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", text)
    parts = [part for word in words for part in re.split(r"[-'’]", word)]
    found: list[tuple[str, str]] = []
    for attribute in attributes:
        listed = attribute_words().get(attribute, {}).get(language, ())
        if is_spaceless(language):  # words are found anywhere in a text
            found += [(attribute, word) for word in listed if word in text]
            continue
        pattern = _pattern(attribute, language) if listed else None
        if pattern is not None:
            found += [
                (attribute, word) for word in dict.fromkeys([*words, *parts]) if pattern.fullmatch(word)
            ]
    return found


def check_neutral(
    prompts: pl.DataFrame, attributes: Iterable[str], source: str, allowed: Iterable[str] = ()
) -> None:
    """InputError that names the first prompt, and its word, that names one of `attributes`.

    `allowed` are words that may occur although they are listed.
    """
    excused = {word.casefold() for word in allowed}
    wrong = [
        (row["prompt_id"], row["text"], attribute, word)
        for row in prompts.iter_rows(named=True)
        for attribute, word in named_attributes(row["text"], row["language"], attributes)
        if word not in excused
    ]
    if wrong:
        prompt, text, attribute, word = wrong[0]
        count = len({entry[0] for entry in wrong})
        more = f" ({count} prompts do)" if count > 1 else ""
        raise InputError(
            f"{source}: prompt {prompt!r} ({text!r}) names {attribute} by the word {word!r}, to which it "
            f"should be neutral{more}; rephrase it, or allow the word with the setting 'allowed'"
        )


@cache
def attribute_words() -> dict[str, dict[str, list[str]]]:
    """Words that name an attribute, by attribute and language; `*` at an end stands for any letters.

    `exceptions` are phrases whose words name none, such as "white cane".

    >>> sorted(attribute_words())
    ['age', 'exceptions', 'gender', 'race', 'skin']
    """
    return tomllib.loads(_data("attribute_words").read_text("utf-8"))


@cache
def _pattern(attribute: str, language: str) -> re.Pattern[str]:
    listed = attribute_words()[attribute][language]
    return re.compile("|".join(re.escape(word.casefold()).replace(r"\*", ".*") for word in listed))


def _data(name: str):  # type: ignore[no-untyped-def]
    return files("equiview.benchmarks").joinpath("prompt_data", f"{name}.toml")


def _filled(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """The table itself; InputError for none or an empty prompt."""
    if not len(table):
        raise InputError(f"{source}: holds no prompt; at least one is needed")
    table = table.with_columns(read_languages(table["language"], source))
    blank = table["text"].str.strip_chars().eq("").arg_true()
    if len(blank):
        raise InputError(f"{source}: column 'text', row {blank[0] + 1}: is empty; write what is asked")
    return table


def _parse(content: bytes, source: str) -> pl.DataFrame:
    file = parse_toml_as(_File, content, source)
    rows = []
    concepts = {name: by_label(phrases, f"{source}, {name!r}") for name, phrases in file.concepts.items()}
    for language, templates in by_label(file.templates, f"{source}, templates").items():
        for concept, phrases in concepts.items():
            if language not in phrases:
                raise InputError(
                    f"{source}: concept {concept!r} has no {language!r}, in which there are templates"
                )
            for place, template in enumerate(templates, start=1):
                if SLOT not in template:
                    raise InputError(f"{source}: templates.{language}: {template!r} has no place for {SLOT}")
                text = template.replace(SLOT, phrases[language])
                rows.append((f"{language}:{concept}:{place}", language, text, concept))
    names = [column.name for column in NEUTRAL_PROMPTS.columns]
    return _filled(NEUTRAL_PROMPTS.check(pl.DataFrame(rows, schema=names, orient="row"), source), source)
