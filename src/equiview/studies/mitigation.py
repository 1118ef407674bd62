"""What fine-tuning or a correction changed: tables before and after, and bias against accuracy.

Against the share of made pairs after "Exposing and Mitigating Spurious Correlations for Cross-Modal
Retrieval" (O), Table 3 and Figure 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equiview.audits import AUDITS, label_of
from equiview.data.arguments import split_argument
from equiview.data.figures import Chart, Figure
from equiview.data.metric import Quantity
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.studies.compare import paired, runs_against
from equiview.subjects.finetuned import OPTIONS, FineTuning

KNOWN = ("value", "low", "high", "n")
BIASES = ("exposure ratio", "gap to pivot", "MaxSkew beyond chance", "M_cul - M_non", "excess naming")
SKILLS = ("NDCG", "R", "accuracy", "M_sem")
"""Metrics by which systems are set against each other; the first that an audit has counts."""


@dataclass(frozen=True)
class Changed:
    """What was changed.

    `systems` has a row for each run, the one before first: system, ratio of made to real pairs (null: there
    is none), and a column for each number that one of them has. `absent` says of the others why none has
    them, where lists are cut short of their cutoff. `changes` are tests of after less before, as `compare`
    gives them. `parts` are the numbers of each part that the report lists by how badly off it is, such as the
    class of object that was removed: before, after and change, without tests.
    """

    systems: pl.DataFrame
    changes: pl.DataFrame
    parts: pl.DataFrame
    figures: list[Figure]
    absent: tuple[str, ...] = ()


def mitigation(before: Run, after: Sequence[Run], ratios: Sequence[float] = ()) -> Changed:
    """The numbers of an encoder before and after fine-tuning or a correction, over the same items.

    `ratios` are made pairs for each real pair, one for each run after; by default those of the folder that
    `finetuned:DIR` names, where it is there. InputError for a run that is not of an encoder derived from the
    one before, for ratios that are not as many as runs, and as for `compare`.
    """
    source = before.manifest.subject
    for run in after:
        if run.manifest.subject.parent != source.fingerprint:
            raise InputError(
                f"{run.folder}: {run.name!r} is not derived from {before.name!r}, the one before"
            )
    if ratios and len(ratios) != len(after):
        raise InputError(
            f"{len(ratios)} ratios for {len(after)} runs after; give one for each, in their order"
        )
    runs = runs_against(after, before)
    before, after = runs[0], runs[1:]
    shares = [None, *(ratios or map(ratio_of, after))]
    changes = paired(runs, before)
    audits = changes["audit"].unique(maintain_order=True).to_list()
    named = [(audit, row.quantity) for audit in audits for row in AUDITS.get(audit).headlines]
    columns = [column for column in named if any(_of(run, *column) is not None for run in runs)]
    absent = [_cut_short(runs, *column, audits) for column in named if column not in columns]
    systems = pl.from_dicts(
        [
            {"system": run.name, "ratio": share}
            | {_label(*column, audits): _of(run, *column) for column in columns}
            for run, share in zip(runs, shares, strict=True)
        ],
        schema_overrides={"ratio": pl.Float64},
        infer_schema_length=None,
    )
    parts = [part for audit in audits for run in after for part in _parts(audit, before, run)]
    whole = pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
    figures = [*_frontiers(runs, columns), *_curves(after, shares[1:], columns)]
    return Changed(systems, changes, whole, figures, tuple(filter(None, absent)))


def ratio_of(run: Run) -> float | None:
    """Made pairs for each real pair that an encoder was fine-tuned on; None where its folder is not there."""
    scheme, _, argument = run.manifest.subject.name.partition(":")
    if scheme != "finetuned":
        return None
    folder = Path(split_argument(argument, scheme, OPTIONS)[0]).expanduser()
    if not (folder / FineTuning.file).is_file():
        return None
    pairs = FineTuning.read(folder).pairs
    return pairs.get("synthetic", 0) / pairs["real"]


def _label(audit: str, wanted: Quantity, audits: Sequence[str]) -> str:
    label = label_of(audit, wanted)
    return f"{audit}: {label}" if len(audits) > 1 else label


def _cut_short(runs: Sequence[Run], audit: str, wanted: Quantity, audits: Sequence[str]) -> str:
    """Why no run has a number, where its lists are cut before it; "" where it is not of these images."""
    depths = [
        row.quantity.k
        for run in runs
        for row in run.estimates.of(audit)
        if (row.quantity.metric, row.quantity.keys) == (wanted.metric, wanted.keys) and row.quantity.k
    ]
    if wanted.k is None or not depths or max(depths) >= wanted.k:
        return ""
    return f"{_label(audit, wanted, audits)} is not available: lists of these images are cut at {max(depths)}"


def _of(run: Run, audit: str, wanted: Quantity) -> float | None:
    found = run.estimates.of(audit).at(wanted)
    return None if found is None else found.value


def _parts(audit: str, before: Run, after: Run) -> Iterator[pl.DataFrame]:
    """The numbers of every part that both runs have, such as each class that was removed."""
    first, second = (run.estimates.of(audit).table for run in (before, after))
    by = [key for key, _ in AUDITS.get(audit).worst_by if key in first.columns and key in second.columns]
    keys = [name for name in before.estimates.of(audit).keys if name in second.columns]
    on = ["metric", "k", *keys]
    if by:
        both = first.select(*on, before="value", n="n").join(
            second.select(*on, after="value"), on=on, nulls_equal=True, maintain_order="left"
        )
        part = both.filter(pl.any_horizontal(pl.col(by).is_not_null()))
        used = [key for key in keys if part[key].null_count() < len(part)]
        yield part.select(
            pl.lit(after.name).alias("system"), "metric", "k", *used, "before", "after",
            (pl.col("after") - pl.col("before")).alias("change"), "n",
        )  # fmt: skip


def _frontiers(runs: Sequence[Run], columns: Sequence[tuple[str, Quantity]]) -> Iterator[Figure]:
    """For each audit a bias against how well the task is done, a mark a run."""
    for audit in dict.fromkeys(audit for audit, _ in columns):
        own = [wanted for of, wanted in columns if of == audit]
        bias, skill = (
            next((wanted for name in names for wanted in own if wanted.metric == name), None)
            for names in (BIASES, SKILLS)
        )
        if bias is None or skill is None:
            continue
        marks: list[dict[str, Any]] = []
        for run in runs:
            row, done = (run.estimates.of(audit).at(wanted) for wanted in (bias, skill))
            if row is not None and done is not None:
                known = {name: getattr(row, name) for name in ("value", "low", "high", "chance")}
                marks.append(known | {"system": run.name, "skill": done.value})
        if len(marks) < 2:
            continue
        yield Chart(
            name=f"{audit}-frontier",
            title="Bias against accuracy",
            see="Each mark is a system, the one before among them. Nearer to the dashed line it treats "
            "everybody more alike; further right it does the task better.",
            table=pl.from_dicts(marks, infer_schema_length=None),
            mark="points",
            x="skill",
            y="value",
            x_title=label_of(audit, skill),
            y_title=label_of(audit, bias),
            color="system",
            by_subject=True,
            low="low",
            high="high",
            label="system",
            reference={"alike": marks[0]["chance"] or 0.0},
        )


def _curves(
    after: Sequence[Run], ratios: Sequence[float | None], columns: Sequence[tuple[str, Quantity]]
) -> Iterator[Figure]:
    """Each audit's shares against the ratio (O, Fig. 4), where runs have at least two ratios."""
    if len({ratio for ratio in ratios if ratio is not None}) < 2:
        return
    for audit in dict.fromkeys(audit for audit, _ in columns):
        rows: list[dict[str, Any]] = []
        for run, ratio in sorted(
            ((run, ratio) for run, ratio in zip(after, ratios, strict=True) if ratio is not None),
            key=lambda pair: pair[1],
        ):
            for of, wanted in columns:
                found = run.estimates.of(audit).at(wanted) if of == audit else None
                metric = AUDITS.get(audit).metric(wanted.metric)
                if found is not None and metric is not None and metric.unit == "share":
                    about = {"ratio": ratio, "number": label_of(audit, wanted)}
                    rows.append(about | {name: getattr(found, name) for name in KNOWN})
        if rows:
            yield Chart(
                name=f"{audit}-by-ratio",
                title="What more made pairs change",
                see="Each line is a number of the encoder after fine-tuning, against how many made pairs it "
                "was fine-tuned on for each real pair; 0 is fine-tuning on real pairs alone.",
                table=pl.from_dicts(rows, infer_schema_length=None),
                mark="lines",
                x="ratio",
                y="value",
                x_title="made pairs for each real pair",
                y_title="share",
                color="number",
                low="low",
                high="high",
                percent=True,
            )
