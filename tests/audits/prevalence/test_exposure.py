"""Exposure against a matched permutation: by eye, then on systems that are biased or are not."""

import numpy as np
import polars as pl
import pytest

from equiview.data.observations import Observations
from tests.audits.prevalence.worlds import CODES, LOW, MUCH, audited, filled, nearest, observed, pool


def test_exposure_and_its_expectation_by_eye():
    # Two images with an English and a Swahili caption, and the list of each; English stands first in both.
    image, codes = pool(2, ["en", "sw"])
    estimates, _ = audited(observed([[0, 1, 2], [2, 0, 3]], image, codes), cutoffs=[1, 3])
    whole = 1 + 1 / np.log2(3) + 1 / 2
    exposures = [(1 / np.log2(3)) / whole, (1 / 2) / whole]
    row = estimates.one("exposure", 3, tier="low")
    assert row.value == pytest.approx(np.mean(exposures))
    assert row.chance == pytest.approx(0.5)
    assert estimates.one("exposure ratio", 3, tier="low").value == pytest.approx(np.mean(exposures) / 0.5)
    assert estimates.one("exposure ratio", 1, tier="low").value == 0.0
    assert estimates.one("log exposure ratio", 3, tier="low").value == pytest.approx(
        np.log(np.mean(exposures) / 0.5)
    )


def test_seven_to_three_from_a_pool_of_fifteen_to_twenty_one_is_biased():
    rng = np.random.default_rng(0)
    low = np.stack([rng.permutation([False] * 7 + [True] * 3) for _ in range(200)])
    image, codes = pool(200, CODES)
    estimates, verdict = audited(observed(filled(low, CODES, rng), image, codes))
    assert estimates.one("exposure ratio", 10, tier="low").value == pytest.approx(0.3 / (21 / 36), abs=0.03)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: captions in low-tier languages get ")


def test_a_share_cut_from_58_to_35_percent_is_biased():
    rng = np.random.default_rng(0)
    image, codes = pool(300, CODES)
    low = rng.random((300, 60)) < 0.35
    low[:, 0] = False
    ranked = filled(low, CODES, rng)
    english = np.arange(300) * len(CODES) + CODES.index("en")
    for row, first in zip(ranked, english, strict=True):
        row[row == first] = row[0]
        row[0] = first
    estimates, verdict = audited(observed(ranked, image, codes))
    assert verdict.finding == "biased"
    assert estimates.one("exposure ratio", 1, tier="low").value == 0.0
    assert any("English" in line and "get more" in line for line in verdict.evidence)


def test_one_low_tier_language_of_ten_with_a_quarter_of_its_share_at_rank_1_is_biased():
    rng = np.random.default_rng(0)
    codes = [*MUCH[:9], "sw"]
    low = rng.random((1000, 10)) < 0.069
    low[:, 0] = rng.random(1000) < 0.024
    image, of = pool(1000, codes)
    estimates, verdict = audited(observed(filled(low, codes, rng), image, of))
    assert estimates.one("exposure ratio", 1, tier="low").value == pytest.approx(0.24, abs=0.1)
    assert verdict.finding == "biased"


def test_an_ideal_retriever_of_a_ragged_pool_is_not_biased():
    findings = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        has = rng.random((1500, 12)).argsort(axis=1)[:, :2]
        codes = [[*MUCH[:5], *LOW[:7]][language] for language in has.ravel()]
        image = np.repeat(np.arange(1500), 2)
        seen = rng.normal(size=(1500, 16))
        captions = seen[image] + 0.2 * rng.normal(size=(3000, 16))
        findings.append(audited(observed(nearest(seen, captions), image, codes))[1].finding)
    assert "biased" not in findings
    assert "fair" in findings


