"""Approximate search in the prevalence audit: what it misses is measured and said, and no encoder's fault."""

import numpy as np
import polars as pl
import pytest
from labs import approximate
from labs.marked import part_of

from equiview import api
from equiview.audits.prevalence import PREVALENCE
from equiview.audits.prevalence.judge import _judged
from equiview.audits.prevalence.searched import EFFECT, EFFECT_ON_RATIO, allowing
from equiview.benchmarks import load_benchmark
from equiview.data.observations import Observations
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import load_subject
from tests.audits import steps

CODES = ["en", "de", "fr", "sw", "mi", "te"]
HIDES = {"search": "ivf", "ivf_nlist": 12, "ivf_nprobe": 4}
"""An index whose few cells near an image are those of some languages."""
WIDE = {"search": "ivf", "ivf_nlist": 12, "ivf_nprobe": 12}
OPTIONS = {"cutoffs": [1, 10], "judged_at": [1, 10], "depth": 20, "replicates": 500}


@pytest.fixture(scope="module")
def cones(tmp_path_factory):
    """Each language in a cone of its own, all equally far from images: an exact search is blind to it."""
    folder, n, width = tmp_path_factory.mktemp("cones"), 300, 48
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(n, width)).astype(np.float32)
    seen[:, : len(CODES)] = 0
    spoken = np.repeat(seen, len(CODES), axis=0) + 0.6 * rng.normal(size=(n * len(CODES), width))
    spoken[:, : len(CODES)] = np.tile(2 * np.sqrt(width) * np.eye(len(CODES)), (n, 1))
    rows = [
        (f"i{image}-{code}", f"{image} {code}", code, f"i{image}") for image in range(n) for code in CODES
    ]
    pl.DataFrame({"id": [f"i{image}" for image in range(n)]}).write_csv(folder / "images.csv")
    pl.DataFrame(rows, ["id", "text", "language", "image_id"], orient="row").write_csv(folder / "texts.csv")
    np.save(folder / "images.npy", seen)
    np.save(folder / "texts.npy", spoken.astype(np.float32))
    return folder


@pytest.fixture(scope="module")
def audited(cones):
    kept = {}

    def audit(**chosen):
        key = str(sorted(chosen.items()))
        if key not in kept:
            settings = PREVALENCE.configure({**OPTIONS, **chosen})
            subject, benchmark = load_subject(f"embeddings:{cones}"), load_benchmark(f"folder:{cones}")
            observed = PREVALENCE.observe(subject, benchmark, settings, silent)
            estimates = steps.measured(PREVALENCE, observed, settings)
            kept[key] = observed, estimates, PREVALENCE.judge(estimates, settings)
        return kept[key]

    return audit


def test_a_wide_search_is_the_exact_one_and_says_so(audited):
    plain, exact, said = audited()
    observed, estimates, verdict = audited(**WIDE, search_sample=300)
    assert plain["exact"].is_empty()
    assert observed["rankings"].equals(plain["rankings"])
    assert observed["exact"].equals(plain["rankings"])
    assert observed["targets"].equals(plain["targets"])  # ranks of all, since all were searched exactly
    assert estimates.one("search recall", 10).value == 1
    changes = estimates.table.filter(pl.col("metric").str.starts_with("search effect"))
    assert len(changes) > 50
    assert (changes["value"] == 0).all()
    shared = estimates.table.filter(~pl.col("metric").str.starts_with("search"))
    assert shared.drop("audit").equals(exact.table.select(shared.columns).drop("audit"))
    assert verdict.finding == said.finding
    assert any(
        line.startswith("Searched by IVF, nlist 12, nprobe 12") and "100.0%" in line
        for line in verdict.evidence
    )


