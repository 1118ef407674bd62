"""A calibration's weight chosen by NDKL: the least that the price allows, on the fitted part alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.errors import InputError
from equiview.mitigation.people.settings import ProjectMaking
from equiview.mitigation.people.weight import Trial, chosen_weight
from equiview.subjects import load_subject
from equiview.subjects.correction import Correction

PEOPLE = "pictograms-people"
GIVEN = {"subject": "pictogram:tied", "benchmark": PEOPLE, "weight_by": "ndkl"}


class Known:
    """A trial whose answers are known: NDKL and R@5 by weight."""

    def __init__(self, of):
        self.of = of.__getitem__


def test_of_what_the_price_allows_the_most_even_is_taken():
    known = Known({None: (0.30, 0.60), 0.0: (0.10, 0.40), 1.0: (0.20, 0.56), 2.0: (0.25, 0.60)})
    for price, wanted in ((0.0, 2.0), (0.04, 1.0), (0.2, 0.0)):
        weight, tried = chosen_weight(known, None, lambda weight: weight, (2.0, 0.0, 1.0), price)
        assert weight == wanted
        assert [row.get("weight") for row in tried] == [None, 0.0, 1.0, 2.0]
        assert [row["weight"] for row in tried if row["chosen"]] == [wanted]
    with pytest.raises(
        InputError, match=r"costs more than 0.1 of R@5, which is 0.600 before and at most 0.400"
    ):
        chosen_weight(known, None, lambda weight: weight, (0.0,), 0.1)
    even = Known({None: (0.3, 0.6), 1.0: (0.2, 0.6), 2.0: (0.2, 0.6)})
    assert chosen_weight(even, None, lambda weight: weight, (2.0, 1.0), 0)[0] == 1.0


def test_a_trial_by_eye():
    """Four images of two groups, ten a prompt's depth is one of them: both first results are of group 0."""
    images = np.eye(4, dtype=np.float32)
    asked = np.array([[1, 0.5, 0, 0], [0.5, 1, 0, 0]], dtype=np.float32)
    trial = Trial(asked, asked, images, np.array([[0, 0], [1, 3]]), [np.array([0, 0, 1, 1])], ("text",))
    divergence, recall = trial.of(Correction.none((), 4))
    assert divergence == pytest.approx(np.log(2))
    assert recall == 1.0  # of four images all are among the first five
    away = np.eye(4, dtype=np.float32)[None] * np.array([0, 0, 1, 1], dtype=np.float32)
    tilted = asked + np.array([[0, 0, 0.1, 0], [0, 0, 0, 0.1]], dtype=np.float32)
    left = Trial(tilted, tilted, images, trial.shown, [np.array([0, 1, 1, 0])], ("text",))
    assert left.of(Correction.none((), 4))[0] == pytest.approx(np.log(2))
    correction = replace(Correction.none((), 4), maps=away)
    moved = Trial(tilted, tilted, images, trial.shown, [np.array([0, 0, 1, 1])], ("text",))
    assert moved.of(correction)[0] == pytest.approx(np.log(2))  # now of group 1 alone


@pytest.fixture(scope="module")
def projected(tmp_path_factory):
    return api.make("project", GIVEN | {"price": 0.02}, tmp_path_factory.mktemp("weight") / "project")


def test_what_was_tried_is_what_the_audit_says_of_the_part_that_was_fitted_on(projected, tmp_path):
    whole, judged = load_benchmark(PEOPLE), load_benchmark(f"held-out:{projected.folder}")
    part = without_images(whole, judged.images.ids)
    before, *tried = load_subject(projected.name).card.tried
    (best,) = [row for row in tried if row["chosen"]]
    assert best["NDKL"] == min(row["NDKL"] for row in tried if row["R@5"] >= before["R@5"] - 0.02)
    assert best["NDKL"] < before["NDKL"]
    assert min(row["R@5"] for row in tried) < before["R@5"] - 0.02  # the price left something out
    found = api.audit(projected.name, part, ["social"], tmp_path / "run").estimates.of("social")
    deepest = max(each.quantity.k for each in found if each.quantity.metric == "NDKL")
    assert found.one("NDKL", deepest, attribute="gender").value == pytest.approx(best["NDKL"], abs=2e-6)
    assert found.one("R", 5, direction="text-to-image").value == pytest.approx(best["R@5"], abs=2e-6)


def test_the_weight_is_that_of_the_same_command_with_it_given(projected, tmp_path):
    (best,) = [row for row in load_subject(projected.name).card.tried if row["chosen"]]
    given = {"subject": "pictogram:tied", "benchmark": PEOPLE, "weight": best["weight"]}
    named = api.make("project", given, tmp_path / "given")
    first, second = ((each.folder / "correction.npz").read_bytes() for each in (projected, named))
    assert first == second
    assert load_subject(named.name).card.tried == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"directions": ["images"]}, "no pairs to draw together"),
        ({"weights": [-1.0]}, "-1 is not between 0 and 1e6"),
        ({"weights": []}, "weights"),
        ({"price": 2}, "price"),
        ({"weight_by": "skew"}, "weight_by"),
    ],
)
def test_what_cannot_be_chosen_is_said(given, said):
    with pytest.raises(InputError, match=said):
        ProjectMaking.of(GIVEN | given)


def test_a_price_that_no_weight_keeps_is_said(tmp_path):
    given = GIVEN | {"by": ["gender", "skin"], "directions": ["captions"], "price": 0.01}
    with pytest.raises(InputError, match=r"every weight costs more than 0\.01 of R@5"):
        api.make("project", given, tmp_path / "dear")
