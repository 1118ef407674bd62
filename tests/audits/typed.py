"""What the type checker makes of audits: each kind of subject has its own, and a wrong one is an error.

mypy reads this file with the sources. It says so if an error that is expected here is none.
"""

from equiview.audits import Audit, Settings
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.figures import Figure
from equiview.data.observations import Observations
from equiview.data.values import Values
from equiview.data.verdict import Verdict
from equiview.io.progress import Progress
from equiview.subjects import Encoder, ResultLists

Both = Encoder | ResultLists


def of_vectors(s: Encoder, b: Benchmark, o: Settings, p: Progress) -> Observations:
    s.embed(b.images)
    raise NotImplementedError


def of_lists(s: ResultLists, b: Benchmark, o: Settings, p: Progress) -> Observations:
    s.lists(b, 3)
    raise NotImplementedError


def of_both(s: Encoder | ResultLists, b: Benchmark, o: Settings, p: Progress) -> Observations:
    raise NotImplementedError


def values(x: Observations, o: Settings) -> Values:
    raise NotImplementedError


def measure(x: Observations, o: Settings) -> Estimates:
    raise NotImplementedError


def draw(x: Observations, e: Estimates, o: Settings) -> list[Figure]:
    raise NotImplementedError


def judge(e: Estimates, o: Settings) -> Verdict:
    raise NotImplementedError


OF_VECTORS = Audit[Encoder, Settings](
    name="x", question="?", source="", settings=Settings, schemas={}, metrics=(), headlines=(),
    values=values, measure=measure, draw=draw, judge=judge, subject=Encoder, observe=of_vectors,
)  # fmt: skip
OF_LISTS = Audit[ResultLists, Settings](
    name="x", question="?", source="", settings=Settings, schemas={}, metrics=(), headlines=(),
    values=values, measure=measure, draw=draw, judge=judge, subject=ResultLists, observe=of_lists,
)  # fmt: skip
OF_BOTH = Audit[Both, Settings](
    name="x", question="?", source="", settings=Settings, schemas={}, metrics=(), headlines=(),
    values=values, measure=measure, draw=draw, judge=judge, subject=(Encoder, ResultLists), observe=of_both,
)  # fmt: skip
WRONG = Audit[Encoder, Settings](
    name="x", question="?", source="", settings=Settings, schemas={}, metrics=(), headlines=(),
    values=values, measure=measure, draw=draw, judge=judge, subject=Encoder,
    observe=of_lists,  # type: ignore[arg-type]
)  # fmt: skip