def test_recall_by_language_is_what_a_count_of_the_tables_gives(audited):
    observed, estimates, _ = audited(**HIDES, search_sample=200)
    exact = observed["exact"].filter(pl.col("rank") <= 10)
    assert exact["query_id"].n_unique() == 200
    pairs = ["query_id", "item_id"]
    there = exact.join(
        observed["rankings"].filter(pl.col("rank") <= 10).select(*pairs, found=1), on=pairs, how="left"
    )
    there = there.with_columns(
        pl.col("found").fill_null(0), language=pl.col("item_id").str.split("-").list.get(1)
    )
    by_query = there.group_by("query_id", "language").agg(pl.col("found").mean())
    for (code,), part in by_query.group_by("language"):
        row = estimates.one("search recall", 10, language=str(code))
        assert row.value == pytest.approx(part["found"].mean())
        assert row.n == len(part)
        assert row.low <= row.value <= row.high
    assert estimates.one("search recall", 10).value == pytest.approx(there["found"].mean())


def test_changes_are_those_of_the_same_queries_in_pairs(audited):
    _, estimates, _ = audited(**HIDES, search_sample=300)
    plain = audited()[1]
    for metric, keys in (("DLBKL", {"grouping": "tier"}), ("Accuracy", {}), ("exposure", {"language": "de"})):
        change = estimates.one(EFFECT.format(metric), 10 if metric != "Accuracy" else 1, **keys)
        ours, exact = (e.one(metric, change.quantity.k, **keys) for e in (estimates, plain))
        assert change.value == pytest.approx(ours.value - exact.value)
        assert change.low <= change.value <= change.high
    ratio = estimates.one(EFFECT_ON_RATIO, 1, language="de")
    ours, exact = (e.one("log exposure ratio", 1, language="de") for e in (estimates, plain))
    assert ratio.value == pytest.approx(ours.value - exact.value)


def test_a_language_that_the_index_does_not_reach_is_not_blamed_on_the_encoder(audited):
    _, exact, before = audited()
    assert before.finding == "unclear"  # 300 images are too few for "fair"
    assert all(abs(row.value) < 0.3 for row in exact.by("language", "log exposure ratio", 1))
    _, estimates, verdict = audited(**HIDES, search_sample=200)
    reached = {row.keys["language"]: row.value for row in estimates.by("language", "search recall", 10)}
    assert min(reached.values()) < 0.1
    assert max(reached.values()) > 0.6
    lost = min(reached, key=reached.__getitem__)
    assert estimates.one("log exposure ratio", 1, language=lost).high < -0.5  # as if it were crowded out
    assert verdict.finding == "unclear"
    assert verdict.answer.startswith(
        "Unclear: lists show uneven exposure, but the approximate search multiplies"
    )
    assert "search exactly" in verdict.answer
    assert not verdict.advice
    assert any("It finds least in" in line for line in verdict.evidence)


def test_intervals_that_allow_for_the_search_hold_what_exact_lists_give(audited):
    exact = audited()[1]
    for chosen in (HIDES, WIDE):
        settings = PREVALENCE.configure({**OPTIONS, **chosen})
        estimates = audited(**chosen, search_sample=200)[1]
        for key in ("tier", "language"):
            for row in _judged(estimates, key, settings):
                wide = allowing(row, estimates)
                assert (
                    wide.low <= exact.one("log exposure ratio", row.quantity.k, **row.keys).value <= wide.high
                )
                assert wide.low < row.low
                assert row.high < wide.high
    unknown = allowing(row, exact)
    assert (unknown.low, unknown.high) == (-np.inf, np.inf)


def test_ranks_within_a_language_are_exact_and_of_the_sample(audited):
    plain, exact, _ = audited()
    observed, estimates, _ = audited(**HIDES, search_sample=200)
    known = observed["targets"].drop_nulls()
    assert known["query_id"].n_unique() == 200
    assert known.join(plain["targets"], on=["query_id", "item_id", "language_rank"]).height == known.height
    row = estimates.one("R", 1, language="sw")
    assert row.n == 200
    assert row.low <= exact.one("R", 1, language="sw").value <= row.high
    assert row.chance == pytest.approx(1 / 300)


