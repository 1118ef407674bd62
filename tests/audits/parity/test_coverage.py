"""Ragged data: how many images an answer rests on is said, and warned of below half."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.parity import PARITY
from tests.audits.parity.worlds import of_world
from tests.conftest import write_world


def ragged(folder, kept):
    """A world of 100 images of which only the first `kept` have captions in Maori."""
    write_world(folder, images=100, skew=0.0)
    texts = pl.read_csv(folder / "texts.csv").with_row_index("row")
    here = (pl.col("language") != "mi") | (pl.col("image_id").str.slice(1).cast(pl.Int64) < kept)
    rows = texts.filter(here)
    vectors = folder / "texts.npy"
    np.save(vectors, np.load(vectors)[rows["row"].to_numpy()])
    rows.drop("row").write_csv(folder / "texts.csv")
    return folder


def judged(folder, **settings):
    observed, estimates, options = of_world(folder, **settings)
    return observed, PARITY.judge(estimates, options)


def test_an_answer_from_less_than_half_of_the_images_says_so(tmp_path):
    observed, verdict = judged(ragged(tmp_path, 35))
    assert observed["coverage"].filter(language="mi").row(0) == ("mi", 35, 35, 100)
    assert observed["coverage"].filter(language="en").row(0) == ("en", 100, 35, 100)
    said = "35 of 100 captioned images (35%), those with a caption in every language"
    assert f"Careful: matching rests on {said}; parity.languages" in verdict.answer
    assert "parity.common=false" in verdict.answer
    assert any(said in line for line in verdict.evidence)


def test_from_more_than_half_it_is_only_among_the_evidence(tmp_path):
    _, verdict = judged(ragged(tmp_path, 60))
    assert "Careful" not in verdict.answer
    assert any("60 of 100 captioned images (60%)" in line for line in verdict.evidence)


def test_where_each_language_has_its_own_images_the_fewest_are_named(tmp_path):
    observed, verdict = judged(ragged(tmp_path, 40), common=False)
    assert observed["coverage"]["compared"].to_list() == [100, 100, 40, 100]
    assert "40 of 100 captioned images (40%), in Maori, the language with the fewest" in verdict.answer
    assert "parity.common=false" not in verdict.answer


@pytest.mark.parametrize("common", [True, False])
def test_whole_data_say_that_they_are_whole(world, common):
    _, verdict = judged(world, common=common)
    assert "Matching rests on all 40 captioned images." in verdict.evidence
