"""Hypothesis strategies that damage a file: any file by its bytes, and each format by its structure.

`damaged(name, content)` draws what a file may become; None stands for a file that is gone. `resaved` draws
other ways of saving the same, which must be read as the same.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"
DEEP = "@deep@"
ODD_TEXTS = (
    "", " ", "\0", "\n", "a\r\nb", "\t", ",", '"', "'", "nan", "NaN", "inf", "-1", "0", "1.5", "1e999",
    "true", "null", "None", "9" * 30, "9" * 5000, "../../x", "/dev/zero", "x" * 300, "en, language=en",
    "<b onclick=x>", "[a]*?", "{x}", "{" * 50, "\u202e", "\u2028", "\ufeff", "\ud800", "e\u0301", "🙂",
    "=1+1", "a b", DEEP,
)  # fmt: skip
odd_texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=6)
odd_values = st.recursive(
    odd_texts | st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=5,
)
Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def damaged(draw: Draw, name: str, content: bytes) -> bytes | None:
    """What the file may become: damaged once or twice, or gone."""
    for _ in range(draw(st.integers(1, 2))):
        ways = [_bytes, _FORMATS.get(format_of(name), _bytes), _FORMATS.get(format_of(name), _bytes)]
        try:
            content = draw(st.sampled_from(ways))(draw, content)
        except Exception:  # damaged already, so that it no longer has a structure
            content = _bytes(draw, content)
    return None if draw(st.integers(0, 50)) == 0 else content


@st.composite
def resaved(draw: Draw, name: str, content: bytes) -> bytes:
    """The same values in other bytes."""
    return bytes(draw(st.sampled_from(_RESAVED[format_of(name)]))(content))


def format_of(name: str) -> str:
    """The name's ending; lists of TREC and judgements are told from other texts."""
    path = PurePath(name)
    return ".trec" if path.suffix in {".trec", ".qrels"} or path.name == "qrels.txt" else path.suffix


def _bytes(draw: Draw, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content)))
    end = draw(st.integers(at, min(len(content), at + 40)))
    ways: dict[str, Callable[[], bytes]] = {
        "flip": lambda: content[:at] + bytes(255 - byte for byte in content[at : at + 1]) + content[at + 1 :],
        "bit": lambda: content[:at] + bytes(byte ^ 4 for byte in content[at : at + 1]) + content[at + 1 :],
        "cut": lambda: content[:at],
        "behead": lambda: content[at:],
        "remove": lambda: content[:at] + content[end:],
        "insert": lambda: content[:at] + draw(st.binary(max_size=20)) + content[at:],
        "append": lambda: content + draw(st.binary(min_size=1, max_size=20)),
        "other": lambda: draw(st.binary(max_size=200)),
        "zeros": lambda: content[:at] + bytes(end - at) + content[end:],
        "twice": lambda: content + content,
        "empty": lambda: b"",
        "bom": lambda: BOM + content,
        "utf-16": lambda: content.decode("latin-1").encode("utf-16"),
        "gzip": lambda: gzip.compress(content),
        "ends": lambda: content.replace(b"\n", b"\r"),
    }
    return ways[draw(st.sampled_from(sorted(ways)))]()


def _grid(draw: Draw, rows: list[list[str]]) -> list[list[str]]:
    """Rows of cells with a cell, a row or a column that is other than it was."""
    row = draw(st.integers(0, len(rows) - 1))
    column = draw(st.integers(0, max(0, len(rows[row]) - 1)))
    other = draw(st.integers(0, len(rows) - 1))

    def cell() -> None:
        rows[row][column] = draw(odd_texts)

    def borrow() -> None:
        rows[row][column] = rows[other][column]

    def columns() -> None:
        for cells in rows:
            del cells[column]

    def columns_twice() -> None:
        for cells in rows:
            cells.append(cells[column])

    ways = {
        "cell": cell,
        "borrow": borrow,
        "longer": lambda: rows[row].insert(column, draw(odd_texts)),
        "shorter": lambda: rows[row].pop(column),
        "no row": lambda: rows.pop(row),
        "blank": lambda: rows.insert(row, []),
        "twice": lambda: rows.insert(other, list(rows[row])),
        "swap": lambda: rows.__setitem__(slice(None), [rows[0], *rows[:0:-1]]),
        "no column": columns,
        "column twice": columns_twice,
        "header alone": lambda: rows.__delitem__(slice(1, None)),
    }
    ways[draw(st.sampled_from(sorted(ways)))]()
    return rows


def _csv(draw: Draw, content: bytes) -> bytes:
    rows = _grid(draw, list(csv.reader(io.StringIO(content.decode(), newline=""))))
    if draw(st.booleans()):
        return _utf8("".join(",".join(cells) + "\n" for cells in rows))
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    return _utf8(buffer.getvalue())


