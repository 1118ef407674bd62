"""Small runs of audits made for the tests: numbers and captions chosen to try every part of the page.

The report knows no audit by name, so it is tried with three that equiview does not have.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image, ImageDraw

from equiview.audits import AUDITS, Audit, Settings, register
from equiview.audits.execute import finish
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.headline import Headline, ratio
from equiview.data.languages import languages
from equiview.data.lists import RankedLists
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard
from equiview.data.metric import Metric, quantity
from equiview.data.observations import Observations
from equiview.data.roles import TIER_ROLES
from equiview.data.run import Run
from equiview.data.verdict import Reading, Verdict
from equiview.errors import InputError
from equiview.io.tables import Column, Schema, checksum, write_parquet
from equiview.subjects import Subject

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
WORDS = {
    "en": "a cat asleep on a red chair",
    "de": "eine Katze schläft auf einem roten Stuhl",
    "ar": "قطة نائمة على كرسي أحمر",
    "he": "חתול ישן על כיסא אדום",
    "fa": "گربه‌ای روی صندلی قرمز خوابیده است",
    "hi": "लाल कुर्सी पर सोई हुई बिल्ली",
    "ja": "赤い椅子で眠る猫",
    "sw": "paka amelala juu ya kiti chekundu",
    "quz": EVIL,
}
OUTCOMES = ("semantic", "cultural", "non-relevant")


def drawing(shade: int) -> bytes:
    """A small picture that is plainly itself."""
    image = Image.new("RGB", (96, 96), "white")
    pen = ImageDraw.Draw(image)
    colour = (40 + shade * 37 % 200, 90 + shade * 61 % 150, 200 - shade * 23 % 160)
    pen.ellipse((12, 12, 84, 84), fill=colour)
    pen.rectangle((30 + shade % 20, 40, 66, 70), fill="white")
    stream = io.BytesIO()
    image.save(stream, "WEBP", lossless=True)
    return stream.getvalue()


def estimates(skew: float) -> pl.DataFrame:
    """Divergence by depth, accuracy, recall and share by language, worse for later ones by `skew`."""
    rows: list[dict[str, object]] = []

    def add(metric: str, k: int, value: float, width: float, chance: float | None, **keys: str) -> None:
        row = {"metric": metric, "k": k, "value": value, "low": value - width, "high": value + width}
        rows.append(row | {"n": 1280, "chance": chance} | keys)

    for k, floor in ((5, 0.86), (10, 0.117), (25, 0.037), (99, 0.0195)):
        for name in ("LBKL", "DLBKL"):
            add(name, k, floor * (1.05 + 20 * skew), floor * (0.05 + skew), floor, grouping="tier")
    add("Accuracy", 5, 0.95 - 0.3 * skew, 0.01, 0.004)
    add("NDCG", 10, 0.8 - 0.4 * skew, 0.01, None, ideal="retrieved")
    for place, code in enumerate(languages()["code"]):
        add("R", 1, max(0.01, 0.8 - skew * place / 36), 0.02, 0.001, language=code)
        add("share", 10, max(0.001, (1 + skew * (18 - place) / 10) / 36), 0.004, 1 / 36, language=code)
    return Estimates(pl.from_dicts(rows, infer_schema_length=None)).table


def figures_of_every_kind(table: pl.DataFrame, skew: float) -> list[Figure]:
    """One figure of every mark, and both kinds of gallery."""
    names = languages().select("code", "name", "tier", web=pl.col("commoncrawl_percent") / 100)
    by_language = table.filter(pl.col("language").is_not_null()).join(
        names, left_on="language", right_on="code", maintain_order="left"
    )
    ranks = pl.DataFrame(
        [
            {"rank": rank, "tier": tier, "share": share}
            for rank in range(1, 101)
            for tier, share in (
                ("high", 0.08 + 0.5 * skew / rank**0.5),
                ("medium", 0.33),
                ("low", 0.59 - 0.5 * skew / rank**0.5),
            )
        ]
    )
    depth = table.filter(grouping="tier").select("k", "value", "low", "high", kind="metric")
    rng = np.random.default_rng(0)
    many = 40
    map_ = pl.DataFrame(
        {
            "x": rng.normal(size=many),
            "y": rng.normal(size=many),
            "word": [*list(WORDS.values()), *["word"] * 31],
            "tier": (["high", "medium", "low"] * 14)[:many],
            "shown": [drawing(i) for i in range(many)],
        }
    )
    countries = pl.DataFrame(
        [
            {"country": country, "outcome": outcome, "share": share}
            for country, *shares in (
                ("USA", 0.9, 0.06, 0.04),
                ("Thailand", 0.5, 0.4, 0.1),
                ("Kenya", 0.6, 0.3, 0.1),
            )
            for outcome, share in zip(OUTCOMES, shares, strict=True)
        ]
    )
    fit = pl.DataFrame(
        {
            "silhouette": [0.01, 0.1, 0.2, 0.25],
            "sp": [0.1, 0.9, 2.0, 2.2 + skew],
            "country": ["USA", "JPN", "THA", "IND"],
        }
    )
    grid = pl.DataFrame(
        [
            {"query": a, "answer": b, "share": 1.0 if a == b else 0.1}
            for a in ("en", "ar", "sw")
            for b in ("en", "ar", "sw")
        ]
    )
    listed = pl.DataFrame(
        [
            {
                "group": "cat",
                "heading": "cat: typical",
                "rank": rank,
                "text": text,
                "language": code,
                "score": 0.4 - rank / 100,
                "correct": rank % 3 != 0,
            }
            for rank, (code, text) in enumerate(WORDS.items(), start=1)
        ]
    )
    triplet = pl.DataFrame(
        {
            "group": "t1",
            "heading": "ข้าว (rice, asked in Thai)",
            "rank": [1, 2, 3],
            "score": [0.31, 0.28, 0.11],
            "note": ["cultural", "semantic", "non-relevant"],
            "correct": [False, True, False],
            "item_picture": [drawing(50), drawing(60), drawing(70)],
        }
    )
    see = "What lies above the line of equal shares is a head start."
    interval = {"low": "low", "high": "high"}
    return [
        Chart(
            "tier-by-rank",
            "Which languages hold which rank",
            see,
            ranks,
            "stacked",
            "rank",
            "share",
            "rank",
            "share of images",
            color="tier",
            roles=TIER_ROLES,
            percent=True,
        ),
        Chart(
            "share",
            "Languages returned",
            see,
            by_language.filter(metric="share"),
            "bars",
            "name",
            "value",
            "language",
            "share of captions",
            color="tier",
            roles=TIER_ROLES,
            marker="web",
            percent=True,
            reference={"share of the pool": 1 / 36},
            **interval,
        ),
        Chart(
            "recall",
            "Recall by language",
            see,
            by_language.filter(metric="R"),
            "points",
            "name",
            "value",
            "language",
            "R@1",
            percent=True,
            **interval,
        ),
        Chart(
            "depth",
            "How far from even",
            see,
            depth,
            "lines",
            "k",
            "value",
            "cutoff k",
            "divergence (nats)",
            color="kind",
            log=True,
            reference={"one nat": 1.0},
            **interval,
        ),
        Chart(
            "map",
            "Captions in the plane",
            see,
            map_,
            "scatter",
            "x",
            "y",
            "first component",
            "second component",
            color="tier",
            roles=TIER_ROLES,
            label="word",
            picture="shown",
        ),
        Chart(
            "fit",
            "Self-preference against silhouette",
            see,
            fit,
            "scatter",
            "silhouette",
            "sp",
            "silhouette",
            "SP",
            label="country",
            fit=True,
        ),
        Chart(
            "wins",
            "Who wins",
            see,
            countries,
            "stacked",
            "country",
            "share",
            "country",
            "share of trials",
            color="outcome",
            roles=dict(zip(OUTCOMES, ("right", "biased", "wrong"), strict=True)),
            percent=True,
        ),
        Chart(
            "grid",
            "Query against answer",
            see,
            grid,
            "heatmap",
            "answer",
            "query",
            "answered in",
            "asked in",
            color="share",
            percent=True,
        ),
        Gallery("examples", "What an image returns", "A list chosen by rule.", listed, {"cat": drawing(3)}),
        Gallery("triplets", "One trial", "The winner is marked.", triplet, {}),
    ]


def rankings(skew: float, queries: int = 30, depth: int = 20) -> Observations:
    """Rankings of a pool of every language, in which skew puts much-written languages first."""
    codes = languages()["code"].to_list()
    tier = dict(zip(codes, languages()["tier"], strict=True))
    items = [
        {
            "item_id": f"q{q}-{code}",
            "text": f"{WORDS.get(code, 'maneno')} {q}",
            "language": code,
            "tier": tier[code],
        }
        for q in range(queries)
        for code in codes
    ]
    rng = np.random.default_rng(round(100 * skew))
    ranked = []
    for query in range(queries):
        weight = np.exp(-skew * np.tile(np.arange(36) / 4, queries)) * rng.random(len(items))
        weight[query * 36 : query * 36 + 36] *= 20
        for rank, item in enumerate(np.argsort(-weight)[:depth], start=1):
            right = item // 36 == query
            ranked.append((f"q{query}", rank, items[item]["item_id"], 1.0 - rank / 100, bool(right)))
    columns = ["query_id", "rank", "item_id", "score", "relevant"]
    asked = pl.DataFrame(
        {
            "query_id": [f"q{q}" for q in range(queries)],
            "label": [EVIL if q == 7 else f"cat number {q}" for q in range(queries)],
            "picture": [drawing(q) for q in range(queries)],
        }
    )
    table = pl.DataFrame(ranked, schema=columns, orient="row")
    return Observations({"queries": asked, "items": pl.DataFrame(items), "rankings": table})


def trials(skew: float) -> Observations:
    """Trials of three pictures each: the right one, the one of the query's culture, and another."""
    rows = [
        (f"t{i}", code, country, role, score + (skew if role == "cultural" else 0.0))
        for i, (code, country) in enumerate((("th", "Thailand"), ("sw", "Kenya"), ("en", "USA")) * 4)
        for role, score in zip(OUTCOMES, (0.3, 0.2, 0.1), strict=True)
    ]
    columns = ["trial_id", "language", "country", "role", "score"]
    return Observations({"trials": pl.DataFrame(rows, schema=columns, orient="row")})


