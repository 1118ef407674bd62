"""Neighbourhoods: groups that models share, the bias in each, and what the whole says of the parts."""

import json

import numpy as np
import polars as pl
import pytest

from equiview.api import write_neighbourhoods
from equiview.audits.execute import execute
from equiview.cli import app
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.report.neighbourhoods import neighbourhoods_page, sentences
from equiview.report.study import Table
from equiview.studies.neighbourhoods import (
    GLOBAL,
    Neighbourhoods,
    cluster,
    correlations_of,
    distinctive_words,
    groups_of,
    neighbourhoods,
)
from tests.audits.social.worlds import ROLES, Tied, people

PLACES = ("guitar", "ball", "street", "beach")


class Spaced(Tied):
    """Sees four kinds of places besides, by role; in the first of them it sees no gender."""

    def embed(self, items, progress=silent):
        vectors = super().embed(items, progress)
        if items.kind == "image":
            places = items.table["role"].cast(pl.Int64).to_numpy() // 6
            vectors[np.arange(len(items)), ROLES + 2 + places] += 3
            vectors[places == 0, ROLES] = 0
        return vectors


def world(**more):
    """People of four kinds of places, which their captions name."""
    benchmark = people(480, pictures=True, **more)
    texts = benchmark.texts.table.with_columns(
        text=pl.concat_str(
            pl.lit("someone and a "),
            (pl.col("role").cast(pl.Int64) // 6).replace_strict(
                dict(enumerate(PLACES)), return_dtype=pl.String
            ),
        )
    )
    return type(benchmark)(
        "people",
        benchmark.images,
        type(benchmark.texts)("text", texts),
        benchmark.relevance,
        tables=benchmark.tables,
        schemas=benchmark.schemas,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        execute(
            Spaced(tie, seed=seed),
            world(),
            ("social",),
            folder / f"tie-{tie}",
            name=f"tie {tie}",
            settings={"social": {"replicates": 100, "intersections": [], "attributes": ["gender"]}},
        )
        for seed, tie in enumerate((0.0, 0.15, 0.3, 0.6))
    ]


@pytest.fixture(scope="module")
def found(runs):
    return neighbourhoods(runs, clusters=4)


def test_groups_are_what_all_models_keep_together(found):
    assert found.groups["size"].to_list() == [120] * 4
    assert sorted(found.groups["words"]) == sorted(PLACES)
    rows = found.members.with_columns(number=pl.col("image_id").str.slice(1).cast(pl.Int64))
    for (_,), part in rows.group_by("group"):
        assert ((part["number"] % ROLES) // 6).n_unique() == 1


def test_bias_is_local_where_the_model_sees_the_attribute(found):
    words = dict(found.groups.select("words", "group").iter_rows())
    beyond = found.biases.filter(metric="MaxSkew beyond chance", attribute="gender", run="tie 0.6")
    value = dict(beyond.select("group", "value").iter_rows())
    assert value[GLOBAL] > 0.2
    assert abs(value[words["guitar"]]) < 0.1
    assert value[words["ball"]] > 0.2


def test_local_and_global_bias_are_correlated_over_models(found):
    words = dict(found.groups.select("words", "group").iter_rows())
    rows = found.correlations.filter(metric="MaxSkew beyond chance", attribute="gender")
    rho = dict(rows.select("group", "rho").iter_rows())
    assert rho[words["ball"]] == pytest.approx(1)
    assert rows["n"].unique().to_list() == [4]
    # Of four models no correlation can be shown: 2 of 24 orders are perfect.
    assert rows.filter(group=words["ball"])["p"][0] == pytest.approx(2 / 24)
    assert (found.correlations["p_holm"] >= found.correlations["p"]).all()


def test_one_model_has_its_own_clusters_and_no_correlation(runs, tmp_path):
    single = write_neighbourhoods(runs[3:], tmp_path, clusters=4)
    assert single.groups["size"].to_list() == [120] * 4
    assert not len(single.correlations)
    html = (tmp_path / "report.html").read_text("utf-8")
    assert "With 1 of the 4 models or more that it takes" in html
    assert pl.read_parquet(tmp_path / "biases.parquet").equals(single.biases)


def test_the_page_names_groups_and_the_published_table(found, runs):
    html = neighbourhoods_page(found, runs).decode()
    assert "4 groups that all models keep together, of 120 to 120 images." in html
    assert "Table 2: 29 models on PHASE" in html
    assert "watermarked" in html
    assert neighbourhoods_page(found, runs) == neighbourhoods_page(neighbourhoods(runs, clusters=4), runs)


def test_where_nothing_is_shared_it_is_said(runs):
    with pytest.raises(
        InputError, match="no group of images has 200: the largest that all models keep together has 120"
    ):
        neighbourhoods(runs, clusters=4, least=200)
    with pytest.raises(InputError, match="480 images cannot be put into 500 clusters"):
        neighbourhoods(runs, clusters=500)
    with pytest.raises(InputError, match="takes each model once"):
        neighbourhoods([runs[0], runs[0]])
    with pytest.raises(InputError, match="at least one run"):
        neighbourhoods([])


def test_groups_too_small_to_show_a_bias_are_named_and_the_others_kept(runs, tmp_path, caplog):
    out = tmp_path / "study"
    found = write_neighbourhoods(runs, out, clusters=40, least=2)
    assert "images) has no bias that can be measured: " in caplog.text
    measured = set(found.biases["group"]) - {GLOBAL}
    assert len(found.groups) > len(measured) > 0
    assert found.biases["value"].is_finite().all()
    assert (out / "report.html").is_file()


def test_runs_that_cannot_be_studied_are_said(runs, tmp_path):
    settings = {"social": {"replicates": 100, "vectors": False}}
    bare = execute(Spaced(0.1), world(), ("social",), tmp_path / "bare", name="bare", settings=settings)
    with pytest.raises(InputError, match="kept no vectors"):
        neighbourhoods([bare], clusters=4)
    other = execute(
        Spaced(0.1), world(seed=1), ("social",), tmp_path / "other", name="other", settings=settings
    )
    with pytest.raises(InputError, match="are not over the same items"):
        neighbourhoods([runs[0], other])
    with pytest.raises(InputError, match="holds a run"):
        write_neighbourhoods(runs, runs[0].folder)
    assert Run.open(runs[0].folder).name == "tie 0.0"


def test_clusters_are_found_and_numbered_from_the_largest():
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(3, 8), (50, 30, 20), axis=0)
    labels = cluster((centres + 0.01 * rng.normal(size=centres.shape)).astype(np.float32), 3, 0)
    assert labels.tolist() == [0] * 50 + [1] * 30 + [2] * 20
    assert np.array_equal(labels, cluster(centres.astype(np.float32), 3, 1))


