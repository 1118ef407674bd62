"""Runs in a tracker of experiments, MLflow or Weights & Biases: numbers, settings, verdicts, page and table.

A tracker holds a run once, by a key that what was audited, how, and the numbers make. Nothing is sent to the
makers of these libraries, and to W&B's service nothing unless `WANDB_MODE` is `online`.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equiview.data.estimates import BASE
from equiview.data.run import Run
from equiview.errors import InputError, unknown_name
from equiview.extras import require
from equiview.io.fingerprint import fingerprint
from equiview.io.secrets import redacted
from equiview.io.tables import write_bytes
from equiview.studies.gate import in_tolerances

FIELDS = ("value", "low", "high", "n")
"""What a tracker is told of each estimate; the table that lies beside holds the rest."""
FILES = ("report.html", "estimates.parquet", "verdicts.json", "manifest.json")
LONGEST = 400
"""Characters of a setting; MLflow takes 500 of a parameter in its older versions."""
AT_ONCE = 100
"""Numbers and parameters that MLflow is given in one request; it takes no more parameters."""
MARK = "equiview.json"
"""Beside a run of W&B that was written to its end."""


@dataclass(frozen=True)
class Record:
    """What a tracker is told of a run: `key` is the same for the same run, names are plain."""

    key: str
    name: str
    metrics: dict[str, float]
    params: dict[str, str]
    tags: dict[str, str]
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Tracked:
    """Where a tracker has a run, and whether it was written there now or held already."""

    place: str
    new: bool


def track(run: Run, to: str, *, place: str = "", project: str = "equiview") -> Tracked:
    """Write a run with a page to a tracker of `TRACKERS`, unless it is there.

    `place` is MLflow's tracking URI, or the folder of W&B; without it, where these libraries would write.
    InputError for an unknown tracker, one that is not installed and one that cannot be written to.
    """
    if to not in TRACKERS:
        raise unknown_name("tracker", to, TRACKERS)
    with _quietly():
        return TRACKERS[to](record_of(run, project), place, project)


def record_of(run: Run, project: str = "") -> Record:
    """What a tracker is told of a run.

    Metrics are named `AUDIT/METRIC_at_K/KEY-VALUE/FIELD`, of letters, digits, `_` and `-`. Numbers that are
    null or infinite are left out. `AUDIT/effect/FIELD` is the verdict's effect in units of its tolerance.
    """
    manifest = run.manifest
    measured = json.dumps(manifest.stages.get("measure", {}))
    key = fingerprint(manifest.model_dump_json(exclude={"name", "stages"}), measured, project)
    tags: dict[str, str] = {}
    for verdict in run.verdicts:
        tags |= {f"{verdict.audit}/verdict": verdict.finding, f"{verdict.audit}/answer": verdict.answer}
    for failure in run.failures:
        answer = " ".join(failure.message.split())
        tags |= {f"{failure.audit}/verdict": "not measured", f"{failure.audit}/answer": answer}
    paths = tuple(path for path in (run.folder / name for name in FILES) if path.is_file())
    return Record(key, run.name, _metrics(run), _params(run), tags, paths)


def _metrics(run: Run) -> dict[str, float]:
    found: dict[str, float] = {}
    taken: set[str] = set()

    def add(name: str, fields: dict[str, Any]) -> None:
        name = name[:200]
        again = 1
        while (unique := name if again == 1 else f"{name}_{again}") in taken:
            again += 1
        taken.add(unique)
        for field, value in fields.items():
            if value is not None and math.isfinite(value):
                found[f"{unique}/{field}"] = float(value)

    for verdict in run.verdicts:
        effect = in_tolerances(run, verdict)
        add(f"{plain(verdict.audit)}/effect", effect[1] if effect else {})
    for row in run.estimates.table.iter_rows(named=True):
        metric = row["metric"] if row["k"] is None else f"{row['metric']} at {row['k']}"
        keys = [f"{name}-{row[name]}" for name in row if name not in BASE and row[name] is not None]
        add("/".join(map(plain, (row["audit"], metric, *keys))), {field: row[field] for field in FIELDS})
    return found


def plain(words: str) -> str:
    """Words as a part of a metric's name, in letters, digits, underscores and hyphens.

    >>> plain("gap to pivot"), plain("language-zh-Hans"), plain("ΔR (points)")
    ('gap_to_pivot', 'language-zh-Hans', 'ΔR_points')
    """
    return re.sub(r"[^\w-]+", "_", words).strip("_")[:60] or "_"


def _params(run: Run) -> dict[str, str]:
    manifest = run.manifest
    given: dict[str, Any] = {
        "subject": manifest.subject.name,
        "subject_fingerprint": manifest.subject.fingerprint,
        "benchmark": manifest.benchmark.name,
        "benchmark_fingerprint": manifest.benchmark.fingerprint,
        "audits": ",".join(manifest.audits),
        "seed": manifest.seed,
        "schema_version": manifest.schema_version,
    }
    given |= {f"version/{name}": number for name, number in manifest.versions.items()}
    for audit, settings in manifest.settings.items():
        given |= {f"{plain(audit)}/{name}": value for name, value in settings.items()}
    return {name: _said(value) for name, value in given.items()}


def _said(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... (whole in manifest.json)"


def _to_mlflow(record: Record, place: str, project: str) -> Tracked:
    mlflow = require("mlflow", "mlflow")
    try:
        client = mlflow.MlflowClient(tracking_uri=place or None)
        experiment = client.get_experiment_by_name(project)
        number = experiment.experiment_id if experiment else client.create_experiment(project)
        where = f"{redacted(client.tracking_uri)}, experiment {project!r}, run "
        for earlier in client.search_runs([number], f"tags.`equiview.run` = '{record.key}'"):
            if earlier.info.status == "FINISHED":
                return Tracked(where + earlier.info.run_id, new=False)
            client.delete_run(earlier.info.run_id)  # of a process that was killed
        tags = record.tags | {"equiview.run": record.key}
        made = client.create_run(number, tags=tags, run_name=record.name).info.run_id
        _log(client, made, record)
        client.set_terminated(made)
    except (mlflow.exceptions.MlflowException, ImportError, OSError) as error:
        raise _refused("MLflow", place, error) from None
    return Tracked(where + made, new=True)


def _log(client: Any, run: str, record: Record) -> None:
    entities = require("mlflow.entities", "mlflow")
    params = [entities.Param(name, value) for name, value in record.params.items()]
    metrics = [entities.Metric(name, value, 0, 0) for name, value in record.metrics.items()]
    for first in range(0, max(len(params), len(metrics)), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        client.log_batch(run, metrics=metrics[part], params=params[part])
    for path in record.files:
        client.log_artifact(run, str(path))


def _to_wandb(record: Record, place: str, project: str) -> Tracked:
    mode = os.environ.get("WANDB_MODE", "offline")
    if mode not in {"offline", "online"}:
        raise InputError(
            f"WANDB_MODE is {mode!r}, with which nothing is written; set it to offline or online"
        )
    folder = Path(place or os.environ.get("WANDB_DIR") or ".").expanduser().absolute()
    for mark in sorted(folder.glob(f"wandb/*run-*-{record.key}/{MARK}")):
        return Tracked(str(mark.parent), new=False)
    wandb = require("wandb", "wandb")
    own = {name: str(folder / "wandb") for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR")}
    try:
        with _environment(own | {name: os.environ[name] for name in own if name in os.environ}):
            written = _write_to_wandb(wandb, record, folder, project, mode)
    except (wandb.errors.Error, OSError) as error:
        raise _refused("W&B", str(folder), error) from None
    write_bytes(json.dumps({"project": project, "run": record.key}).encode() + b"\n", written / MARK)
    return Tracked(str(written), new=True)


def _write_to_wandb(wandb: Any, record: Record, folder: Path, project: str, mode: str) -> Path:
    """Write a run of W&B; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        project=project, dir=str(folder), id=record.key, name=record.name, mode=mode, config=record.params,
        resume="allow" if mode == "online" else None, reinit="create_new",
        settings=wandb.Settings(
            console="off", silent=True, disable_code=True, disable_git=True, save_code=False,
            x_disable_machine_info=True, x_disable_meta=True, x_disable_stats=True,
        ),
    )  # fmt: skip
    run.summary.update(record.metrics | record.tags)
    kept = wandb.Artifact(f"run-{record.key}", type="equiview-run")
    for path in record.files:
        kept.add_file(str(path))
    run.log_artifact(kept)
    run.finish()
    return Path(run.dir).parent


def _refused(tracker: str, place: str, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:300]
    where = f" at {redacted(place)}" if place else ""
    return InputError(f"{tracker}{where} cannot be written to ({redacted(said)})")


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment that hold until the block ends."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep these libraries from reporting to their makers, from waiting long, and from the console."""
    wanted = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": os.environ.get("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2"),
        "MLFLOW_LOGGING_LEVEL": os.environ.get("MLFLOW_LOGGING_LEVEL", "ERROR"),
        "WANDB_ERROR_REPORTING": "false",
    }
    with _environment(wanted), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


TRACKERS: dict[str, Callable[[Record, str, str], Tracked]] = {"mlflow": _to_mlflow, "wandb": _to_wandb}
"""Writers to trackers by name."""
