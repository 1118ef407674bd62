"""Measures of groups beside those of ir-measures: by hand, and beside equiview's own functions."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pytest
from ir_measures import Qrel, ScoredDoc, nDCG

from equiview.errors import InputError
from equiview.ir_provider import DLBKL, LBKL, MEASURES, Exposure, GroupShare, Skew, pipeline
from equiview.metrics import dlbkl, ndkl

GROUPS = {"a": "en", "b": "en", "c": "sw", "d": "sw"}
QRELS = [Qrel("q1", "a", 1), Qrel("q2", "c", 1)]
RUN = [
    *(ScoredDoc("q1", document, score) for document, score in (("a", 3.0), ("b", 2.0), ("c", 1.0))),
    *(ScoredDoc("q2", document, score) for document, score in (("d", 1.0), ("a", 2.0), ("c", 0.5))),
]


def test_values_by_hand() -> None:
    # q1 shows en, en, sw and q2 en, sw, sw: of three places one and two are Swahili.
    found = {
        (str(metric.measure), metric.query_id): metric.value
        for metric in pipeline(GROUPS).iter_calc(
            [GroupShare(group="sw") @ 3, Skew(group="sw") @ 2, nDCG @ 3], QRELS, RUN
        )
    }
    assert found["GroupShare(group='sw')@3", "q1"] == pytest.approx(1 / 3)
    assert found["GroupShare(group='sw')@3", "q2"] == pytest.approx(2 / 3)
    assert found["Skew(group='sw')@2", "q1"] == -math.inf
    assert found["Skew(group='sw')@2", "q2"] == 0
    assert found["nDCG@3", "q1"] == 1


def test_values_are_those_of_the_functions() -> None:
    lists = np.array([[0, 0, 1], [0, 1, 1]])
    found = pipeline(GROUPS).calc_aggregate([DLBKL @ 3, ir_measures.parse_measure("NDKL@3")], QRELS, RUN)
    assert found[DLBKL @ 3] == pytest.approx(dlbkl(lists, 2).mean())
    assert found[ir_measures.parse_measure("NDKL@3")] == pytest.approx(ndkl(lists, [0.5, 0.5]).mean())


def test_every_measure_has_a_value_and_can_be_written_down() -> None:
    wanted = [
        (measure(group="sw") if "group" in measure.SUPPORTED_PARAMS else measure) @ 3 for measure in MEASURES
    ]
    found = pipeline(GROUPS).calc_aggregate(wanted, QRELS, RUN)
    assert set(found) == set(wanted) == {ir_measures.parse_measure(str(measure)) for measure in wanted}
    assert not any(math.isnan(value) for value in found.values())


def test_a_document_twice_in_a_list_is_refused() -> None:
    with pytest.raises(InputError, match="query 'q1': document 'a' stands there twice"):
        pipeline(GROUPS).calc_aggregate([LBKL @ 2], QRELS, [*RUN, ScoredDoc("q1", "a", 0.1)])


def test_the_pool_is_what_the_groups_say() -> None:
    groups = GROUPS | {f"e{n}": "en" for n in range(4)}
    pool = pipeline(groups).calc_aggregate([LBKL(prior="pool") @ 3], QRELS[:1], RUN)
    share = 6 / 8
    by_hand = share * math.log(share / (2 / 3)) + (1 - share) * math.log((1 - share) / (1 / 3))
    assert pool[LBKL(prior="pool") @ 3] == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("measure", "groups", "said"),
    [
        (LBKL @ 4, GROUPS, "query 'q1': 3 results, and 4 are needed"),
        (LBKL @ 2, {"a": "en", "c": "sw"}, "document 'b' is of no group"),
        (LBKL @ 2, {"a": "en", "b": "en"}, "1 groups of documents"),
        (Exposure(group="fr") @ 2, GROUPS, "no document is of the group 'fr' (en, sw)"),
    ],
)
def test_what_is_wrong_is_said(measure: ir_measures.Measure, groups: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as found:
        pipeline(groups).calc_aggregate([measure], QRELS, RUN)
    assert said in str(found.value)


def test_a_query_without_a_list_is_left_out() -> None:
    assert pipeline(GROUPS).calc_aggregate([LBKL @ 3], [*QRELS, Qrel("q3", "a", 1)], RUN) == (
        pipeline(GROUPS).calc_aggregate([LBKL @ 3], QRELS, RUN)
    )
