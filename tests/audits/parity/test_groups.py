"""Accuracy of groups, gaps within a language and across languages."""

from dataclasses import replace

import polars as pl
import pytest
from labs.error_rates.parity import people

from equiview.audits.parity import PARITY
from equiview.data.items import Items
from tests.audits import steps
from tests.audits.parity.worlds import FACES, Faces, audited


def test_a_gap_across_languages_and_groups_is_the_sum_of_its_parts(harmed):
    _, estimates, _ = harmed
    table = estimates.table
    keys = ["task", "language", "attribute", "group", "against"]
    gaps = table.filter(metric="cross gap")
    assert len(gaps) == 3 * 7 * (1 + 3 + 4)  # genders, races but the one with too few images, ages
    parts = table.filter(metric="part of cross gap").group_by(keys).agg(pl.col("value").sum())
    joined = gaps.join(parts, on=keys, suffix=" of parts")
    assert len(joined) == len(gaps)
    assert (joined["value"] - joined["value of parts"]).abs().max() < 1e-12
    bound = gaps.join(table.filter(metric="bound of cross gap"), on=keys, suffix=" bound")
    assert (bound["value"].abs() <= bound["value bound"] + 1e-12).all()
    cell = {"task": "gender", "attribute": "gender"}
    women = estimates.one("accuracy", language="tr", group="Female", **cell).value
    men = estimates.one("accuracy", language="en", group="Male", **cell).value
    row = estimates.one("cross gap", language="tr", group="Female", against="Male", **cell)
    assert row.value == pytest.approx(women - men)


def test_cells_too_small_say_so(harmed):
    observed, estimates, options = harmed
    few = observed["groups"].filter(attribute="race", value="Indian")
    assert 0 < len(few) < 30
    keys = {"task": "race", "attribute": "race", "group": "Indian"}
    row = estimates.one("accuracy", language="en", **keys)
    assert row.n == len(few)
    assert row.judged is False
    gap = estimates.one("group gap", language="en", against="the rest", **keys)
    assert (gap.judged, gap.p, gap.p_holm) == (False, None, None)
    black = keys | {"group": "Black"}
    gap = estimates.one("group gap", language="en", against="the rest", **black)
    assert gap.judged is True
    assert 0 <= gap.p <= gap.p_holm <= 1
    assert estimates.maybe("cross gap", language="tr", against="the rest", **keys) is None
    assert estimates.one("cross gap", language="tr", against="the rest", **black).judged is True
    assert estimates.one("accuracy", task="race", language="en").judged is None
    assert any("too few images to judge" in line for line in PARITY.judge(estimates, options).evidence)


def test_amplification_is_averaged_over_the_groups_within_which_it_is_measured(harmed):
    _, estimates, _ = harmed
    keys = {"task": "gender", "attribute": "gender", "group": "Female", "against": "Male", "within": "race"}
    parts = [
        row for row in estimates.by("within_group", "amplification", language="tr", **keys) if row.judged
    ]
    assert len(parts) == 3  # Indian has too few images
    mean = estimates.one("mean amplification", language="tr", **keys)
    assert mean.value == pytest.approx(sum(row.value for row in parts) / 3)
    assert mean.low > 0


def test_tests_that_the_verdict_reads_are_one_family(harmed):
    _, estimates, _ = harmed
    read = [
        row
        for task in ("gender", "race", "age")
        for row in [
            *estimates.by(("language", "other"), "gap to pivot", task=task),
            *estimates.by(("language", "attribute", "group", "against"), "group gap", task=task),
        ]
        if row.p is not None
    ]
    smallest = min(read, key=lambda row: row.p)
    assert smallest.p_holm == pytest.approx(min(1, len(read) * smallest.p))
    assert len(read) > 3 * 7


def worded(faces, word, n):
    """The faces, the first `n` of which are labelled with a word that no prompt of gender has."""
    table = faces.images.table
    gender = pl.Series([word if row < n else label for row, label in enumerate(table["gender"])])
    return replace(faces, images=Items("image", table.with_columns(gender=gender)))


def test_a_label_without_a_prompt_is_counted_and_named(faces):
    observed, estimates, options = audited(Faces(), worded(faces, "nonbinary", 40))
    assert observed["groups"].filter(attribute="gender", value="nonbinary").height == 40
    assert observed["predictions"].filter(task="gender", truth="nonbinary")["query_id"].n_unique() == 40
    rest = estimates.one("accuracy", task="gender", language="en")
    assert rest.n == FACES - 40
    keys = {"attribute": "gender", "group": "nonbinary"}
    assert estimates.one("images compared", task="gender", **keys).value == 0
    assert estimates.one("images compared", task="race", **keys).value == 1
    assert estimates.one("accuracy", task="race", language="en", **keys).n == 40
    # The prompts' two groups are still compared with each other.
    gap = estimates.one(
        "group gap", task="gender", language="en", attribute="gender", group="Female", against="Male"
    )
    assert gap.judged is True
    verdict = PARITY.judge(estimates, options)
    assert verdict.finding == "unclear"
    assert (
        "no prompt asks for gender 'nonbinary', the label of 40 images (gender, zero-shot)" in verdict.answer
    )


def test_labels_that_do_not_say_the_group_are_counted(faces):
    observed, estimates, options = audited(Faces(), worded(faces, "Unsure", 40))
    assert "Unsure" not in observed["groups"]["value"]
    assert estimates.one("images compared", task="race", attribute="gender").value == pytest.approx(
        1 - 40 / FACES
    )
    line = "40 of 700 images are in no group of gender: they have no label, or one that does not say which"
    assert any(line in evidence for evidence in PARITY.judge(estimates, options).evidence)


def test_a_group_too_small_to_judge_forbids_fair_and_is_named():
    for size, women in ((120, 24), (600, 29)):
        verdict = verdict_on(people(1, {"Female": women, "Male": size - women}, {"Female": 0.0}))
        assert verdict.finding == "unclear"
        assert f"too few images of gender 'Female' ({women}), at least 30 are needed" in verdict.answer


def test_everything_found_is_fair_once_each_group_has_73_images():
    found = {
        women: verdict_on(
            people(0, {"Female": women, "Male": 4 * women}, {"Female": 1.0, "Male": 1.0})
        ).finding
        for women in (24, 60, 72, 74)
    }
    assert found == {24: "unclear", 60: "unclear", 72: "unclear", 74: "fair"}


def verdict_on(observations):
    """The verdict on what was observed."""
    options = PARITY.configure({"replicates": 200})
    return PARITY.judge(steps.measured(PARITY, observations, options), options)