def test_a_run_keeps_how_it_was_searched_and_is_the_same_to_the_byte(cones, tmp_path):
    chosen = {"prevalence": {**OPTIONS, **HIDES, "search_sample": 60}}
    runs = [
        api.audit(f"embeddings:{cones}", f"folder:{cones}", ["prevalence"], tmp_path / name, settings=chosen)
        for name in ("first", "second")
    ]
    kept = runs[0].manifest.settings["prevalence"]
    assert (kept["search"], kept["ivf_nlist"], kept["ivf_nprobe"], kept["search_sample"]) == (
        "ivf",
        12,
        4,
        60,
    )
    for name in (
        "observations/prevalence.exact.parquet",
        "observations/prevalence.rankings.parquet",
        "estimates.parquet",
    ):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    page = (tmp_path / "first" / "report.html").read_text()
    assert "Searched by IVF, nlist 12, nprobe 4" in page
    assert "faiss-cpu" in runs[0].manifest.versions


def test_a_language_of_no_sampled_image_has_no_row_and_forbids_fair(audited):
    observed, _, _ = audited(**HIDES, search_sample=40)
    sampled = observed["exact"]["query_id"].unique()
    of_te = pl.col("item_id").str.ends_with("-te")
    tables = {
        name: observed[name].with_columns(pl.col("relevant") & ~of_te) for name in ("rankings", "exact")
    }
    tables["targets"] = observed["targets"].filter(~(of_te & pl.col("query_id").is_in(sampled.implode())))
    rare = Observations({**observed.tables, **tables})
    settings = PREVALENCE.configure({**OPTIONS, **HIDES, "search_sample": 40})
    estimates = steps.measured(PREVALENCE, rare, settings)
    for metric in ("R", EFFECT.format("Accuracy")):
        assert {row.keys["language"] for row in estimates.by("language", metric, 1)} == set(CODES) - {"te"}
    assert PREVALENCE.judge(estimates, settings).finding == "unclear"


def test_the_recall_is_printed(audited, caplog):
    _, estimates, _ = audited(**HIDES, search_sample=41)
    recall = estimates.one("search recall", 20)
    assert f"of the first 20 of an exact search it finds {recall.value:.1%}, over 41 images" in caplog.text
    assert recall.n == 41


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"search": "annoy"}, "search"),
        ({"ivf_nprobe": 3}, "ivf_nprobe is an option of search=ivf; the search is exact"),
        ({"search": "ivf", "hnsw_m": 4}, "hnsw_m is an option of search=hnsw; the search is ivf"),
        ({"search": "hnsw", "candidates": 100}, "leave out one"),
        ({"search": "hnsw", "search_sample": 5}, "search_sample"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(chosen, said):
    with pytest.raises(InputError, match=said):
        PREVALENCE.configure(chosen)


def test_lists_of_a_finished_system_are_not_searched_again(cones, tmp_path):
    lists = pl.DataFrame({"query_id": ["i0"], "rank": [1], "item_id": ["i0-en"]})
    lists.write_csv(tmp_path / "lists.csv")
    subject = load_subject(f"run:{tmp_path / 'lists.csv'},partial=yes")
    settings = PREVALENCE.configure({"search": "hnsw"})
    with pytest.raises(InputError, match=r"leave out the setting prevalence\.search=hnsw"):
        PREVALENCE.observe(subject, load_benchmark(f"folder:{cones}"), settings, silent)


def test_the_page_has_a_row_of_each_search_that_the_lab_measures():
    table = part_of(approximate.PAGE.read_text("utf-8"), approximate.PART).splitlines()
    indexes = [PREVALENCE.configure(search).index for search in approximate.SEARCHES]
    names = ["exact" if index is None else index.about for index in indexes]
    assert table[:2] == list(approximate.COLUMNS)
    assert [line.split("|")[1].strip() for line in table[2:]] == names
