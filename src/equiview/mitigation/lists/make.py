"""Write the rule by which a system's lists are put in order, as a subject."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.held_out import write_held_out
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.io.tables import write_bytes
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.mitigation.folder import encoder_input, whole_name
from equiview.mitigation.lists.exposure import Lists, solve
from equiview.mitigation.lists.settings import ExposureMaking, FusionMaking, ListMaking, ProtectedMaking
from equiview.mitigation.split import parts
from equiview.store import stored
from equiview.subjects import Encoder, ResultLists, Subject, load_subject
from equiview.subjects.reranked import Groups, Reranking, Rule, first_lists
from equiview.subjects.trained import Part

REACHED = "exposure.json"
"""Shares of exposure by group: wanted, before and after, on the lists that were read."""
NAMED = 5
"""Groups that are named as changed most."""
NEAR = 0.02
"""A share is reached when it is missed by at most this part of it."""


class Ordering(Job):
    """Lists to put in order."""

    def __init__(self, settings: ListMaking, subject: Subject, benchmark: Benchmark | None = None) -> None:
        if not isinstance(subject, Encoder | ResultLists):
            raise InputError(f"{subject.name!r} is {subject.kind}; re-ranking needs result lists or vectors")
        self.settings, self.subject, self.benchmark = settings, subject, benchmark
        if benchmark is not None:
            assert isinstance(settings, ExposureMaking)
            self.fit, self.kept = parts(benchmark, settings.share, settings.apart, settings.seed)

    @classmethod
    def named(cls, settings: ListMaking) -> Ordering:
        """The job of these settings, with the system and a benchmark loaded by name."""
        benchmark = load_benchmark(settings.benchmark) if isinstance(settings, ExposureMaking) else None
        return cls(settings, load_subject(settings.subject), benchmark)

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The system, and the benchmark whose lists are read."""
        data = {} if self.benchmark is None else {"benchmark": Input.of(self.benchmark)}
        return {"system": encoder_input(self.subject)} | data

    def plan(self) -> list[Task]:
        """Nothing is computed before lists are asked for, but by the linear program."""
        return [Task("rule", 1, "file") if self.benchmark is None else Task("lists", len(self.fit), "lists")]

    def make(self, work: Work) -> Outcome:
        """Write the rule and the card."""
        work.stage("rule", lambda folder: self._write(work, folder))
        benchmark = "BENCHMARK" if self.benchmark is None else self.benchmark.name
        if self.benchmark is not None and isinstance(self.subject, Encoder):
            benchmark = f"held-out:{work.folder}"
        audit = f"--benchmark {benchmark} --audit prevalence"
        after = {"Judge it": f"equiview audit reranked:{work.folder} {audit}"}
        if self.benchmark is None:
            return Outcome(after=after)
        reached = json.loads((work.folder / REACHED).read_text("utf-8"))
        return Outcome(
            before={"Shares of exposure": "; ".join(map(_said, reached[:NAMED]))},
            after=after | {"And what it was": f"equiview audit {self.subject.name} {audit}"},
        )

    def _write(self, work: Work, folder: Path) -> None:
        chosen = self.settings
        rule = Rule(chosen.method, chosen.by, chosen.depth, chosen.share_of or None)
        if isinstance(chosen, ProtectedMaking):
            rule = replace(rule, protected=chosen.protected, alpha=chosen.alpha)
        if isinstance(chosen, FusionMaking):
            rule = replace(rule, constant=chosen.constant)
        if self.benchmark is not None:
            assert isinstance(chosen, ExposureMaking)
            rule = self._solved(chosen, rule, self.benchmark, work, folder)
        _save(asdict(rule), folder / Reranking.made)
        system = encoder_input(self.subject)
        Reranking(
            parent=Part(name=system.name, fingerprint=system.fingerprint),
            settings=chosen.model_dump(mode="json", exclude={"subject", "benchmark"}),
            versions=dict(self.subject.versions),
        ).save(folder, folder)

    def _solved(
        self, chosen: ExposureMaking, rule: Rule, benchmark: Benchmark, work: Work, folder: Path
    ) -> Rule:
        texts = benchmark.need_texts()
        known = rule.groups_of(texts)
        solved = solve(self._lists(benchmark, known), known.shares, seen(chosen), work.progress)
        reached = [
            {"group": name, "wanted": wanted, "before": before, "after": after}
            for name, wanted, before, after in zip(
                known.names, known.shares.tolist(), solved.before.tolist(), solved.after.tolist(), strict=True
            )
        ]
        reached.sort(key=lambda row: -abs(row["after"] - row["before"]))
        short = [row for row in reached if abs(row["after"] - row["wanted"]) > NEAR * row["wanted"]]
        if short:
            worst = max(short, key=lambda row: abs(row["after"] - row["wanted"]) / row["wanted"])
            notice(
                f"{len(short)} of {len(reached)} groups cannot have their share in lists of {chosen.depth}: "
                f"{_said(worst)}, of {worst['wanted']:.1%} wanted; raise --depth"
            )
        _save(reached, folder / REACHED)
        if isinstance(self.subject, Encoder):
            write_held_out(folder, whole_name(chosen.benchmark), benchmark, self.kept.tolist())
        boosts = np.round(solved.boosts, 9).T.tolist()
        weights = np.round(solved.weights, 9).tolist()
        return replace(rule, boosts=dict(zip(known.names, boosts, strict=True)), weights=weights)

    def _lists(self, benchmark: Benchmark, known: Groups) -> Lists:
        """The lists of the part that is read, as arrays."""
        system = stored(self.subject) if isinstance(self.subject, Encoder) else self.subject
        table = first_lists(system, benchmark, self.settings.depth, self.fit)
        rows = benchmark.need_texts().rows_of(table["item_id"]).to_numpy()
        lists = table["query_id"].rle_id().to_numpy()
        places = table["rank"].to_numpy() - 1
        shape = (len(self.fit), int(places.max()) + 1)
        groups, scores = np.full(shape, -1, dtype=np.int64), np.zeros(shape)
        groups[lists, places] = known.rows[rows]
        scores[lists, places] = table["score"].to_numpy()
        return Lists(groups, scores)


def seen(chosen: ExposureMaking) -> NDArray[np.float64]:
    """How much each rank counts `(depth,)`: as in DCG as far as the cutoff, and not at all below it."""
    ranks = np.arange(1, chosen.depth + 1)
    return np.where(ranks <= chosen.cutoff, 1 / np.log2(ranks + 1), 0.0)


def _said(row: dict[str, Any]) -> str:
    return f"{row['group']} {row['before']:.1%} to {row['after']:.1%}"


def _save(content: Any, path: Path) -> None:
    write_bytes(json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n", path)
