"""Candidate questions: a question about a place, four options, which of them is right."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equiview.build.landmarks import Landmark
from equiview.data.seeds import seed_for

OPTIONS = 4


@dataclass(frozen=True)
class Candidate:
    """A question in English; `truth` is the place of the right option, `picture` a row of the images."""

    id: str
    landmark: Landmark
    article: str
    picture: int
    question: str
    options: tuple[str, ...]
    truth: int

    @property
    def answer(self) -> str:
        """The right option."""
        return self.options[self.truth]

    def shuffled(self, seed: int, turn: int) -> Candidate:
        """The same question with its options in another order, the same for every model."""
        order = list(range(len(self.options)))
        random.Random(seed_for(seed, f"{self.id}.{turn}")).shuffle(order)
        options = tuple(self.options[place] for place in order)
        return replace(self, options=options, truth=order.index(self.truth))


def read_question(content: Any) -> tuple[str, tuple[str, ...], str] | None:
    """(question, options, answer) of what a model wrote as JSON; None where that is something else.

    >>> read_question({"question": "Who built it?", "answer": " Eiffel", "options": ["Eiffel", "Gaudi"]})
    ('Who built it?', ('Eiffel', 'Gaudi'), 'Eiffel')
    """
    if not isinstance(content, Mapping):
        return None
    question, answer, options = (content.get(name) for name in ("question", "answer", "options"))
    if not isinstance(question, str) or not isinstance(answer, str) or not isinstance(options, Sequence):
        return None
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        return None
    return question.strip(), tuple(option.strip() for option in options), answer.strip()