@pytest.mark.parametrize("common", [1.0, 2.0])  # mean cosine of .5 and .8
def test_a_random_encoder_is_not_judged(common):
    codes = [*MUCH[:9], "sw"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        image, of = pool(300, codes)
        shared = common * 4 * np.eye(1, 16)
        ranked = nearest(rng.normal(size=(300, 16)) + shared, rng.normal(size=(3000, 16)) + shared)
        _, verdict = audited(observed(ranked, image, of))
        assert verdict.finding == "unclear"
        assert "no better than chance" in verdict.answer


def test_more_of_the_low_tier_is_biased_and_said_so():
    rng = np.random.default_rng(0)
    image, codes = pool(300, CODES)
    _, verdict = audited(observed(filled(rng.random((300, 60)) < 0.9, CODES, rng), image, codes))
    assert verdict.finding == "biased"
    assert "get 9" in verdict.answer
    assert "would give them 58%" in verdict.answer


def test_even_lists_are_fair_and_the_sentence_names_what_was_tested():
    rng = np.random.default_rng(0)
    image, codes = pool(1500, CODES)
    even = filled(rng.random((1500, 40)) < 21 / 36, CODES, rng)
    estimates, verdict = audited(observed(even, image, codes))
    assert verdict.finding == "fair"
    assert (
        "a tolerance of 10% of what a retriever blind to language would give them, at cutoffs 1, 10 and 40"
        in verdict.answer
    )
    assert audited(observed(even, image, codes), tolerance=0.001)[1].finding == "unclear"
    tests = estimates.table.filter(pl.col("metric") == "exposure ratio", tier="low").sort("k")
    assert (tests["p_holm"] >= tests["p"]).all()


def test_few_images_are_not_judged():
    rng = np.random.default_rng(0)
    image, codes = pool(12, CODES)
    _, verdict = audited(observed(filled(np.zeros((12, 10), dtype=bool), CODES, rng), image, codes))
    assert verdict.finding == "unclear"
    assert verdict.answer == "Unclear: there are 12 images, and at least 30 are needed."


def test_images_of_one_language_each_leave_nothing_to_exchange():
    rng = np.random.default_rng(0)
    image, codes = np.arange(200), [CODES[at] for at in rng.integers(36, size=200)]
    seen = rng.normal(size=(200, 16))
    _, verdict = audited(observed(nearest(seen, seen), image, codes))
    assert verdict.finding == "unclear"
    assert "only 0% of the exposure is of captions with an equal of another tier" in verdict.answer


def test_the_least_written_tier_is_judged_where_there_is_no_low_one():
    rng = np.random.default_rng(0)
    image, codes = pool(400, ["en", "de", "fr", "cs"])
    ranked = np.arange(400)[:, None] * 4 + np.array([0, 1, 2, 3]) + 0 * rng.integers(2, size=(400, 1))
    _, verdict = audited(observed(ranked, image, codes), cutoffs=[1, 4])
    assert verdict.finding == "biased"
    assert "captions in medium-tier languages get 0% of rank 1" in verdict.answer


def test_captions_of_no_known_image_take_no_part_whatever_their_share_of_the_pool():
    # Nine tenths of the pool are English captions of no known image; every other rank shows one of them.
    rng = np.random.default_rng(1)
    image, codes = pool(200, CODES)
    strays = len(image) * 9
    ranked = np.empty((200, 60), dtype=np.int64)
    ranked[:, ::2] = filled(rng.random((200, 30)) < 21 / 36, CODES, rng)
    ranked[:, 1::2] = len(image) + rng.integers(strays, size=(200, 30))
    known = np.arange(len(image) + strays) < len(image)
    of = np.concatenate([image, np.full(strays, -1)])
    estimates, verdict = audited(observed(ranked, of, codes + ["en"] * strays, known=known))
    row = estimates.one("exposure ratio", 10, tier="low")
    assert row.low < 1 < row.high
    assert estimates.one("exchangeable exposure", 10).value == pytest.approx(0.57, abs=0.03)
    assert verdict.finding != "biased"
    [line] = [line for line in verdict.evidence if line.endswith("; only these are compared.")]
    assert line.startswith("Captions with an equal of another tier hold 100% of rank 1, ")
    count = "64,800 of 72,000 captions in the pool are of no known image; they take no part."
    assert count in verdict.evidence


def test_captions_of_images_that_nobody_asked_about_are_exchanged():
    rng = np.random.default_rng(0)
    image, codes = pool(200, CODES)
    ranked = filled(rng.random((200, 60)) < 0.3, CODES, rng)
    tables = observed(ranked, image, codes)
    asked = pl.col("query_id").is_in([f"i{row}" for row in range(100)])
    lists = {name: tables[name] for name in ("items", "targets")}
    lists |= {name: tables[name].filter(asked) for name in ("queries", "rankings")}
    estimates, verdict = audited(Observations(lists))
    assert estimates.one("exchangeable exposure", 10).value == 1
    assert verdict.finding == "biased"


def test_a_language_that_is_never_shown_is_found_though_its_tier_has_its_share():
    rng = np.random.default_rng(0)
    image, codes = pool(300, CODES)
    ranked = filled(rng.random((300, 40)) < 21 / 36, CODES, rng)
    maori, swahili = CODES.index("mi"), CODES.index("sw")
    lost = ranked % 36 == maori
    ranked[lost] += swahili - maori
    for row in ranked:  # an image's Swahili caption once: further ones are those of images far away
        _, first = np.unique(row, return_index=True)
        again = np.setdiff1d(np.arange(40), first)
        row[again] = (row[again] + 36 * (100 + np.arange(len(again)))) % len(image)
    estimates, verdict = audited(observed(ranked, image, codes))
    low = estimates.one("exposure ratio", 10, tier="low")
    assert low.low < 1 < low.high
    assert verdict.finding == "biased"
    assert "captions in Maori get 0%" in verdict.answer or "Maori 0.00" in verdict.answer
    assert verdict.effect.quantity.keys["language"] in ("mi", "sw")


def test_a_language_with_few_captions_forbids_fair_and_is_named():
    rng = np.random.default_rng(0)
    of, language = pool(1500, CODES)
    keep = (np.array(language) != "te") | (of < 3)
    place = np.cumsum(keep) - 1
    even = rng.random((1500, 36)).argsort(axis=1) + 36 * np.arange(1500)[:, None]
    ranked = np.stack([place[row[keep[row]][:35]] for row in even])
    _, verdict = audited(observed(ranked, of[keep], list(np.array(language)[keep])), cutoffs=[1, 10, 35])
    assert verdict.finding == "unclear"
    assert "to tell whether exposure of Telugu is within" in verdict.answer


def test_a_tier_of_one_language_is_called_by_its_name_and_each_language_stands_on_one_side():
    rng = np.random.default_rng(0)
    codes = [*MUCH[:9], "sw"]
    image, of = pool(400, codes)
    low = rng.random((400, 30)) < 0.05
    low[:, 0] = False
    _, verdict = audited(observed(filled(low, codes, rng), image, of))
    assert verdict.answer.startswith("Yes: captions in Swahili, alone in the low tier, get 0% of rank 1")
    [line] = [line for line in verdict.evidence if line.startswith("Of 10 languages")]
    assert line.count("Swahili") == 1


def test_much_written_is_said_only_where_exposure_follows_the_share_of_the_web():
    rng = np.random.default_rng(0)
    image, codes = pool(300, CODES)
    skewed = filled(rng.random((300, 60)) < 0.3, CODES, rng)
    even = filled(rng.random((300, 60)) < 21 / 36, CODES, rng)
    lines = [" ".join(audited(observed(ranked, image, codes))[1].evidence) for ranked in (skewed, even)]
    assert "Much-written languages get more of the top 10" in lines[0]
    assert "is not shown to follow how much of the web" in lines[1]


def test_the_matched_floor_stands_beside_the_blind_one():
    rng = np.random.default_rng(0)
    image, codes = pool(200, CODES)
    ideal = np.arange(200)[:, None] * 36 + rng.random((200, 36)).argsort(axis=1)
    estimates, verdict = audited(observed(ideal, image, codes), cutoffs=[10, 36])
    blind = estimates.one("LBKL", 36, grouping="language")
    matched = estimates.one("LBKL", 36, grouping="language", floor="matched")
    assert blind.value == matched.value == pytest.approx(0, abs=1e-9)
    assert blind.chance > 1
    assert matched.chance == pytest.approx(
        0, abs=1e-9
    )  # each list holds every language once, whoever is where
    assert "the matched floor is" in " ".join(verdict.evidence)