def trial_lists(observed: Observations) -> RankedLists:
    """Each trial as a query, its pictures in the order of their scores."""
    table = observed["trials"]
    label = pl.format("rice ({})", "country")
    queries = table.unique("trial_id", maintain_order=True).select(
        "language", "country", query_id="trial_id", label=label
    )
    shown = {role: drawing(place) for place, role in enumerate(OUTCOMES)}
    items = pl.DataFrame({"item_id": list(shown), "text": list(shown), "picture": list(shown.values())})
    ranked = table.select(
        "score",
        query_id="trial_id",
        item_id="role",
        relevant=pl.col("role") == OUTCOMES[0],
        rank=pl.col("score").rank("ordinal", descending=True).over("trial_id").cast(pl.Int32),
    )
    return RankedLists(queries, items, ranked)


def preferences(skew: float) -> Estimates:
    """Shares of trials won and their ratio, of all and by country; too few to judge of the last one."""
    rows: list[dict[str, Any]] = []
    for place, country in enumerate((None, "Thailand", "Kenya", "USA")):
        cultural, semantic = 0.1 + skew * (0.1 + 0.1 * place), 0.8 - 0.2 * skew
        for metric, value, p in (
            ("M_cul", cultural, 0.00001),
            ("M_sem", semantic, None),
            ("SP", cultural / semantic, None),
        ):
            row = {"metric": metric, "value": value, "low": 0.8 * value, "high": 1.25 * value, "n": 110}
            row |= {"p": p, "p_holm": None if p is None else 0.0312, "judged": country != "USA"}
            rows.append(row | {"direction": "text-to-image", "country": country})
    return Estimates.of_rows(rows)


