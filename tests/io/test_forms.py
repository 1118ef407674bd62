"""One table in every form in which people have it: the same is read, and what cannot be told is asked."""

import json
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import InputError
from equiview.io.delimited import DELIMITERS
from equiview.io.tables import Column, Schema, read_table, table_named

ROWS = [("a", 1, 0.25, "Zoë, naïve"), ("b", 2, -1.5, None), ("c", 3, 12.0, 'says "oui"; non')]
SCHEMA = Schema(
    "scores",
    (
        Column("item_id", pl.String, "what", unique=True),
        Column("rank", pl.Int64, "place"),
        Column("score", pl.Float64, "how well"),
        Column("note", pl.String, "words", nullable=True),
    ),
)
NAMES = ["item_id", "rank", "score", "note"]


def delimited(sign=",", names=NAMES, comma=".", end="\n"):
    def quoted(cell):
        text = "" if cell is None else str(cell).replace(".", comma) if isinstance(cell, float) else str(cell)
        return '"' + text.replace('"', '""') + '"' if any(odd in text for odd in (sign, '"', ";")) else text

    return end.join(sign.join(map(quoted, row)) for row in [names, *ROWS]) + end


def lines():
    return "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in ROWS)


FORMS = {
    "comma.csv": delimited().encode(),
    "windows.csv": delimited(end="\r\n").encode("utf-8-sig"),
    "german.csv": delimited(";", comma=",").encode("cp1252"),
    "excel.csv": b"sep=;\r\n" + delimited(";", comma=",", end="\r\n").encode("cp1252"),
    "quoted.csv": delimited(comma=",").encode(),
    "tab.tsv": delimited("\t").encode(),
    "tab.csv": delimited("\t").encode(),
    "excel.tsv": delimited("\t").encode("utf-16"),
    "big-endian.csv": b"\xfe\xff" + delimited().encode("utf-16-be"),
    "latin.TSV": delimited("\t", comma=",").encode("latin-1"),
    "names.csv": delimited(names=["Item ID", " RANK ", "Score", "\u200bnote"]).encode(),
    "camel.csv": delimited(";", names=["itemId", "Rank", "SCORE", "Note "]).encode(),
    "lines.jsonl": lines().encode(),
    "lines.ndjson": lines().replace("\n", "\n\n").encode("utf-8-sig"),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_table_is_the_same_in_every_form(tmp_path, name):
    (tmp_path / name).write_bytes(FORMS[name])
    frame = read_table(tmp_path / name, SCHEMA)
    assert frame.columns == NAMES
    assert frame.rows() == ROWS
    assert (
        read_table(tmp_path / name, Schema("few", SCHEMA.columns[:1]), only=["item_id"]).columns == NAMES[:1]
    )


def test_parquet_is_one_of_the_forms(tmp_path):
    frame = pl.DataFrame(ROWS, schema=["Item ID", "Rank", "score ", "note"], orient="row")
    frame.write_parquet(tmp_path / "p.parquet")
    assert read_table(tmp_path / "p.parquet", SCHEMA).rows() == ROWS
    assert read_table(tmp_path / "p.parquet", Schema("s", ()), only=["item_id"]).columns == ["Item ID"]


def test_what_is_not_plain_is_said(tmp_path, caplog):
    (tmp_path / "t.csv").write_bytes(FORMS["german.csv"])
    read_table(tmp_path / "t.csv", SCHEMA)
    encoding, decimals = caplog.messages
    assert "t.csv: read as cp1252 (Western European), since it is not UTF-8" in encoding
    assert "t.csv: column 'score' is read with decimal commas: '0,25' is 0.25" in decimals


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,name;other\na,b;c\n",
            r"cannot tell what divides .*: by commas \(2 columns\) or by semi",
        ),
        ("id;a,b\nx\n", "cannot tell what divides the cells"),
        ("ID,id \na,b\n", "columns 'ID' and 'id' are both read as 'id'; rename one"),
        ("id, id\na,b\n", "has two columns named 'id'; rename one"),
        ("id;score\na;0,5\nb;0.5\n", "'score' holds '0,5' and '0.5'; write decimals in one way"),
        ('id,score\na,"1,234"\n', "'score' holds '1,234', with a comma of decimals or of thousands"),
        ("id;score\na;1.234,5\n", "column 'score', row 1: '1.234,5', expected numbers"),
        ("id;score\na;1;2\n", "row 1: has 3 cells, but the header has 2; is a semicolon or a quote missing"),
    ],
)
def test_what_cannot_be_told_is_asked(tmp_path, content, message):
    (tmp_path / "t.csv").write_text(content)
    schema = Schema("s", (Column("id", pl.String, "who"), Column("score", pl.Float64, "x", optional=True)))
    with pytest.raises(InputError, match=message) as caught:
        read_table(tmp_path / "t.csv", schema)
    assert "\n" not in str(caught.value)


