"""Whatever is wrong with what a user gives: one line that says what, exit 1, and never another number."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor

import pytest

from tests.faults.running import Case, Outcome, outcome
from tests.faults.surfaces import missing_surfaces
from tests.faults.table import CASES
from tests.processes import FORKED

NAMES = [case.name for case in CASES]


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Outcome]]]:
    """The outcome of each case that was asked for, computed in one process, which makes each place once."""
    asked = {item.callspec.params["case"].name for item in request.session.items if hasattr(item, "callspec")
             and isinstance(item.callspec.params.get("case"), Case)}  # fmt: skip
    with ProcessPoolExecutor(1, mp_context=FORKED) as pool:
        yield {case.name: pool.submit(outcome, case) for case in CASES if case.name in asked}
        pool.shutdown(cancel_futures=True)


def test_the_table_is_large_and_each_case_has_a_name() -> None:
    assert len(CASES) >= 300
    assert len(set(NAMES)) == len(NAMES)


def test_every_reader_maker_and_command_has_a_case() -> None:
    assert missing_surfaces(CASES) == []
    few = [case for case in CASES if not {"knowrecall:data", "verify", "connector"} & {*case.words}]
    assert missing_surfaces(few) == ["knowrecall", "verify", "train connector"]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_fault_is_said_in_one_line(case: Case, outcomes: dict[str, Future[Outcome]]) -> None:
    came = outcomes[case.name].result()
    beside = ("equiview: warning: ", "equiview: note: ")
    lines = [line for line in came.errors.splitlines() if not line.startswith(beside)]
    assert came.code == case.code, came.errors or came.output
    assert "Traceback" not in came.errors
    assert case.said in (came.errors if case.code else came.errors + came.output)
    if case.code:
        assert len(lines) == 1, came.errors
        assert lines[0].startswith("equiview: ")
    if case.same:
        assert came.numbers == came.expected
