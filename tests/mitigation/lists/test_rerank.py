"""Lists in another order: nothing lost, shares as asked for, and what it changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.mitigation.lists.exposure import Lists, solve
from equiview.mitigation.lists.settings import METHODS
from equiview.studies import mitigation
from equiview.subjects import load_subject
from equiview.subjects.orders import (
    TOWARDS,
    boosted,
    det_cons,
    det_const_sort,
    det_greedy,
    det_relaxed,
    fa_ir,
    failing,
    fused,
    interleave,
    least_of,
    table_at,
)
from equiview.subjects.reranked import Groups, Rule


def test_interleaved_lists_by_eye():
    groups, scores = np.array([0, 0, 0, 1, 1, 2]), np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    order = interleave(groups, scores, np.full(3, 1 / 3))
    assert order.tolist() == [0, 3, 5, 1, 4, 2]


def test_fair_lists_by_eye():
    groups, scores = np.array([0, 0, 0, 0, 1, 1]), np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert groups[det_cons(groups, scores, np.array([0.5, 0.5]))].tolist() == [0, 1, 0, 1, 0, 0]
    assert groups[det_cons(groups, scores, np.array([0.75, 0.25]))].tolist() == [0, 0, 0, 1, 0, 1]


def test_the_greedy_orders_are_those_of_another_implementation():
    """The first 16 of this list as the package `reranking` 0.3.6 gives them, for the same shares."""
    letters = "aababacdabcdacbdbbcacdcdaaaadbcd"
    groups, shares = np.array([ord(letter) - ord("a") for letter in letters]), np.array([7, 4, 3, 2]) / 16
    scores = -np.arange(len(groups), dtype=float)
    greedy = [0, 2, 1, 6, 3, 4, 5, 7, 9, 8, 10, 11, 12, 13, 14, 19]
    relaxed = [0, 2, 1, 6, 3, 4, 7, 5, 10, 8, 9, 12, 11, 13, 14, 19]
    assert det_greedy(groups, scores, shares)[:16].tolist() == greedy
    assert det_relaxed(groups, scores, shares)[:16].tolist() == relaxed


def test_what_is_due_is_sorted_as_far_as_it_may_be():
    """Due by rank: a 2, 4, 6; b 2, 4, 6. The worse b may wait until 2, and no longer."""
    groups, scores = np.array([0, 0, 0, 1, 1, 1]), np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    order = det_const_sort(groups, scores, np.array([0.5, 0.5]))
    assert groups[order].tolist() == [0, 1, 0, 1, 0, 1]
    order = det_const_sort(groups, scores, np.array([0.25, 0.75]))  # due by: b 2, 3, 4; a 4, 8, 12
    assert order.tolist() == [0, 3, 4, 5, 1, 2]


def test_fused_lists_by_eye():
    """Sums of 1 / (1 + rank): a .5 + .5, .33 + .33, .25 + .25; b .2 + .5."""
    groups, scores = np.array([0, 0, 0, 1]), np.array([0.9, 0.8, 0.7, 0.6])
    assert fused(groups, scores, 1).tolist() == [0, 3, 1, 2]
    assert 2 / 62 > 1 / 64 + 1 / 61 > 2 / 63
    assert fused(groups, scores, 60).tolist() == [0, 1, 3, 2]


lists = st.integers(2, 5).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.floats(-1, 1, width=16)), min_size=1, max_size=60
    ).map(lambda rows: (n, rows))
)


def test_a_protected_group_is_moved_up_only_where_chance_would_have_shown_it():
    groups, scores = np.repeat([0, 1], [30, 3]), np.linspace(1, 0, 33)
    order = fa_ir(groups, scores, 1, 0.25, 0.1)
    least = least_of(33, 0.25, 0.1)
    assert np.flatnonzero(groups[order] == 1).tolist() == [least.index(count) for count in (1, 2, 3)]
    assert fa_ir(groups, -scores, 1, 0.25, 0.1)[:3].tolist() == [32, 31, 30]  # it stands well already


def test_least_counts_are_the_published_ones():
    alone = table_at(20, 0.25, 0.1)  # of the authors' library, fairsearchcore, for the same three numbers
    assert alone == (0,) * 8 + (1,) * 6 + (2,) * 5 + (3,)
    assert failing((0,) * 8 + (1,) * 7 + (2,) * 5, 0.25) == pytest.approx(0.10515247355215251)


@given(st.integers(1, 60), st.floats(0.05, 0.95), st.floats(0.02, 0.3))
def test_a_blind_list_is_changed_no_more_often_than_said(depth, share, alpha):
    least = least_of(depth, share, alpha)
    assert failing(least, share) <= alpha + 1e-12
    assert all(by in (0, 1) for by in np.diff((0, *least)))


def test_the_chance_to_fail_is_what_counting_finds():
    least = table_at(12, 0.4, 0.15)
    blind = np.cumsum(np.random.default_rng(0).random((40_000, 12)) < 0.4, axis=1)
    assert (blind < least).any(axis=1).mean() == pytest.approx(failing(least, 0.4), abs=0.008)


ORDERS = {
    **TOWARDS,
    "rrf": lambda groups, scores, shares: fused(groups, scores, 60),
    "fa-ir": lambda groups, scores, shares: fa_ir(groups, scores, 0, float(shares[0]), 0.1),
    "exposure": lambda groups, scores, shares: boosted(groups, scores, np.linspace(0, 1, len(shares))),
}


def test_every_method_has_an_order():
    assert ORDERS.keys() == METHODS.keys()


@pytest.mark.parametrize("name", METHODS)
@given(drawn=lists)
def test_no_result_is_dropped_or_doubled_and_groups_keep_their_order(name, drawn):
    n, rows = drawn
    groups, scores = np.array([group for group, _ in rows]), np.array([score for _, score in rows])
    order = ORDERS[name](groups, scores, np.full(n, 1 / n))
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
    scores = rng.random(len(groups))
    for order_of in (det_cons, det_greedy, det_relaxed, det_const_sort):
        order = order_of(groups, scores, shares)
        for k in range(1, depth + 1):
            counts = np.bincount(groups[order[:k]], minlength=len(shares))
            if order_of is det_const_sort or len(shares) <= 3:  # what Geyik et al. prove
                assert (counts >= np.floor(shares * k + 1e-9)).all()
            if order_of is not det_const_sort:
                assert (counts <= np.ceil(shares * k - 1e-9)).all()


@given(st.lists(st.integers(1, 9), min_size=2, max_size=3), st.integers(0, 1_000))
def test_the_greedy_order_has_the_better_scores(weights, seed):
    """Of what may be next DetGreedy takes the best: its first result is never worse than DetCons'."""
    shares, rng = np.array(weights) / sum(weights), np.random.default_rng(seed)
    groups, scores = np.repeat(np.arange(len(shares)), 20), rng.random(20 * len(shares))
    greedy, cons = (order_of(groups, scores, shares) for order_of in (det_greedy, det_cons))
    assert scores[greedy[0]] == scores.max() >= scores[cons[0]]


