"""What a model that answers is, and how one is added.

    @register("mine", about="my model")
    class Mine(Answerer):
        def replies(self, requests, images, progress):
            for place, request in enumerate(requests):
                yield place, Reply(...)

What a user types after the colon, as in `mine:large`, is passed to the constructor.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.subjects.base import Subject
from equiview.subjects.encoders.base import Encoder


@dataclass
class Budget:
    """US dollars that may be spent, by all models together that share it; None is no limit.

    Requests that are under way when the limit is reached are paid for as well.

    >>> budget = Budget(limit=1.0)
    >>> budget.add(0.75), budget.reached, budget.add(0.25), budget.reached
    (None, False, None, True)
    """

    limit: float | None = None
    spent: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, cost: float) -> None:
        """Count what a reply cost; from any thread."""
        with self._lock:
            self.spent += cost

    @property
    def reached(self) -> bool:
        """Whether nothing more may be asked."""
        return self.limit is not None and self.spent >= self.limit


class Answerer(Subject):
    """Whatever answers in words: a chat model, an encoder that chooses among options, a file of answers.

    A model that costs money adds what each reply costs to `budget`, if there is one, asks nothing more once
    it is reached, and says so as it says what failed. An audit that asks a second model gives it the budget
    of the first.
    """

    kind = "a model that answers"
    looks_up: ClassVar[bool] = False
    """Whether its answers are at hand already, so that keeping them would be keeping them twice."""
    encoder: Encoder | None = None
    """The encoder that it asks for vectors of pictures, if any; replaced by one with a store."""
    follows: ClassVar[bool] = False
    """Whether answers follow from the vectors of `encoder` at once, so that keeping these is enough."""
    budget: Budget | None = None

    @property
    def looks(self) -> bool:
        """Whether it, or its encoder, decodes pictures."""
        return self.encoder.looks if self.encoder else not self.looks_up

    @property
    def price(self) -> tuple[float, float] | None:
        """US dollars for a million tokens that it reads and that it writes; None where they are not known."""
        return None

    @property
    def declares_fingerprint(self) -> bool:
        """Whether it says itself what tells it from every other model, so that its answers may be kept."""
        return type(self).fingerprint is not Subject.fingerprint

    @abstractmethod
    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place of the request, its reply) in whatever order replies come.

        `images` are what the requests' `image` counts rows of. A request that failed for good is not yielded;
        the last thing to do is then to raise an InputError that says how many failed, and why.
        """

    def ask(
        self, requests: Sequence[Request], images: Items | None = None, progress: Progress = silent
    ) -> list[Reply]:
        """The reply to each request, in order; InputError where some have none, or two share an id."""
        if len({request.id for request in requests}) < len(requests):
            raise InputError(f"{self.name}: two requests share an id; ids must be distinct")
        replies: list[Reply | None] = [None] * len(requests)
        for done, (place, reply) in enumerate(self.replies(requests, images, progress), start=1):
            replies[place] = reply
            progress(f"asking {self.name}", done, len(requests))
        answered = [reply for reply in replies if reply is not None]
        if len(answered) < len(requests):
            missing = next(request for request, reply in zip(requests, replies, strict=True) if reply is None)
            raise InputError(
                f"{self.name}: {len(requests) - len(answered)} of {len(requests)} requests have no answer, "
                f"the first of them {missing.id!r}"
            )
        return answered
