"""Accuracy of groups, gaps within a language and across languages."""

import polars as pl
import pytest

from equiview.audits.parity import PARITY


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
