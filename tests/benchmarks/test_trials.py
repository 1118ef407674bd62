"""Trials share only what they should, however images are labelled."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.trials import ROLES, SCHEMA, make_trials
from equiview.data.countries import countries, languages_of
from equiview.data.items import Items
from equiview.errors import InputError

COUNTRIES = countries()["country"].to_list()


def world(pairs):
    rows = [(f"{number}", concept, country) for number, (concept, country) in enumerate(pairs)]
    images = Items("image", pl.DataFrame(rows, schema=["id", "concept", "country"], orient="row"))
    kinds = sorted(set(pairs))
    texts = pl.DataFrame(
        {
            "id": [f"{c}:{k}" for c, k in kinds],
            "text": [c for c, _ in kinds],
            "language": ["xx"] * len(kinds),
            "concept": [c for c, _ in kinds],
            "country": [k for _, k in kinds],
        }
    )
    return images, Items("text", texts)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(COUNTRIES[:5])), min_size=9, max_size=30),
    st.data(),
)
def test_candidates_never_share_what_they_must_not(pairs, data):
    labels = data.draw(
        st.lists(st.lists(st.sampled_from("abcde"), max_size=1), min_size=len(pairs), max_size=len(pairs))
    )
    images, texts = world(pairs)
    try:
        trials = make_trials(images, texts, labels=labels)
    except InputError:
        return
    of = {str(row): (c, k, {c, *labels[row]}) for row, (c, k) in enumerate(pairs)}
    for trial in trials.iter_rows(named=True):
        concept, country, shown = of[trial["query_image_id"]]
        semantic, cultural, other = (of[trial[f"{role}_id"]] for role in ROLES)
        assert (concept, country) == (trial["concept"], trial["country"])
        assert trial["query_id"] == f"{concept}:{country}"
        assert semantic[0] == concept
        assert semantic[1] != country
        assert cultural[1] == country
        assert not cultural[2] & shown
        assert other[1] not in {country, semantic[1]}
        assert not other[2] & (shown | semantic[2] | cultural[2])


def test_trials_are_the_same_for_the_same_seed():
    images, texts = world([(c, k) for c in "abcd" for k in COUNTRIES[:6]])
    assert make_trials(images, texts, seed=3).equals(make_trials(images, texts, seed=3))
    assert not make_trials(images, texts, seed=3).equals(make_trials(images, texts, seed=4))


def test_a_shared_language_is_marked():
    images, texts = world([(c, k) for c in "abc" for k in ("USA", "UK", "Kenya", "Japan")])
    trials = make_trials(images, texts)
    country = dict(images.table.select("id", "country").iter_rows())
    for trial in trials.iter_rows(named=True):
        spoken = languages_of(pl.Series([country[trial[f"{role}_id"]] for role in ROLES]), "x").to_list()
        assert trial["shares_language"] == (trial["language"] in {spoken[0], spoken[2]})


def test_too_small_a_world_is_refused():
    images, texts = world([("a", "USA"), ("b", "UK")])
    with pytest.raises(InputError, match="three concepts and three countries"):
        make_trials(images, texts)


def test_the_embedded_benchmark_is_whole():
    benchmark = load_benchmark("pictograms-culture")
    trials = benchmark.tables["trials"]
    assert len(benchmark.images) == len(benchmark.texts) == len(trials) == 1600
    assert trials["country"].n_unique() == 16
    assert benchmark.need_table("trials", SCHEMA) is trials
    assert benchmark.texts.table["language"].n_unique() == 12
    assert (
        benchmark.texts.table.group_by("language", "text").agg(pl.col("concept").n_unique())["concept"].max()
        == 1
    )
