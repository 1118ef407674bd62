"""A hundred damaged copies of what every reader reads; `python -m labs.fuzz` tries two thousand."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from labs.fuzz.__main__ import try_reader
from labs.fuzz.readers import READERS
from labs.fuzz.trial import Trial

from equiview.benchmarks import BENCHMARKS
from equiview.benchmarks.base import embedded
from tests.processes import FORKED


@pytest.fixture(scope="module")
def apart() -> Iterator[ProcessPoolExecutor]:
    """A process of its own: threads that other tests leave behind in this one print when they like."""
    with ProcessPoolExecutor(1, mp_context=FORKED) as pool:
        yield pool


def tried(name: str, folder: Path) -> Counter[str]:
    return try_reader(Trial(READERS[name], folder / name), 100, 0)


def gone(name: str, folder: Path) -> list[str]:
    """The files without which the reader reads all the same."""
    trial = Trial(READERS[name], folder / name)
    return [file for file in trial.files if trial.of({file: None}) is not None]


def test_every_benchmark_that_reads_files_is_tried() -> None:
    tried = {name.partition("-")[0] for name in READERS} | {*READERS, "run"}
    tried |= {"held-out"}  # a list of ids beside a benchmark, in tests/mitigation and the table of faults
    assert set(BENCHMARKS.all()) - set(embedded()) <= tried


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_in_one_line_or_read_and_one_saved_otherwise_is_the_same(
    apart: ProcessPoolExecutor, tmp_path: Path, name: str
) -> None:
    counts = apart.submit(tried, name, tmp_path).result()
    assert counts["read"] + counts["refused"] >= 20
    assert bool(counts["resaved"]) != READERS[name].ours


@pytest.mark.parametrize("name", ["folder-csv", "flickr30k", "prompts", "embeddings"])
def test_what_is_gone_is_refused(apart: ProcessPoolExecutor, tmp_path: Path, name: str) -> None:
    assert apart.submit(gone, name, tmp_path).result() == []
