"""Prompts about a landmark as data: the shipped ones or the user's own.

A `.toml` file has an entry for each language, with as many prompts as the others::

    [[prompts]]
    language = "en"
    checked = "by the author, a native speaker"
    text = ["What does {landmark_name} look like?", "Paint {landmark_name} in words."]

A folder is read as T releases its prompts: `LANG/0.j2`, `LANG/1.j2` and so on. In either,
`{landmark_name}` or `{{ landmark_name }}` is replaced by the name; no other placeholder is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from equiview.benchmarks import Benchmark
from equiview.benchmarks.landmarks import APPEARANCE_PROMPTS
from equiview.data.fields import LanguageLabel
from equiview.data.languages import by_label, language_name, language_names
from equiview.errors import InputError
from equiview.io.encodings import not_utf8
from equiview.io.files import content_of
from equiview.io.toml import parse_toml_as

NAME = re.compile(r"\{\{\s*landmark_name\s*\}\}|\{landmark_name\}")
OTHER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\{\w+\}", re.DOTALL)
FILES = (".j2", ".txt")
"""How the files of a folder of prompts end."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    language: LanguageLabel
    checked: str = ""
    text: list[str] = Field(min_length=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    prompts: list[_Entry] = Field(min_length=1)


@dataclass(frozen=True)
class AppearancePrompts:
    """Prompts by language, the same number in each."""

    by_language: Mapping[str, tuple[str, ...]]
    source: str

    @property
    def n_prompts(self) -> int:
        """How many there are in each language."""
        return len(next(iter(self.by_language.values())))

    def asked(self, language: str, prompt: int, name: str) -> str:
        """The prompt about the landmark of that `name`; InputError for a language that has none.

        >>> shipped().asked("de", 1, "das Brandenburger Tor")[:59]
        'Eine Malerin, die das Brandenburger Tor nie gesehen hat, so'
        """
        if language not in self.by_language:
            known = ", ".join(self.by_language)
            raise InputError(
                f"{self.source}: has no prompts in {language_name(language)} ({language}), only in {known}; "
                "add them, or choose others by the setting 'languages'"
            )
        return NAME.sub(lambda _: name, self.by_language[language][prompt])


@cache
def shipped() -> AppearancePrompts:
    """The prompts that come with equiview, two in each of 15 languages.

    >>> shipped().n_prompts, len(shipped().by_language)
    (2, 15)
    """
    content = files("equiview.audits.memory").joinpath("prompts.toml").read_bytes()
    return _checked(_of_toml(content, "prompts of equiview"), "prompts of equiview")


def prompts_of(benchmark: Benchmark) -> AppearancePrompts:
    """The benchmark's own prompts, where it has some, or the shipped ones."""
    if APPEARANCE_PROMPTS.name not in benchmark.tables:
        return shipped()
    table = benchmark.need_table(APPEARANCE_PROMPTS.name, APPEARANCE_PROMPTS)
    texts: dict[str, list[str]] = {}
    for language, text in table.select("language", "text").iter_rows():
        texts.setdefault(language, []).append(text)
    return _checked(texts, f"benchmark {benchmark.name!r}, table {APPEARANCE_PROMPTS.name!r}")


def load_prompts(name: str) -> AppearancePrompts:
    """The prompts of a `.toml` file or a folder."""
    path = Path(name).expanduser()
    texts = _of_folder(path) if path.is_dir() else _of_toml(content_of(path), str(path))
    return _checked(texts, str(path))


def _of_toml(content: bytes, source: str) -> dict[str, list[str]]:
    file = parse_toml_as(_File, content, source)
    languages = [entry.language for entry in file.prompts]
    if twice := [language for language in languages if languages.count(language) > 1]:
        raise InputError(f"{source}: language {twice[0]!r} has two entries; put its prompts into one")
    return {entry.language: entry.text for entry in file.prompts}


def _of_folder(place: Path) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    folders = {path.name: path for path in sorted(place.iterdir()) if path.is_dir()}
    for language, folder in by_label(folders, str(place)).items():
        if language not in language_names():
            continue
        numbered = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in FILES}
        wanted = [str(number) for number in range(len(numbered))]
        if sorted(numbered) != sorted(wanted) or not numbered:
            raise InputError(f"{folder}: expected files 0.j2, 1.j2 and so on; found: {', '.join(numbered)}")
        texts[language] = [_text(numbered[number]) for number in wanted]
    if not texts:
        raise InputError(
            f"{place}: holds no folder named after a language, such as en, with files 0.j2, 1.j2"
        )
    return texts


def _text(path: Path) -> str:
    content = content_of(path)
    try:
        return content.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise not_utf8(content, str(path)) from None


def _checked(texts: Mapping[str, Sequence[str]], source: str) -> AppearancePrompts:
    first = next(iter(texts))
    for language, prompts in texts.items():
        if language not in language_names():
            raise InputError(f"{source}: {language!r} is no language that is known; use codes such as 'pt'")
        if len(prompts) != len(texts[first]):
            raise InputError(
                f"{source}: {language} has {len(prompts)} prompts, but {first} has {len(texts[first])}; "
                "every language needs as many"
            )
        for number, text in enumerate(prompts):
            where = f"{source}: {language}, prompt {number}"
            if not NAME.search(text):
                raise InputError(f"{where}: lacks {{landmark_name}}, the place of the name")
            if other := OTHER.search(NAME.sub("", text)):
                raise InputError(f"{where}: placeholder {other[0]} is not known; only {{landmark_name}} is")
    return AppearancePrompts({language: tuple(prompts) for language, prompts in texts.items()}, source)
