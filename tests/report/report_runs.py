"""Small runs made by hand: numbers and captions chosen to try every part of the page."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image, ImageDraw

from equiview.data.figures import Chart, Figure, Gallery, write_figure
from equiview.data.languages import languages
from equiview.data.run import BenchmarkCard, Manifest, Run, Subject
from equiview.data.tables import write_parquet

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

    def add(metric: str, value: float, width: float, chance: float | None, **keys: str) -> None:
        excess = None if chance is None else value - chance
        row = {"audit": "prevalence", "metric": metric, "value": value, "low": value - width}
        rows.append(row | {"high": value + width, "n": 1280, "chance": chance, "excess": excess} | keys)

    for k, floor in ((5, 0.86), (10, 0.117), (25, 0.037), (99, 0.0195)):
        for name in ("LBKL", "DLBKL"):
            add(f"{name}@{k}", floor * (1.05 + 20 * skew), floor * (0.05 + skew), floor, grouping="tier")
    add("Accuracy@5", 0.95 - 0.3 * skew, 0.01, 0.004)
    add("NDCG@10 (retrieved)", 0.8 - 0.4 * skew, 0.01, None)
    for place, code in enumerate(languages()["code"]):
        add("R@1", max(0.01, 0.8 - skew * place / 36), 0.02, 0.001, language=code)
        add("share@10", max(0.001, (1 + skew * (18 - place) / 10) / 36), 0.004, 1 / 36, language=code)
    return pl.from_dicts(rows, infer_schema_length=None)


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
    depth = (
        table.filter(pl.col("grouping") == "tier")
        .with_columns(
            kind=pl.col("metric").str.split("@").list.get(0),
            k=pl.col("metric").str.split("@").list.get(1).cast(pl.Int64),
        )
        .select("k", "kind", "value", "low", "high")
    )
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
            for outcome, share in zip(("semantic", "cultural", "non-relevant"), shares, strict=True)
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
    see = "What follows prevalence rather than the line of equal shares is a head start."
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
            palette="tier",
            percent=True,
        ),
        Chart(
            "share",
            "Languages returned",
            see,
            by_language.filter(metric="share@10"),
            "bars",
            "name",
            "value",
            "language",
            "share of captions",
            color="tier",
            palette="tier",
            marker="web",
            percent=True,
            reference={"share of the pool": 1 / 36},
            **interval,
        ),
        Chart(
            "recall",
            "Recall by language",
            see,
            by_language.filter(metric="R@1"),
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
            palette="tier",
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
            palette="outcome",
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


def observations(folder: Path, skew: float, queries: int = 30, depth: int = 20) -> None:
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
    rankings = pl.DataFrame(ranked, schema=columns, orient="row").with_columns(pl.col("rank").cast(pl.Int32))
    labels = [EVIL if q == 7 else f"cat number {q}" for q in range(queries)]
    asked = pl.DataFrame(
        {
            "query_id": [f"q{q}" for q in range(queries)],
            "label": labels,
            "picture": [drawing(q) for q in range(queries)],
        }
    )
    for name, table in (("queries", asked), ("items", pl.DataFrame(items)), ("rankings", rankings)):
        write_parquet(table, folder / "observations" / f"prevalence.{name}.parquet")


def make_run(folder: Path, subject: str, skew: float, benchmark: str = "pictograms") -> Run:
    """A finished run of one audit."""
    run = Run.start(
        folder,
        Manifest(
            subject=Subject(
                name=subject, fingerprint="a" * 16, about="trained on captions as the web has them"
            ),
            benchmark=BenchmarkCard(
                name=benchmark,
                fingerprint="b" * 16,
                images=1280,
                texts=46080,
                about="drawings named in 36 languages",
                source="Noto Emoji; Unicode CLDR 48",
                licence="Apache-2.0; Unicode-3.0",
            ),
            audits=("prevalence",),
            settings={"prevalence": {"cutoffs": [5, 10, 25, 99], "prior": "uniform", "seed": 0}},
            seed=0,
            versions={"equiview": "0.1.0", "python": "3.11.7"},
        ),
    )
    table = estimates(skew)
    write_parquet(table, folder / "estimates.parquet")
    biased = skew > 0.1
    verdict = {
        "audit": "prevalence",
        "question": "Do captions in much-written languages crowd out equally right ones in other languages?",
        "finding": "biased" if biased else "fair",
        "answer": "Yes: the top 10 lean to much-written languages."
        if biased
        else "No: languages share the top 10.",
        "evidence": ["Low-tier languages write 58% of the pool and get 31% of the top 10."],
        "advice": ["Align the other languages' texts to the strongest one."] if biased else [],
        "limits": ["Even exposure is not correctness: read it beside accuracy."],
    }
    (folder / "verdicts.json").write_text(json.dumps([verdict]))
    for place, figure in enumerate(figures_of_every_kind(table, skew), start=1):
        write_figure(figure, folder / "figures" / f"prevalence.{place:02d}-{figure.name}.json")
    observations(folder, skew)
    return run


def comparison(runs: list[Run]) -> pl.DataFrame:
    """Paired differences as the audits give them."""
    rows = []
    for place, a in enumerate(runs):
        for b in runs[place + 1 :]:
            for metric, one, two in (
                ("DLBKL@10 [grouping=tier]", 2.46, 0.13),
                ("Accuracy@5", 0.7, 0.9),
                ("R@1 [tier=low]", 0.5, 0.52),
            ):
                sure = metric != "R@1 [tier=low]"
                rows.append(
                    {
                        "audit": "prevalence",
                        "metric": metric,
                        "a": a.name,
                        "b": b.name,
                        "value_a": one,
                        "value_b": two,
                        "difference": two - one,
                        "low": two - one - 0.05,
                        "high": two - one + 0.05,
                        "p": 0.0001 if sure else 0.4,
                        "p_holm": 0.0003 if sure else 0.4,
                        "n": 1280,
                    }
                )
    return pl.from_dicts(rows)
