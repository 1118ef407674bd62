import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from tests.benchmarks import layouts


@pytest.fixture
def place(tmp_path: Path) -> Path:
    layouts.knowrecall(tmp_path)
    return tmp_path


def changed(place: Path, language: str, row: int, **values: Any) -> Path:
    """Write other values into a row of a language."""
    path = place / "data" / f"{language}-00000-of-00001.parquet"
    rows = pl.read_parquet(path).to_dicts()
    rows[row] |= values
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return path


def as_lines(place: Path, folder: Path) -> None:
    """The same data as JSON Lines, pictures in files."""
    for path in (place / "data").glob("*.parquet"):
        rows = pl.read_parquet(path).to_dicts()
        for row in rows:
            (folder / f"{row['landmark_id']}.png").write_bytes(row["image"]["bytes"])
            row["image"] = f"{row['landmark_id']}.png"
        layouts.lines(folder / f"{path.name.split('-')[0]}.jsonl", *rows)


def test_a_row_is_the_same_question_in_every_language(place: Path) -> None:
    read = load_benchmark(f"knowrecall:{place}")
    questions = read.tables["questions"]
    assert read.counts == {"images": 3, "questions": 18}
    assert questions["language"].unique().sort().to_list() == ["ar", "en", "fr"]
    assert questions.filter(question_id="2-1").row(2, named=True) == {
        "question_id": "2-1",
        "image_id": "2",
        "language": "fr",
        "question": "fr question 0 about 2?",
        "options": ["fr one 0", "fr two 0", "fr three 0", "fr four 0"],
        "truth": 2,
        "region": "fr",
    }
    assert read.about.startswith("6 questions about 3 landmarks in 3 languages; the release has 3,000 in 15")


def test_json_lines_of_the_same_fields_are_the_same_quiz(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    as_lines(place, folder)
    read, released = (load_benchmark(f"knowrecall:{where}") for where in (folder, place))
    assert read.fingerprint == released.fingerprint
    assert read.images.pictures()[0].size == (2, 2)


def test_a_language_may_come_in_several_parts(place: Path) -> None:
    path = place / "data" / "fr-00000-of-00001.parquet"
    rows = pl.read_parquet(path)
    before = load_benchmark(f"knowrecall:{place}").fingerprint
    path.unlink()
    rows[:4].write_parquet(place / "data" / "fr-00000-of-00002.parquet")
    rows[4:].write_parquet(place / "data" / "fr-00001-of-00002.parquet")
    assert load_benchmark(f"knowrecall:{place}").fingerprint == before


def test_a_question_without_a_picture_has_none(place: Path) -> None:
    for row in (0, 1):
        changed(place, "en", row, image=None)
    images = load_benchmark(f"knowrecall:{place}").images
    assert images.table["picture"].is_null().to_list() == [True, False, False]


@pytest.mark.parametrize(
    ("language", "values", "said"),
    [
        ("fr", {"answer": "fr five 0"}, "row 3: the answer 'fr five 0' is none of the options ['fr one 0',"),
        ("fr", {"landmark_id": 7}, "row 3: landmark_id is '7', but '1' in"),
        ("ar", {"domestic_language_code": "de"}, "row 3: domestic_language_code is 'de', but 'en' in"),
        ("fr", {"question": " "}, "question '1-1' in fr has an empty question"),
        ("fr", {"options": ["fr one 0", "fr two 0"]}, "question '1-1' in fr has fewer than 4 options"),
    ],
)
def test_what_does_not_agree_is_said(place: Path, language: str, values: dict[str, Any], said: str) -> None:
    changed(place, language, 2, **values)
    with pytest.raises(InputError) as error:
        load_benchmark(f"knowrecall:{place}")
    assert said in str(error.value)
    assert str(place) in str(error.value)


def test_a_missing_row_a_missing_field_and_a_single_language_are_said(place: Path) -> None:
    path = place / "data" / "fr-00000-of-00001.parquet"
    rows = pl.read_parquet(path)
    rows[:5].write_parquet(path)
    with pytest.raises(InputError, match=r"fr-00000.*: has 5 questions, but .*en-00000.* has 6"):
        load_benchmark(f"knowrecall:{place}")
    rows.drop("answer").write_parquet(path)
    with pytest.raises(InputError, match=r"fr-00000.*column 'answer' .* is missing"):
        load_benchmark(f"knowrecall:{place}")
    for language in ("fr", "ar"):
        (place / "data" / f"{language}-00000-of-00001.parquet").unlink()
    with pytest.raises(InputError, match="has questions in en alone"):
        load_benchmark(f"knowrecall:{place}")


def test_the_line_of_a_wrong_entry_is_said(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    as_lines(place, folder)
    path = folder / "fr.jsonl"
    lines = path.read_text().splitlines()
    entry = json.loads(lines[1])
    del entry["options"]
    path.write_text("\n".join([lines[0], json.dumps(entry), *lines[2:]]))
    with pytest.raises(InputError, match=r"fr\.jsonl, line 2: field 'options' is missing"):
        load_benchmark(f"knowrecall:{folder}")


@pytest.mark.parametrize("name", ["../outside.png", "/etc/outside.png"])
def test_a_picture_outside_the_folder_is_refused(place: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    as_lines(place, folder)
    path = folder / "en.jsonl"
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"image": name}), *rest]))
    with pytest.raises(InputError, match="lies outside the folder"):
        load_benchmark(f"knowrecall:{folder}")


def as_region(place: Path, code: str) -> None:
    """Write another word wherever a landmark's language is French."""
    for path in (place / "data").glob("*.parquet"):
        rows = pl.read_parquet(path)
        rows.with_columns(pl.col("domestic_language_code").replace("fr", code)).write_parquet(path)


@pytest.mark.parametrize(
    "code", ["FR", "fr-FR", "fr_fr", "fra", "fre", "French", "français", " fr", "fr\u200b", "ｆｒ", "fr-CA"]
)
def test_a_region_is_the_same_language_however_it_is_written(
    place: Path, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    plain = load_benchmark(f"knowrecall:{place}")
    as_region(place, code)
    read = load_benchmark(f"knowrecall:{place}")
    assert read.tables["questions"]["region"].to_list() == plain.tables["questions"]["region"].to_list()
    assert caplog.messages == [
        f"equiview: note: {place}: regions are read by the codes of their languages: {code!r} as 'fr'"
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("France", "region 'France' is no language that is known"),
        ("JP", "region 'JP' is no language that is known"),
        ("CA", "region 'CA' may be a country or the language ca"),
        ("FRA", "region 'FRA' may be a country or the language fr"),
        ("nan", "region 'nan' is no language that is known"),
        ("-", "region '-' is no language that is known"),
        ("", "region '' is no language that is known"),
    ],
)
def test_a_region_that_is_no_language_is_refused(place: Path, code: str, said: str) -> None:
    as_region(place, code)
    with pytest.raises(InputError) as error:
        load_benchmark(f"knowrecall:{place}")
    assert said in str(error.value)
    assert ", row " in str(error.value)


def test_files_may_be_named_otherwise_but_not_twice(place: Path) -> None:
    path = place / "data" / "fr-00000-of-00001.parquet"
    content = path.read_bytes()
    before = load_benchmark(f"knowrecall:{place}").tables["questions"]["language"].unique().sort().to_list()
    path.rename(path.with_name("French-00000-of-00001.parquet"))
    read = load_benchmark(f"knowrecall:{place}")
    assert read.tables["questions"]["language"].unique().sort().to_list() == before
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"fr-.*: is in fr, and so is French-"):
        load_benchmark(f"knowrecall:{place}")
