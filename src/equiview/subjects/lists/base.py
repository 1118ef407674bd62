"""A system that is known by its result lists alone, and how one is added.

It has one method, `lists`: for each image of a benchmark the texts that it returns, best first. It has no
vectors, so audits of vectors refuse it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark
from equiview.data.arguments import count_option
from equiview.errors import InputError
from equiview.subjects.base import Subject


class ResultLists(Subject):
    """A system that is known by the lists it returns."""

    kind = "result lists"
    source: str = ""
    """Its name in errors: a file, a database."""

    @abstractmethod
    def lists(self, benchmark: Benchmark, k: int | None = None) -> pl.DataFrame:
        """The lists as far as rank `k`: query_id, rank (from 1), item_id, score (higher is better).

        Equally deep, in order of the benchmark's images. InputError when they do not fit the benchmark.
        """

    def vectors(self, benchmark: Benchmark) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Vectors of images and texts by whose dot products it ranks; None where they are not at hand."""
        return None


def depth_option(options: Mapping[str, str], scheme: str) -> int | None:
    """The rank at which the option `depth` cuts every list, None where it is not given."""
    return count_option(options, "depth", 1, repr(scheme)) if "depth" in options else None


def fitting(lists: pl.DataFrame, benchmark: Benchmark, source: str, *, partial: bool = False) -> pl.DataFrame:
    """`lists` if they are of this benchmark and equally deep, queries in order of its images.

    InputError for a query or an item that the benchmark does not have, for lists of unequal depth, and for
    an image without a list unless `partial`.
    """
    for column, items in (("query_id", benchmark.images), ("item_id", benchmark.need_texts())):
        strangers = lists.filter(~pl.col(column).is_in(items.ids.implode()))
        if len(strangers):
            first = strangers.row(0, named=True)
            raise InputError(
                f"{source}, row {first['row']}: {column} {first[column]!r} is not in {items.source} "
                f"({strangers[column].n_unique()} such ids); {_nearest(first[column], items.ids)}"
            )
    depths = lists.group_by("query_id", maintain_order=True).agg(pl.col("rank").max())
    deepest = max(depths["rank"].to_list())
    shallow = depths.filter(pl.col("rank") < deepest).sort("rank", maintain_order=True)
    if len(shallow):
        query, least = shallow.row(0)
        raise InputError(
            f"{source}: query {query!r} has {least} ranks, others have {deepest}; lists must be equally "
            f"deep, and {len(shallow)} of {len(depths)} are shorter: take those out and audit the others "
            f"with the option partial=yes, or cut all with the option depth={least}"
        )
    unanswered = benchmark.images.ids.filter(~benchmark.images.ids.is_in(depths["query_id"].implode()))
    if len(unanswered) and not partial:
        raise InputError(
            f"{source}: has no list for {unanswered[0]!r} ({len(unanswered)} of {len(benchmark.images)} "
            "queries have none); the option partial=yes audits the others"
        )
    places = pl.DataFrame({"query_id": benchmark.images.ids}).with_row_index("place")
    return lists.join(places, on="query_id").sort("place", "rank").drop("place")


def _nearest(stranger: str, ids: pl.Series) -> str:
    """What ids look like that are known, so that it is seen in what those of a file differ."""
    whole = stranger.removesuffix(".0")
    if whole != stranger and whole in ids:
        return f"there it is {whole!r}, so write ids without a decimal point"
    return f"ids there are such as {ids[0]!r}"