def test_rows_decide_what_the_header_leaves_open(tmp_path, caplog):
    (tmp_path / "t.csv").write_text("id;text, in English\na;dog, running\nb;cat\n")
    assert read_table(tmp_path / "t.csv", Schema("s", ())).columns == ["id", "text, in English"]
    assert "cells are divided by semicolons" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1}\n{"id": [2]}\n', r"line 2: field 'id' is a list, but a number before; write it alike"),
        ('{"id": true}\n\n{"id": "x"}\n', "line 3: field 'id' is a text, but a truth value before"),
        ('{"id": {"a": 1}}\n{"id": [1]}\n', "line 2: field 'id' is a list, but an object before"),
        ("[1]\n", "line 1: holds a list; expected an object"),
        ('{"id": 1}{\n', "line 1: is not JSON"),
        ('{"id": 1, "id ": 2}\n', "has two columns named 'id'"),
        ('{"id": 1' + "0" * 30 + "}\n", "field 'id' holds values that do not fit into one column"),
    ],
)
def test_lines_that_are_no_table_are_named(tmp_path, content, message):
    (tmp_path / "t.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.jsonl", Schema("s", ()))


def test_fields_may_be_missing_and_names_numbers_or_texts(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        '{"id": 7, "x": 1}\n{"id": "b", "x": 0.5, "shows": ["dog"]}\n{"id": ""}\n'
    )
    frame = read_table(tmp_path / "t.jsonl", Schema("s", ()))
    assert frame.to_dict(as_series=False) == {
        "id": ["7", "b", None], "x": [1.0, 0.5, None], "shows": [None, ["dog"], None],
    }  # fmt: skip


def test_a_table_is_found_whatever_it_ends_in(tmp_path):
    assert table_named(tmp_path, "texts") is None
    (tmp_path / "texts.ndjson").write_text("")
    assert table_named(tmp_path, "texts") == tmp_path / "texts.ndjson"
    (tmp_path / "texts.csv").write_text("")
    with pytest.raises(InputError, match=r"holds texts\.csv and texts\.ndjson; keep one of them"):
        table_named(tmp_path, "texts")


cells = st.text(
    st.characters(codec="cp1252", exclude_characters="\0\r", exclude_categories=["Cc"]), max_size=8
)


@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=5), seed=st.integers(0, 2**16))
def test_whatever_divides_the_cells_they_are_what_was_written(tmp_path_factory, rows, seed):
    folder = tmp_path_factory.mktemp("cells")
    rng = random.Random(seed)
    table = pl.DataFrame(rows, schema=["id", "text"], orient="row")
    expected = [tuple(cell or None for cell in row) for row in rows]
    for sign in DELIMITERS:
        encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16"])
        text = table.write_csv(separator=sign, quote_style="always")
        (folder / "t.csv").write_bytes(text.encode(encoding))
        assert read_table(folder / "t.csv", Schema("s", ())).rows() == expected
