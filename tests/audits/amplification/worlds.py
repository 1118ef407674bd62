"""Subjects of known amplification, and the audit of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from equiview.audits.amplification import AMPLIFICATION, AmplificationSettings
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.items import Items
from equiview.data.observations import Observations
from equiview.data.requests import Reply, Request
from equiview.data.verdict import Verdict
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.subjects import Answerer
from tests.audits import steps

QUICK = {"replicates": 300, "shuffles": 2}


class Known(Answerer):
    """Replies by the id of the request; what is not there has failed."""

    name = "known"

    def __init__(self, said: Mapping[str, str]) -> None:
        super().__init__()
        self.said = said
        self.asked: list[Request] = []

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        self.asked = list(requests)
        for place, request in reversed(list(enumerate(requests))):
            if request.id in self.said:
                yield place, Reply(self.said[request.id])
        if failed := [request.id for request in requests if request.id not in self.said]:
            raise InputError(f"{len(failed)} failed, the first of them {failed[0]!r}")


def audited(
    subject: Answerer, data: Benchmark, **given: Any
) -> tuple[Observations, Estimates, Verdict, AmplificationSettings]:
    settings = AMPLIFICATION.configure(QUICK | given)
    observations = AMPLIFICATION.observe(subject, data, settings, silent)
    estimates = steps.measured(AMPLIFICATION, observations, settings)
    return observations, estimates, AMPLIFICATION.judge(estimates, settings), settings
