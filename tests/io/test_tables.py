import gzip

import polars as pl
import pytest

from equiview.errors import InputError, unknown_name
from equiview.io.tables import Column, Schema, atomic, checksum, read_table, write_parquet

SCHEMA = Schema(
    "people",
    (
        Column("id", pl.String, "who", unique=True),
        Column("age", pl.Int64, "years"),
        Column("height", pl.Float64, "metres", nullable=True),
    ),
)


def written(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def test_a_good_table_is_cast_and_keeps_its_attributes_last(tmp_path):
    frame = read_table(written(tmp_path / "p.csv", "town,age,id,height\nRoma,3,a,1.5\nRoma,4,b,\n"), SCHEMA)
    assert frame.columns == ["id", "age", "height", "town"]
    assert frame["age"].to_list() == [3, 4]
    assert frame["height"].to_list() == [1.5, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,height\na,1\n",
            r"p\.csv: column 'age' \(years\) is missing; found: id, height; rename the one that holds it",
        ),
        (
            "Kennung;Alter\na;1\n",
            r"columns 'id' .* and 'age' .* are missing; found: Kennung, Alter; rename those",
        ),
        ("id,age,height\na,1.5,1\n", r"p\.csv: column 'age', row 1: '1.5', expected whole numbers"),
        ("id,age,height\na,three,1\n", r"p\.csv: column 'age', row 1: 'three', expected whole numbers"),
        ("id,age,height\na,1,1\nb,,1\n", r"p\.csv: column 'age', row 2: empty"),
        ("id,age,height\na,1,1\nb,2,1\na,3,1\n", r"column 'id' repeats 'a' in rows 1 and 3"),
        ("id,age,height\na,1,1\nb,2,3,4,5\n", r"p\.csv, row 2: has 5 cells, but the header has 3"),
        ("id,age,height\na,1,1\nb,2\n", r"p\.csv, row 2: has 2 cells, but the header has 3"),
        ("id,age,height\na,1,1\n\nb,2,1\n", r"p\.csv, row 2: has 0 cells, but the header has 3"),
        ('id,age,height\na,1,1\n"b,2,1\n', r"p\.csv, row 2: unexpected end of data; is a quote not closed"),
        ("id,age,height,age\na,1,1,2\n", r"p\.csv: has two columns named 'age'; rename one"),
        ("id,age,height\na\0,1,1\n", r"p\.csv, line 2: holds a NUL character"),
        ("id,age,height\na\nb,1,1\n", r"p\.csv, row 1: has 1 cells"),
        ("", r"p\.csv: columns 'id' \(who\) and .* are missing; found: no column$"),
    ],
)
def test_a_bad_table_is_one_line_that_names_file_column_and_row(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_table(written(tmp_path / "p.csv", content), SCHEMA)
    assert "\n" not in str(caught.value)


def test_whole_numbers_may_be_written_as_pandas_does(tmp_path):
    frame = read_table(written(tmp_path / "p.csv", "id,age,height\n1.0,3.0,\n2.0,+4.00,\n"), SCHEMA)
    assert frame["age"].to_list() == [3, 4]
    assert frame["id"].to_list() == ["1.0", "2.0"]  # a name is text, whatever it looks like


def test_a_schema_makes_an_empty_table_of_its_types():
    empty = pl.DataFrame(schema=SCHEMA.dtypes)
    assert SCHEMA.check(empty, "s").schema == {"id": pl.String, "age": pl.Int64, "height": pl.Float64}


def test_nan_is_no_number():
    with pytest.raises(InputError, match="column 'x', row 2: nan"):
        Schema("s", (Column("x", pl.Float64, "x"),)).check(pl.DataFrame({"x": [1.0, float("nan")]}), "s")


def test_a_cut_off_parquet_says_so(tmp_path):
    path = tmp_path / "p.parquet"
    write_parquet(pl.DataFrame({"id": ["a"], "age": [1], "height": [1.0]}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"p\.parquet: cannot be read, is it cut off\?"):
        read_table(path, SCHEMA)


@pytest.mark.parametrize("folder", ["a[1]b", "star*", "who?", "{x,y}"])
def test_a_folder_whose_name_reads_as_a_pattern_is_a_folder(tmp_path, folder):
    frame = pl.DataFrame({"id": ["a"], "age": [1], "height": [1.5]})
    path = tmp_path / folder / "people.parquet"
    write_parquet(frame, path)
    frame.write_csv(path.with_suffix(".csv"))
    for decoy in ("a1b", "start", "whom"):
        write_parquet(pl.concat([frame, frame]), tmp_path / decoy / "people.parquet")
    assert read_table(path, SCHEMA).equals(frame)
    assert read_table(path.with_suffix(".csv"), SCHEMA).equals(frame)


def test_missing_file_and_unknown_suffix(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_table(tmp_path / "absent.csv", SCHEMA)
    with pytest.raises(InputError, match=r"ends in \.csv, \.tsv, \.jsonl, \.ndjson, \.parquet"):
        read_table(written(tmp_path / "p.txt", "x"), SCHEMA)


def test_the_same_frame_gives_the_same_bytes(tmp_path):
    frame = pl.DataFrame({"id": ["a", "b"], "x": [0.5, None]})
    write_parquet(frame, tmp_path / "1.parquet")
    write_parquet(frame.clone(), tmp_path / "2.parquet")
    assert checksum(tmp_path / "1.parquet") == checksum(tmp_path / "2.parquet")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = written(tmp_path / "f", "old")

    def fail():
        with atomic(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    left = written(tmp_path / ".f.ab12cd_9.part", "half")
    other = written(tmp_path / ".g.ab12cd_9.part", "of another file")
    with atomic(tmp_path / "f") as first:
        assert not left.exists()
        first.write_text("first")
        with atomic(tmp_path / "f") as second:
            assert first.exists()
            second.write_text("second")
        assert first.read_text() == "first"
    assert (tmp_path / "f").read_text() == "first"
    assert sorted(tmp_path.iterdir()) == [other, tmp_path / "f"]


def test_unknown_name_offers_the_nearest():
    assert "did you mean 'parity'?" in str(unknown_name("audit", "party", ["parity", "social"]))
    assert "did you mean" not in str(unknown_name("audit", "zzz", ["parity"]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            gzip.compress(b"id,age,height\na,1,1\n", mtime=0),
            r"p\.csv: is compressed with gzip; decompress it first",
        ),
        (
            "id,age,height\nпривет,1,1\n".encode("cp1251"),
            r"csv, line 2: is not UTF-8 .*; save it as",
        ),
        ("id,age,height\nżółty,1,1\n".encode("cp1250"), r"p\.csv, line 2: is not UTF-8 text"),
        ("id,age,height\né,1,1\nü,1,1\n".encode()[:-6] + b"\xc3,1,1\n", r"p\.csv, line 3: is not UTF-8"),
        (b"id,age,height\n\x01\xe9,1,1\n", r"p\.csv, line 2: is not UTF-8 text"),
        (b"id,age,height\n\x81,1,1\n", r"p\.csv, line 2: is not UTF-8 text"),
        ("id,age,height\na,1,1\n".encode("utf-16")[:-1], r"p\.csv: cannot be read as UTF-16, is it cut off"),
    ],
)
def test_a_csv_that_is_no_plain_utf8_text_is_refused(tmp_path, content, message):
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(path, SCHEMA)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfid,age,height\na,1,1.5\n",
        b"id,age,height\r\na,1,1.5\r\n",
        b"id,age,height\ra,1,1.5\r",
        b"id,age,height\na,1,1.5\n\n\n",
        b'"id","age","height"\n"a","1","1.5"',
    ],
)
def test_a_csv_is_the_same_however_it_was_saved(tmp_path, content):
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    assert read_table(path, SCHEMA).rows() == [("a", 1, 1.5)]


def test_a_csv_keeps_what_a_cell_holds(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('id,age,height,note\na,1,1,"one, ""two""\nthree"\nb,2,1,\n', newline="")
    assert read_table(path, SCHEMA)["note"].to_list() == ['one, "two"\nthree', None]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"age": [1.5]}, "column 'age', row 1: 1.5, expected whole numbers"),
        ({"age": [2.0**80]}, "column 'age', row 1: .*, expected whole numbers"),
        ({"age": [True]}, "column 'age' holds yes or no, expected whole numbers"),
        ({"age": [{"n": 1}]}, r"column 'age' holds objects, expected whole numbers"),
        ({"id": [["a"]]}, "column 'id' holds lists, expected text"),
    ],
)
def test_a_parquet_value_is_never_bent_to_the_type_it_should_have(tmp_path, values, message):
    path = tmp_path / "p.parquet"
    pl.DataFrame({"id": ["a"], "age": [1], "height": [1.0]} | values).write_parquet(path)
    with pytest.raises(InputError, match=message):
        read_table(path, SCHEMA)


def test_a_name_with_brackets_is_a_name_and_no_pattern(tmp_path):
    for name in ("p.parquet", "[p].parquet", "p*.parquet"):
        pl.DataFrame({"id": [name], "age": [1], "height": [1.0]}).write_parquet(tmp_path / name)
    assert read_table(tmp_path / "[p].parquet", SCHEMA)["id"].to_list() == ["[p].parquet"]
    assert read_table(tmp_path / "p*.parquet", SCHEMA)["id"].to_list() == ["p*.parquet"]


def test_a_damaged_parquet_file_says_nothing_but_its_error(tmp_path, capfd):
    path = tmp_path / "p.parquet"
    pl.DataFrame({"id": ["a"] * 50, "age": [1] * 50, "height": [1.0] * 50}).write_parquet(path)
    whole = path.read_bytes()
    failed = 0
    for place in range(4, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        try:
            read_table(path, SCHEMA)
        except InputError:
            failed += 1
    assert failed
    assert capfd.readouterr().err == ""
