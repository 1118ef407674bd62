"""Prompts: what a zero-shot classifier is asked, in each language, as tables to read and to correct.

A file is of one attribute of images (gender, race, age, or any other). It names the attribute's values and,
for each language and paraphrase, one text for each value::

    attribute = "weather"
    [values]
    rain = ["rain", "drizzle"]     # the prompt's value, and the labels of images that mean it
    sun = ["sun"]

    [[prompts]]
    language = "en"
    paraphrase = "photo"
    checked = "by the author, a native speaker"
    [prompts.text]
    rain = "a photo taken in the rain"
    sun = "a photo taken in sunshine"

Those that come with equiview, in `prompt_data`, were written for this project in the eight languages of
"Assessing Multilingual Fairness in Pre-trained Multimodal Representations" (F), and say who checked each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from equiview.data.fields import LanguageLabel
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.spelling import cleaned
from equiview.io.toml import parse_toml_as
from equiview.text.scripts import scripts_of, share_in

SHIPPED = ("gender", "race", "age")


class _Entry(BaseModel):
    """One `[[prompts]]` of a file."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    language: LanguageLabel = Field(pattern=r"^\S(.*\S)?$")
    paraphrase: str = Field(min_length=1)
    checked: str
    text: dict[str, str]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    attribute: str = Field(min_length=1)
    values: dict[str, list[str]] = Field(min_length=2)
    prompts: list[_Entry] = Field(min_length=1)


@dataclass(frozen=True)
class Prompts:
    """Prompts of one attribute.

    `values` names for each value the labels of data sets that mean it; `table` has a row for each language,
    paraphrase and value: `language`, `paraphrase`, `value`, `text`, `checked`.
    """

    attribute: str
    values: Mapping[str, tuple[str, ...]]
    table: pl.DataFrame
    source: str = "memory"

    @property
    def languages(self) -> list[str]:
        """Their languages, in the order of the file."""
        return self.table["language"].unique(maintain_order=True).to_list()

    @property
    def paraphrases(self) -> list[str]:
        """Names of the ways of asking, in the order of the file."""
        return self.table["paraphrase"].unique(maintain_order=True).to_list()

    def values_of(self, labels: pl.Series) -> pl.Series:
        """The value that each label of a data set means, null for a label that means none; case is ignored.

        >>> shipped_prompts()["age"].values_of(pl.Series(["30-39", "More than 70", "?"])).to_list()
        ['20-49', '70+', None]
        """
        value_of = {
            cleaned(label).casefold(): value
            for value, names in self.values.items()
            for label in (value, *names)
        }
        values = [value_of.get(cleaned(str(label)).casefold()) for label in labels]
        return pl.Series(labels.name, values, dtype=pl.String)


@cache
def shipped_prompts() -> dict[str, Prompts]:
    """The prompts that come with equiview, by attribute.

    >>> shipped_prompts()["gender"].languages
    ['en', 'de', 'fr', 'es', 'ru', 'tr', 'zh', 'ja']
    """
    folder = files("equiview.benchmarks").joinpath("prompt_data")
    return {
        name: _parse(folder.joinpath(f"{name}.toml").read_bytes(), f"prompts of {name}") for name in SHIPPED
    }


def read_prompts(path: Path) -> Prompts:
    """Prompts from a user's `.toml` file; InputError says what is wrong, and how many problems there are."""
    return _parse(content_of(path), str(path))


def _parse(content: bytes, source: str) -> Prompts:
    file = parse_toml_as(_File, content, source)
    rows = [
        (entry.language, entry.paraphrase, value, text, entry.checked)
        for entry in file.prompts
        for value, text in entry.text.items()
    ]
    table = pl.DataFrame(
        rows, schema=["language", "paraphrase", "value", "text", "checked"], orient="row", strict=True
    )
    values = {value: tuple(names) for value, names in file.values.items()}
    prompts = Prompts(file.attribute, values, table, source)
    if problems := check_prompts(prompts):
        more = f" ({len(problems)} problems in all)" if len(problems) > 1 else ""
        raise InputError(f"{source}: {problems[0]}{more}")
    return prompts


def check_prompts(prompts: Prompts) -> list[str]:
    """What is wrong with prompts, a sentence for each problem; an empty list if nothing is.

    Every language has every paraphrase, and in it every value exactly once and in different words; no
    placeholder is left; numbers are the same in all languages; letters are of the language's script.
    """
    table = prompts.table
    return [
        *_ambiguous(prompts),
        *_incomplete(prompts),
        *(
            f"{row['language']}, {row['paraphrase']!r}: {row['text']!r} stands for several values"
            for row in table.group_by("language", "paraphrase", "text", maintain_order=True)
            .agg(pl.col("value").n_unique())
            .filter(pl.col("value") > 1)
            .iter_rows(named=True)
        ),
        *(problem for row in table.iter_rows(named=True) for problem in _misspelt(row)),
        *_numbers(table),
    ]


def _ambiguous(prompts: Prompts) -> list[str]:
    meant: dict[str, str] = {}
    problems = []
    for value, labels in prompts.values.items():
        for label in {cleaned(name).casefold() for name in (value, *labels)}:
            if meant.setdefault(label, value) != value:
                problems.append(f"label {label!r} means two values, {meant[label]!r} and {value!r}")
    return problems


def _incomplete(prompts: Prompts) -> list[str]:
    problems = []
    counts = {
        (language, paraphrase, value): n
        for language, paraphrase, value, n in prompts.table.group_by(
            "language", "paraphrase", "value", maintain_order=True
        )
        .len()
        .iter_rows()
    }
    for language in prompts.languages:
        for paraphrase in prompts.paraphrases:
            for value in prompts.values:
                n = counts.pop((language, paraphrase, value), 0)
                if n != 1:
                    times = "no text" if n == 0 else f"{n} texts"
                    problems.append(f"{language}, {paraphrase!r}: has {times} for {value!r}; it needs one")
    return problems + [
        f"{language}, {paraphrase!r}: {value!r} is none of the values"
        for language, paraphrase, value in counts
    ]


def _misspelt(row: Mapping[str, Any]) -> list[str]:
    """An empty text, an unfilled placeholder, or letters of another script."""
    where, text = f"{row['language']}, {row['paraphrase']!r}, {row['value']!r}", row["text"]
    if not text.strip():
        return [f"{where}: is empty"]
    problems = [f"{where}: placeholder {name} is not filled" for name in re.findall(r"\{[^{}]*\}", text)]
    # A name or an abbreviation may be in another script; most of the text may not.
    scripts = scripts_of(row["language"])
    if scripts and share_in(text, scripts) <= 0.5:
        wanted = " or ".join(sorted(scripts))
        problems.append(f"{where}: {text!r} is not in the script of the language ({wanted})")
    return problems


def _numbers(table: pl.DataFrame) -> list[str]:
    """Prompts whose numbers are not those of the first language."""
    problems = []
    for (paraphrase, value), part in table.group_by("paraphrase", "value", maintain_order=True):
        numbers = [", ".join(sorted(re.findall(r"\d+", text))) or "-" for text in part["text"]]
        for language, here in zip(part["language"], numbers, strict=True):
            if here != numbers[0]:
                problems.append(
                    f"{language}, {paraphrase!r}, {value!r}: says the numbers {here}, "
                    f"but {part['language'][0]} says {numbers[0]}"
                )
    return problems