def _words(draw: Draw, content: bytes) -> bytes:
    rows = _grid(draw, [line.split(" ") for line in content.decode().splitlines()])
    return _utf8("".join(" ".join(cells) + "\n" for cells in rows))


def _lines(draw: Draw, content: bytes) -> bytes:
    rows = _grid(draw, [[line] for line in content.decode().splitlines()])
    return _utf8("".join("".join(cells) + "\n" for cells in rows))


def _gz(draw: Draw, content: bytes) -> bytes:
    return gzip.compress(_lines(draw, gzip.decompress(content)), mtime=0)


def _tree(draw: Draw, value: Any) -> Any:
    """A JSON value with something in it, at any depth, that is other than it was."""
    if isinstance(value, (dict, list)) and value and draw(st.integers(0, 5)):
        places: Sequence[Any] = sorted(value) if isinstance(value, dict) else range(len(value))
        place = draw(st.sampled_from(places))
        way = draw(st.integers(0, 12))
        if way == 0:
            del value[place]
        elif way == 1 and isinstance(value, dict):
            value[draw(odd_texts)] = value.pop(place)
        elif way == 1:
            value.append(value[place])
        elif way == 2 and isinstance(value, dict):
            value[draw(odd_texts)] = value[place]
        else:
            value[place] = _tree(draw, value[place])
        return value
    return draw(odd_values)


def _dumped(value: Any) -> str:
    """JSON, with a list ten thousand deep where a text asks for it."""
    return json.dumps(value).replace(json.dumps(DEEP), "[" * 10_000 + "]" * 10_000)


def _json(draw: Draw, content: bytes) -> bytes:
    return _dumped(_tree(draw, json.loads(content))).encode()


def _jsonl(draw: Draw, content: bytes) -> bytes:
    lines = content.decode().splitlines()
    row = draw(st.integers(0, len(lines) - 1))
    lines[row] = _dumped(_tree(draw, json.loads(lines[row])))
    return "".join(f"{line}\n" for line in lines).encode()


def _zip(draw: Draw, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from(sorted(entries)))
    entries[name] = _json(draw, entries[name])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, entry in entries.items():
            archive.writestr(name, entry)
    return buffer.getvalue()


