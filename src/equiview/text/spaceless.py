"""Languages that are written without spaces between words, in which letters are counted instead of words."""

from __future__ import annotations

import re

HAN = "\u3400-\u9fff\uf900-\ufaff"
LETTERS = {
    "ja": f"\u3040-\u30ff{HAN}",
    "km": "\u1780-\u17ff",
    "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f",
    "th": "\u0e00-\u0e7f",
    "zh": HAN,
}
"""Their letters, as a regular expression's ranges, by language."""
_LETTER = "".join(LETTERS.values())
_WORD = re.compile(rf"[{_LETTER}]|[^\W{_LETTER}]+")


def is_spaceless(language: str) -> bool:
    """Whether a language is written without spaces between words.

    >>> is_spaceless("th"), is_spaceless("zh-Hant"), is_spaceless("ko")
    (True, True, False)
    """
    return language.partition("-")[0] in LETTERS


def words_in(text: str) -> int:
    """How many words a text has; of scripts without spaces, how many characters.

    >>> words_in("A tall, red tower."), words_in("高い鉄の塔"), words_in("...")
    (4, 5, 0)
    """
    return len(_WORD.findall(text))
