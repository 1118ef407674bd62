"""Measures by name of lists by name: ids become row numbers here, and metrics take it from there.

What is not needed is not looked at: a relevant document is looked up in its list, and its rank counted among
the numbers there, so that nothing is sorted for it and hardly any name is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.errors import InputError, unknown_name
from equiview.metrics import (
    accuracy_at_k,
    average_precision_at_k,
    dlbkl,
    lbkl,
    ndcg_at_k,
    single_group_share,
)
from equiview.scoring.lists import Hits, Lists, lists_of
from equiview.scoring.read import groups_of, relevant_of

Values: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[np.int64]
Wanted: TypeAlias = dict[str, tuple[str, int | None]]
"""Name, measure and cutoff of each column."""
CELLS = 2**18
"""Scores that are looked at together, so that they lie in a cache."""
JUDGED: dict[str, Callable[[NDArray[np.bool_], int, Numbers], Values]] = {
    "accuracy": lambda relevant, k, _: accuracy_at_k(relevant, k),
    "ndcg": lambda relevant, k, n: ndcg_at_k(relevant, k, n_relevant=n),
    "ap": lambda relevant, k, n: average_precision_at_k(relevant, k, denominator="relevant", n_relevant=n),
}
GROUPED: dict[str, Callable[[Numbers, int], Values]] = {
    "lbkl": lbkl,
    "dlbkl": dlbkl,
    "single_group": lambda groups, _: single_group_share(groups),
}


def evaluate(
    run: Any, measures: str | Sequence[str], *, qrels: Any = None, groups: Any = None, partial: bool = False
) -> pl.DataFrame:
    """Score result lists: a row for each query, in the order of `run`, a column for each of `measures`.

    `run` is `{query: {document: score}}`, a table (polars, pandas, Arrow) with columns `query_id`, `item_id`
    or `doc_id`, and `rank` or `score`, or the file of a run as `run:FILE` reads it. The highest score comes
    first; equal ones keep the order in which they are given. `qrels` is `{query: {document: grade}}`, a table
    with `relevance`, or a file of TREC: what is judged above 0 is relevant, all alike. `groups` is
    `{document: group}`, or a table with `group`; the groups are those named there.

    Measures are `NAME@K`: `ndcg` by the ideal order of all that is relevant, `ap` over all that is relevant
    (trec_eval's `map_cut`, and without `@K` its `map`) and `accuracy` take `qrels`; `lbkl`, `dlbkl` and
    `single_group` take `groups`, and lists of K results or more. `equiview.metrics` says what they are.

    A query without a list, or without a relevant document, is an InputError, unless `partial`, which leaves
    it out; so are a score that is no finite number and a document of no group among the first K.

    >>> run = {"q1": {"a": 0.9, "b": 0.7, "c": 0.5}, "q2": {"c": 2, "a": 3, "b": 1}}
    >>> qrels = {"q1": {"b": 1}, "q2": {"a": 1, "x": 1}}
    >>> found = evaluate(run, ["ap", "lbkl@2"], qrels=qrels, groups={"a": "en", "b": "en", "c": "sw"})
    >>> found.with_columns(pl.col("lbkl@2").round(3)).rows()
    [('q1', 0.5, 9.668), ('q2', 0.5, 0.0)]
    """
    wanted = {name: _parsed(name) for name in ([measures] if isinstance(measures, str) else measures)}
    judged: Wanted = {name: what for name, what in wanted.items() if what[0] in JUDGED}
    grouped: Wanted = {name: what for name, what in wanted.items() if what[0] in GROUPED}
    for given, what, needing in ((qrels, "qrels", judged), (groups, "groups", grouped)):
        if given is None and needing:
            raise InputError(f"measure {next(iter(needing))!r} needs {what}")
    lists, parts = lists_of(run), []
    if judged:
        relevant = relevant_of(qrels)
        lists = lists.of(_both(lists.queries, relevant, partial))
        parts.append(_judged(lists, judged, [relevant[query] for query in lists.queries]))
    lists.check()
    if grouped:
        parts.append(_grouped(lists, grouped, groups_of(groups)))
    columns = {name: np.empty(len(lists.queries)) for name in wanted}
    for block in blocks(lists.lengths):
        scores = lists.table(block)
        for part in parts:
            for name, values in part(block, scores):
                columns[name][block] = values
    return pl.DataFrame({"query_id": list(map(str, lists.queries)), **columns})


def _parsed(name: str) -> tuple[str, int | None]:
    """The measure that is meant, and its cutoff."""
    measure, at, cutoff = name.partition("@")
    if measure not in JUDGED and measure not in GROUPED:
        raise unknown_name("measure", measure, [*JUDGED, *GROUPED])
    if not at and measure == "ap":
        return measure, None
    if not cutoff.isascii() or not cutoff.isdecimal() or not int(cutoff):
        raise InputError(f"measure {name!r}: its cutoff must be a whole number from 1, as in {measure}@10")
    return measure, int(cutoff)


def _both(asked: list[Any], relevant: Mapping[Any, Any], partial: bool) -> list[Any]:
    """The queries with a list and a relevant document."""
    both = [query for query in asked if relevant.get(query)]
    if partial:
        if not both:
            raise InputError("no query has both a list and a relevant document")
        return both
    leave = "partial=True leaves such queries out"
    if len(both) < len(asked):
        query = next(query for query in asked if not relevant.get(query))
        what = "no document is judged relevant" if query in relevant else "it is not judged"
        raise InputError(f"query {query!r}: {what}; {leave}")
    if len(both) < sum(map(bool, relevant.values())):
        have = set(asked)
        query = next(query for query, some in relevant.items() if some and query not in have)
        raise InputError(f"query {query!r} is judged but has no list; {leave}")
    return both


def _judged(
    lists: Lists, wanted: Wanted, relevant: list[Any]
) -> Callable[[slice, Values], Iterator[tuple[str, Values]]]:
    """What gives the columns that take judgements for a block of lists and their table of scores."""
    hits = lists.hits(relevant)
    counts = np.fromiter(map(len, relevant), np.int64, len(relevant))

    def columns(block: slice, scores: Values) -> Iterator[tuple[str, Values]]:
        reach = max(scores.shape[1], int(counts[block].max()))  # a cutoff beyond it changes nothing
        table = np.zeros((len(scores), reach), dtype=np.bool_)
        table[_ranks(lists, hits, block, scores)] = True
        for name, (measure, k) in wanted.items():
            yield name, JUDGED[measure](table, min(k or reach, reach), counts[block])

    return columns


def _ranks(lists: Lists, hits: Hits, block: slice, scores: Values) -> tuple[Numbers, Numbers]:
    """Row in the block, and rank from 0, of each hit."""
    low, high = np.searchsorted(hits.rows, [block.start, block.stop])
    rows, own = hits.rows[low:high] - block.start, hits.scores[low:high, None]
    of_list = scores[rows]
    ranks = _counted(of_list > own)
    for hit in np.flatnonzero(_counted(of_list >= own) > ranks + 1).tolist():
        place = lists.documents(int(hits.rows[low + hit])).index(hits.documents[low + hit])
        ranks[hit] += np.count_nonzero(of_list[hit, :place] == own[hit])
    return rows, ranks


def _counted(flags: NDArray[np.bool_]) -> Numbers:
    """How many of each row are true; where a byte holds the number, added up as bytes, which is faster."""
    if flags.shape[1] < 256:
        return np.asarray(np.einsum("ij->i", flags.view(np.uint8)), dtype=np.int64)
    return np.asarray(np.count_nonzero(flags, axis=1), dtype=np.int64)


def _grouped(
    lists: Lists, wanted: Wanted, groups: Mapping[Any, Any]
) -> Callable[[slice, Values], Iterator[tuple[str, Values]]]:
    """What gives the columns that take groups for a block of lists and their table of scores."""
    names = group_names(groups)
    codes_of = first_groups(lists, groups, names, max(k or 1 for _, k in wanted.values()))

    def columns(block: slice, scores: Values) -> Iterator[tuple[str, Values]]:
        codes = codes_of(block, scores)
        for name, (measure, k) in wanted.items():
            yield name, GROUPED[measure](codes[:, :k], len(names))

    return columns


def group_names(groups: Mapping[Any, Any]) -> list[Any]:
    """The groups that documents are of, in their order."""
    return sorted(set(groups.values()) - {None}, key=str)


def first_groups(
    lists: Lists, groups: Mapping[Any, Any], names: Sequence[Any], k: int
) -> Callable[[slice, Values], Numbers]:
    """What gives the places in `names` of the groups of the first `k` `(n_lists, k)`, block by block.

    It takes a block of lists and their table of scores. InputError for a list that is shorter than `k`, and
    for a document of no group among the first.
    """
    code_of = {name: code for code, name in enumerate(names)}
    if (short := np.flatnonzero(lists.lengths < k)).size:
        query, length = lists.queries[short[0]], lists.lengths[short[0]]
        raise InputError(f"query {query!r}: {length} results, and {k} are needed")

    def codes(block: slice, scores: Values) -> Numbers:
        items = lists.best(block, _order(scores, k), k)
        try:
            found = itemgetter(*items, items[0])(groups)[:-1]  # one more, so that one alone is a tuple too
            return np.fromiter(map(code_of.__getitem__, found), np.int64, len(found)).reshape(-1, k)
        except KeyError:
            place = next(place for place, item in enumerate(items) if groups.get(item) is None)
            query = lists.queries[block.start + place // k]
            raise InputError(f"query {query!r}: document {items[place]!r} is of no group") from None

    return codes


def _order(scores: Values, k: int) -> Numbers | None:
    """Places of the `k` best of each row, equal ones in their order; None where these are the first."""
    if (scores[:, 1:] <= scores[:, :-1]).all():
        return None
    width = scores.shape[1]
    if k < width:
        falling = -np.sort(-scores, axis=1)
        if (falling[:, :k] > falling[:, 1 : k + 1]).all():  # no ties, which a partition would shuffle
            some = np.argpartition(-scores, k, axis=1)[:, :k]
            inner = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1)
            return np.take_along_axis(some, inner, axis=1)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def blocks(lengths: Numbers) -> Iterator[slice]:
    """Runs of lists whose table has at most `CELLS` cells, or of one list."""
    start, widest = 0, 0
    for row, length in enumerate(lengths.tolist()):
        widest = max(widest, length)
        if row > start and (row + 1 - start) * widest > CELLS:
            yield slice(start, row)
            start, widest = row, length
    yield slice(start, len(lengths))
