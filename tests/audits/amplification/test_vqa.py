"""VQA accuracy: literal cases, what holds of all, and the official code's own results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.audits.amplification import plain_answer, vqa_accuracy
from equiview.errors import UndefinedMetricError

TEXT = st.text(alphabet="aAbt1,.'-? ", max_size=12)


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("The Dog", "dog"),
        ("a frisbee.", "frisbee"),
        ("two", "2"),
        ("none", "0"),
        ("3,000", "3000"),
        ("1.5", "1.5"),
        ("red/blue", "red blue"),
        ("red / blue", "red blue"),
        ("t-shirt", "t shirt"),
        ("t -shirt", "t shirt"),
        ("dont", "don't"),
        ("couldn'tve", "couldn't've"),
        ("couldnt've", "couldn't've"),
        ("somebody'd", "somebodyd"),  # as in the official table
        ("let's go", "let's go"),
        ("u.s.", "us"),
        ("b. " * 34, "b " * 32 + "b. b."),  # only 32 periods are removed there
    ],
)
def test_answers_are_normalised_as_in_the_official_evaluation(answer, plain):
    assert plain_answer(answer) == plain


@pytest.mark.parametrize(
    ("given_by", "accuracy"),
    [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)],
)
def test_accuracy_by_how_many_of_ten_people_gave_the_answer(given_by, accuracy):
    answers = ["cat"] * given_by + ["dog"] * (10 - given_by)
    assert vqa_accuracy("cat", answers) == pytest.approx(accuracy)


def test_nothing_is_normalised_where_all_people_agree():
    assert vqa_accuracy("Cat.", ["cat"] * 10) == 0.0
    assert vqa_accuracy("Cat.", ["cat"] * 9 + ["dog"]) == 1.0


def test_a_question_without_answers_is_an_error():
    with pytest.raises(UndefinedMetricError, match="no human answer"):
        vqa_accuracy("cat", [])


@given(TEXT, st.lists(TEXT, min_size=1, max_size=10))
def test_accuracy_is_a_share_and_people_who_agree_are_right(reply, answers):
    assert 0 <= vqa_accuracy(reply, answers) <= 1
    assert vqa_accuracy(answers[0], [answers[0]] * 10) == 1


@given(TEXT)
def test_plain_answers_stay_in_lower_case_without_articles(text):
    words = plain_answer(text).split()
    assert words == [word.lower() for word in words]
    assert not {"a", "an", "the"} & set(words)
