"""`reranked:DIR`: the lists of another system in another order, by what group each result is of.

The folder is made by `equiview mitigate METHOD`; it holds the rule, no lists, so that any benchmark can be
asked of it. An encoder's lists are ranked from its vectors. `subject=NAME` gives another place of the system.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.languages import tiers_of
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.search.scaling import comparable
from equiview.search.topk import top_k
from equiview.subjects.base import of_inner, register
from equiview.subjects.encoders.base import Encoder
from equiview.subjects.lists.base import ResultLists
from equiview.subjects.load import load_subject
from equiview.subjects.trained import Derived, DerivedCard, check_same

Rows = NDArray[np.int64]
Shares = NDArray[np.float64]


class Reranking(DerivedCard):
    """The content of `reranking.json`: whose lists, and how they are ordered."""

    file: ClassVar[str] = "reranking.json"
    what: ClassVar[str] = "re-ranked system"
    made: ClassVar[str] = "rule.json"


@dataclass(frozen=True)
class Rule:
    """An order: `method`, by the group in the column `by` of the texts, from the first `depth` results.

    `shares` are what each group is to hold, of those named; empty: its share of the benchmark's texts.
    """

    method: str
    by: str = "language"
    depth: int = 200
    shares: Mapping[str, float] | None = None

    def order(self, groups: Rows, scores: NDArray[np.float64], shares: Shares) -> Rows:
        """The places of one list `(depth,)` in their new order; `groups` are rows of `shares`."""
        return METHODS[self.method](groups, scores, shares)

    def groups_of(self, texts: Items) -> tuple[Rows, Shares]:
        """The number of each text's group, and the share that each group is to hold.

        InputError for a group of `shares` that no text has, or a text's group that `shares` do not name.
        """
        if self.by == "tier":
            values = tiers_of(texts.table["language"], texts.source)
        else:
            values = texts.attribute(self.by).cast(pl.String)
        if values.null_count():
            row = values.is_null().arg_true()[0]
            raise InputError(f"{texts.source}: text {texts.ids[row]!r} has no {self.by}")
        names, rows = np.unique(values.to_numpy(), return_inverse=True)
        if not self.shares:
            return rows, np.bincount(rows) / len(rows)
        if set(self.shares) != set(names):
            odd = sorted(set(self.shares) ^ set(names))
            raise InputError(
                f"shares by {self.by} are of {', '.join(sorted(self.shares))}; {texts.source} has "
                f"{', '.join(names)}: {', '.join(odd)} is in one alone"
            )
        shares = np.array([self.shares[name] for name in names])
        return rows, shares / shares.sum()


def interleave(groups: Rows, scores: NDArray[np.float64], shares: Shares) -> Rows:
    """The best of each group, then the second best of each; those of one place by score."""
    order = np.argsort(-scores, kind="stable")
    by_group = order[np.argsort(groups[order], kind="stable")]
    sizes = np.bincount(groups, minlength=len(shares))
    place = np.empty(len(groups), dtype=np.int64)
    place[by_group] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.lexsort((np.arange(len(groups)), -scores, place))


def fair_topk(groups: Rows, scores: NDArray[np.float64], shares: Shares) -> Rows:
    """Of the first k each group holds its share, rounded down or up, as long as it has results (DetCons).

    Geyik et al. (2019), Algorithm 2: who would fall below its least is next; else, of those below their most,
    the one that will soonest need a place. Where none of these has a result left, the best of the others.
    """
    waiting = [np.flatnonzero(groups == group) for group in range(len(shares))]
    waiting = [rows[np.argsort(-scores[rows], kind="stable")] for rows in waiting]
    left = np.array([len(rows) for rows in waiting])
    taken = np.zeros(len(shares), dtype=np.int64)
    best = np.array([scores[rows[0]] if len(rows) else -np.inf for rows in waiting])
    made = np.empty(len(groups), dtype=np.int64)
    for k in range(1, len(groups) + 1):
        there = taken < left
        least = np.floor(shares * k + ROUNDING)
        below_least, below_most = there & (taken < least), there & (taken < np.ceil(shares * k - ROUNDING))
        if below_least.any():
            chosen = np.argmax(np.where(below_least, best, -np.inf))
        elif below_most.any():
            soonest = np.where(below_most, (least + 1) / np.maximum(shares, ROUNDING), np.inf)
            chosen = np.lexsort((-best, soonest))[0]
        else:
            chosen = np.argmax(np.where(there, best, -np.inf))
        made[k - 1] = waiting[chosen][taken[chosen]]
        taken[chosen] += 1
        best[chosen] = scores[waiting[chosen][taken[chosen]]] if taken[chosen] < left[chosen] else -np.inf
    return made


METHODS: dict[str, Callable[[Rows, NDArray[np.float64], Shares], Rows]] = {
    "interleave": interleave,
    "fair-topk": fair_topk,
}
"""Orders by name."""
ROUNDING = 1e-9
"""By how much a share times a rank may be off by rounding."""


@register(
    "reranked", usage=("reranked:DIR",), about="a system's lists in another order, by `equiview mitigate`"
)
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
        before = self._lists_before(benchmark)
        texts = benchmark.need_texts()
        group_of, shares = self.rule.groups_of(texts)
        rows = texts.rows_of(before["item_id"]).to_numpy()
        parts = []
        for part in before.with_columns(group=group_of[rows]).partition_by("query_id", maintain_order=True):
            order = self.rule.order(
                part["group"].to_numpy(), part["score"].to_numpy().astype(np.float64), shares
            )
            parts.append(part[order].with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int32)))
        made = pl.concat(parts).with_columns(score=-pl.col("rank").cast(pl.Float64)).drop("group")
        return made if k is None else made.filter(pl.col("rank") <= k)

    def _lists_before(self, benchmark: Benchmark) -> pl.DataFrame:
        """The first results of the system, as deep as the rule goes."""
        if isinstance(self.inner, ResultLists):
            return self.inner.lists(benchmark, self.rule.depth)
        assert isinstance(self.inner, Encoder)
        texts = benchmark.need_texts()
        images, vectors = (comparable(self.inner, items) for items in (benchmark.images, texts))
        found = top_k(images, vectors, min(self.rule.depth, len(texts)))
        table = found.table(benchmark.images.ids, texts.ids)
        return table.with_columns(row=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
