"""In which encoding a user's text file is: UTF-8, UTF-16 with its mark, or cp1252, and never silently.

cp1252 is what Windows and Excel write in Western Europe; latin-1 is the same for all that is printed. Nearly
every file could be read so, most of them wrongly, so that only what then looks like Western text is.
"""

from __future__ import annotations

import codecs
import re

from equiview.errors import InputError
from equiview.io.notices import notice

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WESTERN = "cp1252"
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_HIGH = re.compile(rb"[\x80-\xff]")
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_FOREIGN = re.compile(
    "[À-ÖØ-öø-ÿ]{5}"  # words of Cyrillic, Greek, Arabic and others
    "|(?<=[^\\W\\d_])[¡-©«¬®¯±-´¶¸¹»-¿÷€‚ƒ„†‡‰‹•˜™›](?=[^\\W\\d_])"  # a letter of Central Europe
)


def marked(head: bytes) -> str:
    r"""The encoding that the first bytes of a file speak for; Python's name of it.

    >>> marked(b"id,text"), marked(b"\xff\xfei\x00d\x00")
    ('utf-8-sig', 'utf-16')
    """
    return "utf-16" if head.startswith(UTF_16) else "utf-8-sig"


def text_of(content: bytes, source: str) -> str:
    """The text of a user's file; a notice says so where that is cp1252.

    InputError for what is none of the three.
    """
    encoding = marked(content)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return content.decode(other_encoding(content, source))


def other_encoding(content: bytes, source: str) -> str:
    r"""The encoding of text that is not what its mark says: cp1252, which a notice says.

    InputError for UTF-16 that is damaged, for UTF-8 of which a part is damaged, and for what does not look
    like Western text: it holds control characters, words of letters beyond ASCII, or signs within words.

    >>> other_encoding("prénom;âge".encode("cp1252"), "people.csv")
    'cp1252'
    >>> other_encoding("имена".encode("cp1251"), "x.csv")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: x.csv, line 1: is not UTF-8 text (invalid continuation byte); save it as UTF-8
    """
    if content.startswith(UTF_16):
        raise InputError(f"{source}: cannot be read as UTF-16, is it cut off? Save it as UTF-8")
    refused = not_utf8(content, source)
    whole = _MULTIBYTE.findall(content)
    odd = len(_HIGH.findall(content)) - sum(map(len, whole))
    if _CONTROL.search(content) or 2 * len(whole) >= odd:
        raise refused
    try:
        text = content.decode(WESTERN)
    except UnicodeDecodeError:
        raise refused from None
    if _FOREIGN.search(text):
        raise refused
    notice(
        f"{source}: read as {WESTERN} (Western European), since it is not UTF-8; if letters look wrong, save "
        "it as UTF-8"
    )
    return WESTERN


def not_utf8(content: bytes, source: str) -> InputError:
    r"""Say in which line bytes that are no UTF-8 text go wrong.

    >>> print(not_utf8(b"a\nb\xff", "x.txt"))
    x.txt, line 2: is not UTF-8 text (invalid start byte); save it as UTF-8
    """
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return InputError(f"{source}, line {line}: is not UTF-8 text ({error.reason}); save it as UTF-8")
    raise AssertionError(f"{source} is UTF-8 text")
