"""The models a builder asks, by what each is for; every answer is kept, so that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import polars as pl

from equiview.build.history import History
from equiview.data.items import Items
from equiview.data.requests import Plan, Request
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.store import stored_answers
from equiview.subjects import Answerer, load_subject
from equiview.subjects.chat.base import Budget
from equiview.text.replies import json_in


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


def priced(plans: Sequence[Plan], models: Iterable[Answerer]) -> pl.DataFrame:
    """Plans as a table, with US dollars where the price of a model is known."""
    prices = {model.name: model.price for model in models}
    rows = []
    for plan in plans:
        price = prices[plan.model]
        read, written = price or (0.0, 0.0)
        dollars = (plan.input_tokens * read + plan.output_tokens * written) / 1e6
        rows.append(asdict(plan) | {"dollars": dollars if price else None})
    return pl.DataFrame(rows, schema_overrides={"dollars": pl.Float64})


class Step:
    """One step of a builder: what it asks, and where it notes what became of each candidate."""

    def __init__(self, name: str, model: Answerer, history: History, progress: Progress) -> None:
        self.name, self.model, self.history, self.progress = name, model, history, progress

    def ask(self, requests: Sequence[Request], images: Items | None = None) -> list[str]:
        """The texts of the model's replies, in order."""
        label = self.name

        def told(_: str, done: int, total: int) -> None:
            self.progress(label, done, total)

        return [reply.text for reply in self.model.ask(requests, images, told)]

    def flags(self, reply: str, names: Sequence[str]) -> dict[str, bool] | None:
        """What a reply says of each name, as JSON booleans; None where it does not say all of them."""
        content = json_in(reply)
        if not isinstance(content, dict) or not all(isinstance(content.get(name), bool) for name in names):
            return None
        return {name: content[name] for name in names}
