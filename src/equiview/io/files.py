"""Files that a user names: opened only if they are ordinary files, and read with errors of one line.

A pipe would wait for ever and a device has no end, so neither is opened. JSON is read strictly: a field that
is given twice, a number that is not finite and half a surrogate pair are errors.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equiview.errors import InputError
from equiview.io.encodings import not_utf8, text_of


def is_file(path: Path, *, linked: bool = True) -> bool:
    """Whether `path` is an ordinary file, or with `linked` a link to one; False for whatever cannot be asked.

    >>> is_file(Path("/dev/null")), is_file(Path("no such file"))
    (False, False)
    """
    try:
        return stat.S_ISREG(os.stat(path, follow_symlinks=linked).st_mode)
    except (OSError, ValueError):  # ValueError: the name holds a NUL character
        return False


def readable(path: Path) -> Path:
    """`path` if it is an ordinary file; InputError says what it is otherwise. Nothing is opened.

    >>> readable(Path("/dev/null"))
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: /dev/null: is a pipe, a socket or a device; copy what it holds to a file
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        reason = "is a link to a file that is missing" if path.is_symlink() else "no such file"
        raise InputError(f"{path}: {reason}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise InputError(f"{str(path)!r}: no such file; its name holds a NUL character") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is a pipe, a socket or a device; copy what it holds to a file")
    return path


def plain_name(name: str, where: str) -> str:
    """`name` if it does not lead out of a folder by its words; the file may be missing, or a link.

    >>> plain_name("../secret.png", "images.json")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: images.json: '../secret.png' lies outside the folder; copy it there
    """
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or os.path.isabs(name) or not parts[0] or parts[0][1:] == ":":
        raise InputError(f"{where}: {name!r} lies outside the folder; copy it there")
    return name


def inside(folder: Path, name: str | Path, where: str) -> Path:
    """The ordinary file `name` of a folder that somebody else may have written, as an absolute path.

    InputError, which `where` begins, for a name that leads out of the folder: through "..", as an absolute
    path, or through a link.
    """
    path = (folder / name).absolute()
    if not is_file(path):
        raise InputError(f"{where} {str(name)!r} is no file in {folder}")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{where} {str(name)!r} leads out of {folder}; copy the file into the folder")
    return path


def content_of(path: Path) -> bytes:
    """The bytes of an ordinary file; InputError otherwise."""
    try:
        return readable(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def read_lines(path: Path, *, saved_anyhow: bool = False) -> list[str]:
    """The lines of a text file, plain or .gz, without line ends.

    InputError if it is not UTF-8 text, and for a NUL character, naming the line. A file that people write may
    be `saved_anyhow`: in UTF-16 or cp1252 as well (`equiview.io.encodings`).
    """
    content = content_of(path)
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path}: cannot be read, is it cut off? ({error})") from None
    try:
        text = text_of(content, str(path)) if saved_anyhow else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(content, str(path)) from None
    if "\0" in text:
        row = text[: text.index("\0")].count("\n") + 1
        raise InputError(f"{path}, line {row}: holds a NUL character; is it a text file?")
    # Only line feeds end lines: a caption may hold other characters at which Python would split.
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_json_lines(path: Path, *, saved_anyhow: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each line of a JSON Lines file; blank lines are left out."""
    for row, line in enumerate(read_lines(path, saved_anyhow=saved_anyhow), start=1):
        if not line.strip():
            continue
        content = parse_json(line, f"{path}, line {row}")
        if not isinstance(content, dict):
            raise InputError(f"{path}, line {row}: holds {kind_of(content)}; expected an object")
        yield row, content


KINDS = {str: "a text", list: "a list", dict: "an object", bool: "a truth value", int: "a number",
         float: "a number", type(None): "null"}  # fmt: skip
"""What the values of JSON are called."""


def kind_of(value: Any) -> str:
    """What a value of JSON is called.

    >>> kind_of([1]), kind_of(True)
    ('a list', 'a truth value')
    """
    return KINDS[type(value)]


def read_json(path: Path) -> Any:
    """The content of a JSON file; InputError as for `parse_json`."""
    return parse_json(content_of(path), str(path))


def parse_json(content: bytes | str, source: str) -> Any:
    r"""The value that a JSON text stands for.

    InputError for what is not JSON in UTF-8, for a field that an object has twice, for NaN and infinities,
    for half of a surrogate pair, and for lists nested too deeply to be read.

    >>> parse_json('{"a": 1, "a": 2}', "x.json")
    Traceback (most recent call last):
    ...
    equiview.errors.InputError: x.json: is not JSON, is it cut off? (an object has the field 'a' twice)
    """
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refused, parse_float=_finite)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(f"{source}: a text holds half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise InputError(f"{source}: is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{source}: is not JSON, is it cut off? ({error})") from None
    return value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the field {twice!r} twice")
    return content


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def size_of(*paths: Path) -> int:
    """Bytes of files together; one that has vanished meanwhile counts nothing."""
    found = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            found += path.lstat().st_size
    return found


RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that stand for devices on Windows, whatever follows their first dot."""


def file_name(words: str) -> str:
    """Words as the name of a file or folder: what is no letter, digit, dot, hyphen or underscore is a hyphen.

    It begins and ends with no dot, and is no device's name on Windows.

    >>> file_name("hf:org/model on xm3600"), file_name(".."), file_name("con.csv")
    ('hf-org-model-on-xm3600', '_', '_con.csv')
    """
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in words).strip(".")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name