class Skew(Settings):
    """How uneven a run is."""

    skew: float = 0.5


def _not_here(*_: Any) -> Any:
    raise NotImplementedError


def _broken(*_: Any) -> Any:
    raise InputError(f"trials.csv: row 3: {EVIL} is no trial")


def _exposure_verdict(_: Estimates, settings: Skew) -> Verdict:
    biased = settings.skew > 0.1
    yes, no = "Yes: the top 10 lean to much-written languages.", "No: languages share the top 10."
    return Verdict(
        finding="biased" if biased else "fair",
        answer=yes if biased else no,
        evidence=("Low-tier languages write 58% of the pool and get 31% of the top 10.",),
        advice=("Align the other languages' texts to the strongest one.",) if biased else (),
        limits=("Even exposure is not correctness: read it beside accuracy.",),
        readings=(Reading(title="Exposure and accuracy", sentence=f"Skew {settings.skew}, served alike."),),
    )


def exposure_table(estimates: Estimates) -> pl.DataFrame:
    """Exposure of a system, as one row."""
    divergence = estimates.one("DLBKL", k=10, grouping="tier").value
    return pl.DataFrame({"tier": ["low"], "DLBKL@10": [round(divergence, 3)], "missing": [None]})


def preference_table(estimates: Estimates) -> pl.DataFrame:
    """Preference by country, as rows.

    What follows the first line is not shown in the list.
    """
    rows = estimates.by("country", "SP", direction="text-to-image").table
    return rows.select("country", SP=pl.col("value").round(2))


