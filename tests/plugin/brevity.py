"""Are short captions returned before long ones?"""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits import Audit, Settings, decide, largest, once, register
from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure
from equiview.data.headline import Headline, ratio
from equiview.data.lists import RankedLists
from equiview.data.metric import SHARE, Metric, quantity
from equiview.data.observations import Observations
from equiview.data.values import Values, column
from equiview.data.verdict import Verdict
from equiview.io.progress import Progress
from equiview.io.tables import Column, Schema
from equiview.search import comparable, top_k
from equiview.subjects import Encoder

RANKINGS = Schema(
    "rankings",
    (
        Column("query_id", pl.String, "the image"),
        Column("rank", pl.Int32, "place in the list, from 1"),
        Column("item_id", pl.String, "the caption there"),
        Column("score", pl.Float32, "similarity"),
        Column("relevant", pl.Boolean, "whether the caption is of the image"),
    ),
)
ITEMS = Schema(
    "items",
    (
        Column("item_id", pl.String, "the caption", unique=True),
        Column("text", pl.String, "its words"),
        Column("language", pl.String, "its language"),
        Column("letters", pl.Float64, "its length"),
        Column("longer", pl.Float64, "share of the captions of its language that are longer, ties half"),
    ),
)
METRICS = (
    Metric(
        "preference",
        "share of a language's captions that are longer than the one returned; a half is no preference",
        "lower",
        "share",
        SHARE,
    ),
    Metric("letters", "mean length of captions, returned or all there are", None, "letters", (0.0, None)),
    Metric(
        "length ratio", "length of what is returned over that of what there is; 1 is no preference", "higher"
    ),
)
RATIO = Headline(
    quantity("length ratio"),
    of=(quantity("letters", of="returned"), quantity("letters", of="pool")),
    combine=ratio,
)


class BrevitySettings(Settings):
    """How deep lists are observed, and how much preference is tolerated."""

    depth: int = 10
    tolerance: float = 0.05


def observe(
    subject: Encoder, benchmark: Benchmark, settings: BrevitySettings, progress: Progress
) -> Observations:
    """The best captions of all languages for each image."""
    texts = benchmark.need_texts()
    depth = min(settings.depth, len(texts))
    images = comparable(subject, benchmark.images, progress)
    ranked = top_k(images, comparable(subject, texts, progress), depth)
    right = pl.Series("relevant", benchmark.need_relevance().mark(ranked.items).ravel())
    rankings = ranked.table(benchmark.images.ids, texts.ids).with_columns(right)
    letters = pl.col("letters")
    among = (pl.len().over("language") - letters.rank("average").over("language") + 0.5) / pl.len().over(
        "language"
    )
    items = texts.table.select("text", "language", item_id="id").with_columns(
        letters=pl.col("text").str.len_chars().cast(pl.Float64)
    )
    return Observations({"rankings": rankings, "items": items.with_columns(longer=among)})


@once
def values(observations: Observations, settings: BrevitySettings) -> Values:
    """For each image: how long its first caption is, and how many of that language's are longer."""
    items = observations["items"]
    first = observations["rankings"].filter(rank=1).join(items, on="item_id", maintain_order="left")
    longer, language = first["longer"].to_numpy(), first["language"]
    pool = np.full(len(first), items["letters"].to_numpy().mean())
    columns = [
        column("preference", longer, chance=0.5),
        column("letters", first["letters"], of="returned"),
        column("letters", pool, of="pool"),
    ]
    for code in sorted(language.unique()):
        of_language = np.where((language == code).to_numpy(), longer, np.nan)
        columns.append(column("preference", of_language, chance=0.5, language=code))
    return Values.of(first["query_id"], columns)


def measure(observations: Observations, settings: BrevitySettings) -> Estimates:
    """Means with intervals, and the ratio of two of them."""
    measured = values(observations, settings)
    rows = Rows()
    means = Replicates.of(measured.at(*RATIO.columns(measured)), settings)
    rows.add(RATIO.quantity, means.headline(RATIO), n=len(measured.rows), chance=1.0)
    return joined([summarise(measured, settings), rows.estimates()])


def draw(observations: Observations, estimates: Estimates, settings: BrevitySettings) -> list[Figure]:
    """How long first captions are."""
    rankings, items = observations["rankings"], observations["items"]
    first = rankings.filter(rank=1).join(items, on="item_id")
    return [
        Chart(
            name="letters",
            title="Length of the first caption",
            see="Mass on the left is a preference for short captions.",
            table=first["letters"].value_counts(sort=False).sort("letters"),
            mark="bars",
            x="letters",
            y="count",
            x_title="letters",
            y_title="images",
        )
    ]


def judge(estimates: Estimates, settings: BrevitySettings) -> Verdict:
    """Biased when the interval of the preference lies beyond the tolerance, fair when within it."""
    row = estimates.one("preference")
    numbers = f"{row:.0%} of a language's captions are longer than the one returned, 50% without preference"
    finding = decide(row.above_chance(), tolerance=settings.tolerance)
    begin = {"biased": "Yes", "fair": "No", "unclear": "Unclear"}[finding]
    return Verdict(
        finding=finding,
        answer=f"{begin}: {numbers}.",
        evidence=(
            f"Returned captions are {estimates.one('length ratio'):.2f} times as long as all captions.",
        ),
        limits=("Captions may be short because the right ones are.",),
        effect=largest([row.above_chance()], settings.tolerance),
    )


def explore(observations: Observations) -> RankedLists:
    """The list of each image."""
    rankings = observations["rankings"]
    queries = rankings.select("query_id").unique(maintain_order=True)
    queries = queries.with_columns(label=pl.col("query_id"))
    return RankedLists(queries, observations["items"].drop("letters", "longer"), rankings)


BREVITY = register(
    Audit[Encoder, BrevitySettings](
        name="brevity",
        question="Are short captions returned before long ones?",
        source="docs/extending/audit.md",
        subject=Encoder,
        settings=BrevitySettings,
        schemas={"rankings": RANKINGS, "items": ITEMS},
        metrics=METRICS,
        headlines=(Headline(quantity("preference")), RATIO),
        observe=observe,
        needs=lambda benchmark, _: benchmark.need_relevance(),
        values=values,
        measure=measure,
        draw=draw,
        judge=judge,
        worst_by=(("language", quantity("preference")),),
        key_formats={"of": "{}"},
        explore=explore,
    )
)
