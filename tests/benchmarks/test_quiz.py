from typing import Any

import polars as pl
import pytest

from equiview.benchmarks.quiz import checked_questions
from equiview.errors import InputError

FOUR = ["a", "b", "c", "d"]


def rows(**changed: Any) -> pl.DataFrame:
    """Two questions in two languages; what is changed is so in the third row."""
    table = [
        {"question_id": question, "image_id": "i", "language": language, "question": "?", "options": FOUR,
         "truth": 0, "region": "en"}
        for question in "12"
        for language in ("en", "fr")
    ]  # fmt: skip
    return pl.DataFrame([*table[:3], table[3] | changed], infer_schema_length=None)


def test_a_quiz_passes_with_options_in_another_order_and_region() -> None:
    table = rows(options=FOUR[::-1], truth=3)
    assert checked_questions(table, "quiz")["truth"].to_list() == [0, 0, 0, 3]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"question": " "}, "row 4: question '2' in fr has an empty question"),
        ({"options": FOUR[:3]}, "row 4: question '2' in fr has fewer than 4 options"),
        ({"options": [f"o{n}" for n in range(27)]}, "row 4: question '2' in fr has more than 26 options"),
        ({"options": ["a", "b", "c", " "]}, "row 4: question '2' in fr has an empty option"),
        ({"options": ["a", "b", "c", None]}, "row 4: question '2' in fr has an empty option"),
        ({"options": ["a", "b", "c", "a"]}, "row 4: question '2' in fr has an option twice"),
        ({"truth": 4}, "row 4: question '2' in fr has its truth outside the options"),
        ({"truth": -1}, "row 4: question '2' in fr has its truth outside the options"),
        ({"language": "en"}, "row 3: question '2' in en is there twice"),
        ({"image_id": "j"}, "row 4: question '2' in fr has another image id than in en"),
        ({"region": None}, "row 4: question '2' in fr has another region than in en"),
        ({"options": [*FOUR, "e"]}, "row 4: question '2' in fr has another n options than in en"),
        ({"question_id": "3"}, "row 3: question '2' is not asked in fr"),
        ({"truth": None}, "column 'truth', row 4: empty"),
    ],
)
def test_what_is_wrong_with_a_quiz_is_said(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        checked_questions(rows(**changed), "quiz")
    assert said in str(error.value)


def test_a_quiz_of_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="holds no question"):
        checked_questions(rows().clear(), "quiz")
