"""One step of a builder that asks a model: its requests, and what became of each candidate."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.build.history import History
from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.io.progress import Progress
from equiview.subjects import Answerer
from equiview.text.replies import json_in


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
