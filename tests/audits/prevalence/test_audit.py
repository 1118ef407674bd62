"""The prevalence audit from vectors to words, on worlds whose bias is known because we made it."""

import threading

import numpy as np
import polars as pl
import pytest

from equiview.audits.execute import execute
from equiview.audits.prevalence import PREVALENCE
from equiview.benchmarks import load_benchmark
from equiview.data.items import blind_order
from equiview.data.vectors import TokenVectors
from equiview.engine import Engine, Local, using
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.stats import bootstrap, matched
from equiview.subjects import Encoder, load_subject
from tests.audits import steps
from tests.conftest import LANGUAGES, write_world


def audited(folder, **settings):
    options = PREVALENCE.configure({"cutoffs": [1, 5, 10], **settings})
    benchmark = load_benchmark(f"folder:{folder}")
    observed = PREVALENCE.observe(load_subject(f"embeddings:{folder}"), benchmark, options, silent)
    return observed, steps.measured(PREVALENCE, observed, options), options


def test_observations_satisfy_their_schemas_and_rank_the_whole_pool(world):
    observed, _, _ = audited(world)
    for name, schema in PREVALENCE.schemas.items():
        schema.check(observed[name], name)
    assert len(observed["rankings"]) == 40 * 100
    assert len(observed["targets"]) == 40 * len(LANGUAGES)


def test_observed_ranks_are_those_of_a_plain_sort(world):
    observed, _, _ = audited(world)
    images, texts = (np.load(world / f"{kind}s.npy") for kind in ("image", "text"))
    images, texts = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, texts))
    ids = pl.read_csv(world / "texts.csv")["id"]
    scores = images[7] @ texts.T
    expected = ids[np.argsort(-scores)[:100]].to_list()
    assert observed["rankings"].filter(query_id="i7").sort("rank")["item_id"].to_list() == expected
    swahili = np.flatnonzero([name.endswith("-sw") for name in ids])
    rank = 1 + int((scores[swahili] > scores[swahili[7]]).sum())
    assert observed["targets"].filter(query_id="i7", item_id="i7-sw")["language_rank"].to_list() == [rank]


class Tokens(Encoder):
    """The vectors of a world, each item with a second token that is the same everywhere."""

    similarity = "maxsim"

    def __init__(self, folder):
        super().__init__()
        self.inner = load_subject(f"embeddings:{folder}")

    @property
    def fingerprint(self):
        return self.inner.fingerprint

    def embed(self, items, progress=silent):
        vectors = self.inner.embed(items, progress)
        return TokenVectors.of([np.stack([row, np.ones_like(row)]) for row in vectors])


def test_maxsim_may_rank_the_candidates_of_the_mean_tokens_alone(world):
    benchmark = load_benchmark(f"folder:{world}")
    lists = {}
    for candidates in (None, 30, 40 * len(LANGUAGES)):
        options = PREVALENCE.configure({"cutoffs": [1, 5, 10], "depth": 30, "candidates": candidates})
        observed = PREVALENCE.observe(Tokens(world), benchmark, options, silent)
        for name, schema in PREVALENCE.schemas.items():
            schema.check(observed[name], name)
        assert len(observed["targets"]) == 40 * len(LANGUAGES)
        assert steps.measured(PREVALENCE, observed, options).one("DLBKL", 10, grouping="tier").n == 40
        lists[candidates] = observed["rankings"].select("query_id", "rank", "item_id", "relevant")
        assert observed["targets"]["language_rank"].is_null().all() == (candidates is not None)
    assert lists[40 * len(LANGUAGES)].equals(lists[None]), "all captions are candidates"
    assert not lists[30].equals(lists[None])
    with pytest.raises(InputError, match="one vector a token"):
        audited(world, candidates=30, depth=30)
    with pytest.raises(InputError, match="the best 100 of"):
        PREVALENCE.observe(Tokens(world), benchmark, PREVALENCE.configure({"candidates": 99}), silent)


def test_more_skew_is_more_measured_bias(tmp_path):
    excess = []
    for skew in (0.0, 1.0, 4.0):
        _, estimates, _ = audited(write_world(tmp_path / str(skew), skew=skew, images=150))
        excess.append(estimates.one("DLBKL", 10, grouping="tier").excess)
    assert excess == sorted(excess)
    assert excess[-1] > 1


def test_every_estimate_has_an_interval_around_it_and_an_n(world):
    _, estimates, _ = audited(world)
    table = estimates.table
    assert (table["low"] <= table["value"] + 1e-12).all()
    assert (table["high"] >= table["value"] - 1e-12).all()
    of_pool = pl.col("metric").is_in(["exchangeable exposure", "captions of known images"])
    assert (table.filter(of_pool)["n"] == 160).all()
    assert (table.filter(~of_pool)["n"] == 40).all()
    unfloored = table.filter(pl.col("chance").is_null() & ~of_pool, pl.col("metric") != "expected exposure")
    assert unfloored.select("metric", "k", "ideal").rows() == [("NDCG", 10, "retrieved")]  # see chance_ndcg


