"""Rows of results as COCO's and VQA's servers take them."""

import pytest

from equiview.data.requests import Request
from equiview.subjects import load_subject
from equiview.subjects.chat.answers import answer_row


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"image_id": 42, "caption": "a dog"}, {"id": "42", "answer": "a dog"}),
        ({"caption": "a dog", "image_id": "x", "score": 1}, {"id": "x", "answer": "a dog"}),
        ({"question_id": 7, "answer": "dog"}, {"id": "7", "answer": "dog"}),
    ],
)
def test_published_results_become_answers(row, answer):
    assert answer_row(row) == answer


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "answer": "dog"},
        {"question_id": "a", "language": "sw", "answer": "mbwa"},
        {"image_id": 3},
        {"question_id": "a", "answer": "no language"},
        {},
    ],
)
def test_other_rows_stay_as_they_are(row):
    assert answer_row(row) == row


def test_a_file_of_results_answers(tmp_path):
    path = tmp_path / "captions_results.json"
    path.write_text('[{"image_id": 42, "caption": "a dog"}, {"image_id": 7, "caption": "a cat"}]')
    requests = [Request(name, "Describe the picture.", "en") for name in ("7", "42")]
    replies = load_subject(f"answers:{path}").ask(requests)
    assert [reply.text for reply in replies] == ["a cat", "a dog"]
