"""Finished answers: replies are looked up by the id of the request."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.io.tables import checksum
from equiview.subjects.chat.base import Answerer


class FinishedAnswers(Answerer):
    """Answers that are there already. A subclass names the files and reads them."""

    looks_up = True

    @property
    @abstractmethod
    def files(self) -> Sequence[Path]:
        """The files that the answers are in."""

    @abstractmethod
    def read(self) -> Mapping[str, Reply]:
        """Every reply, by the id of its request."""

    @cached_property
    def known(self) -> Mapping[str, Reply]:
        """Every reply, read once."""
        return self.read()

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files."""
        return fingerprint(type(self).__qualname__, *map(checksum, self.files))

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield what is known; InputError at the end if anything is missing."""
        known = self.known
        yield from (
            (place, known[request.id]) for place, request in enumerate(requests) if request.id in known
        )
        missing = [request.id for request in requests if request.id not in known]
        if not missing:
            return
        holds = f"it holds {len(known)}, such as {next(iter(known))!r}" if known else "it holds none"
        if len(missing) == len(requests):
            raise InputError(
                f"{self.about}: none of the {len(requests)} requests is answered in it, such as "
                f"{missing[0]!r}; {holds}: are these answers to something else?"
            )
        raise InputError(
            f"{self.about}: {len(missing)} of {len(requests)} requests have no answer in it, the first of "
            f"them {missing[0]!r}; {holds}"
        )
