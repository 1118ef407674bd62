"""In which scripts a text is written, so that a word left in another one is found."""

from __future__ import annotations

import unicodedata
from functools import cache

from equiview.data.languages import languages

_BY_CODE = {
    "Arab": {"ARABIC"},
    "Beng": {"BENGALI"},
    "Cyrl": {"CYRILLIC"},
    "Deva": {"DEVANAGARI"},
    "Grek": {"GREEK"},
    "Hans": {"CJK"},
    "Hebr": {"HEBREW"},
    "Jpan": {"CJK", "HIRAGANA", "KATAKANA"},
    "Kore": {"HANGUL", "CJK"},
    "Latn": {"LATIN"},
    "Telu": {"TELUGU"},
    "Thai": {"THAI"},
}
_OTHERS = {"sr": {"CYRILLIC", "LATIN"}}
"""Languages that are not among the 36."""
_SCRIPTS = {name for names in _BY_CODE.values() for name in names} | {"ARMENIAN", "GEORGIAN", "TAMIL"}


@cache
def scripts_of(language: str) -> frozenset[str]:
    """The scripts a language is written in, by the first word of Unicode's names; empty if not known.

    >>> sorted(scripts_of("ja")), sorted(scripts_of("tlh"))
    (['CJK', 'HIRAGANA', 'KATAKANA'], [])
    """
    of_code = dict(languages().select("code", "script").iter_rows())
    return frozenset(_OTHERS.get(language) or _BY_CODE.get(of_code.get(language, ""), set()))


def scripts_in(text: str) -> dict[str, str]:
    """The first letter of each script in a text.

    >>> scripts_in("東京 Tower")
    {'CJK': '東', 'LATIN': 'T'}
    """
    letters: dict[str, str] = {}
    for letter in text:
        if letter.isalpha():
            name = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
            if name in _SCRIPTS:
                letters.setdefault(name, letter)
    return letters


def foreign_letter(text: str, language: str, original: str = "") -> str | None:
    """The first letter of a script that neither the language, Latin nor the original text has, or None.

    None as well for a language whose scripts are not known.

    >>> foreign_letter("くさや", "zh", "kusaya"), foreign_letter("DNA分子", "zh") is None
    ('く', True)
    """
    own = scripts_of(language)
    if not own:
        return None
    allowed = own | {"LATIN"} | set(scripts_in(original))
    return next((letter for script, letter in scripts_in(text).items() if script not in allowed), None)


def lacks_script(text: str, language: str) -> bool:
    """Whether a text has letters, but none of a script that the language is written in.

    >>> lacks_script("What is it?", "ja"), lacks_script("1889", "ja"), lacks_script("何ですか", "ja")
    (True, False, False)
    """
    own, written = scripts_of(language), scripts_in(text)
    return bool(own and written) and not own & set(written)
