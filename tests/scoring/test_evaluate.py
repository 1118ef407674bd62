"""Lists scored by name: by hand, beside a plain loop and pytrec_eval, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import equiview as ev
from equiview.errors import InputError
from equiview.metrics import dlbkl, lbkl
from equiview.scoring import evaluate

RUN = {"q1": {"a": 0.9, "b": 0.7, "c": 0.5}, "q2": {"c": 2, "a": 3, "b": 1}}
QRELS = {"q1": {"b": 1, "c": 0}, "q2": {"a": 1, "x": 2}}
GROUPS = {"a": "en", "b": "en", "c": "sw"}
NAMES = ["accuracy@1", "ndcg@2", "ap", "ap@1", "lbkl@2", "dlbkl@3", "single_group@2"]


def test_values_by_hand() -> None:
    found = ev.evaluate(RUN, NAMES, qrels=QRELS, groups=GROUPS)
    assert found.columns == ["query_id", *NAMES]
    first, second = found.rows(named=True)
    # q1: a b c, of which b is relevant; q2: a c b, of which a is, and x, which it does not show.
    assert (first["accuracy@1"], second["accuracy@1"]) == (0, 1)
    assert first["ndcg@2"] == pytest.approx(1 / math.log2(3))
    assert second["ndcg@2"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert (first["ap"], second["ap"]) == (0.5, 0.5)
    assert (first["ap@1"], second["ap@1"]) == (0, 0.5)
    assert (first["single_group@2"], second["single_group@2"]) == (1, 0)
    assert [first["lbkl@2"], second["lbkl@2"]] == lbkl([[0, 0], [0, 1]], 2).tolist()
    assert [first["dlbkl@3"], second["dlbkl@3"]] == dlbkl([[0, 0, 1], [0, 1, 0]], 2).tolist()


def as_rows(run: dict[str, dict[str, float]], value: str = "score") -> dict[str, list[Any]]:
    """The columns of a table."""
    cells = [(query, item, number) for query, own in run.items() for item, number in own.items()]
    return dict(zip(("query_id", "doc_id", value), map(list, zip(*cells, strict=True)), strict=True))


@pytest.mark.parametrize("kind", [dict, pl.DataFrame, pd.DataFrame])
def test_tables_give_what_dictionaries_give(kind: Any) -> None:
    wanted = evaluate(RUN, NAMES, qrels=QRELS, groups=GROUPS)
    groups = kind({"item_id": list(GROUPS), "group": list(GROUPS.values())})
    run, qrels = kind(as_rows(RUN)), kind(as_rows(QRELS, "relevance"))
    assert evaluate(run, NAMES, qrels=qrels, groups=groups).equals(wanted)
    assert evaluate(RUN, NAMES, qrels=qrels, groups=GROUPS).equals(wanted)
    ranked = as_rows({"q1": {"b": 2, "a": 1, "c": 3}, "q2": {"c": 2, "a": 1, "b": 3}}, "rank")
    assert evaluate(kind(ranked), NAMES, qrels=QRELS, groups=groups).equals(wanted)


def test_files_of_trec_are_read(tmp_path: Any) -> None:
    run, qrels = tmp_path / "system.run", tmp_path / "qrels.txt"
    run.write_text(
        "q1 Q0 a 1 9 x\nq1 Q0 b 2 8 x\nq1 Q0 c 3 7 x\nq2 Q0 a 1 3 x\nq2 Q0 c 2 2 x\nq2 Q0 b 3 1 x\n"
    )
    qrels.write_text("q1 0 b 1\nq1 0 c 0\nq2 0 a 1\nq2 0 x 2\n")
    wanted = evaluate(RUN, NAMES, qrels=QRELS, groups=GROUPS)
    assert evaluate(str(run), NAMES, qrels=qrels, groups=GROUPS).equals(wanted)


def plain(
    run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]], k: int
) -> list[tuple[float, ...]]:
    """NDCG, AP and LBKL as anybody would write them."""
    rows = []
    for query, own in run.items():
        ranked = sorted(own, key=lambda item: -own[item])  # stable: equal ones as they are given
        relevant = {item for item, grade in qrels[query].items() if grade > 0}
        gains = [1 / math.log2(rank + 2) for rank, item in enumerate(ranked[:k]) if item in relevant]
        best = [1 / math.log2(rank + 2) for rank in range(min(k, len(relevant)))]
        ranks = [rank for rank, item in enumerate(ranked, start=1) if item in relevant]
        shares = [sum(int(item[1:]) % 3 == group for item in ranked[:k]) / k for group in range(3)]
        divergence = sum(math.log(1 / 3 / (share or 1e-9)) / 3 for share in shares)
        precision = sum((place + 1) / rank for place, rank in enumerate(ranks)) / len(relevant)
        rows.append((sum(gains) / sum(best), precision, divergence))
    return rows


@given(st.integers(0, 10_000), st.sampled_from([1, 40, 2**18]))
def test_ragged_lists_in_any_order_with_ties(seed: int, cells: int) -> None:
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(int(rng.integers(1, 9))):
        items = [f"d{item}" for item in rng.permutation(30)[: rng.integers(3, 20)]]
        numbers = rng.choice([-0.0, 0.0, 1e-320, -2.5, 7.0, 1e300, *rng.random(5)], len(items))
        run[f"q{query}"] = dict(zip(items, map(float, numbers), strict=True))
        qrels[f"q{query}"] = {f"d{item}": int(rng.integers(0, 2)) for item in rng.integers(0, 30, 6)} | {
            "d0": 1
        }
    groups = {f"d{item}": "abc"[item % 3] for item in range(30)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("equiview.scoring.measures.CELLS", cells)
        found = evaluate(run, ["ndcg@3", "ap", "lbkl@3"], qrels=qrels, groups=groups)
        rows = (
            pl.DataFrame(as_rows(run)).sample(fraction=1, seed=seed)
            if seed % 2
            else pl.DataFrame(as_rows(run))
        )
        mixed: dict[str, dict[str, float]] = {}
        for query, item, score in rows.iter_rows():
            mixed.setdefault(query, {})[item] = score
        table = evaluate(rows, ["ndcg@3", "ap", "lbkl@3"], qrels=qrels, groups=groups)
    np.testing.assert_allclose(found.drop("query_id").to_numpy(), plain(run, qrels, 3), rtol=1e-9, atol=1e-12)
    assert table["query_id"].to_list() == list(mixed)
    np.testing.assert_allclose(
        table.drop("query_id").to_numpy(), plain(mixed, qrels, 3), rtol=1e-9, atol=1e-12
    )


def test_what_pytrec_eval_finds_where_nothing_ties() -> None:
    rng = np.random.default_rng(4)
    run = {
        f"q{query}": dict(
            zip(map(str, rng.permutation(500)[:depth]), map(float, rng.permutation(depth)), strict=True)
        )
        for query, depth in enumerate(rng.integers(1, 400, 60).tolist())
    }
    qrels = {query: {str(item): 1 for item in rng.integers(0, 500, 9)} for query in run}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut_10", "map", "map_cut_100", "success_5"}
    ).evaluate(run)
    ours = evaluate(run, ["ndcg@10", "ap", "ap@100", "accuracy@5"], qrels=qrels)
    for row in ours.rows(named=True):
        other = theirs[row["query_id"]]
        assert [row["ndcg@10"], row["ap"], row["ap@100"], row["accuracy@5"]] == pytest.approx(
            [other["ndcg_cut_10"], other["map"], other["map_cut_100"], other["success_5"]]
        )


def test_a_cutoff_beyond_the_lists_is_that_of_the_lists() -> None:
    far, near = (evaluate(RUN, [f"ndcg@{k}", f"ap@{k}"], qrels=QRELS).drop("query_id") for k in (10**9, 3))
    assert far.rows() == near.rows()
    numbered = evaluate(RUN, "lbkl@2", groups={"a": 1, "b": 1, "c": 2})  # groups need not be words
    assert numbered["lbkl@2"].to_list() == lbkl([[0, 0], [0, 1]], 2).tolist()


def test_queries_that_lack_something_are_left_out_when_asked() -> None:
    run = RUN | {"q3": {"a": 1.0}, "q4": {}}
    qrels = QRELS | {"q3": {"a": 0}, "q4": {"a": 1}, "q5": {"a": 1}}
    found = evaluate(run, "ap", qrels=qrels, partial=True)
    assert found.rows() == [("q1", 0.5), ("q2", 0.5), ("q4", 0.0)]  # a list of nothing finds nothing


@pytest.mark.parametrize(
    ("run", "measures", "more", "said"),
    [
        (RUN, "ndgc@10", {}, "no measure is named 'ndgc'; did you mean 'ndcg'?"),
        (RUN, "ndcg", {}, "measure 'ndcg': its cutoff must be a whole number from 1, as in ndcg@10"),
        (RUN, "ndcg@0", {}, "its cutoff must be a whole number from 1"),
        (RUN, "ndcg@10", {}, "measure 'ndcg@10' needs qrels"),
        (RUN, "lbkl@1", {}, "measure 'lbkl@1' needs groups"),
        ({}, "lbkl@1", {"groups": GROUPS}, "the run has no list"),
        (RUN | {"q3": {}}, "ap", {"qrels": QRELS}, "query 'q3': it is not judged; partial=True"),
        (
            RUN,
            "ap",
            {"qrels": QRELS | {"q3": {"a": 1}}},
            "query 'q3' is judged but has no list; partial=True",
        ),
        (RUN, "ap", {"qrels": QRELS | {"q1": {"a": 0}}}, "query 'q1': no document is judged relevant"),
        (
            {"q1": {"a": 1.0, "b": math.nan}},
            "ap",
            {"qrels": {"q1": {"a": 1}}},
            "score of document 'b' is nan",
        ),
        ({"q1": {"a": 1.0, "b": "x"}}, "ap", {"qrels": {"q1": {"a": 1}}}, "score of document 'b' is 'x'"),
        (RUN, "lbkl@4", {"groups": GROUPS}, "query 'q1': 3 results, and 4 are needed"),
        (RUN, "lbkl@3", {"groups": {"a": "en", "b": "sw"}}, "query 'q1': document 'c' is of no group"),
        (RUN, "lbkl@3", {"groups": {"a": 1, "b": 2, "c": None}}, "query 'q1': document 'c' is of no group"),
        (RUN, "ap", {"qrels": {"q1": {"a": "1"}, "q2": {"a": 1}}}, "the grades of qrels must be numbers"),
        (RUN, "ap", {"qrels": {"q1": ["a"], "q2": ["a"]}}, "the table of qrels has no column query_id"),
        (RUN, "lbkl@1", {"groups": dict.fromkeys("abc", "en")}, "comparing groups takes at least 2"),
        ({"query_id": ["q"], "item_id": ["a"]}, "ap", {"qrels": QRELS}, "run has no column rank or score"),
        (
            {"query_id": ["q", "q"], "item_id": ["a", "a"], "score": [1, 2]},
            "ap",
            {"qrels": QRELS},
            "query 'q': document 'a' stands there twice",
        ),
        (
            {"query_id": ["q"], "item_id": [None], "score": [1]},
            "ap",
            {"qrels": QRELS},
            "column 'item_id' is empty in 1 rows",
        ),
        ({"query_id": ["q"], "item_id": ["a"], "score": ["x"]}, "ap", {"qrels": QRELS}, "must be numbers"),
    ],
)
def test_what_is_wrong_is_said(run: Any, measures: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as found:
        evaluate(run, measures, **more)
    assert said in str(found.value)
