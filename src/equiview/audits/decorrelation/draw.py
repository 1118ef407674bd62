"""ODmAP by cutoff and class, which object is named with which, and lists with pictures before and after."""

from __future__ import annotations

from itertools import chain

import polars as pl

from equiview.audits.charts import MEASURED, intervals
from equiview.audits.decorrelation.measure import NAMED, ODMAP, Ranked
from equiview.audits.decorrelation.observe import IMAGES
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.items import blind_order

MOST_PAIRS = 15
"""Pairs in the ranked list."""
MOST_CLASSES = 24
"""Classes of a side of the matrix, those of the first pairs."""
EXAMPLES, EXAMPLE_DEPTH = 3, 5
ASKED = {IMAGES[0]: "object taken away", IMAGES[1]: "unchanged image"}


def draw(view: Ranked, estimates: Estimates, settings: DecorrelationSettings) -> list[Figure | None]:
    """The figures, first what removal changes."""
    pairs = estimates.by(("removed", "kept"), NAMED, settings.judged_at).table
    if len(pairs):
        pairs = pairs.sort("value", "n", "removed", "kept", descending=[True, True, False, False])
    return [
        _by_cutoff(estimates),
        _named(estimates),
        _ranked(pairs, settings),
        _matrix(pairs, settings),
        _by_class(estimates, settings),
        _examples(view, settings),
    ]


def _by_cutoff(estimates: Estimates) -> Chart:
    """ODmAP of synthetic and of unchanged images, with the floor of each as a tick."""
    return _of_both(
        estimates,
        ODMAP,
        name="odmap",
        title="ODmAP with the object gone, and with it still there",
        see="A caption is right if it names what is still there and nothing that was taken away. In the "
        "unchanged image the object is there, so captions may well name it: the distance between the two is "
        "what removal changed. Ticks are captions at random, bars 95% intervals.",
        y_title="ODmAP@k",
    )


def _named(estimates: Estimates) -> Chart:
    return _of_both(
        estimates,
        NAMED,
        name="naming-by-cutoff",
        title="How many captions name the object that is taken away",
        see="A system that looks names it while it is there, and hardly ever once it is gone. Ticks are "
        "captions at random.",
        y_title="share of the first k captions",
    )


def _of_both(estimates: Estimates, metric: str, *, name: str, title: str, see: str, y_title: str) -> Chart:
    asked = pl.col("images").fill_null(IMAGES[0]) if "images" in estimates.keys else pl.lit(IMAGES[0])
    others = [key for key in estimates.keys if key != "images"]
    rows = estimates.table.filter(pl.col("metric") == metric, *(pl.col(key).is_null() for key in others))
    table = rows.select(pl.col("k").cast(pl.String), asked.replace(ASKED).alias("image"), *MEASURED, "chance")
    return intervals(
        name=name,
        title=title,
        see=see,
        table=table,
        x=("k", "cutoff k"),
        y_title=y_title,
        color="image",
        domain=tuple(ASKED.values()),
        marker="chance",
        percent=True,
    )


def _ranked(pairs: pl.DataFrame, settings: DecorrelationSettings) -> Chart | None:
    """Which object is named with which though it is gone."""
    if not len(pairs):
        return None
    table = pairs.head(MOST_PAIRS).select(pl.format("{} ({})", "removed", "kept").alias("pair"), *MEASURED)
    return intervals(
        name="pairs",
        title="Which object is named though it is gone, and beside which",
        see=f"Share of the first {settings.judged_at} captions that name the object taken away, over the "
        "images where the other is left: the pairs with the most. Few images make a share uncertain.",
        table=table,
        x=("pair", "taken away (still there)"),
        y_title="captions naming it",
        percent=True,
    )


