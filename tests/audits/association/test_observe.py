"""What is observed: scores of trials in each direction, and the two spaces."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from equiview.audits.association import ASSOCIATION
from equiview.audits.association.observe import example_trials
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.io.progress import silent
from tests.audits.association.planted import TEXT, Planted, observed, world
from tests.conftest import write_world


def test_observations_satisfy_their_schemas():
    for name, schema in ASSOCIATION.schemas.items():
        schema.check(observed(1.0)[name], name)
    assert len(observed(1.0)["trials"]) == 2 * len(world().tables["trials"])


@pytest.mark.parametrize(("direction", "query"), [(TEXT, "query_id"), ("image-to-image", "query_image_id")])
def test_scores_are_the_cosines_of_the_vectors(direction, query):
    items = {"query_id": world().texts, "query_image_id": world().images}[query]
    vectors, images = Planted(1.0).embed(items), Planted(1.0).embed(world().images)
    trial = observed(1.0)["trials"].filter(direction=direction).row(5, named=True)
    asked = vectors[list(items.ids).index(trial[query])]
    image = images[list(world().images.ids).index(trial["cultural_id"])]
    cosine = asked @ image / np.linalg.norm(asked) / np.linalg.norm(image)
    assert trial["cultural_score"] == pytest.approx(cosine, abs=1e-6)


def test_the_space_is_described_once_for_each_string():
    texts = observed(1.0)["texts"]
    assert texts["text"].n_unique() < len(texts)
    described = texts.filter(pl.col("silhouette").is_not_null())
    assert described["text"].n_unique() == len(described) == texts["text"].n_unique()


def test_examples_are_of_six_countries_and_the_same_for_every_system_and_order():
    trials = observed(1.0)["trials"].filter(direction="text-to-image")
    first, other = (example_trials(table) for table in (trials, observed(0.0)["trials"].reverse()))
    assert first["country"].n_unique() == len(first) == 6
    assert set(first["trial_id"]) == set(other["trial_id"])
    assert first["trial_id"].to_list() != trials["trial_id"].head(6).to_list()


def test_a_benchmark_without_trials_says_which_have_them(tmp_path):
    folder = load_benchmark(f"folder:{write_world(tmp_path / 'world')}")
    with pytest.raises(InputError, match="no trials of association; use pictograms-culture"):
        ASSOCIATION.observe(Planted(0), folder, ASSOCIATION.configure({}), silent)


def test_a_trial_of_an_image_that_is_missing_is_named():
    trials = (
        world()
        .tables["trials"]
        .with_columns(
            cultural_id=pl.when(pl.int_range(pl.len()) == 2).then(pl.lit("nowhere")).otherwise("cultural_id")
        )
    )
    benchmark = replace(world(), tables={"trials": trials})
    with pytest.raises(InputError, match=r"trial 3: image 'nowhere' \(cultural_id\) is not in the benchmark"):
        ASSOCIATION.observe(Planted(0), benchmark, ASSOCIATION.configure({}), silent)
