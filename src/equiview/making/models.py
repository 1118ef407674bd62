"""The models a maker asks, by what each is for; every answer is kept, so that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Mapping

from equiview.errors import InputError
from equiview.store import stored_answers
from equiview.subjects import Answerer, load_subject
from equiview.subjects.chat.base import Budget


def load_answerers(
    names: Mapping[str, str], *, cache: bool = True, max_cost: float | None = None
) -> dict[str, Answerer]:
    """The models of these names, by what each is for; one name is one model, whatever it does.

    With `cache` their answers are kept in the store. Once all together have cost `max_cost` US dollars
    nothing more is asked. InputError for a subject of another kind.
    """
    budget = Budget(max_cost)
    models: dict[str, Answerer] = {}
    for name in names.values():
        if name in models:
            continue
        subject = load_subject(name)
        if not isinstance(subject, Answerer):
            raise InputError(
                f"{name!r} is {subject.kind}; a builder asks a model that answers, as chat:MODEL is"
            )
        models[name] = stored_answers(subject) if cache else subject
        models[name].budget = budget
    return {purpose: models[name] for purpose, name in names.items()}
