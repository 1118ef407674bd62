"""The explorer's lists: a trial is a list of three."""

import polars as pl

from equiview.audits.association import ASSOCIATION
from equiview.data.observations import Observations
from tests.audits import steps
from tests.audits.association.planted import observed, world


def test_each_trial_is_a_list_of_three_in_the_order_of_scores():
    lists = steps.explored(ASSOCIATION, observed(0.7))
    assert lists.queries["query_id"].to_list() == world().tables["trials"]["trial_id"].to_list()
    for part in lists.rankings.sort("query_id", "rank").partition_by("query_id"):
        assert part["rank"].to_list() == [1, 2, 3]
        assert part["score"].is_sorted(descending=True)
        assert part["relevant"].sum() == 1
    assert set(lists.rankings["item_id"]) <= set(lists.items["item_id"])


def test_the_right_item_is_the_semantic_one_and_comes_first_in_a_tie():
    tables = observed(0.7).tables
    tied = tables["trials"].with_columns(semantic_score=pl.lit(0.5), cultural_score=pl.lit(0.5))
    lists = steps.explored(ASSOCIATION, Observations({**tables, "trials": tied}))
    trials = tied.filter(direction="text-to-image")
    right = lists.rankings.filter("relevant").join(trials, left_on="query_id", right_on="trial_id")
    assert (right["item_id"] == right["semantic_id"]).all()
    cultural = lists.rankings.join(
        trials, left_on=["query_id", "item_id"], right_on=["trial_id", "cultural_id"]
    )
    assert (cultural.sort("query_id")["rank"] == right.sort("query_id")["rank"] + 1).all()


def test_a_query_is_labelled_with_its_words_concept_and_country():
    lists = steps.explored(ASSOCIATION, observed(0.7))
    trial = world().tables["trials"].row(0, named=True)
    label = lists.queries.filter(query_id=trial["trial_id"])["label"].item()
    assert label == f"{trial['concept']} in {trial['language']} ({trial['concept']}, {trial['country']})"
