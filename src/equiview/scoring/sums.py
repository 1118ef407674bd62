"""Scores of lists in parts: what each machine adds up of its queries, and what parts give together.

Parts merged in any order, of any split of the queries, are the whole to the byte: sums are exact, and what a
query counts in a replicate of the bootstrap depends on the query and the seed alone. How often it is drawn
is Poisson distributed with mean 1, which needs no list of all queries (Hanley and MacGibbon, 2006, for the
bootstrap of data that do not fit in memory; Chamandy et al., 2012, for streams). The fixed point numbers and
the hash that draws are ours.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from equiview.data.verdict import Frozen
from equiview.errors import InputError
from equiview.io.files import content_of, parse_json
from equiview.io.refusals import refused
from equiview.io.tables import write_bytes
from equiview.scoring.measures import GROUPED, evaluate, group_names
from equiview.scoring.read import groups_of
from equiview.stats import interval

TOGETHER = 1024
"""Queries whose weights are multiplied at once: their products stay below 2**53, where floats are exact."""
UNIT = 2.0**-30
"""Of the scores in replicates."""
LARGEST = 2.0**9
"""The largest score that can be added up so."""
FINEST = 2**1074
"""Every float is a whole number of this part of 1."""


class Sums(Frozen):
    """What was added up of the scores of some queries."""

    version: Literal[1] = 1
    measures: tuple[str, ...]
    groups: tuple[str, ...] = Field(description="the groups that measures of groups tell apart")
    seed: int
    n: int = Field(description="queries")
    queries: str = Field(description="their hashes, 8 bytes each, ascending, in base 64")
    totals: dict[str, str] = Field(description="by measure the sum of the scores, a fraction")
    weights: tuple[int, ...] = Field(description="by replicate how many queries were drawn")
    drawn: dict[str, tuple[int, ...]] = Field(description="by measure and replicate their scores, in 2**-30")

    @model_validator(mode="after")
    def _fits_together(self) -> Sums:
        """Refuse what cannot have been written."""
        try:
            whole = len(np.unique(_unpacked(self))) == self.n > 0
            [Fraction(total) for total in self.totals.values()]
        except ValueError:
            whole = False
        lengths = {len(self.weights), *map(len, self.drawn.values())}
        if not whole or len(lengths) > 1 or not set(self.measures) == {*self.totals} == {*self.drawn}:
            raise ValueError("its parts do not fit together")
        return self

    @property
    def content(self) -> bytes:
        """The JSON of which the schema is `equiview schema sums`."""
        return self.model_dump_json().encode()

    def write(self, path: str | Path) -> None:
        """Write it to a file, whole or not at all."""
        write_bytes(self.content, Path(path))

    @classmethod
    def read(cls, path: str | Path) -> Sums:
        """What `write` wrote; InputError for anything else."""
        with refused(lambda first: f"{path}: no sums of scores, or of another version ({first})"):
            return cls.model_validate(parse_json(content_of(Path(path)), str(path)))

    def estimates(self, level: float = 0.95) -> pl.DataFrame:
        """A row for each measure: measure, value (the mean), low, high (percentile bootstrap), n."""
        with np.errstate(invalid="ignore"):  # 0 / 0: of few queries none may be drawn
            means = np.array([self.drawn[name] for name in self.measures]) * UNIT / np.array(self.weights)
        low, high = interval(means.T, level)
        values = [float(Fraction(self.totals[name]) / self.n) for name in self.measures]
        return pl.DataFrame(
            {"measure": self.measures, "value": values, "low": low, "high": high, "n": [self.n] * len(values)}
        )


def partial_sums(
    run: Any,
    measures: str | Sequence[str],
    *,
    qrels: Any = None,
    groups: Any = None,
    partial: bool = False,
    replicates: int = 1000,
    seed: int = 0,
) -> Sums:
    """Score the lists of a part of the queries as `evaluate` does, and add up.

    All parts of a whole take the same measures, groups, seed and number of replicates. InputError as for
    `evaluate`, and for a score of 512 or more.

    >>> run = {"q1": {"a": 0.9, "b": 0.7}, "q2": {"b": 2, "a": 1}}
    >>> parts = [partial_sums({q: run[q]}, "ap", qrels={q: {"b": 1}}) for q in run]
    >>> whole = partial_sums(run, "ap", qrels={q: {"b": 1} for q in run})
    >>> merged(parts) == merged(parts[::-1]) == whole
    True
    >>> whole.totals, whole.n
    ({'ap': '3/2'}, 2)
    """
    table = evaluate(run, measures, qrels=qrels, groups=groups, partial=partial)
    queries, scores = table["query_id"].to_list(), table.drop("query_id")
    names, matrix = scores.columns, scores.to_numpy()
    if (np.abs(matrix) >= LARGEST).any():
        raise InputError(f"a score is {np.abs(matrix).max()}; sums are kept of scores below {LARGEST:g}")
    if replicates < 1:
        raise InputError(f"replicates must be 1 or more; got {replicates}")
    weights, drawn = _replicates(queries, matrix, replicates, seed)
    told_apart = (
        group_names(groups_of(groups)) if {name.partition("@")[0] for name in names} & {*GROUPED} else ()
    )
    return Sums(
        measures=tuple(names),
        groups=tuple(map(str, told_apart)),
        seed=seed,
        n=len(queries),
        queries=_packed(np.sort(_hashes(queries))),
        totals={name: str(Fraction(_total(scores[name].to_list()), FINEST)) for name in names},
        weights=weights,
        drawn=dict(zip(names, drawn, strict=True)),
    )


def merged(parts: Sequence[Sums]) -> Sums:
    """The sums of all queries of parts, which are those of no part, nor twice of one.

    InputError for no part, for parts that were not scored alike, and for a query that is in two of them.
    """
    if not parts:
        raise InputError("there are no sums to merge")
    first = parts[0]
    for number, part in enumerate(parts[1:], start=2):
        for what in ("measures", "groups", "seed"):
            one, other = getattr(first, what), getattr(part, what)
            if one != other:
                raise InputError(f"sums 1 and {number} differ in {what}: {one} and {other}")
        if len(first.weights) != len(part.weights):
            raise InputError(
                f"sums 1 and {number} are of {len(first.weights)} and {len(part.weights)} replicates"
            )
    queries = np.sort(np.concatenate([_unpacked(part) for part in parts]))
    if twice := int(np.count_nonzero(queries[1:] == queries[:-1])):
        raise InputError(f"{twice} queries are in more than one of the sums, which would count them twice")
    return first.model_copy(
        update={
            "n": sum(part.n for part in parts),
            "queries": _packed(queries),
            "totals": {
                name: str(sum((Fraction(part.totals[name]) for part in parts), Fraction(0)))
                for name in first.measures
            },
            "weights": _added([part.weights for part in parts]),
            "drawn": {name: _added([part.drawn[name] for part in parts]) for name in first.measures},
        }
    )


def _replicates(
    queries: Sequence[str], matrix: NDArray[np.float64], replicates: int, seed: int
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """By replicate, how many queries are drawn, and by column their scores in `UNIT`."""
    columns = np.concatenate([np.ones((len(matrix), 1)), np.rint(matrix / UNIT)], axis=1)
    added = np.zeros((replicates, columns.shape[1]), dtype=np.object_)  # whole numbers of any size
    for start in range(0, len(queries), TOGETHER):
        some = queries[start : start + TOGETHER]
        bits = b"".join(
            hashlib.shake_128(f"{seed}\0{query}".encode()).digest(2 * replicates) for query in some
        )
        times = _times_drawn()[np.frombuffer(bits, "<u2").reshape(len(some), replicates)]
        added += (times.T @ columns[start : start + TOGETHER]).astype(np.int64).astype(np.object_)
    weights, *drawn = (tuple(column) for column in added.T.tolist())
    return weights, drawn


@cache
def _times_drawn() -> NDArray[np.float64]:
    """How often each number of two bytes draws a query: 0 to 8 times, Poisson distributed."""
    below = np.cumsum([math.exp(-1) / math.factorial(times) for times in range(8)]) * 2**16
    return np.searchsorted(np.floor(below), np.arange(2**16), side="right").astype(np.float64)


def _hashes(queries: Sequence[str]) -> NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(query.encode(), digest_size=8).digest() for query in queries)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _packed(hashes: NDArray[np.uint64]) -> str:
    return base64.b64encode(hashes.astype("<u8").tobytes()).decode()


def _unpacked(part: Sums) -> NDArray[np.uint64]:
    return np.frombuffer(base64.b64decode(part.queries), "<u8").astype(np.uint64)


def _total(values: Sequence[float]) -> int:
    """The exact sum of floats, in `1 / FINEST`."""
    ratios = map(float.as_integer_ratio, values)
    return sum(number * (FINEST // below) for number, below in ratios)


def _added(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True)))
