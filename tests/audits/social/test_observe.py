"""What the social audit observes, and what it refuses."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.social import SCHEMAS, SOCIAL
from equiview.benchmarks import load_benchmark
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.search import comparable
from tests.audits import steps
from tests.audits.social.worlds import Tied, audited, people
from tests.benchmarks.layouts import LAYOUTS


def observed(subject, benchmark, **settings):
    return SOCIAL.observe(subject, benchmark, SOCIAL.configure(settings), silent)


def test_lists_are_the_best_images_of_the_whole_gallery():
    benchmark = people(120)
    tables = observed(Tied(0.5), benchmark)
    images = comparable(Tied(0.5), benchmark.images)
    prompt = tables["prompts"]["prompt_id"][3]
    texts = comparable(Tied(0.5), _items(tables))
    scores = images @ texts[3]
    ranked = tables["rankings"].filter(prompt_id=prompt)
    best = [benchmark.images.ids[int(row)] for row in np.argsort(-scores)[:12]]
    assert ranked["image_id"].to_list() == best
    assert ranked["rank"].to_list() == list(range(1, 13))


def _items(tables):
    from equiview.data.items import Items

    return Items("text", tables["prompts"].rename({"prompt_id": "id"}))


def test_lists_reach_to_k_or_to_a_share_of_a_small_gallery():
    for settings, depth in (({}, 12), ({"k": 5}, 5), ({"share": 0.5}, 60)):
        ranked = observed(Tied(), people(120), **settings)["rankings"]
        assert ranked.group_by("prompt_id").len()["len"].unique().to_list() == [depth]


def test_ties_at_the_cut_are_kept():
    tables = observed(Tied(noise=0.0, sees=1.0), people(96, gender=["woman", "man"] * 48))
    # 24 roles of 4 images each, all of one gender: a list is cut at 10, in the middle of a tie.
    assert (tables["rankings"].group_by("prompt_id").len()["len"] > 10).all()
    assert (tables["rankings"].group_by("prompt_id").len()["len"] <= 20).all()


def test_matches_are_ranks_of_the_right_caption_and_image():
    matches = observed(Tied(noise=0.0), people(48))["matches"]
    assert matches.group_by("direction", maintain_order=True).len().rows() == [
        ("image-to-text", 48), ("text-to-image", 48),
    ]  # fmt: skip
    assert matches["candidates"].unique().to_list() == [48]
    assert matches["relevant"].unique().to_list() == [1]
    # The caption of a role and the other image of that role tie: all right ones are first or second.
    assert matches["rank"].max() <= 2


def test_without_captions_nothing_is_matched():
    assert not len(observed(Tied(), people(120, captions=False))["matches"])


def test_vectors_and_pictures_are_kept_small():
    tables = observed(Tied(), people(480, pictures=True))
    images = tables["images"]
    assert images["vector"].bin.size().unique().to_list() == [2 * 48]
    vector = np.frombuffer(images["vector"][0], "<f2")
    assert float(np.linalg.norm(vector.astype(np.float64))) == pytest.approx(1, abs=0.01)
    assert 400 <= images["picture"].count() < 480
    assert observed(Tied(), people(480), vectors=False)["images"]["vector"].null_count() == 480


def test_tables_are_what_the_schemas_say(tmp_path):
    tables = observed(Tied(), people(120, pictures=True))
    tables.write(tmp_path, "social")
    again = Observations.read(tmp_path, "social", SCHEMAS)
    assert all(again[name].equals(tables[name]) for name in SCHEMAS)


def test_people_of_whom_nothing_is_known_stay_in_the_gallery():
    gender = ["woman", "man", None, "mixed", "Unsure", ""] * 20
    tables, estimates, _ = audited(Tied(0.5), people(120, gender=gender))
    assert len(tables["images"]) == 120
    assert set(tables["labels"].filter(attribute="gender")["value"]) == {
        "woman",
        "man",
        "mixed",
        "Unsure",
        "",
    }
    assert estimates.one("known group", attribute="gender").value == pytest.approx(1 / 3)
    shares = estimates.by("group", "share shown", 12, attribute="gender")
    assert {row.quantity.keys["group"] for row in shares} == {"woman", "man"}


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        (
            {"gender": ["woman"] * 48, "skin": [None] * 48},
            {},
            "attribute 'skin' of the images has no known value only",
        ),
        (
            {"gender": ["woman"] * 48},
            {"attributes": ["gender"]},
            "attribute 'gender' of the images has 'woman' only",
        ),
        ({}, {"attributes": ["hair"]}, "images have no attribute 'hair'"),
        ({}, {"intersections": ["gender"]}, "'gender' is not of the form 'gender x skin'"),
        ({}, {"intersections": ["gender x hair"]}, "is of 'hair', which is not among the attributes audited"),
        ({}, {"languages": ["sw"]}, "there are no prompts in sw; there are some in en"),
        ({}, {"caption_language": "sw"}, "there are no captions in 'sw'"),
        ({}, {"cutoffs": [0]}, "cutoffs must be whole numbers of 1 or more"),
    ],
)
def test_what_cannot_be_audited_is_said(columns, settings, message):
    with pytest.raises(InputError) as caught:
        observed(Tied(), people(48, **columns), **settings)
    assert message in str(caught.value)


def test_images_without_attributes_of_people_are_said_to_have_none():
    benchmark = people(48)
    images = type(benchmark.images)("image", benchmark.images.table.drop("gender", "skin"), "photos.csv")
    with pytest.raises(
        InputError, match=r"photos.csv: images have none of gender, skin, age, race.*: role\)"
    ):
        observed(Tied(), type(benchmark)("people", images))


def test_a_prompt_that_names_the_attribute_is_refused():
    benchmark = people(48)
    prompts = benchmark.tables["neutral_prompts"].with_columns(
        text=pl.when(pl.col("concept") == "role 3").then(pl.lit("a female nurse")).otherwise("text")
    )
    named = type(benchmark)(
        "people", benchmark.images, tables={"neutral_prompts": prompts}, schemas=benchmark.schemas
    )
    with pytest.raises(
        InputError, match=r"prompt 'role 3' \('a female nurse'\) names gender by the word 'female'"
    ):
        observed(Tied(), named)
    assert len(observed(Tied(), named, allowed=["female"])["prompts"]) == 24


class Anything(Tied):
    """Sees nothing at all of images and texts but their place."""

    def embed(self, items, progress=silent):
        return np.random.default_rng(len(items)).normal(size=(len(items), 8)).astype(np.float32)


@pytest.mark.parametrize("name", ["phase", "coco-people", "fairface"])
def test_published_data_sets_of_people_can_be_audited(name, tmp_path):
    LAYOUTS[name](tmp_path / name)
    if name == "coco-people":  # three images of the layout show no two known groups
        path = tmp_path / name / "images_val2014.csv"
        path.write_text(path.read_text().replace("Both,Unsure", "Both,Female"))
    if name == "phase":
        path = next((tmp_path / name).glob("*.json"))
        path.write_text(path.read_text().replace('"gender": "female"', '"gender": "male"', 1))
    benchmark = load_benchmark(f"{name}:{tmp_path / name}")
    tables, estimates, settings = audited(Anything(), benchmark)
    assert len(tables["images"]) == len(benchmark.images)
    verdict = SOCIAL.judge(estimates, settings)
    assert verdict.finding == "unclear"
    assert "large enough to judge" in verdict.answer
    assert steps.drawn(SOCIAL, tables, estimates, settings)
