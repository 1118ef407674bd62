"""Models that answer, and how one is added.

    @register("mine", about="my model")
    class Mine(Answerer):
        def replies(self, requests, images, progress):
            for place, request in enumerate(requests):
                yield place, Reply(...)

What a user types after the colon, as in `mine:large`, is passed to the constructor.
"""

from __future__ import annotations

import reprlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.io.secrets import legible
from equiview.subjects.base import Subject, said_with_place
from equiview.subjects.budget import Budget
from equiview.subjects.encoders.base import Encoder


class Answerer(Subject):
    """A subject that answers in text: a chat model, an encoder that chooses an option, a file of answers.

    A model that costs money adds the cost of each reply to `budget`, if there is one, stops asking once it is
    reached, and reports that like a failure. An audit that asks a second model gives it the budget of the
    first.
    """

    kind = "a model that answers"
    looks_up: ClassVar[bool] = False
    """Whether its answers are in a file already, so that the store need not keep them."""
    encoder: Encoder | None = None
    """The encoder that it asks for vectors of pictures, if any; replaced by one with a store."""
    follows: ClassVar[bool] = False
    """Whether answers are computed from the vectors of `encoder`, so that keeping these is enough."""
    budget: Budget | None = None

    @property
    def looks(self) -> bool:
        """Whether it, or its encoder, decodes pictures."""
        return self.encoder.looks if self.encoder else not self.looks_up

    @property
    def sampled(self) -> bool | None:
        """Whether asking the same again could give another answer; None where that is not known."""
        return None

    @property
    def price(self) -> tuple[float, float] | None:
        """US dollars for a million input tokens and a million output tokens; None where not known."""
        return None

    @property
    def declares_fingerprint(self) -> bool:
        """Whether it has a fingerprint of its own, so that its answers may be kept."""
        return type(self).fingerprint is not Subject.fingerprint

    @abstractmethod
    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place of the request, its reply) in whatever order replies come.

        `image` of a request is a row of `images`. A request that failed for good is not yielded; in that case
        raise an InputError at the end that says how many failed, and why.
        """

    def checked(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """What `replies` yields, each place once and within the requests, texts legible.

        InputError names the class, and the line, where a user's own code fails or yields something else.
        """
        seen: set[int] = set()
        try:
            for entry in self.replies(requests, images, progress):
                place, reply = self._entry(entry, len(requests), seen)
                seen.add(place)
                yield place, reply
        except (InputError, GeneratorExit):
            raise
        except (Exception, SystemExit) as error:
            if type(self).__module__.startswith("equiview."):
                raise  # equiview's own class: not the user's mistake
            raise InputError(
                f"{type(self).__name__}: replies failed with {said_with_place(error)}"
            ) from error

    def _entry(self, entry: object, n: int, seen: set[int]) -> tuple[int, Reply]:
        """A yielded pair; InputError where it is none."""
        begin = f"{type(self).__name__}: replies yielded"
        if not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[1], Reply):
            raise InputError(f"{begin} {reprlib.repr(entry)}; expected (place of the request, Reply)")
        place, reply = entry
        if not isinstance(place, int | np.integer) or isinstance(place, bool) or not 0 <= place < n:
            raise InputError(f"{begin} the place {reprlib.repr(place)} of {n} requests; they count from 0")
        if int(place) in seen:
            raise InputError(f"{begin} two replies to request {place}")
        if not isinstance(reply.text, str):
            raise InputError(f"{begin} a reply to request {place} whose text is {reprlib.repr(reply.text)}")
        return int(place), reply if legible(reply.text) == reply.text else replace(
            reply, text=legible(reply.text)
        )

    def ask(
        self, requests: Sequence[Request], images: Items | None = None, progress: Progress = silent
    ) -> list[Reply]:
        """The reply to each request, in order; InputError where some have none, or two share an id."""
        if len({request.id for request in requests}) < len(requests):
            raise InputError(f"{self.name}: two requests share an id; ids must be distinct")
        replies: list[Reply | None] = [None] * len(requests)
        for done, (place, reply) in enumerate(self.checked(requests, images, progress), start=1):
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