def test_groups_are_intersections_largest_first():
    labels = np.array([[0, 0], [0, 1], [0, 1], [1, 1], [1, 1], [1, 1], [1, 0]])
    assert [(combination, rows.tolist()) for combination, rows in groups_of(labels, 2)] == [
        ((1, 1), [3, 4, 5]), ((0, 1), [1, 2]),
    ]  # fmt: skip


def test_words_are_those_that_are_likelier_here_than_elsewhere():
    texts = [["a man plays a guitar"] * 20, ["a man kicks a ball"] * 20, ["a man"] * 20]
    assert distinctive_words(texts) == [["guitar", "plays"], ["ball", "kicks"], ["man"]]
    assert distinctive_words([["", ""], ["", ""]]) == [[], []]
    assert distinctive_words([["the same"] * 9, ["the same"] * 9]) == [[], []]


def test_a_bias_that_is_the_same_for_all_correlates_with_nothing():
    rows = [
        {
            "run": f"m{n}",
            "group": group,
            "metric": "b",
            "k": None,
            "attribute": "gender",
            "direction": None,
            "value": value,
        }
        for n in range(5)
        for group, value in ((GLOBAL, float(n)), ("1", 0.0), ("2", float(n * n)))
    ]
    table = correlations_of(pl.from_dicts(rows, schema_overrides={"k": pl.Int32, "direction": pl.String}), 0)
    assert table.select("group", "rho").rows() == [("2", pytest.approx(1.0))]


def test_the_command_prints_groups_and_writes_the_page(runs, tmp_path, capsys):
    words = ["study", "neighbourhoods", str(runs[3].folder), "--out", str(tmp_path), "--clusters", "4"]
    app(words, standalone_mode=False)
    assert "guitar" in capsys.readouterr().out
    app([*words, "--json"], standalone_mode=False)
    content = json.loads(capsys.readouterr().out)
    assert [group["size"] for group in content["groups"]] == [120] * 4
    assert (tmp_path / "report.html").exists()


def test_a_value_of_too_few_to_judge_by_is_not_quoted():
    keys = {"run": "m", "metric": "MaxSkew", "k": 100, "attribute": "gender", "direction": None}
    numbers = [(GLOBAL, 0.1, True), ("1", 0.2, True), ("2", 0.401, False)]
    biases = pl.DataFrame(
        [keys | {"group": group, "value": value, "judged": judged} for group, value, judged in numbers]
    )
    groups = pl.DataFrame(
        {"group": ["1", "2"], "size": [300, 100], "words": ["", ""], "clusters": ["0", "1"]}
    )
    found = Neighbourhoods(groups, pl.DataFrame(), biases, pl.DataFrame())
    *_, few, largest = sentences(found, ["m"])
    assert few == "1 of 2 values of MaxSkew by gender are of too few to judge by."
    assert largest == "MaxSkew by gender is largest in group 1 for m: 0.200, over all images 0.100."
    assert not any("401" in line for line in sentences(found, ["m"]))


def test_a_corrected_p_says_so_in_the_head_of_its_column():
    assert Table("", pl.DataFrame({"rho": [0.1], "p": [0.1], "p_holm": [0.2]})).heads == [
        "rho",
        "p",
        "p (Holm)",
    ]
