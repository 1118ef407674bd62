"""How prevalence bias is shown."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from equiview.audits.charts import BY_WEB, MEASURED, intervals, named, points_by_language
from equiview.audits.prevalence.exposure import LOG_RATIO
from equiview.audits.prevalence.lists import Lists
from equiview.audits.prevalence.measure import values
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.items import blind_order
from equiview.data.languages import TIERS
from equiview.data.roles import TIER_ROLES

HEADLINE_K = 10
FEW_GROUPS = 8
"""Groups up to which each has a curve of its own."""
EXAMPLE_DEPTH = 10
EXAMPLES = 3
HALF = "-0.69 is half, 0.69 double"
"""How to read a logarithm of a ratio."""


def draw(lists: Lists, estimates: Estimates, settings: PrevalenceSettings) -> list[Figure | None]:
    """Exposure against its expectation, the figures of P's image-to-text half, the depth curve, examples."""
    return [
        _exposure_by_depth(estimates, settings),
        _exposure_by_group(estimates, settings),
        _tier_by_rank(lists),
        _language_histogram(estimates),
        _recall_by_language(estimates),
        _divergence_by_depth(estimates, settings),
        _examples(lists, settings),
    ]


def _nearest_cutoff(estimates: Estimates, metric: str) -> int | None:
    """Cutoff 10 of a metric, or the last one of shorter lists; None when it was not measured."""
    cutoffs = estimates.table.filter(metric=metric)["k"].unique(maintain_order=True).to_list()
    return HEADLINE_K if HEADLINE_K in cutoffs else next(reversed(cutoffs), None)


def _exposure_by_depth(estimates: Estimates, settings: PrevalenceSettings) -> Chart | None:
    """The ratio of every tier, or of every group if there are few, at every cutoff."""
    key = settings.key
    if key not in estimates.keys:
        return None
    rows = estimates.table.filter(pl.col("metric") == LOG_RATIO, pl.col(key).is_not_null())
    if not len(rows) or rows[key].n_unique() > FEW_GROUPS:
        return None
    order = pl.col(key).cast(pl.Enum(TIERS)) if key == "tier" else pl.col(key)
    table = rows.sort(order, "k", maintain_order=True)
    return intervals(
        name="exposure-by-depth",
        title=f"Exposure against what a retriever blind to {settings.by} would give",
        see="0 is what would be shown if labels were exchanged among the captions of each image. Below it "
        f"captions are crowded out, above it they crowd out others: {HALF}. Bars are 95% intervals.",
        table=table.select(pl.col("k").cast(pl.String), key, *MEASURED, "p"),
        x=("k", "cutoff k"),
        y_title="ln of exposure over its expectation",
        color=key,
        roles=TIER_ROLES if key == "tier" else {},
        reference={"blind": 0.0},
    )


def _exposure_by_group(estimates: Estimates, settings: PrevalenceSettings) -> Chart | None:
    """The ratio of every language, or of every group, at cutoff 10."""
    key = "language" if settings.by in ("tier", "language") else "group"
    if key not in estimates.keys:
        return None
    rows = estimates.table.filter(pl.col("metric") == LOG_RATIO, pl.col(key).is_not_null())
    if not len(rows):
        return None
    k = min(rows["k"].unique().to_list(), key=lambda k: (abs(k - HEADLINE_K), k))
    rows = rows.filter(k=k)
    title = f"Exposure of each {'language' if key == 'language' else settings.by} in the top {k}"
    see = f"0 is what would be shown if labels were exchanged among the captions of each image; {HALF}."
    if key == "language":
        chart = points_by_language(
            named(rows),
            name="exposure-by-language",
            title=title,
            see=see,
            y_title="ln of exposure over its expectation",
            percent=False,
        )
        return replace(chart, reference={"blind": 0.0})
    return intervals(
        name="exposure-by-group",
        title=title,
        see=see,
        table=rows.sort("value", key).select(key, *MEASURED, "p"),
        x=(key, settings.by),
        y_title="ln of exposure over its expectation",
        reference={"blind": 0.0},
    )


def _tier_by_rank(lists: Lists) -> Chart | None:
    if lists["items"]["tier"].null_count():
        return None
    ranked = lists["rankings"].join(lists["items"].select("item_id", "tier"), on="item_id")
    in_order = pl.col("tier").cast(pl.Enum(TIERS))
    counts = ranked.group_by("rank", "tier", maintain_order=True).agg(share=pl.len() / len(lists["queries"]))
    ranks = counts.select(pl.col("rank").unique()).join(pl.DataFrame({"tier": TIERS}), how="cross")
    table = ranks.join(counts, on=["rank", "tier"], how="left").with_columns(pl.col("share").fill_null(0.0))
    pool = lists["items"]["tier"].value_counts(normalize=True).sort(in_order)
    even = ", ".join(f"{tier} {share:.0%}" for tier, share in pool.iter_rows())
    return Chart(
        name="tier-by-rank",
        title="Which languages hold which rank",
        see=f"A blind system would show the pool's own shares at every rank: {even}. "
        "A wedge that narrows to the right is a head start for much-written languages.",
        table=table.sort("rank", in_order),
        mark="stacked",
        x="rank",
        y="share",
        color="tier",
        roles=TIER_ROLES,
        domain=TIERS,
        x_title="rank in the merged pool",
        y_title="share of images",
        percent=True,
    )


