"""Lists in another order: nothing lost, shares as asked for, and what it changes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.studies import mitigation
from equiview.subjects import load_subject
from equiview.subjects.reranked import METHODS, fair_topk, interleave


def test_interleaved_lists_by_eye():
    groups, scores = np.array([0, 0, 0, 1, 1, 2]), np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    order = interleave(groups, scores, np.full(3, 1 / 3))
    assert order.tolist() == [0, 3, 5, 1, 4, 2]


def test_fair_lists_by_eye():
    groups, scores = np.array([0, 0, 0, 0, 1, 1]), np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert groups[fair_topk(groups, scores, np.array([0.5, 0.5]))].tolist() == [0, 1, 0, 1, 0, 0]
    assert groups[fair_topk(groups, scores, np.array([0.75, 0.25]))].tolist() == [0, 0, 0, 1, 0, 1]


lists = st.integers(2, 5).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.floats(-1, 1, width=16)), min_size=1, max_size=60
    ).map(lambda rows: (n, rows))
)


@pytest.mark.parametrize("name", METHODS)
@given(drawn=lists)
def test_no_result_is_dropped_or_doubled_and_groups_keep_their_order(name, drawn):
    n, rows = drawn
    groups, scores = np.array([group for group, _ in rows]), np.array([score for _, score in rows])
    order = METHODS[name](groups, scores, np.full(n, 1 / n))
    assert sorted(order.tolist()) == list(range(len(rows)))
    for group in range(n):
        within = scores[order][groups[order] == group]
        assert (np.diff(within) <= 0).all()


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=6),
    st.integers(0, 1_000),
)
def test_every_first_k_holds_the_shares_that_are_asked_for(weights, seed):
    shares, depth = np.array(weights) / sum(weights), 40
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(shares)), depth)  # enough of each
    order = fair_topk(groups, rng.random(len(groups)), shares)
    for k in range(1, depth + 1):
        counts = np.bincount(groups[order[:k]], minlength=len(shares))
        assert (counts <= np.ceil(shares * k - 1e-9)).all()
        if len(shares) <= 3:  # the published guarantee of DetCons
            assert (counts >= np.floor(shares * k + 1e-9)).all()


SUBJECT = "pictogram:skewed"


def made(place, method, **given):
    return api.make(method, {"subject": SUBJECT} | given, place / method)


@pytest.fixture(scope="module")
def judged():
    whole = load_benchmark("pictograms")
    from equiview.benchmarks.partial import without_images

    return without_images(whole, whole.images.ids[150:])


def test_fair_lists_even_the_exposure_and_cost_what_is_said(judged, tmp_path):
    settings = {"prevalence": {"replicates": 200}}
    before = api.audit(SUBJECT, judged, ["prevalence"], tmp_path / "before", settings=settings)
    name = made(tmp_path, "fair-topk", by="tier", depth=400).name
    after = api.audit(name, judged, ["prevalence"], tmp_path / "after", settings=settings)
    rows = {
        (row["metric"], row["k"]): row for row in mitigation(before, [after]).changes.iter_rows(named=True)
    }
    ratio = rows["exposure ratio", 10]
    assert ratio["value_a"] < 0.85
    assert 0.9 < ratio["value_b"] < 1.15
    assert rows["NDCG", 10]["difference"] < 0  # it is not for nothing


def test_lists_of_a_finished_run_are_enough(judged, tmp_path):
    texts = judged.need_texts()
    rng = np.random.default_rng(0)
    ids = texts.ids.to_numpy()
    rows = [
        {"query_id": query, "rank": rank + 1, "item_id": item, "score": -float(rank)}
        for query in judged.images.ids
        for rank, item in enumerate(rng.choice(ids, 60, replace=False))
    ]
    pl.from_dicts(rows).write_csv(tmp_path / "lists.csv")
    plain = load_subject(f"run:{tmp_path / 'lists.csv'}").lists(judged)
    name = made(tmp_path, "interleave", subject=f"run:{tmp_path / 'lists.csv'}", depth=60).name
    subject = load_subject(name)
    found = subject.lists(judged, 36)
    assert found["rank"].to_list()[:36] == list(range(1, 37))
    first = found.filter(pl.col("query_id") == judged.images.ids[0])["item_id"]
    kept = plain.filter(pl.col("query_id") == judged.images.ids[0])["item_id"]
    assert first.is_in(kept.implode()).all()
    languages = texts.table["language"].gather(texts.rows_of(first))
    counts = [languages[:k].n_unique() for k in (5, 10)]
    assert counts == [5, 10]  # each of another language
    assert subject.parent == load_subject(f"run:{tmp_path / 'lists.csv'}").fingerprint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shares": ["en"]}, "'en' is not GROUP=SHARE"),
        ({"shares": ["en=2"]}, "'en=2' is not GROUP=SHARE"),
        ({"shares": ["en=0.5", "sw=0.2"]}, "add up to 1, not to 0.7"),
        ({"shares": ["en=0.5", "en=0.5"]}, "name each group once"),
        ({"depth": 0}, "depth"),
        ({"subject": "answers:nothing"}, "nothing"),
    ],
)
def test_what_cannot_be_ordered_is_said(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        made(tmp_path, "fair-topk", **given)


def test_shares_of_other_groups_than_there_are_are_refused(judged, tmp_path):
    name = made(tmp_path, "fair-topk", by="tier", shares=["high=0.5", "low=0.5"]).name
    with pytest.raises(InputError, match="medium is in one alone"):
        load_subject(name).lists(judged)
    name = made(tmp_path / "colour", "fair-topk", by="colour").name
    with pytest.raises(InputError, match="no attribute 'colour'"):
        load_subject(name).lists(judged)