def test_workers_are_asked_by_one_thread_with_the_same_result(world, monkeypatch):
    asked = []

    class Workers(Engine):
        workers, room = 2, 2**40

        def map(self, work, parts, **given):
            asked.append((work.__name__, threading.get_ident()))
            return Local().map(work, parts, **given)

    here = audited(world)[1]
    for module in (bootstrap, matched):
        monkeypatch.setattr(module, "SHARED_FROM", 0)
    with using(Workers()):
        assert audited(world)[1].table.equals(here.table)
    assert {"_totals", "_means"} <= {name for name, _ in asked}
    assert {thread for _, thread in asked} == {threading.get_ident()}


def test_lbkl_at_1_says_nothing(world):
    _, estimates, _ = audited(world)
    row = estimates.one("LBKL", 1, grouping="tier")
    assert round(row.value, 4) == round(row.chance, 4) == 9.6685


def test_verdicts_follow_the_numbers(tmp_path):
    judged = {}
    for skew in (0.0, 4.0):
        _, estimates, options = audited(write_world(tmp_path / str(skew), skew=skew, images=600))
        judged[skew] = PREVALENCE.judge(estimates, options)
    assert judged[4.0].finding == "biased"
    assert judged[4.0].answer.startswith("Yes: captions in low-tier languages get ")
    assert "would give them 50%" in judged[4.0].answer
    assert judged[0.0].finding == "fair"
    assert judged[0.0].answer.startswith("No: ")


def test_even_exposure_is_not_fair_where_hardly_any_right_caption_is_found(tmp_path):
    folder = write_world(tmp_path / "w", skew=0.0, images=600)
    images = np.load(folder / "images.npy")
    images[30:] = np.random.default_rng(0).normal(size=images[30:].shape)  # one in twenty is known
    np.save(folder / "images.npy", images)
    _, estimates, options = audited(folder)
    verdict = PREVALENCE.judge(estimates, options)
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(
        "Unclear: exposure is even, but a right caption is found for so few images (Accuracy@10 "
    )
    assert verdict.answer.endswith("10% more than by chance are needed.")


def test_the_pool_prior_takes_the_shares_of_the_pool(tmp_path):
    folder = write_world(tmp_path / "w", images=60)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = ((texts["language"] != "mi") | (texts["image_id"].str.slice(1).cast(pl.Int64) < 30)).to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    uniform = audited(folder)[1].one("LBKL", 10, grouping="tier").value
    pool = audited(folder, prior="pool")[1].one("LBKL", 10, grouping="tier").value
    assert uniform != pool


def test_words_shared_by_languages_do_not_favour_the_first(tmp_path):
    # Every language uses the very same vector: only the order of rows could prefer one.
    folder = write_world(tmp_path / "w", images=200)
    np.save(folder / "texts.npy", np.repeat(np.load(folder / "images.npy"), len(LANGUAGES), axis=0))
    observed, _, _ = audited(folder)
    first = observed["rankings"].filter(rank=1).join(observed["items"], on="item_id")["language"]
    counts = first.value_counts()["count"]
    assert len(counts) == len(LANGUAGES)
    assert counts.max() < 80  # of 200; 50 expected


def test_blind_order_depends_on_ids_alone():
    ids = pl.Series(["a", "b", "c", "d"])
    order = blind_order(ids)
    again = blind_order(ids.reverse())
    assert ids[order].to_list() == ids.reverse()[again].to_list()


def test_a_pool_of_one_tier_is_said_not_to_answer_the_question(tmp_path):
    folder = write_world(tmp_path / "w")
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = (texts["language"] == "en").to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    _, estimates, options = audited(folder)
    verdict = PREVALENCE.judge(estimates, options)
    assert verdict.finding == "unclear"
    assert "one tier" in verdict.answer


def test_an_image_without_captions_is_an_error_that_names_it(tmp_path):
    folder = write_world(tmp_path / "w", images=20)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = (texts["image_id"] != "i3").to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    with pytest.raises(InputError, match="image 'i3' has no caption in the pool"):
        audited(folder)


def test_settings_are_checked():
    with pytest.raises(InputError, match=r"setting 'prior': .*\(settings: seed, replicates"):
        PREVALENCE.configure({"prior": "fair"})
    with pytest.raises(InputError, match="setting 'cutoffs'"):
        PREVALENCE.configure({"cutoffs": [0]})
    with pytest.raises(InputError, match="no setting is named 'depht'; did you mean 'depth'"):
        PREVALENCE.configure({"depht": 3})


def test_a_run_has_all_figures_of_the_audit(world, tmp_path):
    subject, benchmark = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    run = execute(subject, benchmark, ["prevalence"], tmp_path / "run", name="s")
    names = [figure.name for figure in run.figures("prevalence")]
    expected = [
        "exposure-by-depth",
        "exposure-by-language",
        "tier-by-rank",
        "language-share",
        "recall-by-language",
        "divergence-by-depth",
        "examples",
    ]
    assert names == expected
    assert all(figure.see and len(figure.table) for figure in run.figures("prevalence"))


def test_texts_bring_their_own_tiers(tmp_path):
    folder = write_world(tmp_path / "w")
    texts = pl.read_csv(folder / "texts.csv").with_columns(
        language=pl.col("language").replace("mi", "tlh"), tier=pl.lit("medium")
    )
    texts.write_csv(folder / "texts.csv")
    observed, _, _ = audited(folder)
    assert observed["items"]["tier"].unique().to_list() == ["medium"]
    texts.with_columns(tier=pl.lit("middle")).write_csv(folder / "texts.csv")
    with pytest.raises(InputError, match="tier 'middle' is unknown; use high, medium, low"):
        audited(folder)
