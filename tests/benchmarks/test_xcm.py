"""The reader of the released trials of association bias."""

import io

import polars as pl
import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError


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


def test_a_country_of_a_trial_that_no_image_has_is_named(tmp_path):
    with pytest.raises(InputError, match="no language is known for country Atlantis"):
        load_benchmark(f"3xcm:{release(tmp_path / 'r', query_country='Atlantis')}")


def test_the_hub_is_asked_only_when_named(tmp_path, monkeypatch):
    import huggingface_hub

    folder, asked = release(tmp_path / "r"), []

    def download(name, repo_type, local_files_only=False):
        if local_files_only:
            raise OSError("not in the cache")
        asked.append((name, repo_type))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert len(load_benchmark(f"3xcm:{folder}").images) == 9
    assert asked == []
    assert len(load_benchmark("3xcm:hub").images) == 9
    assert asked == [("Chula-AI/association_bias_benchmark", "dataset")]

    def refuse(name, repo_type, local_files_only=False):
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


def test_a_card_beside_it_says_what_it_is(tmp_path):
    folder = release(tmp_path / "r")
    card = folder / "croissant.json"
    card.write_text('{"name": "Mine", "url": "https://mine.example", "license": "CC0"}')
    read = load_benchmark(f"3xcm:{folder}")
    assert (read.about, read.source, read.licence) == (
        "1 trials of 1 concepts: Mine",
        "https://mine.example",
        "CC0",
    )
    card.write_text("{}")
    assert load_benchmark(f"3xcm:{folder}").licence == "CC BY-NC-SA 4.0, research only"
    card.write_text("[]")
    with pytest.raises(InputError, match=r"croissant\.json: holds no object"):
        load_benchmark(f"3xcm:{folder}")
