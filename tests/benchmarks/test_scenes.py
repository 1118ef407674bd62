"""Scenes: things in pairs, taken away exactly, drawn when asked for and the same every time."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.scenes import SIDE, SceneOptions, pictures, scenes_of
from equiview.benchmarks.scenes_drawing import MOST, box
from equiview.benchmarks.scenes_things import contents, pairs, sentence, things, told_in, words
from equiview.errors import InputError

SMALL = SceneOptions(images=40, gallery=30)


def pixels(benchmark, name):
    return benchmark.images.draw.pixels(name)


def test_what_is_taken_away_leaves_everything_else_as_it_was():
    benchmark = scenes_of(SMALL)
    drawing = benchmark.images.draw
    for row in benchmark.tables["removals"].iter_rows(named=True):
        scene = drawing.scenes[row["image_id"]]
        gone = next(layer for layer in scene.layers if layer.thing == scene.removed)
        assert things()[gone.thing] == row["target"]
        changed = (pixels(benchmark, row["source_id"]) != pixels(benchmark, row["image_id"])).any(axis=2)
        inside = np.zeros((SIDE, SIDE), dtype=bool)
        inside[box(gone, pictures()[gone.thing][gone.size])] = True
        assert changed.any()
        assert not (changed & ~inside).any()


def test_the_tables_say_what_is_in_each_picture():
    benchmark = scenes_of(SMALL)
    scenes = benchmark.images.draw.scenes
    for row in benchmark.tables["removals"].iter_rows(named=True):
        shown = {things()[thing] for thing in scenes[row["source_id"]].shown}
        assert set(row["removed"]) == {row["target"]}
        assert set(row["kept"]) == shown - {row["target"]}
        assert row["kept"]
    named = benchmark.tables["mentions"].group_by("text_id").agg("object")
    of_text = dict(named.iter_rows())
    texts = benchmark.texts.table.filter(language="en")
    for row in texts.iter_rows(named=True):
        assert all(words("en")[things().index(name)] in row["text"] for name in of_text[row["id"]])
        if row["image_id"].startswith("s"):
            assert set(of_text[row["id"]]) <= {things()[t] for t in scenes[row["image_id"]].shown}


def test_a_thing_whose_pair_is_there_is_taken_away_where_there_is_one():
    benchmark = scenes_of(SceneOptions(images=60, gallery=0, strength=1.0))
    other = {name: things()[row ^ 1] for row, name in enumerate(things())}
    table = benchmark.tables["removals"]
    left = [other[row["target"]] in row["kept"] for row in table.iter_rows(named=True)]
    assert np.mean(left) > 0.95


def test_only_scenes_of_the_benchmark_are_relevant_and_the_gallery_has_more_captions():
    benchmark = scenes_of(SMALL)
    images, relevance = benchmark.images, benchmark.relevance
    assert relevance.queries.max() < SMALL.images
    assert (relevance.counts[: SMALL.images] > 0).all()
    assert benchmark.counts["images"] == SMALL.images + benchmark.counts["removals"]
    assert len(benchmark.texts) > relevance.items.max() + 1
    assert images.table["id"].n_unique() == len(images)


def test_pictures_are_drawn_when_asked_for_and_the_same_every_time():
    first, again = scenes_of(SMALL), scenes_of(SMALL)
    assert "picture" not in first.images.table.columns
    assert first.fingerprint == again.fingerprint
    assert first.images.take([3, 50]).encoded(1) == again.images.encoded(50)
    assert first.images.pictures([0])[0].size == (SIDE, SIDE)
    assert Image.open(io.BytesIO(first.images.thumbnail(0))).size == (96, 96)
    other = scenes_of(SMALL.model_copy(update={"seed": 1}))
    assert other.fingerprint != first.fingerprint


def test_more_scenes_begin_with_the_same_pictures():
    few, more = scenes_of(SMALL), scenes_of(SMALL.model_copy(update={"images": 80}))
    assert few.images.encoded(7) == more.images.encoded(7)


def test_a_filling_gets_the_real_picture_and_the_box_of_what_is_removed():
    seen = []

    def fill(picture, mask):
        seen.append((picture, mask))
        return np.where(mask[..., None], 0, picture).astype(np.uint8)

    exact, filled = scenes_of(SMALL), scenes_of(SMALL, fill)
    row = exact.tables["removals"].row(0, named=True)
    picture = pixels(filled, row["image_id"])
    (real, mask), *_ = seen
    assert (real == pixels(exact, row["source_id"])).all()
    assert (picture[mask] == 0).all()
    assert (picture[~mask] == real[~mask]).all()
    assert exact.tables["removals"].equals(filled.tables["removals"])


@given(strength=st.sampled_from([0.0, 0.5, 1.0]), seed=st.integers(0, 10_000))
def test_pairs_come_together_as_often_as_asked(strength, seed):
    shown = contents(strength, np.random.default_rng(seed))
    assert 2 <= len(shown) <= MOST
    assert len(set(shown)) == len(shown)
    alone = [thing for thing in shown if thing ^ 1 not in shown]
    if strength == 0:
        assert alone == shown
    if strength == 1:
        assert len(alone) <= 1  # for lack of room


def test_strength_is_how_often_the_other_of_a_pair_is_there():
    rng = np.random.default_rng(0)
    for strength in (0.2, 0.8):
        drawn = [contents(strength, rng) for _ in range(4_000)]
        pairs_there = sum(sum(thing ^ 1 in shown for thing in shown) // 2 for shown in drawn)
        units = sum(len(shown) for shown in drawn) - pairs_there
        assert pairs_there / units == pytest.approx(strength, abs=0.1)  # less where there is no room


def test_every_thing_is_in_one_pair_and_has_a_name_of_its_own_in_every_language():
    assert len(set(things())) == 2 * len(pairs()) == 72
    assert len(told_in()) >= 8
    for language in told_in():
        assert len(set(words(language))) == 72
        told = sentence([0, 3, 4], language, np.random.default_rng(0))
        assert all(words(language)[thing] in told for thing in (0, 3, 4))


def test_captions_are_told_in_the_languages_asked_for():
    benchmark = load_benchmark("scenes:images=5,gallery=2,languages=en+sw,strength=0.9")
    assert set(benchmark.texts.table["language"]) == {"en", "sw"}
    assert set(scenes_of(SceneOptions(images=2, languages="all")).texts.table["language"]) == set(told_in())


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("strength=2", "'strength'"),
        ("images=x", "'images'"),
        ("languages=en+xx", "'xx' is none of"),
        ("colour=red", "no option 'colour'"),
        ("big", "takes no argument 'big'"),
    ],
)
def test_wrong_options_are_told(argument, message):
    with pytest.raises(InputError, match=message):
        load_benchmark(f"scenes:{argument}")


def test_captions_of_synthetic_images_name_what_is_left_alone():
    table = load_benchmark("scenes:images=40,gallery=0").tables["removals"]
    for removed, kept, captions in table.select("removed", "kept", "captions").iter_rows():
        assert len(captions) == (2 if len(kept) > 2 else 1)
        assert all(name in captions[0] for name in kept)
        assert not any(f" {name} " in f" {caption} " for name in removed for caption in captions)
