"""What parity observes, and what it refuses."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.parity import PARITY, SCHEMAS
from equiview.audits.parity.observe import _ranks_both_ways
from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from tests.audits.parity.conftest import captioned
from tests.audits.parity.worlds import FACES, Faces, audited, of_world
from tests.conftest import LANGUAGES, write_world


def test_observations_satisfy_their_schemas(world, harmed):
    for observed in (of_world(world)[0], harmed[0]):
        for name, schema in SCHEMAS.items():
            schema.check(observed[name], name)
    observed = of_world(world)[0]
    assert len(observed["matches"]) == 2 * 40 * len(LANGUAGES)
    assert len(harmed[0]["predictions"]) == 3 * 8 * 3 * FACES
    assert len(harmed[0]["prompts"]) == 14 * 8 * 3


def test_the_length_of_vectors_does_not_matter(tmp_path):
    folder = write_world(tmp_path / "a", skew=3.0)
    before = of_world(folder)[0]["matches"]
    np.save(folder / "texts.npy", 2 * np.load(folder / "texts.npy"))
    assert of_world(folder)[0]["matches"].equals(before)


def test_what_cannot_be_compared_is_said(world, faces, tmp_path):
    with pytest.raises(InputError, match="the pivot 'fr' is not among the languages of image-to-text and"):
        of_world(world, pivot="fr")
    with pytest.raises(InputError, match="parity compares two languages or more"):
        of_world(world, languages=["en"])
    with pytest.raises(InputError, match="no image label that prompts ask for"):
        audited(Faces(), faces, zero_shot=False)
    (tmp_path / "p.toml").write_text("attribute = 'gender'")
    with pytest.raises(InputError, match=r"p\.toml: values: field required"):
        audited(Faces(), faces, prompts=[str(tmp_path / "p.toml")])
    images = pl.read_csv(world / "images.csv")
    images.with_columns(gender=pl.Series(["male", "female"] * 20)).write_csv(world / "images.csv")
    with pytest.raises(InputError, match=r"classification needs an encoder, or parity\.zero_shot=false"):
        of_world(world)
    assert len(of_world(world, zero_shot=False)[0]["groups"]) == 40


def test_labelled_images_need_no_captions(faces, harmed):
    without = Benchmark("faces", faces.images)
    observed, _, _ = audited(Faces(0.25), without)
    for name in SCHEMAS:
        assert observed[name].equals(harmed[0][name])


def test_images_that_are_not_classified_are_counted(faces, caplog):
    unsure = faces.images.table.with_columns(
        gender=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("unsure")).otherwise("gender")
    )
    observed, _, _ = audited(Faces(0.25), Benchmark("faces", Items("image", unsure, "faces")))
    assert f"faces: 3 of {FACES:,} images say no gender; they are not classified" in caplog.text
    assert observed["predictions"].filter(task="gender")["query_id"].n_unique() == FACES - 3
    reason = "no gender is said, or none that says which group"
    assert observed["left_out"].rows() == [("gender", None, None, 3, FACES, reason)]


def test_whom_zero_shot_leaves_out_is_observed_measured_and_said(face_images, harmed):
    """Languages without prompts, images without a label, and labels that no prompt stands for."""
    said = pl.int_range(pl.len())
    gender = pl.when(said < 3).then(None).when(said < 10).then(pl.lit("nonbinary")).otherwise("gender")
    images = Items("image", face_images.table.with_columns(gender=gender), "faces")
    observed, estimates, options = audited(Faces(0.25), captioned(images, ["en", "te", "mi"]))
    assert observed["left_out"].filter(task="gender").rows() == [
        ("gender", "mi", None, FACES, FACES, "there are no prompts in it"),
        ("gender", "te", None, FACES, FACES, "there are no prompts in it"),
        ("gender", None, None, 3, FACES, "no gender is said, or none that says which group"),
        ("gender", None, "nonbinary", 7, FACES, "no prompt stands for it"),
    ]
    assert estimates.one("images compared", task="gender", language="te").value == 0
    assert estimates.one("images compared", task="gender").value == (FACES - 3) / FACES
    verdict = PARITY.judge(estimates, options)
    told = [line for line in verdict.evidence if line.startswith("Left out of gender, zero-shot")]
    assert told == [
        "Left out of gender, zero-shot, as there is no prompt of its own for each label: Maori and Telugu.",
        f"Left out of gender, zero-shot: 3 of {FACES:,} images, which have no label of gender, or one that "
        "does not say which.",
    ]
    said = "no prompt asks for gender 'nonbinary', the label of 7 images"
    assert any(said in line for line in verdict.evidence)
    assert not harmed[0]["left_out"].height


def test_names_that_no_language_has_for_every_concept_are_said(face_images):
    """Then there is no such task, and the answer still says whom it would have been about."""
    things = pl.Series(["hat", "doll"] * (FACES // 2))
    images = Items("image", face_images.table.with_columns(concept=things), "faces")
    names = pl.DataFrame(
        {"id": ["1", "2"], "text": ["kofia", "hat"], "language": ["sw", "en"], "concept": "hat"}
    )
    observed, estimates, options = audited(Faces(), Benchmark("faces", images, Items("text", names)))
    reason = "1 of 2 concepts have a name in it"
    assert observed["left_out"].rows() == [
        ("concept", "sw", None, FACES, FACES, reason),
        ("concept", "en", None, FACES, FACES, reason),
    ]
    (said,) = (line for line in PARITY.judge(estimates, options).evidence if line.startswith("Left out"))
    assert said.endswith("no prompt of its own for each label: English and Swahili.")


def test_equal_scores_rank_in_the_order_passed():
    images, texts = np.ones((3, 1), np.float32), np.ones((3, 1), np.float32)
    members = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    to_text, to_image, ahead = _ranks_both_ways(
        images, texts, np.array([2, 0, 1]), np.array([1, 2, 0]), members
    )
    assert to_text.tolist() == [3, 1, 2]
    assert to_image.tolist() == [2, 3, 1]
    assert ahead.tolist() == [[1, 1], [0, 0], [1, 0]]


def test_captions_ranked_before_the_right_one_are_counted_by_group(both):
    observed, _, _ = both
    counts = (
        observed["ahead"].group_by("query_id", "language", "round", "attribute").agg(pl.col("ahead").sum())
    )
    behind = observed["matches"].filter(pl.col("direction") == "image-to-text", pl.col("rank") > 1)
    for attribute in ("gender", "race", "age"):
        table = behind.join(counts.filter(attribute=attribute), on=["query_id", "language", "round"])
        assert len(table) == len(behind) > 0
        assert (table["ahead"] == table["rank"] - 1).all()


class Unused(Faces):
    """An encoder that must not be run."""

    def embed(self, items, progress=None):
        raise AssertionError("the encoder was run")


def test_a_pivot_that_is_not_there_is_found_before_anything_is_run(faces, captioned_faces):
    with pytest.raises(
        InputError, match="'fr' is not among the languages of image-to-text and text-to-image"
    ):
        audited(Unused(), captioned_faces, pivot="fr")
    with pytest.raises(InputError, match="'sw' is not among the languages of gender"):
        audited(Unused(), faces, pivot="sw")


def test_the_pivot_is_the_most_written_language_there_is(tmp_path):
    folder = write_world(tmp_path / "w", images=40)
    _, estimates, _ = of_world(folder, languages=["sw", "mi", "de"])
    others = estimates.by(("language", "other"), "gap to pivot", task="image-to-text").table
    assert set(others["other"]) == {"de"}
    assert set(others["language"]) == {"sw", "mi"}


def test_names_of_things_are_no_captions_but_classes(things):
    """An image of many that share a name is not asked to find it among its copies."""
    observed, estimates, _ = things
    assert not len(observed["matches"])
    predictions = observed["predictions"]
    assert predictions["task"].unique().to_list() == ["concept"]
    assert predictions["language"].n_unique() == 12
    assert len(predictions) == 1600 * 12
    assert estimates.one("accuracy", task="concept", language="en").value > 0.5
