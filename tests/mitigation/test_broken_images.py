"""`audit --on-error skip` of what was made of an encoder: the broken image is left out and named."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError

SETTINGS = {"prevalence": {"replicates": 100}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Drawings with their names in two languages, and the same of which one is broken: (whole, broken)."""
    drawn = load_benchmark("pictograms")
    place = tmp_path_factory.mktemp("drawings")
    whole, broken = place / "whole", place / "broken"
    whole.mkdir()
    images = drawn.images.table.head(60)
    for name, picture in images.select("id", "picture").iter_rows():
        (whole / f"{name}.webp").write_bytes(picture)
    images.select("id", "concept", path=pl.col("id") + ".webp").write_csv(whole / "images.csv")
    texts = drawn.need_texts().table
    texts = texts.filter(
        pl.col("image_id").is_in(images["id"].implode()), pl.col("language").is_in(["en", "sw"])
    )
    texts.select("id", "text", "language", "image_id").write_csv(whole / "texts.csv")
    shutil.copytree(whole, broken)
    (broken / f"{images['id'][7]}.webp").write_bytes(b"no picture")
    return whole, broken, images["id"][7]


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("center", {}),
        ("csls", {}),
        ("fair-topk", {"by": "language"}),
        ("exposure", {"by": "language", "depth": 20}),
    ],
)
@pytest.mark.parametrize("cache", [True, False])
def test_it_is_left_out_and_the_others_are_judged(folders, tmp_path, method, given, cache):
    whole, broken, name = folders
    settings = {"subject": "pictogram:skewed"} | given
    if method != "fair-topk":
        settings["benchmark"] = f"folder:{whole}"
    made = api.make(method, settings, tmp_path / "made").name
    data = f"folder:{broken}"
    with pytest.raises(InputError, match="cannot be read"):
        api.audit(made, data, ["prevalence"], tmp_path / "stopped", settings=SETTINGS, cache=cache)
    run = api.audit(
        made, data, ["prevalence"], tmp_path / "skipped", settings=SETTINGS, cache=cache, on_error="skip"
    )
    assert pl.read_csv(run.folder / "left_out.csv")["id"].to_list() == [name]
    assert run.manifest.benchmark.counts["images"] == 59
    assert "without 1 images" in run.manifest.benchmark.name
    assert run.estimates.one("Accuracy", 1).n == 59
