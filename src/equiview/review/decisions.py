"""What follows from the judgements of one item: what people agree on, and what somebody has to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from equiview.review.layout import Question, ReviewSettings

State = Literal["agreed", "adjudicated", "disputed", "too few", "not answered"]


@dataclass(frozen=True)
class Opinion:
    """The latest that one person says of an item: an answer for each question that was answered."""

    author: str
    role: str
    answers: Mapping[str, str]
    time: str


@dataclass(frozen=True)
class Decision:
    """What is decided of one question of one item. `value` is None unless it is agreed or adjudicated."""

    question: str
    state: State
    value: str | None
    counts: Mapping[str, int]

    @property
    def majority(self) -> str | None:
        """The choice of more than half of the reviewers who answered; None where there is none."""
        total = sum(self.counts.values())
        return next((choice for choice, votes in self.counts.items() if 2 * votes > total), None)


def decide(opinions: Sequence[Opinion], settings: ReviewSettings) -> list[Decision]:
    """A decision for each question, in their order.

    The adjudicator's word counts where it was given. Otherwise a question is agreed when as many people as
    wanted judged the item and all who answered it chose alike.

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
        _decide(question, [o.answers for o in reviewers], [o.answers for o in rulings], enough)
        for question in settings.questions
    ]


def disputed(decisions: Iterable[Decision]) -> list[str]:
    """The questions that somebody has to decide."""
    return [decision.question for decision in decisions if decision.state == "disputed"]


def _decide(
    question: Question,
    answers: Sequence[Mapping[str, str]],
    rulings: Sequence[Mapping[str, str]],
    enough: bool,
) -> Decision:
    counts = Counter(given[question.id] for given in answers if question.id in given)
    ordered = {choice: counts[choice] for choice in question.choices if counts[choice]}
    ruling = next((given[question.id] for given in rulings if question.id in given), None)
    if ruling is not None:
        return Decision(question.id, "adjudicated", ruling, ordered)
    if not enough:
        return Decision(question.id, "too few", None, ordered)
    if len(ordered) > 1:
        return Decision(question.id, "disputed", None, ordered)
    if ordered:
        return Decision(question.id, "agreed", next(iter(ordered)), ordered)
    return Decision(question.id, "not answered", None, ordered)