def _matrix(pairs: pl.DataFrame, settings: DecorrelationSettings) -> Chart | None:
    """Every removed class by every kept one, of the classes in the first pairs."""
    if len(pairs) < 2:
        return None
    first = list(dict.fromkeys(chain.from_iterable(pairs.select("removed", "kept").head(60).iter_rows())))
    classes = sorted(first[:MOST_CLASSES])
    shown = pairs.filter(pl.col("removed").is_in(classes), pl.col("kept").is_in(classes))
    return Chart(
        name="matrix",
        title="Naming what is gone, by what is left",
        see=f"Share of the first {settings.judged_at} captions that name the object of the row, taken away, "
        "where the object of the column is left. Empty where fewer than three images have both.",
        table=shown.sort("removed", "kept").select("removed", "kept", *MEASURED),
        mark="heatmap",
        x="kept",
        y="removed",
        color="value",
        low="low",
        high="high",
        x_title="still there",
        y_title="taken away",
        percent=True,
    )


def _by_class(estimates: Estimates, settings: DecorrelationSettings) -> Chart | None:
    rows = estimates.by("removed", ODMAP, settings.judged_at).table
    if not len(rows):
        return None
    return intervals(
        name="odmap-by-class",
        title=f"ODmAP@{settings.judged_at} by the object taken away",
        see="The lower, the more often captions still name the object once it is gone, or nothing that is "
        "there. Ticks are captions at random.",
        table=rows.sort("value", "removed").select("removed", *MEASURED, "chance"),
        x=("removed", "object taken away"),
        y_title=f"ODmAP@{settings.judged_at}",
        marker="chance",
        percent=True,
    )


def _examples(view: Ranked, settings: DecorrelationSettings) -> Gallery | None:
    """Lists that name what is gone, a random sample, each after that of the unchanged image."""
    queries = view["queries"].filter(pl.col("picture").is_not_null(), pl.col("before").is_not_null())
    ranked = view["rankings"].filter(pl.col("rank") <= EXAMPLE_DEPTH)
    naming = ranked.filter("removed", image=IMAGES[0])["query_id"].unique()
    queries = queries.filter(pl.col("query_id").is_in(naming.implode()))
    if not len(queries):
        return None
    chosen = queries[blind_order(queries["query_id"])[:EXAMPLES]].with_row_index("order")
    gone, left = (pl.col(name).list.join(", ") for name in ("removed", "kept"))
    needed = pl.col("kept").list.len() if settings.kept == "all" else pl.lit(1)
    chosen = chosen.select("query_id", "order", "before", "picture", gone=gone, left=left, needed=needed)
    synthetic = pl.col("image") == IMAGES[0]
    table = (
        ranked.join(chosen.drop("before", "picture"), on="query_id")
        .join(view["items"], on="item_id")
        .sort("order", synthetic, "rank", maintain_order=True)
        .select(
            "rank",
            "text",
            "language",
            "score",
            group=pl.concat_str("query_id", pl.lit(": "), "image"),
            heading=pl.when(synthetic)
            .then(pl.format("After: without {}; {} left", "gone", "left"))
            .otherwise(pl.format("Before: {}, {}", "gone", "left")),
            correct=pl.when(synthetic).then(~pl.col("removed") & (pl.col("kept") >= pl.col("needed"))),
            note=pl.when(synthetic & pl.col("removed"))
            .then(pl.format("names {}, which is gone", "gone"))
            .when(synthetic & (pl.col("kept") == 0))
            .then(pl.lit("names nothing that is there")),
        )
    )
    pictures = {
        f"{row['query_id']}: {image}": row[column]
        for row in chosen.iter_rows(named=True)
        for image, column in zip(IMAGES, ("picture", "before"), strict=True)
    }
    return Gallery(
        name="examples",
        title=f"Lists that name what is gone: {len(chosen)} of {len(naming)}",
        see="Each image before and after an object was taken away, and the captions returned for it. Drawn "
        f"by lot among the images of which one of the first {EXAMPLE_DEPTH} captions names what is gone.",
        table=table,
        pictures=pictures,
    )
