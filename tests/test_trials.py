"""Trials share only what they should, however images are labelled; and the reader of the released ones."""

import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.trials import ROLES, make_trials
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


def test_a_country_without_a_language_is_named():
    with pytest.raises(InputError, match="no language is known for country Atlantis"):
        languages_of(pl.Series(["USA", "Atlantis"]), "x")


def test_the_embedded_benchmark_is_whole():
    benchmark = load_benchmark("pictograms-culture")
    trials = benchmark.tables["trials"]
    assert len(benchmark.images) == len(benchmark.texts) == len(trials) == 1600
    assert trials["country"].n_unique() == 16
    assert benchmark.texts.table["language"].n_unique() == 12
    assert (
        benchmark.texts.table.group_by("language", "text").agg(pl.col("concept").n_unique())["concept"].max()
        == 1
    )


def release(folder, **changes):
    """Write a tiny release in the published layout: nine images, one trial."""
    pairs = [(c, k) for c in ("train", "doll", "hat") for k in ("Argentina", "Portugal", "USA")]
    prefix = {"Argentina": "argentina", "Portugal": "portugal", "USA": "america"}
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "JPEG")
    metadata = pl.DataFrame(
        {
            "concept_id": [0] * 9,
            "image_id": [f"{prefix[k]}-{c}-1-eng" for c, k in pairs],
            "concept": [c for c, _ in pairs],
            "country": [k for _, k in pairs],
            "concept_in_native": [f"{c} ({k})" for c, k in pairs],
            "image": [{"bytes": buffer.getvalue(), "path": None}] * 9,
        }
    )
    trial = {
        "query": ("argentina-train-1-eng", "train", "Argentina"),
        "semantically_relevant_candidate": ("portugal-train-1-eng", "train", "Portugal"),
        "culturally_relevant_candidate": ("argentina-doll-1-eng", "doll", "Argentina"),
        "non_relevant_candidate": ("america-hat-1-eng", "hat", "USA"),
    }
    row = {
        f"{name}_{field}": value
        for name, values in trial.items()
        for field, value in zip(("image_id", "concept", "country"), values, strict=True)
    }
    folder.mkdir()
    (folder / "image_metadata").mkdir()
    metadata.write_parquet(folder / "image_metadata" / "part-0.parquet")
    pl.DataFrame([{"query_index": 0, **row, **changes}]).write_csv(folder / "benchmark.csv")
    return folder


def test_the_release_is_read_in_its_layout(tmp_path):
    benchmark = load_benchmark(f"3xcm:{release(tmp_path / 'r')}")
    (trial,) = benchmark.tables["trials"].iter_rows(named=True)
    assert trial["query_id"] == "Argentina:train:train (Argentina)"
    assert trial["nonrelevant_id"] == "america-hat-1-eng"
    assert (trial["language"], trial["shares_language"]) == ("es", False)
    assert "this is a part of it" in benchmark.about
    assert benchmark.images.pictures([0])[0].size == (4, 4)


def test_the_hub_is_asked_only_when_named(tmp_path, monkeypatch):
    import huggingface_hub

    folder, asked = release(tmp_path / "r"), []

    def download(name, repo_type):
        asked.append((name, repo_type))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert len(load_benchmark(f"3xcm:{folder}").images) == 9
    assert asked == []
    assert len(load_benchmark("3xcm:hub").images) == 9
    assert asked == [("Chula-AI/association_bias_benchmark", "dataset")]

    def refuse(name, repo_type):
        raise OSError("no route\nto host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(InputError, match=r"the hub cannot be reached or refuses \(no route to host\)"):
        load_benchmark("3xcm:hub")


def test_an_image_missing_from_the_metadata_is_named_with_its_row(tmp_path):
    folder = release(tmp_path / "r", query_image_id="gone-1")
    with pytest.raises(InputError, match="row 1: query image 'gone-1' is not in image_metadata"):
        load_benchmark(f"3xcm:{folder}")


def test_a_missing_part_says_where_to_get_it(tmp_path):
    folder = release(tmp_path / "r")
    (folder / "benchmark.csv").unlink()
    with pytest.raises(InputError, match=r"holds no benchmark\.parquet nor .*CC BY-NC-SA 4\.0"):
        load_benchmark(f"3xcm:{folder}")
    with pytest.raises(InputError, match="needs a folder: 3xcm:DIR"):
        load_benchmark("3xcm")
