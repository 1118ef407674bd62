"""What the builder asks of models, in our words, after T's criteria (appendix H.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from equiview.build.knowrecall.candidates import Candidate
from equiview.data.languages import language_name

LETTERS = "ABCDEFGH"
FORM = '{"question": "...", "answer": "...", "options": ["...", "...", "...", "..."]}'


def write(article: str, count: int) -> str:
    """Ask for questions about the place in the picture, from its article."""
    return f"""The picture shows a place. This is an encyclopedia's article about it:

{article}

Write {count} multiple-choice questions about the culture or the history of the place. For each of them:
- it speaks of what the picture shows ("this tower", "the building in the picture") and never names it;
- only somebody who recognises the place can answer: neither the picture by itself nor common sense is enough;
- it is a complete question, so that somebody who knows the answer needs no options to give it;
- the answer is a word or a short phrase that stands in the article, and is nothing to be seen in the picture;
- it does not mention the article;
- it has four options: the answer, and three wrong ones of the same kind that sound as likely.

Reply with JSON alone, a list of {count} objects of this form, the answer word for word among the options:
[{FORM}]"""


def choose(candidate: Candidate) -> str:
    """Ask the question without picture and article."""
    return f"""{candidate.question}

{lettered(candidate.options)}

You cannot see the picture that the question speaks of. Reply with the letter of the likeliest option."""


def recall(candidate: Candidate) -> str:
    """Ask the question with the article, but without its options."""
    return f"""This is an encyclopedia's article about the place in the picture:

{candidate.article}

{candidate.question}

Reply with the answer alone, in a few words."""


def judge(candidate: Candidate) -> str:
    """Ask what the words do not show: whether picture and question need each other, and what it is about."""
    return f"""A picture, and a question about it:

{candidate.question}
Options: {" | ".join(candidate.options)}
Right answer: {candidate.answer}

Judge the question. Reply with JSON alone:
{{"about_the_picture": true or false, "picture_is_enough": true or false, "cultural": true or false}}
- about_the_picture: the question speaks of what the picture shows.
- picture_is_enough: somebody who does not recognise the place finds the answer by looking at the picture.
- cultural: the question is about the culture or the history of the place."""


def translate(candidate: Candidate, language: str, complaint: str = "") -> str:
    """Ask for the question in another language; `complaint` says what was wrong with an earlier attempt."""
    again = f"\n\nAn earlier translation was rejected: {complaint}. Avoid that." if complaint else ""
    return f"""Translate this question, its answer and its four options from English into \
{language_name(language)}. Keep the order of the options. Write names as they are usual in that language. \
The answer must be one of the translated options, word for word.

{as_json(*candidate.wording)}

Reply with JSON alone, of the same form.{again}"""


def translate_back(question: str, options: Sequence[str], answer: str, language: str) -> str:
    """Ask for a translated question in English again."""
    return f"""Translate this question, its answer and its four options from {language_name(language)} into \
English. Keep the order of the options.

{as_json(question, options, answer)}

Reply with JSON alone, of the same form."""


def same_meaning(candidate: Candidate, question: str, options: Sequence[str]) -> str:
    """Ask whether two questions say the same."""
    original = {"question": candidate.question, "options": list(candidate.options)}
    other = {"question": question, "options": list(options)}
    return f"""Two questions with four options each. The second was translated twice and may use other words.

First: {json.dumps(original, ensure_ascii=False)}
Second: {json.dumps(other, ensure_ascii=False)}

Do they ask the same, and does each option of the second mean the option of the first at the same place?
Reply with JSON alone: {{"same_question": true or false, "same_options": true or false}}"""


def lettered(options: Sequence[str]) -> str:
    """Options on lines, each after its letter."""
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def as_json(question: str, options: Sequence[str], answer: str) -> str:
    """A question as the models read and write it."""
    content = {"question": question, "answer": answer, "options": list(options)}
    return json.dumps(content, ensure_ascii=False, indent=1)