def _toml(draw: Draw, content: bytes) -> bytes:
    tree = _tree(draw, tomllib.loads(content.decode()))
    return "".join(f"{_dumped(key)} = {_inline(value)}\n" for key, value in tree.items()).encode()


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_dumped(key)} = {_inline(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _dumped(value)


ODD_COLUMNS: tuple[Callable[[int], pl.Series], ...] = (
    lambda n: pl.Series([None] * n),
    lambda n: pl.Series([[1, 2]] * n),
    lambda n: pl.Series([{"bytes": b"x", "path": "y"}] * n),
    lambda n: pl.Series([{"bytes": 1, "path": None}] * n),
    lambda n: pl.Series([b"\xff"] * n),
    lambda n: pl.Series([True] * n),
    lambda n: pl.Series([1.5] * n),
    lambda n: pl.Series([float("nan")] * n),
    lambda n: pl.Series([float("inf")] * n),
    lambda n: pl.Series([2**62] * n),
    lambda n: pl.Series(range(n)),
    lambda n: pl.Series(range(n)).cast(pl.Date),
    lambda n: pl.Series(range(n)).cast(pl.Duration("us")),
    lambda n: pl.Series(map(str, range(n)), dtype=pl.Categorical),
    lambda n: pl.Series(["x"] * n, dtype=pl.Enum(["x"])),
)


def _parquet(draw: Draw, content: bytes) -> bytes:
    frame = pl.read_parquet(io.BytesIO(content))
    n = len(frame)
    column = draw(st.sampled_from(frame.columns))
    row = draw(st.integers(0, max(0, n - 1)))
    text = draw(odd_texts.filter(lambda text: "\ud800" not in text))
    odd = draw(st.sampled_from(ODD_COLUMNS))
    ways: dict[str, Callable[[], pl.DataFrame]] = {
        "other": lambda: frame.with_columns(odd(n).alias(column)),
        "more": lambda: frame.with_columns(odd(n).alias(text)),
        "cell": lambda: frame.with_columns(
            pl.when(pl.int_range(pl.len()) == row)
            .then(pl.lit(text))
            .otherwise(pl.col(column).cast(pl.String))
            .alias(column)
        ),
        "hole": lambda: frame.with_columns(
            pl.when(pl.int_range(pl.len()) != row).then(pl.col(column)).alias(column)
        ),
        "less": lambda: frame.drop(column),
        "name": lambda: frame.rename({column: text}),
        "twice": lambda: pl.concat([frame, frame[row : row + 1]]),
        "turned": frame.reverse,
        "none": frame.clear,
        "float": lambda: frame.with_columns(pl.col(column).cast(pl.Float32)),
    }
    return _saved(ways[draw(st.sampled_from(sorted(ways)))]())


def _saved(frame: pl.DataFrame, **options: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    return buffer.getvalue()


def _saved_again(content: bytes, **options: Any) -> bytes:
    """The same table, with what the file says of its columns."""
    said = pl.read_parquet_metadata(io.BytesIO(content))
    kept = {name: text for name, text in said.items() if name != "ARROW:schema"}
    return _saved(pl.read_parquet(io.BytesIO(content)), metadata=kept, **options)


def _npy(draw: Draw, content: bytes) -> bytes:
    array = np.load(io.BytesIO(content))
    row = draw(st.integers(0, len(array) - 1))
    numbers = [np.nan, np.inf, -np.inf, 0, 1e300, -1e300, 1e-300, 5e-324, 1e20, 1e-30]
    number = draw(st.sampled_from(numbers))

    def changed(value: Any) -> Any:
        wider = array.astype(np.float64)
        wider[row] = value
        return wider

    zipped = io.BytesIO()
    np.savez(zipped, array)
    header = draw(st.sampled_from([b"<f4", b"(", b")", b"'descr'", b"False", b"\x93NUMPY\x01", b"\n"]))
    ways: dict[str, Callable[[], Any]] = {
        "row": lambda: changed(number),
        "cell": lambda: changed([number, *array[row][1:]]),
        "all": lambda: array.astype(np.float64) * number,
        "type": lambda: array.astype(
            draw(st.sampled_from(["f2", ">f4", "f8", "g", "i4", "?", "c8", "U3", "M8[s]"]))
        ),
        "less": lambda: array[:-1],
        "more": lambda: np.concatenate([array, array[:1]]),
        "flat": array.ravel,
        "thick": lambda: array[None],
        "turned": lambda: array.T,
        "none": lambda: array[:0],
        "thin": lambda: array[:, :0],
        "one": lambda: array[:, :1],
        "scalar": lambda: np.float32(1),
        "named": lambda: np.zeros(len(array), dtype=[("a", "f4"), ("b", "f4")]),
        "pickle": lambda: np.array([{}] * len(array), dtype=object),
        "zip": zipped.getvalue,
        "header": lambda: content.replace(
            header, draw(st.sampled_from([b"[", b"9" * 9, b"", b"\\d", b"[" * 90]))
        ),
    }
    with np.errstate(all="ignore"):
        made = ways[draw(st.sampled_from(sorted(ways)))]()
    return made if isinstance(made, bytes) else _stored(made)


def _stored(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_FORMATS: dict[str, Callable[[Draw, bytes], bytes]] = {
    ".csv": _csv,
    ".trec": _words,
    ".txt": _lines,
    ".gz": _gz,
    ".eval": _zip,
    ".json": _json,
    ".jsonl": _jsonl,
    ".toml": _toml,
    ".parquet": _parquet,
    ".npy": _npy,
}
_TEXT: tuple[Callable[[bytes], bytes], ...] = (
    lambda content: BOM + content,
    lambda content: content.replace(b"\n", b"\r\n"),
    lambda content: content.removesuffix(b"\n"),
)


def _quoted(content: bytes) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(csv.reader(io.StringIO(content.decode(), newline="")))
    return buffer.getvalue().encode()


def _turned(content: bytes) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asfortranarray(np.load(io.BytesIO(content)).astype(">f4")))
    return buffer.getvalue()


def _divided(sign: str, content: bytes) -> bytes:
    """A table with other signs between its cells."""
    text = content.decode("utf-8-sig")
    now = "\t" if "\t" in text.partition("\n")[0] else ","
    buffer = io.StringIO(newline="")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=now)
    csv.writer(buffer, delimiter=sign).writerows(rows)
    return _utf8(buffer.getvalue())


_RESAVED: dict[str, tuple[Callable[[bytes], bytes], ...]] = {
    ".csv": (
        *_TEXT,
        _quoted,
        lambda content: content + b"\n\n",
        lambda content: content.decode("utf-8-sig").encode("utf-16"),
        partial(_divided, ";"),
        partial(_divided, "\t"),
    ),
    ".tsv": (lambda content: content.decode().encode("utf-16"), partial(_divided, "\t")),
    ".trec": _TEXT,
    ".txt": _TEXT,
    ".jsonl": (*_TEXT, lambda content: content.replace(b"\n", b"\n\n")),
    ".toml": _TEXT,
    ".gz": (lambda content: gzip.compress(BOM + gzip.decompress(content)),),
    ".json": (
        lambda content: BOM + content,
        lambda content: json.dumps(json.loads(content), indent=3, ensure_ascii=True).encode(),
        lambda content: json.dumps(json.loads(content), ensure_ascii=False).encode() + b"\r\n",
    ),
    ".parquet": (
        lambda content: _saved_again(content, compression="uncompressed"),
        lambda content: _saved_again(content, row_group_size=1, compression="snappy"),
    ),
    ".npy": (_turned, lambda content: _stored(np.load(io.BytesIO(content)).astype("f8"))),
}
