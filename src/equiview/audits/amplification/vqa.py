"""Accuracy of short answers as the VQA benchmark scores it (Antol et al., ICCV 2015).

An answer is as right as others gave it: right when three of nine people said the same, and in thirds below.
Answers are compared after a normalisation of case, punctuation, articles, number words and contractions.
This follows what the official evaluation does, where it differs from its description too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from equiview.errors import UndefinedMetricError

PEOPLE_NEEDED = 3
"""People who must have given an answer for it to be wholly right."""
PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
PERIODS = 32
"""The most periods that are removed: the official code passes a flag in place of the count."""
ARTICLES = {"a", "an", "the"}
COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {"none": "0"} | {name: str(value) for value, name in enumerate(COUNTED)}
CONTRACTED = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
    he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've
    mustn't must've needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't
    shouldn't've somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's
    something'd something'd've something'll that's there'd there'd've there're there's they'd they'd've
    they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's what've when's
    where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've
    wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've
""".split()  # noqa: SIM905 - a list of them would take a page
"""Contractions whose missing apostrophe is restored."""


def _without_apostrophes() -> dict[str, str]:
    """Misspelt contractions: without the apostrophe, or without one of several."""
    spelt: dict[str, str] = {}
    for word in CONTRACTED:
        places = [place for place, letter in enumerate(word) if letter == "'"]
        if len(places) == 1:
            spelt[word.replace("'", "")] = word
        else:
            spelt |= {word[:place] + word[place + 1 :]: word for place in places}
    return spelt | {"y'allll": "y'all'll", "somebody'd": "somebodyd"}  # as the official table has them


CONTRACTIONS = _without_apostrophes()


@lru_cache(maxsize=2**16)
def plain_answer(answer: str) -> str:
    """An answer without punctuation, articles and capitals, numbers to ten as digits.

    >>> plain_answer("The two Dogs!"), plain_answer("dont know"), plain_answer("3,000"), plain_answer("1.5")
    ('2 dogs', "don't know", '3000', '1.5')
    """
    joined = re.search(r"\d,\d", answer) is not None
    text = answer
    for mark in PUNCTUATION:
        beside_space = f"{mark} " in answer or f" {mark}" in answer
        text = text.replace(mark, "" if beside_space or joined else " ")
    text = re.sub(r"\.(?!\d)", "", text, count=PERIODS)
    words = [NUMBERS.get(word, word) for word in text.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def vqa_accuracy(reply: str, answers: Sequence[str]) -> float:
    """How right a reply is, from 0 to 1, to a question that people answered with `answers`.

    The mean, over leaving out each person in turn, of the others who gave the reply, over 3 and at most 1.
    Nothing is normalised where all people gave one answer, as in the official evaluation.

    Raises UndefinedMetricError for a question without answers.

    >>> vqa_accuracy("Yes", ["yes"] * 2 + ["no"] * 8), vqa_accuracy("yes", ["yes"] * 4 + ["no"] * 6)
    (0.6, 1.0)
    """
    if not answers:
        raise UndefinedMetricError("the question has no human answer, so no reply can be right")
    given, people = _one_line(reply), [_one_line(answer) for answer in answers]
    if len(set(people)) > 1:
        given, people = plain_answer(given), [plain_answer(answer) for answer in people]
    same = sum(answer == given for answer in people)
    # Leaving out one who gave the reply leaves one fewer.
    left_out = same * min(1.0, (same - 1) / PEOPLE_NEEDED)
    return (left_out + (len(people) - same) * min(1.0, same / PEOPLE_NEEDED)) / len(people)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()
