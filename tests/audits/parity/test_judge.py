"""The answer of parity, on worlds whose gaps are known because we made them."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.parity import PARITY
from tests.audits.parity.worlds import Faces, audited, of_world
from tests.conftest import LANGUAGES, write_world


def test_languages_that_are_alike_are_found_fair(tmp_path):
    folder = write_world(tmp_path / "w", images=120)
    np.save(folder / "texts.npy", np.repeat(np.load(folder / "images.npy"), len(LANGUAGES), axis=0))
    _, estimates, options = of_world(folder)
    verdict = PARITY.judge(estimates, options)
    assert verdict.finding == "fair"
    assert verdict.answer == (
        "No: all gaps to English are within 5 points, intervals included (image to text; text to image)."
    )
    assert estimates.one("range over languages", task="image-to-text").value == 0
    assert estimates.one("Gini over languages", task="image-to-text").value == 0


def test_more_skew_is_more_measured_bias(tmp_path):
    skewed = [of_world(write_world(tmp_path / str(skew), skew=skew, images=150)) for skew in (0.0, 2.0, 6.0)]
    for task in ("image-to-text", "text-to-image"):
        gaps = [estimates.one("gap to pivot", task=task).value for _, estimates, _ in skewed]
        ranges = [estimates.one("range over languages", task=task).value for _, estimates, _ in skewed]
        assert gaps == sorted(gaps)
        assert ranges == sorted(ranges)
    verdicts = [PARITY.judge(estimates, options) for _, estimates, options in skewed]
    assert verdicts[-1].finding == "biased"
    assert verdicts[0].finding != "biased"
    assert verdicts[-1].answer.startswith("Yes: ")
    assert "is served worse than English" in verdicts[-1].answer
    assert any("Worst served" in line for line in verdicts[-1].evidence)


def test_groups_that_are_harmed_are_found(faces, harmed):
    _, estimates, options = harmed
    keys = {"task": "gender", "attribute": "gender", "group": "Female", "against": "Male"}
    gap = {
        (code, race): estimates.one("group gap", language=code, within="race", within_group=race, **keys)
        for code in ("en", "tr")
        for race in ("White", "Black")
    }
    assert gap["tr", "Black"].high < gap["en", "Black"].low < 0
    assert gap["en", "White"].low < 0 < gap["en", "White"].high
    more = estimates.one("amplification", language="tr", within="race", within_group="Black", **keys)
    assert more.low > 0
    verdict = PARITY.judge(estimates, options)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: ")
    assert "Asked for gender in Turkish, images labelled" in verdict.answer
    _, fair, options = audited(Faces(), faces)
    spared = fair.one("group gap", language="tr", within="race", within_group="Black", **keys).value
    assert abs(spared) < 0.05 < abs(gap["tr", "Black"].value)


def test_things_of_a_kind_are_broken_down_and_not_judged_as_people(tmp_path):
    folder = write_world(tmp_path / "w", images=120)
    images = pl.read_csv(folder / "images.csv")
    images.with_columns(group=pl.Series(["food", "flags", "animals"] * 40)).write_csv(folder / "images.csv")
    _, estimates, options = of_world(folder)
    cells = [
        estimates.one("R", 1, task="image-to-text", language="sw", attribute="group", group=name)
        for name in ("food", "flags", "animals")
    ]
    overall = estimates.one("R", 1, task="image-to-text", language="sw").value
    assert np.mean([cell.value for cell in cells]) == pytest.approx(overall)
    assert [cell.n for cell in cells] == [40] * 3
    assert "food" not in PARITY.judge(estimates, options).answer


def test_paraphrases_stand_beside_languages(harmed):
    _, estimates, options = harmed
    spread = estimates.one("range over paraphrases", task="gender", language="tr")
    assert 0 <= spread.low <= spread.value <= spread.high
    assert any(
        line.startswith("Wordings of one language") for line in PARITY.judge(estimates, options).evidence
    )


def test_every_task_is_judged_beside_matching(both):
    _, estimates, options = both
    evidence = PARITY.judge(estimates, options).evidence
    for title in ("image to text", "text to image", "gender, zero-shot", "race, zero-shot", "age, zero-shot"):
        assert sum(f"{title}: from" in line for line in evidence) == 1
