"""In which scripts texts and languages are written, by Unicode's data (its codes are those of ISO 15924)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from equiview.data.languages import languages

_TOGETHER = {"Hans": {"Hani"}, "Jpan": {"Hani", "Hira", "Kana"}, "Kore": {"Hang", "Hani"}}
"""Scripts that have a code together."""
_OTHERS = {"sr": {"Cyrl", "Latn"}}
"""Languages that are not among the 36."""
_NONE = {"Zinh", "Zyyy", "Zzzz"}
"""Letters of no script, or of several."""


@cache
def scripts_of(language: str) -> frozenset[str]:
    """The scripts a language is written in; empty if not known.

    >>> sorted(scripts_of("ja")), sorted(scripts_of("tlh"))
    (['Hani', 'Hira', 'Kana'], [])
    """
    code = dict(languages().select("code", "script").iter_rows()).get(language)
    return frozenset(_OTHERS.get(language) or (_TOGETHER.get(code, {code}) if code else ()))


def scripts_in(text: str) -> dict[str, str]:
    """The first letter of each script in a text.

    >>> scripts_in("東京 Tower")
    {'Hani': '東', 'Latn': 'T'}
    """
    letters: dict[str, str] = {}
    for letter in text:
        if letter.isalpha() and (script := _script(letter)) not in _NONE:
            letters.setdefault(script, letter)
    return letters


def share_in(text: str, scripts: Collection[str]) -> float:
    """The share of a text's letters that are of one of `scripts`; 1 for a text without letters.

    >>> share_in("東京タワー", {"Hani"}), share_in("1889", {"Hani"})
    (0.4, 1.0)
    """
    letters = [letter for letter in text if letter.isalpha()]
    return sum(bool(_scripts(letter) & set(scripts)) for letter in letters) / len(letters) if letters else 1.0


def foreign_letter(text: str, language: str, original: str = "") -> str | None:
    """The first letter of a script that neither the language, Latin nor the original text has, or None.

    None as well for a language whose scripts are not known.

    >>> foreign_letter("くさや", "zh", "kusaya"), foreign_letter("DNA分子", "zh") is None
    ('く', True)
    """
    own = scripts_of(language)
    if not own:
        return None
    allowed = own | {"Latn"} | set(scripts_in(original))
    return next((letter for script, letter in scripts_in(text).items() if script not in allowed), None)


def lacks_script(text: str, language: str) -> bool:
    """Whether a text has letters, but none of a script that the language is written in.

    >>> lacks_script("What is it?", "ja"), lacks_script("1889", "ja"), lacks_script("何ですか", "ja")
    (True, False, False)
    """
    own, written = scripts_of(language), scripts_in(text)
    return bool(own and written) and not own & set(written)


@cache
def _script(letter: str) -> str:
    from fontTools import unicodedata

    return str(unicodedata.script(letter))


@cache
def _scripts(letter: str) -> frozenset[str]:
    """All the scripts that a letter is used in."""
    from fontTools import unicodedata

    return frozenset(unicodedata.script_extension(letter))
