"""Sums of parts: any split, merged in any order, is the whole to the byte."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.errors import InputError
from equiview.schemas import schemas
from equiview.scoring import Sums, evaluate, merged, partial_sums, sums
from equiview.stats import bootstrap_interval

MEASURES = ["ndcg@30", "ap", "accuracy@1", "dlbkl@3"]
GROUPS = {f"d{number}": ("en", "sw", "te")[number % 3] for number in range(60)}


def world(n: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    rng = np.random.default_rng(7)
    documents = list(GROUPS)
    run = {
        f"q{q}": dict(zip(rng.permutation(documents)[:6].tolist(), rng.random(6), strict=True))
        for q in range(n)
    }
    qrels = {query: dict.fromkeys(rng.permutation(documents)[:2].tolist(), 1) for query in run}
    return run, qrels


RUN, QRELS = world(40)
FEW = {"groups": GROUPS, "replicates": 20}


def part(queries, **given) -> Sums:
    run, qrels = ({query: of[query] for query in queries} for of in (RUN, QRELS))
    return partial_sums(run, MEASURES, qrels=qrels, **FEW | given)


WHOLE = part(RUN)


@settings(max_examples=15)
@given(st.lists(st.integers(0, 4), min_size=40, max_size=40), st.randoms(use_true_random=False))
def test_every_split_and_order_is_the_whole_to_the_byte(shard, random):
    shards = [[query for query, of in zip(RUN, shard, strict=True) if of == number] for number in range(5)]
    for queries in (*shards, shards):
        random.shuffle(queries)
    parts = [part(queries) for queries in shards if queries]
    while len(parts) > 1:  # as a tree, in any order
        parts = [merged(parts[:2]), *parts[2:]]
        random.shuffle(parts)
    assert parts[0].content == WHOLE.content


def test_totals_are_exact_and_means_those_of_the_scores():
    table = evaluate(RUN, MEASURES, qrels=QRELS, groups=GROUPS)
    found = WHOLE.estimates()
    for name, value, n in found.select("measure", "value", "n").iter_rows():
        exact = sum(map(Fraction, table[name].to_list()))
        assert Fraction(WHOLE.totals[name]) == exact
        assert (value, n) == (float(exact / 40), 40)


def test_sums_of_large_and_small_scores_are_exact(monkeypatch):
    values = {"a": 511.0, "b": 5e-324, "c": -511.0, "d": -0.0}
    monkeypatch.setattr(
        sums,
        "evaluate",
        lambda run, *_, **__: pl.DataFrame({"query_id": run, "ap": [values[q] for q in run]}),
    )
    parts = [partial_sums([query], "ap", replicates=5) for query in "cbda"]
    assert merged(parts).content == partial_sums(list("abcd"), "ap", replicates=5).content
    assert Fraction(merged(parts).totals["ap"]) == Fraction(1, 2**1074)
    values["a"] = 512.0
    with pytest.raises(InputError, match=r"a score is 512.0; sums are kept of scores below 512"):
        partial_sums(["a"], "ap")


def test_queries_are_drawn_as_a_bootstrap_draws_them():
    rng = np.random.default_rng(3)
    scores = rng.beta(0.5, 2, size=(2000, 1))
    weights, (drawn,) = sums._replicates([f"q{number}" for number in range(2000)], scores, 2000, seed=1)
    assert abs(np.mean(weights) / 2000 - 1) < 0.003
    assert abs(np.var(weights) / 2000 - 1) < 0.1
    means = np.array(drawn) * sums.UNIT / np.array(weights)
    ours = np.quantile(means, [0.025, 0.975])
    other = bootstrap_interval(scores[:, 0], replicates=2000, seed=2)
    width = float(other.high - other.low)
    np.testing.assert_allclose(ours, [float(other.low), float(other.high)], atol=0.08 * width)


def test_what_is_written_is_read_and_follows_its_schema(tmp_path):
    WHOLE.write(tmp_path / "sums.json")
    assert Sums.read(tmp_path / "sums.json") == WHOLE
    jsonschema.validate(json.loads(WHOLE.content), schemas("sums"))
    for damage in (
        lambda held: held.update(n=39),
        lambda held: held["drawn"].pop("ap"),
        lambda held: held["weights"].pop(),
        lambda held: held["totals"].update(ap="much"),
        lambda held: held.update(queries="*"),
        lambda held: held.update(version=2),
        lambda held: held.update(more=1),
    ):
        held = json.loads(WHOLE.content)
        damage(held)
        (tmp_path / "bad.json").write_text(json.dumps(held))
        with pytest.raises(InputError, match=r"bad\.json: no sums of scores, or of another version"):
            Sums.read(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": 1}, "sums 1 and 2 differ in seed: 0 and 1"),
        ({"replicates": 21}, "sums 1 and 2 are of 20 and 21 replicates"),
        ({"groups": GROUPS | {"x": "fr"}}, r"differ in groups: \('en', 'sw', 'te'\) and \('en', 'fr'"),
    ],
)
def test_what_was_scored_otherwise_is_not_merged(changed, said):
    with pytest.raises(InputError, match=said):
        merged([part(["q1"]), part(["q2"], **changed)])


def test_other_measures_and_the_same_query_twice_are_not_merged():
    alone = partial_sums({"q1": RUN["q1"]}, "ap", qrels={"q1": QRELS["q1"]}, replicates=20)
    with pytest.raises(InputError, match="differ in measures"):
        merged([part(["q2"]), alone])
    with pytest.raises(InputError, match="2 queries are in more than one of the sums"):
        merged([part(["q1", "q2", "q3"]), part(["q4", "q2", "q1"])])
    with pytest.raises(InputError, match="there are no sums to merge"):
        merged([])


def test_one_query_has_an_interval_of_no_width():
    found = part(["q1"]).estimates().row(0, named=True)
    assert found["low"] == pytest.approx(found["value"], abs=1e-8) == found["high"]
