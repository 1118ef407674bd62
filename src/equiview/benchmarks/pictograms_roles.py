"""`pictograms-roles`: the embedded benchmark of amplification, questions about who is drawn.

Each of the 1,152 drawings of `pictograms-people` is asked about once, in English, and the answer is the
role's neutral name in Unicode CLDR ("firefighter"), the same for a woman, a man and a person of any skin. It
counts as what four people said, as many as VQA's accuracy needs for a right answer. The 64 roles are the
options of each question, for subjects that choose.
"""

from __future__ import annotations

import polars as pl

from equiview.benchmarks.base import Benchmark
from equiview.benchmarks.pictograms import LICENCE, SOURCE
from equiview.benchmarks.pictograms_people import neutral_names, people
from equiview.benchmarks.vqav2 import ANSWERS, QUESTIONS
from equiview.data.items import Items

QUESTION = "Who is this?"
PEOPLE = 4
"""Of four who agree, each is confirmed by three others."""


def pictograms_roles(argument: str = "") -> Benchmark:
    """The embedded benchmark of amplification; it takes no argument.

    Images have `role`, `gender` (woman, man, person) and `skin` (null for none).

    >>> asked = pictograms_roles().tables["questions"].row(0, named=True)
    >>> asked["question"], asked["answer"], len(asked["options"])
    ('Who is this?', 'person frowning', 64)
    """
    drawn = people()
    called: dict[str, str] = dict(neutral_names().filter(language="en").select("concept", "text").iter_rows())
    questions = drawn.select(
        question_id="image_id",
        image_id="image_id",
        question=pl.lit(QUESTION),
        language=pl.lit("en"),
        question_type=pl.lit(QUESTION.removesuffix("?").lower()),
        answer_type=pl.lit("other"),
        answer=pl.col("role").replace_strict(called),
        options=pl.lit(list(called.values())),
    )
    answers = questions.select(
        "question_id", pl.lit(list(range(1, PEOPLE + 1))).alias("place"), "answer"
    ).explode("place")
    images = drawn.select("picture", "role", "gender", "skin", id="image_id")
    return Benchmark(
        name="pictograms-roles",
        images=Items("image", images, "pictograms-roles: drawings"),
        about="emoji drawings of people by gender and skin, asked who they are; options are 64 roles",
        source=SOURCE,
        licence=LICENCE,
        tables={
            "questions": questions,
            "answers": answers.with_columns(
                pl.col("place").cast(pl.Int32), confidence=pl.lit(None, dtype=pl.String)
            ),
        },
        schemas={"questions": QUESTIONS, "answers": ANSWERS},
    )
