"""What parity must not say: systems that it once judged wrongly, a few of each."""

import numpy as np
import polars as pl
import pytest
from labs.error_rates.parity import people, unfound

from equiview.audits.parity import PARITY
from equiview.data.observations import Observations
from tests.audits import steps
from tests.audits.parity.worlds import ranked

FAST = {"replicates": 200}


def verdict_of(observed, **settings):
    options = PARITY.configure(FAST | settings)
    return PARITY.judge(steps.measured(PARITY, observed, options), options)


def hits(chances, size, seed):
    """Matching in which each language finds a share of the images, rank 1 or 2."""
    rng = np.random.default_rng(seed)
    ranks = {
        code: dict(
            zip(
                [f"i{at}" for at in range(size)], (1 + (rng.uniform(size=size) > share)).tolist(), strict=True
            )
        )
        for code, share in chances.items()
    }
    return ranked(ranks, candidates=size)


def classified(predicted, gender, race=None):
    """Answers, `(n_images, n_languages)`, to what the gender of each image is."""
    ids, codes = [f"i{at}" for at in range(len(gender))], ["en", "de"]
    attributes = {"gender": gender} | ({} if race is None else {"race": race})
    known = {
        "predictions": pl.DataFrame(
            {
                "query_id": np.repeat(ids, 2),
                "task": "gender",
                "language": codes * len(ids),
                "paraphrase": "photo",
                "truth": np.repeat(gender, 2),
                "predicted": predicted.ravel(),
            }
        ),
        "prompts": pl.DataFrame(
            [("gender", code, "photo", value, value, "") for code in codes for value in ("Female", "Male")],
            schema=list(PARITY.schemas["prompts"].dtypes),
            orient="row",
        ),
        "groups": pl.concat(
            pl.DataFrame({"query_id": ids, "attribute": name, "value": values})
            for name, values in attributes.items()
        ),
    }
    empty = {name: pl.DataFrame(schema=schema.dtypes) for name, schema in PARITY.schemas.items()}
    return Observations(empty | known)


@pytest.mark.parametrize("seed", range(3))
def test_a_useless_encoder_is_not_judged(seed):
    verdict = verdict_of(hits(dict.fromkeys(("en", "de", "sw", "mi"), 1 / 300), 300, seed))
    assert verdict.finding == "unclear"
    assert verdict.answer == (
        "Unclear: in no language is the encoder shown to be more than 5 points better than chance at "
        "image to text."
    )


@pytest.mark.parametrize("size", [2, 12, 29])
def test_a_perfect_encoder_of_a_few_images_is_not_judged(size):
    verdict = verdict_of(hits(dict.fromkeys(("en", "sw"), 1.0), size, 0))
    assert verdict.finding == "unclear"
    assert verdict.answer == f"Unclear: only {size} images, at least 30 are needed."


def test_one_answer_to_all_and_guesses_are_not_judged():
    rng = np.random.default_rng(0)
    gender = rng.choice(["Female", "Male"], 400, p=[0.3, 0.7])
    same = np.full((400, 2), "Male")
    guesses = rng.choice(["Female", "Male"], (400, 2), p=[0.2, 0.8])
    for predicted in (same, guesses):
        verdict = verdict_of(classified(predicted, gender))
        assert verdict.finding == "unclear"
        assert "better than chance at gender" in verdict.answer


def test_groups_that_a_classifier_does_not_see_are_not_called_harmed():
    races = ["Black", "East Asian", "Indian", "Latino", "Middle Eastern", "Southeast Asian", "White"]
    biased = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        gender, race = rng.choice(["Female", "Male"], 350), rng.choice(races, 350)
        right = rng.uniform(size=(350, 2)) < 0.97
        predicted = np.where(right == (gender == "Female")[:, None], "Female", "Male")
        biased += verdict_of(classified(predicted, gender, race)).finding == "biased"
    assert biased == 0


