"""What a subject is made of, and the budget that all its parts share."""

from __future__ import annotations

from collections.abc import Iterator

from equiview.subjects.base import Subject
from equiview.subjects.budget import Budget
from equiview.subjects.chat.base import Answerer
from equiview.subjects.encoders.service import EmbeddingService


def services_of(subject: Subject) -> list[EmbeddingService]:
    """The services that embed for a subject."""
    return [part for part in _parts(subject) if isinstance(part, EmbeddingService)]


def _parts(subject: Subject) -> Iterator[Subject]:
    """A subject and all that it is made of."""
    yield subject
    names = {"inner", "encoder", *getattr(subject, "parts", ())}
    for part in (getattr(subject, name, None) for name in sorted(names)):
        if isinstance(part, Subject):
            yield from _parts(part)


def share(subject: Subject, budget: Budget) -> None:
    """Let all that a subject asks pay from one budget."""
    for part in _parts(subject):
        if isinstance(part, Answerer | EmbeddingService):
            part.budget = budget