TABLES = {
    "queries": Schema("queries", (Column("query_id", pl.String, "the query"),)),
    "items": Schema("items", (Column("item_id", pl.String, "the item"),)),
    "rankings": Schema("rankings", (Column("rank", pl.Int32, "the rank"),)),
}
EXPOSURE = Audit(
    name="exposure",
    question="Do captions in much-written languages crowd out equally right ones in other languages?",
    source="these tests",
    subject=Subject,
    settings=Skew,
    schemas=TABLES,
    metrics=(
        Metric("DLBKL", "how far the mix of languages among the results is from an even one", "lower"),
        Metric("LBKL", "the same, every rank counting alike", "lower"),
        Metric("Accuracy", "share of queries with a right result", "higher", "share"),
        Metric("NDCG", "how near the top the right results are", "higher"),
        Metric("R", "share of queries whose right result is among the first", "higher", "share"),
    ),
    headlines=(Headline(quantity("missing")), Headline(quantity("DLBKL", k=10, grouping="tier"))),
    observe=_not_here,
    values=_not_here,
    measure=lambda _, settings: Estimates(estimates(settings.skew)),
    draw=lambda _, numbers, settings: figures_of_every_kind(numbers.table, settings.skew),
    judge=_exposure_verdict,
    worst_by=(
        ("language", quantity("missing")),
        ("language", quantity("R", k=1)),
        ("language", quantity("share", k=10)),
        ("country", quantity("R", k=1)),
    ),
    key_formats={"grouping": "by {}"},
    explore=lambda observed: RankedLists(observed["queries"], observed["items"], observed["rankings"]),
    tables={"table-1": exposure_table},
)
PREFERENCE = Audit(
    name="preference",
    question="Does the culture of the query's language beat its concept?",
    source="these tests",
    subject=Subject,
    settings=Skew,
    schemas={"trials": Schema("trials", (Column("trial_id", pl.String, "the trial"),))},
    metrics=(
        Metric("SP", "wins of the query's culture over wins of what was asked; 0 is never", "lower"),
        Metric("M_cul", "share of trials won by the query's culture", "lower", "share"),
        Metric("M_sem", "share of trials won by what was asked", "higher", "share"),
    ),
    headlines=(
        Headline(
            quantity("SP", direction="text-to-image"),
            of=tuple(quantity(name, direction="text-to-image") for name in ("M_cul", "M_sem")),
            combine=ratio,
        ),
    ),
    observe=_not_here,
    values=_not_here,
    measure=lambda _, settings: preferences(settings.skew),
    draw=lambda *_: [],
    judge=lambda *_: Verdict(
        finding="unclear",
        answer="There are too few trials to decide.",
        readings=(Reading(title="Pull and clusters", sentence="Countries with tight clusters pull more."),),
    ),
    worst_by=(("country", quantity("SP", direction="text-to-image")),),
    key_formats={"direction": "{}"},
    explore=trial_lists,
    tables={"table-1": preference_table, "table_&2": preference_table},
)
BROKEN = Audit(
    name="broken",
    question="Can an audit fail without costing the others?",
    source="these tests",
    subject=Subject,
    settings=Settings,
    schemas={},
    metrics=(),
    headlines=(),
    observe=_not_here,
    values=_not_here,
    measure=_broken,
    draw=_not_here,
    judge=_not_here,
    explore=_not_here,
)
OBSERVED = {"exposure": rankings, "preference": trials, "broken": lambda _: Observations({})}