few = st.tuples(st.integers(2, 4), st.integers(0, 10_000))


@settings(max_examples=40)
@given(few)
def test_exposure_is_as_asked_for_wherever_lists_hold_enough(drawn):
    n, seed = drawn
    rng = np.random.default_rng(seed)
    groups = np.array([rng.permutation(np.repeat(np.arange(n), 12)) for _ in range(50)])
    lists = Lists(groups, rng.random(groups.shape) + 0.3 * groups)
    wanted = rng.dirichlet(np.full(n, 5.0))
    seen = np.where(np.arange(groups.shape[1]) < 8, 1 / np.log2(np.arange(groups.shape[1]) + 2), 0)
    solved = solve(lists, wanted, seen, silent)
    np.testing.assert_allclose(solved.after, wanted, atol=1e-6)
    assert solved.weights.sum() == pytest.approx(1)
    assert len(solved.weights) <= n + 1  # a vertex of the program: orders of all lists, no more than needed


def test_the_program_loses_the_least_there_is_to_lose():
    """Two lists, each with one place that counts: the one that loses less by it shows the other group."""
    lists = Lists(np.array([[0, 1], [0, 1]]), np.array([[0.9, 0.8], [0.9, 0.2]]))
    solved = solve(lists, np.array([0.5, 0.5]), np.array([1.0, 0.0]), silent)
    assert len(solved.weights) == 1
    assert [boosted(lists.groups[row], lists.scores[row], solved.boosts[0])[0] for row in (0, 1)] == [1, 0]


def test_what_no_order_can_show_comes_as_near_as_it_can():
    lists = Lists(np.array([[0, 0], [0, 1], [0, -1]]), np.array([[0.9, 0.8], [0.9, 0.2], [0.5, 0.0]]))
    solved = solve(lists, np.array([0.5, 0.5]), np.array([1.0, 0.0]), silent)
    np.testing.assert_allclose(solved.after, [2 / 3, 1 / 3], atol=1e-9)


SUBJECT = "pictogram:skewed"


def made(place, method, **given):
    return api.make(method, {"subject": SUBJECT} | given, place / method)


@pytest.fixture(scope="module")
def judged():
    whole = load_benchmark("pictograms")
    from equiview.benchmarks.partial import without_images

    return without_images(whole, whole.images.ids[150:])


def test_fair_lists_even_the_exposure_and_cost_what_is_said(judged, tmp_path):
    given = {"prevalence": {"replicates": 200}}
    before = api.audit(SUBJECT, judged, ["prevalence"], tmp_path / "before", settings=given)
    name = made(tmp_path, "fair-topk", by="tier", depth=400).name
    after = api.audit(name, judged, ["prevalence"], tmp_path / "after", settings=given)
    rows = {
        (row["metric"], row["k"]): row for row in mitigation(before, [after]).changes.iter_rows(named=True)
    }
    ratio = rows["exposure ratio", 10]
    assert ratio["value_a"] < 0.85
    assert 0.9 < ratio["value_b"] < 1.15
    assert rows["NDCG", 10]["difference"] < 0  # it is not for nothing


