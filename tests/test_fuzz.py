"""A hundred damaged copies of what every reader reads; `python -m labs.fuzz` tries two thousand."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labs.fuzz.damage import damaged, format_of, resaved
from labs.fuzz.readers import LOGGED, READERS, Trial

from equiview.benchmarks import BENCHMARKS

EXAMPLES = settings(max_examples=100, suppress_health_check=list(HealthCheck))
SHIPPED = {"pictograms", "pictograms-culture", "pictograms-people", "pictograms-quiz", "scenes"}


@pytest.fixture(scope="module", params=READERS)
def trial(request, tmp_path_factory):
    return Trial(request.param, tmp_path_factory.mktemp("fuzz"))


def test_every_reader_of_files_is_tried():
    tried = {name.partition("-")[0] for name in READERS} | {*READERS, "run"}
    assert set(BENCHMARKS.all()) - SHIPPED <= tried
    assert {".csv", ".parquet", ".json", ".jsonl", ".toml", ".npy", ".trec", ".gz", ".txt"} == FORMATS


FORMATS = {
    format_of(pattern.replace("*", "x"))
    for pattern in (
        "*.csv",
        "*.parquet",
        "*.json",
        "*.jsonl",
        "*.toml",
        "*.npy",
        "qrels.txt",
        "*.gz",
        "*.txt",
    )
}


def test_a_damaged_file_is_refused_in_one_line_or_read(trial):
    @EXAMPLES
    @given(st.data())
    def damage(data):
        name = data.draw(st.sampled_from(sorted(trial.files)))
        trial.of({name: data.draw(damaged(name, trial.files[name]))})

    damage()


def test_a_file_that_was_saved_otherwise_is_read_as_the_same(trial):
    @EXAMPLES
    @given(st.data())
    def save(data):
        name = data.draw(st.sampled_from(sorted(trial.files)))
        assert trial.of({name: data.draw(resaved(name, trial.files[name]))}) == trial.digest

    if not trial.reader.ours:
        save()


@pytest.mark.parametrize("name", ["folder-csv", "flickr30k", "prompts", "embeddings"])
def test_what_is_gone_is_refused(tmp_path, name):
    trial = Trial(name, tmp_path)
    for file in trial.files:
        assert trial.of({file: None}) is None


def test_only_what_grpc_logs_is_taken_from_what_is_printed():
    logged = (
        b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        b"I0000 00:00:1795399416.210718   81231 fork_posix.cc:71] Other threads are calling into gRPC\n"
    )
    assert LOGGED.sub(b"", b"libpng: bad\n" + logged + b"I am a reader\n") == b"libpng: bad\nI am a reader\n"