@contextmanager
def audits_of_the_tests() -> Iterator[None]:
    """Register the three audits, and leave the registry as it was."""
    before = AUDITS.all()
    for audit in (EXPOSURE, PREFERENCE, BROKEN):
        register(audit)
    try:
        yield
    finally:
        AUDITS.entries.clear()
        AUDITS.entries.update(before)


def make_run(
    folder: Path,
    subject: str,
    skew: float,
    benchmark: str = "pictograms",
    audits: tuple[str, ...] = ("exposure",),
) -> Run:
    """A finished run, its page still to write."""
    run = Run.start(
        folder,
        Manifest(
            subject=SubjectCard(
                name=subject,
                fingerprint="a" * 16,
                about="trained on captions as the web has them",
                parent="c" * 16,
            ),
            benchmark=BenchmarkCard(
                name=benchmark,
                fingerprint="b" * 16,
                counts={"images": 1280, "texts": 46080, "trials": 1100},
                about="drawings named in 36 languages",
                source="Noto Emoji; Unicode CLDR 48",
                licence="Apache-2.0; Unicode-3.0",
            ),
            audits=audits,
            settings={audit: {} if audit == "broken" else {"skew": skew} for audit in audits},
            seed=0,
            versions={"equiview": "0.1.0", "python": "3.11.7"},
        ),
    )
    for audit in audits:
        observed = OBSERVED[audit](skew)
        run.stage(f"observe.{audit}", lambda work: observed.write(work / "observations", audit))  # noqa: B023
    with audits_of_the_tests():
        finish(run)
    return run


def comparison(runs: list[Run]) -> pl.DataFrame:
    """Paired differences as a comparison of runs gives them."""
    rows = []
    for place, a in enumerate(runs):
        for b in runs[place + 1 :]:
            for metric, k, keys, value_a, value_b in (
                ("Accuracy", 5, {}, 0.7, 0.9),
                ("DLBKL", 10, {"grouping": "tier"}, 2.46, 0.13),
                ("R", 1, {"tier": "low"}, 0.5, 0.52),
            ):
                sure, difference = metric != "R", value_b - value_a
                rows.append(
                    {"audit": "exposure", "metric": metric, "k": k, "grouping": None, "tier": None}
                    | keys
                    | {"a": a.name, "b": b.name, "value_a": value_a, "value_b": value_b}
                    | {"difference": difference, "low": difference - 0.05, "high": difference + 0.05}
                    | {"p": 0.0001 if sure else 0.4, "p_holm": 0.0003 if sure else 0.4, "n": 1280}
                )
    return pl.from_dicts(rows, infer_schema_length=None)


def rewrite(run: Run, name: str, table: pl.DataFrame) -> None:
    """Put another table in the place of one of a run's, as if the run had written it."""
    stage = next(files for files in run.manifest.stages.values() if name in files)
    write_parquet(table, run.folder / name)
    stage[name] = checksum(run.folder / name)
