"""Decisions from the judgements of one item: agreed, or left to the adjudicator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from equiview.review.layout import Question, ReviewSettings

State = Literal["agreed", "adjudicated", "disputed", "too few", "not answered"]


@dataclass(frozen=True)
class Opinion:
    """The latest judgement of an item by one person, with an answer for each answered question."""

    author: str
    role: str
    answers: Mapping[str, str]
    time: str


@dataclass(frozen=True)
class Decision:
    """The decision on one question of one item. `value` is None unless agreed or adjudicated."""

    question: str
    state: State
    value: str | None
    counts: Mapping[str, int]

    @property
    def majority(self) -> str | None:
        """The choice of more than half of the reviewers who answered; None without one."""
        total = sum(self.counts.values())
        return next((choice for choice, votes in self.counts.items() if 2 * votes > total), None)


def decide(opinions: Sequence[Opinion], settings: ReviewSettings) -> list[Decision]:
    """A decision for each question, in their order.

    An adjudicator's answer decides. Without one, a question is agreed when enough people judged the item and
    all who answered chose the same.

    >>> asked = ReviewSettings(title="t", questions=[Question(id="right", text="?")], people_per_item=2)
    >>> said = [Opinion("reviewer-1", "reviewer", {"right": "yes"}, "")]
    >>> decide(said, asked)[0].state
    'too few'
    >>> said.append(Opinion("reviewer-2", "reviewer", {"right": "no"}, ""))
    >>> decide(said, asked)[0].state
    'disputed'
    """
    reviewers = [opinion for opinion in opinions if opinion.role == "reviewer"]
    rulings = [opinion for opinion in opinions if opinion.role == "adjudicator"]
    enough = len(reviewers) >= settings.people_per_item
    return [
        _decide(
            question,
            Counter(o.answers[question.id] for o in reviewers if question.id in o.answers),
            next((o.answers[question.id] for o in rulings if question.id in o.answers), None),
            enough,
        )
        for question in settings.questions
    ]


def disputed(decisions: Iterable[Decision]) -> list[str]:
    """The questions left to the adjudicator."""
    return [decision.question for decision in decisions if decision.state == "disputed"]


def _decide(question: Question, counts: Counter[str], ruling: str | None, enough: bool) -> Decision:
    ordered = {choice: counts[choice] for choice in question.choices if counts[choice]}
    if ruling is not None:
        return Decision(question.id, "adjudicated", ruling, ordered)
    if not enough:
        return Decision(question.id, "too few", None, ordered)
    if len(ordered) > 1:
        return Decision(question.id, "disputed", None, ordered)
    if ordered:
        return Decision(question.id, "agreed", next(iter(ordered)), ordered)
    return Decision(question.id, "not answered", None, ordered)
