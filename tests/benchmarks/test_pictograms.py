"""The embedded benchmark: what ships is whole, licensed and small."""

from __future__ import annotations

import io
from importlib.resources import files

import numpy as np
import polars as pl
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.pictograms import (
    drawings,
    flag_badge,
    flags,
    names,
    nigerian_names,
    pictograms,
    with_flag,
)
from equiview.data.countries import countries
from equiview.data.languages import languages

DATA = files("equiview.benchmarks") / "pictogram_data"
MODELS = files("equiview.subjects.encoders") / "pictogram_models"


def test_every_concept_is_named_once_in_each_of_36_languages():
    counts = names().group_by("language").agg(pl.col("concept").n_unique(), pl.len())
    assert set(counts["language"]) == set(languages()["code"])
    assert counts["concept"].unique().to_list() == counts["len"].unique().to_list() == [1280]
    assert names()["text"].str.strip_chars().str.len_chars().min() >= 1


def test_concepts_leave_out_variants():
    concepts = drawings()["concept"]
    assert concepts.n_unique() == 1280
    points = {int(code, 16) for concept in concepts for code in concept.split("-")}
    assert 0xFE0F not in points
    assert 0x20E3 not in points
    assert not points & set(range(0x1F3FB, 0x1F400))
    assert "Flags" not in set(drawings()["group"])


def test_lookalikes_share_a_family():
    family = dict(drawings().select("concept", "family").iter_rows())
    assert len({family[f"{code:x}"] for code in range(0x1F550, 0x1F568)}) == 1, "clock faces"
    assert len({family[f"{code:x}"] for code in range(0x1F311, 0x1F319)}) == 1, "moon phases"
    assert (
        family["1f9d1-200d-1f373" if "1f9d1-200d-1f373" in family else "1f468-200d-1f373"]
        == (family["1f469-200d-1f373"])
    ), "cooks"
    assert family["1f355"] == "1f355"
    assert set(family.values()) <= set(family)


def test_borrowed_marks_names_equal_to_the_english():
    table = names().join(names().filter(language="en").select("concept", english="text"), on="concept")
    same = (table["text"].str.to_lowercase() == table["english"].str.to_lowercase()) & (
        table["language"] != "en"
    )
    assert (same == table["borrowed"]).mean() > 0.9999  # folding knows a few letters more than lower case
    assert 0 < table["borrowed"].sum() < 2000


def test_pictures_open_and_flags_are_there():
    for table in (drawings(), flags()):
        for picture in table["picture"][:: max(1, len(table) // 40)]:
            assert max(Image.open(io.BytesIO(picture)).size) == 96
    assert sorted(flags()["country"]) == sorted(countries()["code"])
    assert flags()["concept"].n_unique() == 16
    assert flags()["concept"].str.contains(r"^1f1[ef].-1f1[ef].$").all()
    assert set(nigerian_names()["language"]) == {"yo", "ha"}


def test_licences_and_sources_lie_beside_what_they_cover():
    for name in ("LICENSE-Apache-2.0.txt", "LICENSE-Unicode-3.0.txt", "SOURCE.md"):
        assert len((DATA / name).read_text("utf-8")) > 500, name


def test_what_ships_is_small():
    assert sum(len(path.read_bytes()) for path in DATA.iterdir()) < 8e6


def test_the_benchmark_has_36_right_names_for_each_drawing():
    loaded = load_benchmark("pictograms")
    assert (len(loaded.images), len(loaded.texts)) == (1280, 46_080)
    assert set(loaded.relevance.counts.tolist()) == {36}
    assert {"concept", "family", "group", "borrowed", "language"} <= set(loaded.texts.table.columns)
    assert "Apache-2.0" in loaded.licence
    assert loaded.fingerprint == pictograms().fingerprint


def test_a_flag_changes_the_corner_and_nothing_else():
    drawing = Image.new("RGB", (96, 96), (10, 200, 30))
    flag = Image.open(io.BytesIO(flags()["picture"][5]))
    shown = np.asarray(with_flag(drawing, flag))
    badge = flag_badge(flag, 96)
    changed = (shown != np.asarray(drawing)).any(axis=2)
    assert changed[96 - badge.height :, 96 - badge.width :].all()
    assert changed.sum() == badge.height * badge.width
    assert (shown[95, 95] == 255).all(), "the frame is white"
