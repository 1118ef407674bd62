"""`reranked:DIR`: the lists of another system in another order, by what group each result is of.

The folder is made by `equiview mitigate METHOD`; it holds the rule, no lists, so that any benchmark can be
asked of it. An encoder's lists are ranked from its vectors. `subject=NAME` gives another place of the system.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from equiview.benchmarks import Benchmark
from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.languages import tiers_of
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.search import top_k
from equiview.search.scaling import comparable
from equiview.subjects.base import Subject, of_inner
from equiview.subjects.encoders.base import Encoder
from equiview.subjects.lists.base import ResultLists
from equiview.subjects.load import load_subject
from equiview.subjects.orders import TOWARDS, Rows, Shares, boosted, fa_ir, fused
from equiview.subjects.trained import Derived, DerivedCard, check_same


class Reranking(DerivedCard):
    """The content of `reranking.json`: whose lists, and how they are ordered."""

    file: ClassVar[str] = "reranking.json"
    what: ClassVar[str] = "re-ranked system"
    made: ClassVar[str] = "rule.json"


@dataclass(frozen=True)
class Rule:
    """An order: `method`, by the group in the column `by` of the texts, from the first `depth` results.

    `shares` are what each group is to hold, of those named; empty: its share of the benchmark's texts. FA*IR
    holds the group `protected` to its share at the level `alpha`. `constant` is that of rank fusion. By
    exposure, a list is ordered by its scores plus one of several `boosts` of its groups, each of which a part
    `weights` of all lists takes.
    """

    method: str
    by: str = "language"
    depth: int = 200
    shares: Mapping[str, float] | None = None
    protected: str = ""
    alpha: float = 0.1
    boosts: Mapping[str, Sequence[float]] | None = None
    weights: Sequence[float] = ()
    constant: float = 60.0

    def order(self, query: str, groups: Rows, scores: Shares, known: Groups) -> Rows:
        """The places of one list `(depth,)` in their new order; `groups` are rows of `known`."""
        if self.method == "rrf":
            return fused(groups, scores, self.constant)
        if self.method == "fa-ir":
            protected = known.names.index(self.protected)
            return fa_ir(groups, scores, protected, float(known.shares[protected]), self.alpha)
        if self.boosts is not None:
            chosen = min(int(np.searchsorted(np.cumsum(self.weights), _part(query))), len(self.weights) - 1)
            return boosted(groups, scores, np.array([self.boosts[name][chosen] for name in known.names]))
        return TOWARDS[self.method](groups, scores, known.shares)

    def groups_of(self, texts: Items) -> Groups:
        """The groups of the texts, and the share that each is to hold.

        InputError for more groups than a list has results, for a group of `shares` that no text has, and for
        a text's group that `shares` or `boosts` do not name.
        """
        if self.by == "tier":
            values = tiers_of(texts.table["language"], texts.source)
        else:
            values = texts.labels(self.by)
        if values.null_count():
            row = values.is_null().arg_true()[0]
            raise InputError(f"{texts.source}: text {texts.ids[row]!r} has no {self.by}")
        names, rows = np.unique(values.to_numpy(), return_inverse=True)
        if len(names) > self.depth:
            raise InputError(
                f"{texts.source}: has {len(names)} groups by {self.by}, more than the {self.depth} results "
                "that are put in order; raise --depth, or group by tier"
            )
        for given, what in ((self.shares, "shares"), (self.boosts, "boosts")):
            if given and set(given) != set(names):
                odd = sorted(set(given) ^ set(names))
                raise InputError(
                    f"{what} by {self.by} are of {', '.join(sorted(given))}; {texts.source} has "
                    f"{', '.join(names)}: {', '.join(odd)} is in one alone"
                )
        if self.method == "fa-ir" and self.protected not in names:
            raise InputError(
                f"{texts.source}: no text has {self.by} {self.protected!r}; there are {', '.join(names)}"
            )
        shares = np.bincount(rows) / len(rows)
        if self.shares:
            shares = np.array([self.shares[name] for name in names])
        return Groups(tuple(names.tolist()), rows, shares / shares.sum())


@dataclass(frozen=True)
class Groups:
    """The names of groups, the number of each text's, and what share of the results each is to hold."""

    names: tuple[str, ...]
    rows: Rows
    shares: Shares


def _part(query: str) -> float:
    """A number from 0 to 1 that is a query's own, evenly spread over queries."""
    return int(fingerprint("order", query), 16) / 2**64


def first_lists(
    subject: Subject, benchmark: Benchmark, depth: int, chosen: Rows | None = None
) -> pl.DataFrame:
    """The first results of a system for each image, or for the rows `chosen` of them; a row a result.

    InputError for a subject that gives neither lists nor vectors, and as for its lists.
    """
    queries = benchmark.images if chosen is None else benchmark.images.take(chosen)
    if isinstance(subject, ResultLists):
        lists = subject.lists(benchmark, depth)
        return lists if chosen is None else lists.filter(pl.col("query_id").is_in(queries.ids.implode()))
    if not isinstance(subject, Encoder):
        raise InputError(f"{subject.name!r} is {subject.kind}; re-ranking needs result lists or vectors")
    texts = benchmark.need_texts()
    images, vectors = (comparable(subject, items) for items in (queries, texts))
    found = top_k(images, vectors, min(depth, len(texts)))
    table = found.table(queries.ids, texts.ids)
    return table.with_columns(row=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))


class Reranked(Derived, ResultLists):
    """A system's lists in another order."""

    versions = of_inner("versions")

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, options = split_argument(argument, "reranked", ("subject",))
        if not name:
            raise InputError("reranked: name the folder of a re-ranking, as in reranked:DIR")
        folder = Path(name).expanduser()
        self.card = Reranking.read(folder)
        self.rule = Rule(**json.loads(content_of(folder / Reranking.made)))
        called = options.get("subject", self.card.parent.name)
        self.inner = load_subject(called)
        check_same(called, self.inner.fingerprint, self.card.parent, folder, "system")
        self.source = f"reranked:{folder}"

    @property
    def about(self) -> str:
        """Whose lists these are, and their order."""
        return f"{self.card.parent.name}, first {self.rule.depth} in the order {self.rule.method}"

    def lists(self, benchmark: Benchmark, k: int | None = None) -> pl.DataFrame:
        """The lists in their new order as far as rank `k`; InputError as for the system itself."""
        before = first_lists(self.inner, benchmark, self.rule.depth)
        texts = benchmark.need_texts()
        known = self.rule.groups_of(texts)
        rows = texts.rows_of(before["item_id"]).to_numpy()
        parts = []
        for part in before.with_columns(group=known.rows[rows]).partition_by("query_id", maintain_order=True):
            order = self.rule.order(
                part["query_id"][0],
                part["group"].to_numpy(),
                part["score"].to_numpy().astype(np.float64),
                known,
            )
            parts.append(part[order].with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)))
        made = pl.concat(parts).with_columns(score=-pl.col("rank").cast(pl.Float64)).drop("group")
        return made if k is None else made.filter(pl.col("rank") <= k)
