"""What the verdict says, and what is drawn."""

import pytest

from equiview.audits.execute import execute
from equiview.audits.social import SOCIAL
from equiview.audits.social.sentences import in_words
from equiview.data.estimates import Estimate
from equiview.data.figures import Gallery
from equiview.data.metric import quantity
from equiview.report import page
from tests.audits import steps
from tests.audits.social.worlds import Tied, audited, people


@pytest.fixture(scope="module")
def tied():
    return audited(Tied(0.5), people(600, pictures=True))


def test_a_tied_encoder_is_biased_in_words_that_count(tied):
    _, estimates, settings = tied
    verdict = SOCIAL.judge(estimates, settings)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith(
        "Yes: neutral prompts show groups of gender unequally: of the first 60 for 'a"
    )
    assert verdict.effect.quantity == quantity("MaxSkew", 60, attribute="gender")
    # MaxSkew of gender and skin; 2 + 3 + 6 groups, each shown and matched.
    assert verdict.effect.among == 2 + 11 + 11
    assert verdict.advice


def test_an_untied_encoder_is_not(tied):
    for images in (600, 2400):
        _, estimates, settings = audited(Tied(0.0, noise=0.1), people(images), intersections=[])
        verdict = SOCIAL.judge(estimates, settings)
        assert verdict.finding != "biased"
        assert not verdict.advice


def test_without_captions_it_can_be_biased_and_not_fair():
    for tie, finding in ((0.5, "biased"), (0.0, "unclear")):
        _, estimates, settings = audited(Tied(tie), people(1200, captions=False))
        verdict = SOCIAL.judge(estimates, settings)
        assert verdict.finding == finding
        assert any("no captions" in limit for limit in verdict.limits)


def test_an_encoder_that_matches_nothing_is_not_judged():
    class Blind(Tied):
        def embed(self, items, progress=lambda *_: None):
            import numpy as np

            return np.random.default_rng(len(items.kind)).normal(size=(len(items), 8)).astype(np.float32)

    _, estimates, settings = audited(Blind(), people(600))
    verdict = SOCIAL.judge(estimates, settings)
    assert verdict.finding == "unclear"
    assert "no better than chance at matching" in verdict.answer


def test_a_list_with_people_of_unknown_group_is_counted_as_such():
    about = quantity("share shown", 100, attribute="skin", group="dark", prompt="a judge")
    words = in_words(Estimate(about, value=0.25, low=0.1, high=0.4, n=80, chance=0.5))
    assert words == "of the 80 of known skin in the first 100 for 'a judge', 20 are 'dark'; the set has 50%"


def test_figures_name_groups_and_show_pictures(tied):
    figures = {figure.name: figure for figure in steps.drawn(SOCIAL, *tied)}
    assert list(figures) == [
        "shares", "examples", "worst-prompts", "curve-gender", "curve-skin", "recall-image-to-text",
        "recall-text-to-image",
    ]  # fmt: skip
    gallery = figures["examples"]
    assert isinstance(gallery, Gallery)
    assert gallery.table["item_picture"].null_count() == 0
    assert gallery.table["group"].n_unique() == 4
    assert set(figures["curve-gender"].table["series"]) == {"these lists", "by chance"}
    shares = figures["shares"].table
    assert shares["name"].to_list() == [
        "man (gender)", "woman (gender)", "dark (skin)", "light (skin)", "medium (skin)",
    ]  # fmt: skip
    assert shares.filter(attribute="skin")["value"].sum() == pytest.approx(1)


def test_a_run_from_observing_to_the_page(tmp_path):
    settings = {"social": {"replicates": 200}}
    run = execute(Tied(0.5), people(300, pictures=True), ("social",), tmp_path, settings=settings)
    assert not run.failures
    assert run.verdicts[0].finding == "biased"
    html = page([run]).decode()
    assert "neutral prompts show groups of gender unequally" in html
