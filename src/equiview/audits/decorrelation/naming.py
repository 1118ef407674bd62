"""Which objects captions name, and how often captions of one kind name an object that is gone.

Captions are of one kind, for an image, when they name the same of the objects that are still there and as
many other objects. A system that knows what is there, and nothing of what usually comes with it, has no
reason to prefer one of a kind over another. So it names what is gone as often as the captions of the kind do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

Rows = NDArray[np.int64]
BITS = 24
"""Classes that are counted at a time."""


@dataclass(frozen=True)
class Pool:
    """Captions by the set of classes that each names, of which there are far fewer than captions.

    `set_of` `(n_captions,)` is a row of `named` `(n_sets, n_classes)`; `size` `(n_sets,)` counts captions.
    """

    classes: dict[str, int]
    set_of: Rows
    named: NDArray[np.bool_]
    size: Rows

    @classmethod
    def of(cls, text_ids: pl.Series, mentions: pl.DataFrame, classes: Sequence[str]) -> Pool:
        """Captions by id in order; `mentions` has `text_id` and `object`; other classes may be named too."""
        known = sorted({*classes, *mentions["object"].unique()})
        column = {name: place for place, name in enumerate(known)}
        # The classes of a caption, then each set once, in order of first appearance.
        sets = mentions.group_by("text_id", maintain_order=True).agg(pl.col("object").unique().sort())
        every = pl.DataFrame({"text_id": text_ids}).join(
            sets, on="text_id", how="left", maintain_order="left"
        )
        every = every.with_columns(key=pl.col("object").list.join("\x1f").fill_null(""))
        distinct = every.unique("key", keep="first", maintain_order=True).with_row_index("set")
        set_of = every.join(distinct.select("key", "set"), on="key", how="left", maintain_order="left")["set"]
        named = np.zeros((len(distinct), len(known)), dtype=bool)
        for row, objects in enumerate(distinct["object"]):
            for name in () if objects is None else objects:
                named[row, column[name]] = True
        rows = set_of.to_numpy().astype(np.int64)
        return cls(column, rows, named, np.bincount(rows, minlength=len(named)))

    @cached_property
    def _by_class(self) -> NDArray[np.bool_]:
        """`named` by class, `(n_classes, n_sets)`, with each class contiguous in memory."""
        return np.ascontiguousarray(self.named.T)

    @cached_property
    def _lengths(self) -> Rows:
        """How many classes each set has."""
        return np.asarray(self.named.sum(axis=1), dtype=np.int64)

    def columns(self, names: Sequence[str]) -> Rows:
        """The columns of classes by name."""
        return np.array([self.classes[name] for name in names], dtype=np.int64)

    def view(self, removed: Sequence[str], kept: Sequence[str]) -> View:
        """What an image without `removed` and with `kept` asks of every set of classes."""
        of_removed, of_kept = (self._by_class[self.columns(names)] for names in (removed, kept))
        gone, here = of_removed.any(axis=0), of_kept.sum(axis=0)
        others = self._lengths - here
        kind = _numbered(of_kept.T) * (int(others.max(initial=0)) + 1) + others
        total = np.bincount(kind, weights=self.size)
        naming = np.bincount(kind, weights=self.size * gone)
        expected = naming[kind] / np.maximum(total[kind], 1)
        return View(np.asarray(gone), here, expected, self.size, len(kept))


@dataclass(frozen=True)
class View:
    """By set of classes: does it name what is gone, how many that are there, how often its kind does.

    All `(n_sets,)`; `size` counts the captions of each set.
    """

    gone: NDArray[np.bool_]
    here: Rows
    expected: NDArray[np.float64]
    size: Rows
    n_kept: int

    def counts(self) -> dict[str, int]:
        """How many captions of the pool are right, name what is gone, and name what is here."""
        right = ~self.gone & (self.here > 0)
        return {
            "pool": int(self.size.sum()),
            "right_any": int(self.size[right].sum()),
            "right_all": int(self.size[right & (self.here == self.n_kept)].sum()),
            "naming_removed": int(self.size[self.gone].sum()),
            "naming_kept": int(self.size[self.here > 0].sum()),
        }


def _numbered(rows: NDArray[np.bool_]) -> Rows:
    """A number for each row, the same for equal rows, `(n,)`."""
    number = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, rows.shape[1], BITS):  # sorting numbers is far faster than sorting rows
        part = rows[:, start : start + BITS]
        both = number * 2 ** part.shape[1] + part @ (1 << np.arange(part.shape[1]))
        number = np.unique(both, return_inverse=True)[1].reshape(-1)
    return number


def chance_odmap(right: NDArray[np.int64], pool: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """What ODmAP@k is on average when the pool is ranked at random, exactly, `(n_queries,)`.

    Of `pool` captions `right` are right. At rank i a caption is right with probability p = right / pool, and
    then each of the i - 1 before it with (right - 1) / (pool - 1).

    >>> chance_odmap(np.array([1]), np.array([2]), 1).tolist()
    [0.5]
    """
    p = right / pool
    before = np.where(pool > 1, (right - 1) / np.maximum(pool - 1, 1), 0.0)
    ranks = np.arange(1, k + 1)[:, None]
    return np.asarray((p * (1 + (ranks - 1) * np.maximum(before, 0)) / ranks).mean(axis=0))
