"""One step of a builder that asks a model, and the choice of enough candidates."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from equiview.build.history import History
from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.io.progress import Progress
from equiview.subjects import Answerer
from equiview.text.replies import json_in

T = TypeVar("T")
R = TypeVar("R")


class Step:
    """One step of a builder: its model, and the history of its results."""

    def __init__(self, name: str, model: Answerer, history: History, progress: Progress) -> None:
        self.name, self.model, self.history, self.progress = name, model, history, progress

    def ask(self, requests: Sequence[Request], images: Items | None = None) -> list[str]:
        """The texts of the model's replies, in order."""
        replies = self.model.ask(requests, images, lambda _, *counts: self.progress(self.name, *counts))
        return [reply.text for reply in replies]

    def note(self, item: str, reason: str, detail: str | None = None, *, language: str | None = None) -> bool:
        """Add a candidate's result to the history; it passed unless there is a reason."""
        return self.history.note(item, self.name, reason, detail, language=language)


def fault_in(reply: str, wanted: Mapping[str, tuple[bool, str]], what: str = "judgement") -> str:
    """The fault of the first JSON boolean in a reply that is not as wanted; empty where all are."""
    content = json_in(reply)
    if not isinstance(content, dict) or not all(isinstance(content.get(name), bool) for name in wanted):
        return f"the {what} cannot be read"
    return next((fault for name, (value, fault) in wanted.items() if content[name] != value), "")


def choose(
    groups: Mapping[str, Iterable[T]], most: int, accept: Callable[[list[T]], Iterable[R | None]]
) -> tuple[list[R], list[T]]:
    """The first `most` results of each group, and the candidates that were not needed.

    `accept` returns a result for each candidate of a batch, None for a rejected one. It is given only as many
    as may still be chosen; for each that it rejects, the next of its group follows.

    >>> choose({"even": [2, 4, 6], "odd": [1, 3]}, 1, lambda batch: [n if n > 2 else None for n in batch])
    ([4, 3], [6])
    """
    waiting = {name: deque(group) for name, group in groups.items()}
    chosen: dict[str, list[R]] = {name: [] for name in waiting}
    while batch := [
        (name, left.popleft())
        for name, left in waiting.items()
        for _ in range(min(len(left), most - len(chosen[name])))
    ]:
        for (name, _), result in zip(batch, accept([entry for _, entry in batch]), strict=True):
            if result is not None:
                chosen[name].append(result)
    return list(chain(*chosen.values())), list(chain(*waiting.values()))
