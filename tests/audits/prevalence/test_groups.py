"""Groups of the user's own instead of tiers, and languages whose tier nobody knows."""

import numpy as np
import polars as pl
import pytest

from equiview.audits.execute import execute
from equiview.audits.prevalence import PREVALENCE
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.report import page
from equiview.studies import compare
from equiview.subjects import load_subject
from tests.audits import steps
from tests.audits.prevalence.worlds import audited, observed, pool
from tests.conftest import write_world


def sold(folder, images=300, **options):
    """A world whose German captions are of one seller, and all others of two in turn."""
    write_world(folder, images=images, **options)
    texts = pl.read_csv(folder / "texts.csv")
    turn = pl.when(pl.col("language") == "sw").then(pl.lit("basar")).otherwise(pl.lit("corner"))
    seller = pl.when(pl.col("language") == "de").then(pl.lit("acme")).otherwise(turn)
    texts.with_columns(seller=seller).write_csv(folder / "texts.csv")
    return folder


def test_a_column_of_the_users_own_is_audited_and_named(tmp_path):
    folder = sold(tmp_path / "world", skew=3.0)
    settings = {"prevalence": {"by": "seller", "replicates": 500, "cutoffs": [1, 10]}}
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    run = execute(subject, benchmark, ["prevalence"], tmp_path / "run", name="s", settings=settings)
    [verdict] = run.verdicts
    assert verdict.finding == "biased"
    assert (
        verdict.question == "Do captions of some values of 'seller' crowd out equally right ones of others?"
    )
    assert "captions with seller '" in verdict.answer
    assert "a retriever blind to seller would give them" in verdict.answer
    assert not any("Tiers follow" in line for line in verdict.limits)
    estimates = run.estimates.of("prevalence")
    rows = estimates.by("group", "exposure ratio", 10)
    assert [row.quantity.keys["group"] for row in rows] == ["acme", "basar", "corner"]
    assert estimates.one("exposure", 10, group="corner").chance == pytest.approx(0.5)
    assert len(estimates.by("floor", "DLBKL", 10, grouping="seller")) == 1
    names = [figure.name for figure in run.figures("prevalence")]
    assert {"exposure-by-depth", "exposure-by-group", "divergence-by-depth"} <= set(names)
    assert "Do captions of some values of" in page([run]).decode()


def test_all_groups_are_corrected_together():
    rng = np.random.default_rng(0)
    image, codes = pool(200, ["en", "de", "sw", "mi"])
    groups = np.tile(["a", "b", "c", "d"], 200)
    ranked = np.arange(200)[:, None] * 4 + rng.random((200, 4)).argsort(axis=1)
    estimates, _ = audited(observed(ranked, image, codes, group=groups), by="dialect", cutoffs=[1, 4])
    rows = [row for k in (1, 4) for row in estimates.by("group", "exposure ratio", k)]
    assert len(rows) == 8
    least = min(rows, key=lambda row: row.p)
    assert least.p_holm == pytest.approx(min(1.0, 8 * least.p))


def test_a_column_that_is_not_there_or_has_gaps_is_an_error_in_one_line(tmp_path):
    folder = sold(tmp_path / "world", images=40)
    texts = pl.read_csv(folder / "texts.csv")

    def observe(by):
        options = PREVALENCE.configure({"by": by})
        subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
        return PREVALENCE.observe(subject, benchmark, options, silent)

    with pytest.raises(InputError, match=r"no attribute 'colour'; they have: .*seller"):
        observe("colour")
    with pytest.raises(InputError, match="column 'id' has 160 different values"):
        observe("id")
    texts.with_columns(seller=pl.when(pl.col("id") != "i1-sw").then("seller")).write_csv(folder / "texts.csv")
    with pytest.raises(InputError, match=r"column 'seller', row \d+: empty; every text needs a group"):
        observe("seller")


def test_languages_without_a_tier_are_audited_by_language(tmp_path):
    folder = write_world(tmp_path / "world", images=300, skew=3.0)
    texts = pl.read_csv(folder / "texts.csv")
    texts.with_columns(language=pl.col("language").replace("mi", "tlh")).write_csv(folder / "texts.csv")
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    with pytest.raises(InputError, match=r"tlh.*--setting prevalence\.by=language"):
        PREVALENCE.observe(subject, benchmark, PREVALENCE.configure({}), silent)
    settings = PREVALENCE.configure({"by": "language", "replicates": 500, "cutoffs": [1, 10]})
    observations = PREVALENCE.observe(subject, benchmark, settings, silent)
    assert observations["items"].filter(language="tlh")["tier"].null_count() == 300
    estimates = steps.measured(PREVALENCE, observations, settings)
    verdict = PREVALENCE.judge(estimates, settings)
    assert verdict.finding == "biased"
    assert any(
        line.startswith("Of 4 languages, each against its own expectation") for line in verdict.evidence
    )
    names = [figure.name for figure in steps.drawn(PREVALENCE, observations, estimates, settings)]
    assert {"exposure-by-depth", "exposure-by-language"} <= set(names)
    assert "tier-by-rank" not in names


def test_a_pool_of_one_group_cannot_answer():
    image, codes = pool(40, ["en", "sw"])
    ranked = np.arange(40)[:, None] * 2 + np.array([0, 1])
    _, verdict = audited(observed(ranked, image, codes, group=["acme"] * 80), by="seller", cutoffs=[1])
    assert verdict.finding == "unclear"
    assert "the pool holds one value of 'seller' only" in verdict.answer


def test_runs_are_compared_by_the_ratio(tmp_path):
    runs = []
    for name, skew in (("fair", 0.0), ("leaning", 4.0)):
        folder = write_world(tmp_path / name, images=150, skew=skew)
        settings = {"prevalence": {"replicates": 500, "cutoffs": [1, 10]}}
        benchmark = load_benchmark(f"folder:{tmp_path / 'fair'}")
        subject = load_subject(f"embeddings:{folder}")
        runs.append(
            execute(
                subject, benchmark, ["prevalence"], tmp_path / f"run-{name}", name=name, settings=settings
            )
        )
    row = compare(runs).filter(metric="exposure ratio", k=10, tier="low").row(0, named=True)
    measured = [run.estimates.of("prevalence").one("exposure ratio", 10, tier="low").value for run in runs]
    assert row["value_a"] == pytest.approx(measured[0])
    assert row["value_b"] == pytest.approx(measured[1])
    assert row["high"] < 0