def test_exposure_holds_on_images_that_were_not_read_at_less_than_shares_of_every_rank_cost(tmp_path):
    shown = api.make(
        "exposure", {"subject": SUBJECT, "by": "tier", "benchmark": "pictograms"}, tmp_path / "e"
    )
    evened = made(tmp_path, "fair-topk", by="tier").name
    judged = f"held-out:{tmp_path / 'e'}"
    given = {"prevalence": {"replicates": 100}}
    found = [
        api.audit(name, judged, ["prevalence"], tmp_path / f"run-{number}", settings=given).estimates
        for number, name in enumerate((SUBJECT, shown.name, evened))
    ]
    before, after, other = [part.one("exposure ratio", 10, tier="low").value for part in found]
    assert before < 0.85
    assert 0.9 < after < 1.1
    accuracy = [part.one("Accuracy", 1).value for part in found]
    assert accuracy[0] > accuracy[1] > accuracy[2]
    assert other > 0.9
    rule = json.loads((tmp_path / "e" / "rule.json").read_text())
    first = load_subject(shown.name).lists(load_benchmark(judged), 1)
    assert first["item_id"].n_unique() > 1
    assert rule["boosts"].keys() == {"high", "medium", "low"}
    assert sum(rule["weights"]) == pytest.approx(1)


def test_a_service_orders_a_list_as_the_page_says(tmp_path):
    """The lines of docs/mitigation/lists.md, run."""
    made(tmp_path, "exposure", by="tier", benchmark="pictograms")
    page = (Path(__file__).parents[3] / "docs/mitigation/lists.md").read_text("utf-8")
    code = page.partition("## Without equiview")[2].split("```")[1].removeprefix("text")
    rule = Rule(**json.loads((tmp_path / "exposure" / "rule.json").read_text("utf-8")))
    rng = np.random.default_rng(0)
    names = tuple(sorted(rule.boosts))
    for query in ("a", "日本", "c", "d"):
        rows, scores = rng.integers(0, 3, 50), rng.random(50)
        known = Groups(names, rows, np.full(3, 1 / 3))
        given = {"np": np, "json": json, "hashlib": hashlib, "Path": Path, "query": query, "scores": scores}
        lines = code.replace("shown/rule.json", str(tmp_path / "exposure" / "rule.json"))
        exec(lines, found := given | {"groups": [names[row] for row in rows]})
        assert found["order"].tolist() == rule.order(query, rows, scores, known).tolist()


def test_shares_that_lists_cannot_hold_are_said(tmp_path, caplog, judged):
    shares = ["high=0.01", "medium=0.01", "low=0.98"]
    given = {"subject": SUBJECT, "by": "tier", "benchmark": "pictograms", "shares": shares, "depth": 10}
    api.make("exposure", given, tmp_path / "e")
    assert "groups cannot have their share in lists of 10" in caplog.text
    with pytest.raises(InputError, match="36 groups by language, more than the 10 results"):
        load_subject(made(tmp_path, "fair-topk", depth=10).name).lists(judged)
    with pytest.raises(InputError, match="no text has tier 'lowest'; there are high, low, medium"):
        load_subject(made(tmp_path, "fa-ir", by="tier", protected="lowest").name).lists(judged)
    with pytest.raises(InputError, match="cutoff: 20 is deeper than depth 10"):
        api.make("exposure", given | {"cutoff": 20}, tmp_path / "f")


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


def test_each_method_orders_the_lists_of_a_run(judged, tmp_path):
    part = judged.images.ids[:3].to_list()
    before = load_subject(made(tmp_path, "fair-topk", by="tier", depth=30).name).lists(judged)
    named = load_subject(made(tmp_path, "detcons", by="tier", depth=30).name).lists(judged)
    assert before["item_id"].equals(named["item_id"])  # one order, by two names
    for method, more in (("detgreedy", {}), ("detconstsort", {}), ("rrf", {"constant": 1})):
        subject = load_subject(made(tmp_path, method, by="tier", depth=30, **more).name)
        found = subject.lists(judged).filter(pl.col("query_id").is_in(part))
        assert found.group_by("query_id").len()["len"].to_list() == [30] * 3
        assert not found["item_id"].equals(before.filter(pl.col("query_id").is_in(part))["item_id"])
        assert subject.about.endswith(method)
    assert json.loads((tmp_path / "rrf" / "rule.json").read_text())["constant"] == 1
    with pytest.raises(InputError, match="constant"):
        made(tmp_path / "none", "rrf", constant=0)


def test_shares_of_other_groups_than_there_are_are_refused(judged, tmp_path):
    name = made(tmp_path, "fair-topk", by="tier", shares=["high=0.5", "low=0.5"]).name
    with pytest.raises(InputError, match="medium is in one alone"):
        load_subject(name).lists(judged)
    name = made(tmp_path / "colour", "fair-topk", by="colour").name
    with pytest.raises(InputError, match="no attribute 'colour'"):
        load_subject(name).lists(judged)