def test_languages_of_equal_recall_are_not_called_worse():
    codes = [f"l{place:02d}" for place in range(36)]
    verdicts, p = [], []
    for seed in range(5):
        options = PARITY.configure(FAST)
        estimates = steps.measured(PARITY, hits(dict.fromkeys(codes, 0.7), 150, seed), options)
        verdicts.append(PARITY.judge(estimates, options).finding)
        p.append(estimates.one("range over languages", task="image-to-text").p)
    assert "biased" not in verdicts
    assert min(p) > 0.005
    assert np.mean(p) > 0.3


def test_a_language_that_is_worse_by_more_than_the_tolerance_is_named():
    verdict = verdict_of(hits({"en": 0.9, "de": 0.9, "sw": 0.9, "mi": 0.7}, 600, 0))
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: Maori is served worse than English by ")
    assert verdict.answer.endswith("; 1 of 3 languages differ from it by more than 5 points.")


def test_a_group_that_is_worse_by_more_than_the_tolerance_is_named():
    rng = np.random.default_rng(0)
    gender = rng.choice(["Female", "Male"], 800)
    right = rng.uniform(size=(800, 2)) < np.where(gender == "Female", 0.75, 0.97)[:, None]
    verdict = verdict_of(
        classified(np.where(right == (gender == "Female")[:, None], "Female", "Male"), gender)
    )
    assert verdict.finding == "biased"
    assert "images labelled Female are answered correctly less often than Male" in verdict.answer


def test_opposite_gaps_within_two_groups_are_not_called_fair():
    rng = np.random.default_rng(0)
    gender, race = (rng.choice(names, 3000) for names in (["Female", "Male"], ["Black", "White"]))
    woman = gender == "Female"
    worse = woman == (race == "Black")
    right = rng.uniform(size=3000) < np.where(worse, 0.77, 0.97)
    answer = np.where(right[:, None] == woman[:, None], "Female", "Male").repeat(2, axis=1)
    verdict = verdict_of(classified(answer, gender, race))
    assert verdict.finding == "unclear"
    assert "; within groups one is: among " in verdict.answer
    assert " often than 'White' by 22." in verdict.answer
    verdict = verdict_of(
        classified(np.where(woman, "Female", "Male")[:, None].repeat(2, axis=1), gender, race)
    )
    assert verdict.finding == "fair"


def test_images_of_a_group_that_text_does_not_find_are_not_called_fair():
    verdict = verdict_of(unfound(0, 1000, gap=0.0))
    assert verdict.finding == "fair"
    assert verdict.answer.endswith("(image to text; text to image, where groups are not compared).")
    verdict = verdict_of(unfound(0, 1000))
    assert verdict.finding == "unclear"
    assert ", images labelled Female are found less often than Male by 2" in verdict.answer
    seen = people(0, {"Female": 600, "Male": 300}, {})  # the larger group has more that look alike
    women = seen["groups"].filter(value="Female")["query_id"][:120]
    back = (pl.col("direction") == "text-to-image") & pl.col("query_id").is_in(women.implode())
    rank = pl.when(back).then(pl.lit(2, dtype=pl.Int32)).otherwise("rank")
    uneven = Observations(dict(seen.tables) | {"matches": seen["matches"].with_columns(rank=rank)})
    assert "are found" not in verdict_of(uneven).answer


def test_a_task_that_is_not_done_is_left_out_and_named():
    good = hits({"en": 1.0, "sw": 1.0}, 200, 0)
    back = good["matches"].with_columns(direction=pl.lit("text-to-image"), rank=pl.lit(2, dtype=pl.Int32))
    both = Observations(dict(good.tables) | {"matches": pl.concat([good["matches"], back])})
    verdict = verdict_of(both)
    assert verdict.finding == "fair"
    assert verdict.answer.endswith("(image to text).")
    assert any(line.startswith("Not judged") and "text to image" in line for line in verdict.evidence)


def test_languages_that_share_too_few_images_with_the_pivot_are_not_judged():
    english = {f"i{at}": 1 for at in range(100)}
    swahili = {f"i{at}": 1 for at in range(90, 190)}
    verdict = verdict_of(ranked({"en": english, "sw": swahili}, candidates=100))
    assert verdict.finding == "unclear"
    assert verdict.answer == "Unclear: no language shares 30 images with English."
