"""Candidate questions: a question about a place, four options, which of them is right."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from equiview.build.landmarks import Landmark
from equiview.data.seeds import seed_for

OPTIONS = 4


class Wording(NamedTuple):
    """A question in one language; its options are in the order of the English ones."""

    question: str
    options: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Candidate:
    """A question in English; `truth` is the index of the right option, `picture` a row of the images."""

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

    @property
    def wording(self) -> Wording:
        """The question in English."""
        return Wording(self.question, self.options, self.answer)

    def shuffled(self, seed: int, turn: int) -> Candidate:
        """The same question with its options in another order, the same for every model."""
        order = list(range(len(self.options)))
        random.Random(seed_for(seed, f"{self.id}.{turn}")).shuffle(order)
        options = tuple(self.options[place] for place in order)
        return replace(self, options=options, truth=order.index(self.truth))


def read_question(content: Any) -> Wording | None:
    """The question in a model's JSON; None where that is something else.

    >>> read_question({"question": "Who built it?", "answer": " Eiffel", "options": ["Eiffel", "Gaudi"]})
    Wording(question='Who built it?', options=('Eiffel', 'Gaudi'), answer='Eiffel')
    """
    if not isinstance(content, Mapping):
        return None
    question, answer, options = (content.get(name) for name in ("question", "answer", "options"))
    if not isinstance(question, str) or not isinstance(answer, str) or not isinstance(options, Sequence):
        return None
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        return None
    return Wording(question.strip(), tuple(option.strip() for option in options), answer.strip())
