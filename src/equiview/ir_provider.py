"""Whom result lists show, as measures of `ir-measures`: LBKL, DLBKL, exposure, Skew and NDKL beside nDCG.

    import ir_measures
    from equiview.ir_provider import DLBKL, Exposure, pipeline

    measures = [DLBKL @ 10, Exposure(group="sw") @ 10, ir_measures.nDCG @ 10]
    pipeline({"doc1": "sw", "doc2": "en"}).calc_aggregate(measures, qrels, run)

These measures are about groups of documents (their languages, or tiers of them), which qrels do not hold: a
provider is made with them. Values are those of `equiview.metrics`, query by query. Judgements say only which
queries there are. Needs `pip install 'equiview[ir-measures]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from equiview.errors import InputError
from equiview.metrics import (
    dlbkl,
    group_exposure,
    lbkl,
    max_skew,
    ndkl,
    single_group_share,
    skew,
)
from equiview.scoring.lists import lists_of
from equiview.scoring.measures import blocks, first_groups, group_names

try:
    import ir_measures
    from ir_measures import Measure, ParamInfo, measures, providers
    from ir_measures.providers.base import Any as AnyValue
except ImportError:
    raise InputError("measures of lists need ir-measures: pip install 'equiview[ir-measures]'") from None

CUTOFF = ParamInfo(dtype=int, required=True, desc="ranks of each list that count")
GROUP = ParamInfo(dtype=str, required=True, desc="the group of documents that is meant")
PRIOR = ParamInfo(dtype=str, choices=["uniform", "pool"], default="uniform", desc="what a fair list holds")


def _measure(name: str, about: str, **params: ParamInfo) -> Measure:
    """A measure by name, known to `ir_measures.parse_measure` as well."""
    fields = {
        "__name__": name,
        "__doc__": about,
        "NAME": name,
        "PRETTY_NAME": name,
        "SHORT_DESC": about,
        "DEFAULT": float("nan"),
        "SUPPORTED_PARAMS": {"cutoff": CUTOFF} | params,
    }
    made: Measure = type(f"_{name}", (Measure,), fields)()
    if name not in measures.registry:
        measures.register(made)
    return made


LBKL = _measure("LBKL", "how far the mix of groups is from an even one (P, Eq. 1)", prior=PRIOR)
DLBKL = _measure("DLBKL", "the same, upper ranks counting more (P, Eq. 2)", prior=PRIOR)
Exposure = _measure("Exposure", "share that a group holds, upper ranks counting more", group=GROUP)
GroupShare = _measure("GroupShare", "share of the results that a group holds", group=GROUP)
SingleGroup = _measure("SingleGroup", "1 where all results are of one group, else 0")
Skew = _measure("Skew", "ln of a group's share of the results over its share of the pool", group=GROUP)
MaxSkew = _measure("MaxSkew", "the largest Skew of a group")
NDKL = _measure("NDKL", "divergence of every top i from the pool (Geyik et al., 2019)")
MEASURES = (LBKL, DLBKL, Exposure, GroupShare, SingleGroup, Skew, MaxSkew, NDKL)


class GroupProvider(providers.Provider):  # type: ignore[misc]
    """Scores lists by the groups of their documents.

    `groups` names the group of each document of the pool; shares of the pool are counted in it. InputError
    for fewer than two groups, a list with a document that has none or stands there twice, and one shorter
    than the cutoff.
    """

    NAME = "equiview"
    SUPPORTED_MEASURES: ClassVar = [
        type(measure)(**{name: AnyValue() for name in measure.SUPPORTED_PARAMS}) for measure in MEASURES
    ]

    def __init__(self, groups: Mapping[str, str]) -> None:
        super().__init__()
        self.groups = groups
        self.names = group_names(groups)
        if len(self.names) < 2:
            raise InputError(f"{len(self.names)} groups of documents: measures of groups need at least two")
        place = {name: at for at, name in enumerate(self.names)}
        counts = np.bincount([place[name] for name in groups.values()], minlength=len(self.names))
        self.pool = counts / counts.sum()

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> Any:
        return _Evaluator(self, list(measures), qrels)


def pipeline(groups: Mapping[str, str]) -> Any:
    """The measures of groups and all others of `ir-measures` in one provider."""
    others = [entry for entry in ir_measures.DefaultPipeline.providers if entry.NAME != GroupProvider.NAME]
    return providers.FallbackProvider([GroupProvider(groups), *others])


class _Evaluator(providers.Evaluator):  # type: ignore[misc]
    """Scores one run after the other."""

    def __init__(self, provider: GroupProvider, measures: list[Measure], qrels: Any) -> None:
        judged = ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(measures, set(judged))
        self.provider = provider

    def iter_calc(self, run: Any) -> Iterator[Any]:
        """The values of each query that is judged and has a list; one without a list is left out."""
        given = ir_measures.util.RunConverter(run).as_sorteddict()
        rows = [
            (query, entry.doc_id, rank)
            for query in given
            if query in self.qrel_qids
            for rank, entry in enumerate(given[query], start=1)
        ]
        if not rows:
            return
        lists = lists_of(pl.DataFrame(rows, schema=["query_id", "doc_id", "rank"], orient="row"))
        for measure in self.measures:
            of = first_groups(lists, self.provider.groups, self.provider.names, measure["cutoff"])
            for block in blocks(lists.lengths):
                values = VALUES[measure.NAME](self.provider, measure, of(block, lists.table(block)))
                for query, value in zip(lists.queries[block], values.tolist(), strict=True):
                    yield ir_measures.Metric(query_id=query, measure=measure, value=value)


def _place(provider: GroupProvider, measure: Measure) -> int:
    group = measure["group"]
    if group not in provider.names:
        raise InputError(f"{measure}: no document is of the group {group!r} ({', '.join(provider.names)})")
    return provider.names.index(group)


def _divergence(function: Callable[..., Any]) -> Callable[..., Any]:
    def value(provider: GroupProvider, measure: Measure, table: Any) -> Any:
        return function(table, len(provider.names), prior=measure["prior"], pool_shares=provider.pool)

    return value


VALUES: dict[str, Callable[[GroupProvider, Measure, Any], Any]] = {
    "LBKL": _divergence(lbkl),
    "DLBKL": _divergence(dlbkl),
    "Exposure": lambda at, one, t: group_exposure(t, len(at.names), discount="log2")[:, _place(at, one)],
    "GroupShare": lambda at, one, t: group_exposure(t, len(at.names))[:, _place(at, one)],
    "SingleGroup": lambda _, __, t: single_group_share(t),
    "Skew": lambda at, one, t: skew(t, at.pool)[:, _place(at, one)],
    "MaxSkew": lambda at, _, t: max_skew(t, at.pool),
    "NDKL": lambda at, _, t: ndkl(t, at.pool),
}