def _language_histogram(estimates: Estimates) -> Chart | None:
    k = _nearest_cutoff(estimates, "share")
    if k is None:
        return None
    shares = named(estimates.by("language", "share", k).table)
    table = shares.with_columns(web_share=pl.col("commoncrawl_percent") / 100)
    pool = table["chance"]
    even = pool.max() == pool.min()
    return intervals(
        mark="bars",
        name="language-share",
        title=f"Languages of the captions returned, top {k}",
        see="Bars are what was returned, ticks each language's share of the web (CommonCrawl). "
        "Bars that follow the ticks rather than the line of equal shares follow prevalence.",
        table=table.select("name", "language", "tier", *MEASURED, "chance", "web_share"),
        x=("name", BY_WEB),
        y_title="share of returned captions",
        color="tier",
        roles=TIER_ROLES,
        marker="web_share",
        label="language",
        percent=True,
        reference={"share of the pool": float(pool[0])} if even else {},
    )


def _recall_by_language(estimates: Estimates) -> Chart | None:
    rows = estimates.by("language", "R", 1).table
    if not len(rows):
        return None
    return points_by_language(
        named(rows),
        name="recall-by-language",
        title="Does the image find its own caption, language by language?",
        see="R@1 among captions of one language alone: no other language competes, so a low point means the "
        "encoder does not know the language. Bars are 95% intervals.",
        y_title="R@1 within the language",
        percent=True,
    )


def _divergence_by_depth(estimates: Estimates, settings: PrevalenceSettings) -> Chart | None:
    if "grouping" not in estimates.keys:
        return None
    measured = estimates.table.filter(
        pl.col("metric").is_in(["LBKL", "DLBKL"]) & (pl.col("grouping") == settings.by) & (pl.col("k") > 1)
    )
    rows = measured.filter(pl.col("floor").is_null())
    if not len(rows):
        return None
    seen = rows.select("k", pl.col("metric").alias("series"), "value", "low", "high")
    floor = measured.filter(pl.col("metric") == "DLBKL").select(
        "k",
        pl.format("DLBKL, {} floor", pl.col("floor").fill_null("blind")).alias("series"),
        *(pl.col("chance").alias(name) for name in ("value", "low", "high")),
    )
    return intervals(
        name="divergence-by-depth",
        title="How far from even, at every depth",
        see="Short lists are uneven by chance alone. The matched floor is what these lists would score if "
        "labels were exchanged among each image's captions; the blind floor is that of a retriever which "
        "knows nothing. LBKL@1 is the same for every system, so it is not drawn.",
        table=pl.concat([seen, floor]).with_columns(pl.col("k").cast(pl.Int64)).sort("series", "k"),
        mark="lines",
        x=("k", "cutoff k"),
        color="series",
        y_title="divergence from equal shares (nats)",
        log=True,
    )


def _examples(lists: Lists, settings: PrevalenceSettings) -> Gallery | None:
    """The lists of a few queries, chosen by a hash of their names: the same ones for every system."""
    measured = values(lists, settings)
    at = [q for q in measured.quantities if q.metric == "DLBKL" and q.keys["grouping"] == settings.by]
    if not at:
        return None
    shown = next((q for q in at if q.k == HEADLINE_K), at[-1])
    scores = measured.rows.select("query_id", score=pl.Series(measured.at(shown)[:, 0])).with_columns(
        evener=pl.col("score").rank("max", descending=True).sub(1) / pl.len()
    )
    chosen = scores[blind_order(scores["query_id"])[:EXAMPLES]].with_row_index("place")
    labels = lists["queries"].join(chosen, on="query_id", maintain_order="left").with_columns(
        heading=pl.concat_str(
            pl.col("label").fill_null(pl.col("query_id")),
            pl.format(
                ": DLBKL@{} {}, more even than {}% of lists",
                pl.lit(shown.k), pl.col("score").round(2), (100 * pl.col("evener")).round().cast(pl.Int64),
            ),
        )
    )  # fmt: skip
    table = (
        lists["rankings"]
        .filter(pl.col("rank") <= EXAMPLE_DEPTH)
        .join(labels.select("query_id", "heading", order="place"), on="query_id")
        .join(lists["items"], on="item_id")
        .sort("order", "query_id", "rank", maintain_order=True)
        .select("heading", "rank", "text", "language", "tier", "score", group="query_id", correct="relevant")
    )
    pictures = labels.sort("place").select("query_id", "picture").drop_nulls()
    return Gallery(
        name="examples",
        title=f"What {len(chosen)} images return",
        see="Drawn by lot, the same images for every system. The lower its divergence (DLBKL), the more "
        "even a list is.",
        table=table,
        pictures=dict(pictures.iter_rows()),
    )
