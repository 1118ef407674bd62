"""Results as the evaluation servers of COCO and VQA take them, as rows of finished answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS = (("image_id", "caption", (int, str)), ("question_id", "answer", (int,)))
"""Fields of the id and the text, and what the id may be: VQA's questions are numbered."""


def answer_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with `id` and `answer`, if it is COCO's or VQA's, or as it is.

    COCO's has `image_id` and `caption`, and the id is the image's; VQA's a number as `question_id` and
    `answer`, without a language. Other fields are left out.

    >>> answer_row({"image_id": 42, "caption": "a dog"})
    {'id': '42', 'answer': 'a dog'}
    >>> answer_row({"question_id": 42001, "answer": "dog"})
    {'id': '42001', 'answer': 'dog'}
    """
    for name, text, types in KINDS:
        if isinstance(row.get(name), types) and text in row and not {"id", "language"} & row.keys():
            return {"id": str(row[name]), "answer": row[text]}
    return row
