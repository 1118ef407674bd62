"""Captions as words: the tokens that are scored, and who is shown by what is said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from equiview.data.languages import by_label
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.toml import parse_toml
from equiview.text.spaceless import is_spaceless

MASK = "[MASK]"
_SHORT = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))\b")
_TOKEN = re.compile(r"\[MASK\]|\d+(?:[.,:]\d+)+|n't|'[^\W_]+|[^\W_]+(?:-[^\W_]+)*|[$%&#@+/]")
Words = Mapping[str, frozenset[str]]
"""Words by the value of the attribute that they express."""


def tokens(text: str, language: str = "en") -> list[str]:
    """The words of a caption in lower case, without punctuation.

    This follows the Penn Treebank tokenizer that CIDEr is published with (which needs Java) on what captions
    hold: contractions are split, words with a hyphen are not. It differs in rare cases: "cannot" and "gonna"
    are not split, and abbreviations lose their periods. In languages without spaces a letter is a token.

    >>> tokens("A man's T-shirt isn't red, is it?")
    ['a', 'man', "'s", 't-shirt', 'is', "n't", 'red', 'is', 'it']
    >>> tokens("女人在跑步。", "zh")
    ['女', '人', '在', '跑', '步']
    """
    lower = text.lower().replace("’", "'").replace(MASK.lower(), MASK)
    if is_spaceless(language):
        return re.findall(r"\[MASK\]|[a-z0-9]+|[^\W_]", lower)
    return [str(token) for token in _TOKEN.findall(_SHORT.sub(r" \1", lower))]


def masked(text: str, words: Iterable[str], language: str = "en") -> list[str]:
    """The tokens of a caption, each of `words` replaced by [MASK].

    >>> masked("A woman and her dog", {"woman", "her"})
    ['a', '[MASK]', 'and', '[MASK]', 'dog']
    >>> masked("女人在跑步", ["女", "女人"], "zh")
    ['[MASK]', '在', '跑', '步']
    """
    if is_spaceless(language):
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, MASK)
        return tokens(text, language)
    hidden = set(words)
    return [MASK if token in hidden else token for token in tokens(text, language)]


def known_words(attribute: str, language: str, own: Sequence[str] = ()) -> Words:
    """The words that express `attribute` in `language`, by its value; empty if no list has any.

    `own` are files of a user, which replace the shipped list of the same attribute and language.
    """
    shipped = files("equiview.audits.amplification.words")
    lists = [read_words(Path(name).expanduser()) for name in own]
    if (path := shipped / f"{attribute}.toml").is_file():
        lists.append(_parsed(path.read_bytes(), f"{attribute}.toml"))
    return next((entry[1][language] for entry in lists if entry[0] == attribute and language in entry[1]), {})


def read_words(path: Path) -> tuple[str, Mapping[str, Words]]:
    """The attribute of a list of words, and the words by language and value.

    The file is TOML: `attribute = "gender"`, then for each language a table of lists by value. InputError
    says what is wrong with it.
    """
    return _parsed(content_of(path), str(path))


def _parsed(toml: bytes, source: str) -> tuple[str, Mapping[str, Words]]:
    content = parse_toml(toml, source)
    attribute = content.pop("attribute", None)
    if not isinstance(attribute, str) or not content:
        raise InputError(f'{source}: needs attribute = "gender" (or another) and a table for each language')
    return attribute, {
        language: {value: _list(entry, f"{source}, {language}.{value}") for value, entry in values.items()}
        for language, values in by_label(content, source).items()
        if _is_table(values, f"{source}, {language}")
    }


def _is_table(values: Any, where: str) -> bool:
    if not isinstance(values, dict) or not values:
        raise InputError(f'{where}: must be a table of lists of words, such as female = ["woman"]')
    return True


def _list(entry: Any, where: str) -> frozenset[str]:
    if not isinstance(entry, list) or not entry or not all(isinstance(word, str) and word for word in entry):
        raise InputError(f'{where}: must be a list of words, such as ["woman", "girl"]')
    return frozenset(word.lower() for word in entry)


def group_by_words(texts: Sequence[str], words: Words, language: str = "en") -> str | None:
    """The value of an attribute that the captions of one image express; None for none or several.

    >>> words = {"female": frozenset({"woman"}), "male": frozenset({"man"})}
    >>> group_by_words(["A woman on a bike", "Somebody rides"], words)
    'female'
    >>> group_by_words(["A woman", "A man"], words) is None
    True
    """
    said = {
        value for text in texts for value, entry in words.items() if MASK in masked(text, entry, language)
    }
    return said.pop() if len(said) == 1 else None
