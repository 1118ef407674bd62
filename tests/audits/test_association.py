"""The association audit, on a world whose pull of culture is set by hand."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.association import ASSOCIATION, SCHEMAS
from equiview.audits.execute import execute
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.trials import make_trials
from equiview.data.countries import countries
from equiview.data.items import Items
from equiview.data.progress import silent
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.subjects import EmbeddingModel

CONCEPTS = [f"c{number}" for number in range(8)]


@pytest.fixture(scope="module")
def benchmark():
    rows = [(f"{c}-{k}", c, k) for c in CONCEPTS for k in countries()["country"]]
    images = Items("image", pl.DataFrame(rows, schema=["id", "concept", "country"], orient="row"))
    language = dict(countries().select("country", "language").iter_rows())
    texts = [(f"q-{name}", f"{c} in {language[k]}", language[k], c, k) for name, c, k in rows]
    columns = ["id", "text", "language", "concept", "country"]
    queries = Items("text", pl.DataFrame(texts, schema=columns, orient="row"))
    relevance = Relevance.from_pairs(range(128), range(128), n_queries=128, n_items=128)
    trials = make_trials(images, queries)
    return Benchmark("b", images, queries, relevance, tables={"trials": trials})


class Made(EmbeddingModel):
    """Vectors are concept plus `pull` times country plus noise."""

    def __init__(self, pull):
        super().__init__()
        self.pull = pull

    def encode_images(self, images):
        raise AssertionError

    def encode_texts(self, texts):
        raise AssertionError

    def embed(self, items, progress=silent):
        rng = np.random.default_rng(0 if items.kind == "image" else 1)
        axes = np.eye(24)
        of_concept = {name: axes[place] for place, name in enumerate(CONCEPTS)}
        of_country = {name: axes[8 + place] for place, name in enumerate(countries()["country"])}
        made = [
            of_concept[c] + self.pull * of_country[k] + 0.3 * rng.normal(size=24)
            for c, k in items.table.select("concept", "country").iter_rows()
        ]
        return np.asarray(made, dtype=np.float32)


def audited(benchmark, pull, **settings):
    options = ASSOCIATION.configure({"replicates": 500, **settings})
    observed = ASSOCIATION.observe(Made(pull), benchmark, options, silent)
    return observed, ASSOCIATION.measure(observed, options), options


def test_observations_satisfy_their_schemas(benchmark):
    observed, _, _ = audited(benchmark, 1.0)
    for name, schema in SCHEMAS.items():
        schema.check(observed[name], name)
    assert len(observed["trials"]) == 2 * len(benchmark.tables["trials"])


def test_scores_are_the_cosines_of_the_vectors(benchmark):
    observed, _, _ = audited(benchmark, 1.0)
    encoder = Made(1.0)
    images, texts = (encoder.embed(items) for items in (benchmark.images, benchmark.texts))
    trial = observed["trials"].filter(direction="text-to-image").row(5, named=True)
    query = texts[list(benchmark.texts.ids).index(trial["query_id"])]
    image = images[list(benchmark.images.ids).index(trial["cultural_id"])]
    cosine = query @ image / np.linalg.norm(query) / np.linalg.norm(image)
    assert trial["cultural_score"] == pytest.approx(cosine, abs=1e-6)


def test_more_pull_is_more_self_preference(benchmark):
    found = [audited(benchmark, pull)[1].one("SP", direction="text-to-image") for pull in (0.0, 0.7, 1.4)]
    values = [row["value"] for row in found]
    assert values == sorted(values)
    assert values[-1] > 1
    assert all(row["low"] <= row["value"] <= row["high"] for row in found)


def test_overall_is_pooled_counts_and_groups_add_up(benchmark):
    _, estimates, _ = audited(benchmark, 0.7)
    table = estimates.table.filter(metric="M_cul", direction="text-to-image")
    overall = estimates.one("M_cul", direction="text-to-image")
    for key in ("country", "language", "concept"):
        rows = table.filter(pl.col(key).is_not_null())
        assert rows["n"].sum() == overall["n"]
        assert (rows["value"] * rows["n"]).sum() / overall["n"] == pytest.approx(overall["value"])


def test_rates_sum_to_one_and_carry_their_chance(benchmark):
    _, estimates, _ = audited(benchmark, 0.7)
    rates = [estimates.one(name, direction="text-to-image") for name in ("M_sem", "M_cul", "M_non")]
    assert sum(row["value"] for row in rates) == pytest.approx(1)
    assert all(row["chance"] == pytest.approx(1 / 3) for row in rates)
    assert estimates.one("SP", direction="text-to-image")["chance"] == 1


def test_strict_leaves_out_trials_of_the_querys_language(benchmark):
    shared = benchmark.tables["trials"]["shares_language"].sum()
    assert shared > 0
    every, strict = (audited(benchmark, 0.7, strict=strict)[1] for strict in (False, True))
    counts = [one.one("M_sem", direction="text-to-image")["n"] for one in (every, strict)]
    assert counts[0] - counts[1] == shared
    counted = strict.one("trials sharing the query's language")
    assert counted["value"] * counted["n"] == pytest.approx(shared)


def test_verdicts_follow_the_numbers(benchmark):
    judged = {}
    for pull in (0.0, 1.4):
        _, estimates, options = audited(benchmark, pull)
        judged[pull] = ASSOCIATION.judge(estimates, options)
    assert judged[1.4].finding == "biased"
    assert judged[0.0].finding in {"fair", "unclear"}
    assert "SP" in judged[1.4].answer


def test_silhouettes_see_countries_stand_apart(benchmark):
    apart, mixed = (audited(benchmark, pull)[1].one("silhouette (images)")["value"] for pull in (3.0, 0.0))
    assert apart > 0.2 > mixed


def test_a_benchmark_without_trials_says_which_have_them(world):
    with pytest.raises(InputError, match="no trials of association; use pictograms-culture"):
        ASSOCIATION.observe(Made(0), load_benchmark(f"folder:{world}"), ASSOCIATION.configure({}), silent)


def test_a_run_has_all_figures_of_the_audit(benchmark, tmp_path):
    run = execute("s", Made(0.7), benchmark, ["association"], tmp_path / "run")
    names = {figure.name for figure in run.figures("association")}
    assert {
        "wins-by-country-text-to-image", "sp-by-country-image-to-image",
        "sp-against-texts", "sp-against-images",
        "text-map-pca", "image-map-pca", "examples",
    } <= names  # fmt: skip
