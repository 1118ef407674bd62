"""What trackers hold of a run is what the run holds, once, and nobody else is told of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.conftest import write_world

from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report.trackers import FILES, TRACKERS, plain, record_of, track
from equiview.studies.gate import in_tolerances
from equiview.subjects import load_subject


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("tracked")
    world = write_world(place / "world", skew=4.0)
    settings = {"prevalence": {"replicates": 200}}
    subject, items = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    execute(subject, items, ["prevalence"], place / "run", name="released", settings=settings)
    return Run.open(place / "run")


def tracked(run: Run, place: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command with the run twice, in a process of its own whose home is empty and whose proxy is dead."""
    away = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    given = {"HOME": str(place / "home"), "PATH": os.environ["PATH"], "COLUMNS": "200", **away, **environment}
    command = [sys.executable, "-m", "equiview", "track", str(run.folder), str(run.folder), *words]
    return subprocess.run(command, cwd=place, env=given, capture_output=True, text=True, check=False)


def test_every_number_has_a_plain_name_of_its_own(run: Run) -> None:
    record = record_of(run)
    table = run.estimates.table
    numbers = sum(int(table[name].is_finite().sum() or 0) for name in ("value", "low", "high")) + len(table)
    effect = in_tolerances(run, run.verdicts[0])
    assert effect is not None
    assert len(record.metrics) == numbers + sum(value is not None for value in effect[1].values())
    assert record.metrics["prevalence/effect/low"] == effect[1]["low"]
    row = table.filter((pl.col("metric") == "R") & (pl.col("k") == 1) & (pl.col("language") == "sw")).row(
        0, named=True
    )
    assert record.metrics["prevalence/R_at_1/language-sw/value"] == row["value"]
    assert record.metrics["prevalence/R_at_1/language-sw/n"] == row["n"]
    assert record.tags["prevalence/verdict"] == run.verdicts[0].finding == "biased"
    assert json.loads(record.params["prevalence/replicates"]) == 200
    assert record.params["subject_fingerprint"] == run.manifest.subject.fingerprint


def test_names_that_would_be_one_are_told_apart_and_long_ones_cut() -> None:
    assert plain("a=b@c d") == plain("a b/c:d") == "a_b_c_d"
    assert plain("...") == "_"
    assert len(plain("x" * 500)) == 60


def test_what_is_another_run_has_another_key_and_another_name_has_not(run: Run) -> None:
    again = Run(run.folder, run.manifest.model_copy(update={"name": "tonight"}))
    other = Run(run.folder, run.manifest.model_copy(update={"seed": 1}))
    assert record_of(run).key == record_of(again).key
    assert len({record_of(run).key, record_of(other).key, record_of(run, "elsewhere").key}) == 3


def test_mlflow_holds_a_run_once_as_it_is_and_one_that_was_begun_is_written_again(
    run: Run, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    in_mlflow(BEGUN, store, record_of(run, "gate").key)
    words = ("--to", "mlflow", "--place", store, "--project", "gate")
    done = tracked(run, tmp_path, *words, MLFLOW_ALLOW_FILE_STORE="true")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first.startswith("released: written to ")
    assert second == first.replace("written to", "is already in")
    told = record_of(run, "gate")
    files = sorted(path.name for path in told.files)
    assert files == sorted(FILES)
    held = [told.name, "FINISHED", told.metrics, told.params, told.tags, files]
    assert json.loads(in_mlflow(READ, store)) == [held]


BEGUN = """
import sys
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
client.create_run(client.create_experiment("gate"), tags={"equiview.run": sys.argv[2]})
"""
READ = """
import json, sys
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
(experiment,) = [one for one in client.search_experiments() if one.name == "gate"]
found = []
for run in client.search_runs([experiment.experiment_id]):
    tags = {key: value for key, value in run.data.tags.items() if "/" in key}
    files = sorted(file.path for file in client.list_artifacts(run.info.run_id))
    found.append([run.info.run_name, run.info.status, run.data.metrics, run.data.params, tags, files])
print(json.dumps(found))
"""


def in_mlflow(script: str, *words: str) -> str:
    environment = os.environ | {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    command = [sys.executable, "-W", "ignore", "-c", script, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_wandb_offline_holds_a_run_once_as_it_is(run: Run, tmp_path: Path) -> None:
    words = ("--to", "wandb", "--place", str(tmp_path / "kept"))
    done = tracked(run, tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert second == first.replace("written to", "is already in")
    (file,) = (tmp_path / "kept").glob("wandb/offline-run-*/run-*.wandb")
    told = record_of(run, "equiview")
    name, config, summary, artifact = read_wandb(file)
    assert (name, config, summary) == (told.name, told.params, told.metrics | told.tags)
    assert {path.name for path in told.files} == set(artifact)
    for path in told.files:
        assert Path(artifact[path.name]).read_bytes() == path.read_bytes()
        assert Path(artifact[path.name]).is_relative_to(tmp_path / "kept")
    assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()] == []


def read_wandb(file: Path) -> tuple[str, dict[str, str], dict[str, object], dict[str, str]]:
    """The name, settings, summary and artifact's files of a run that W&B wrote offline."""
    from wandb.proto import wandb_internal_pb2 as wandb_pb

    name, artifact = "", {}
    config: dict[str, str] = {}
    summary: dict[str, object] = {}
    for content in records(file.read_bytes()):
        record = wandb_pb.Record()
        record.ParseFromString(content)
        if record.HasField("run"):
            name = record.run.display_name
            config = {one.key: json.loads(one.value_json) for one in record.run.config.update}
        for one in record.summary.update:
            summary["/".join(one.nested_key) or one.key] = json.loads(one.value_json)
        for entry in record.request.log_artifact.artifact.manifest.contents:
            artifact[entry.path] = entry.local_path
        for entry in record.artifact.manifest.contents:
            artifact[entry.path] = entry.local_path
    theirs = [found.pop(key) for found in (config, summary) for key in list(found) if key.startswith("_")]
    assert len(theirs) <= 3
    return name, config, summary, artifact


def records(content: bytes) -> Iterator[bytes]:
    """What a log in LevelDB's format holds: blocks of 32 KiB of parts, with checksum, length and kind."""
    place, whole = 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        whole += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in {1, 4}:  # a whole record, or the last part of one
            yield whole
            whole = b""


def test_what_cannot_be_written_to_is_said_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="did you mean 'mlflow'"):
        track(run, "mlfow")
    with pytest.raises(InputError, match="MLflow at nowhere://x cannot be written to") as caught:
        track(run, "mlflow", place="nowhere://x")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be written to") as caught:
        track(run, "mlflow", place="nowhere://me:hush@host")
    assert "hush" not in str(caught.value)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with pytest.raises(InputError, match="WANDB_MODE is 'disabled'"):
        track(run, "wandb")
    monkeypatch.delenv("WANDB_MODE")
    for name in TRACKERS:
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InputError, match=rf"pip install 'equiview\[{name}\]'"):
            track(run, name, place=str(run.folder.parent / "none"))
