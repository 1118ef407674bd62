"""How prevalence bias is shown and put into words."""

from __future__ import annotations

import numpy as np
import polars as pl

from equiview.audits._languages import named, points_by_language
from equiview.audits._prevalence_values import PrevalenceSettings, values
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.languages import TIERS
from equiview.data.observations import Observations
from equiview.data.run import Verdict

HEADLINE_K = 10
EXAMPLE_DEPTH = 10
QUESTION = "Do captions in much-written languages crowd out equally right ones in other languages?"


def draw(observations: Observations, estimates: Estimates, settings: PrevalenceSettings) -> list[Figure]:
    """The figures of P's image-to-text half, then the depth curve and examples."""
    made: list[Figure | None] = [
        _tier_by_rank(observations),
        _language_histogram(estimates),
        _recall_by_language(estimates),
        _divergence_by_depth(estimates),
        _examples(observations, settings),
    ]
    return [figure for figure in made if figure is not None]


def _tier_by_rank(observations: Observations) -> Chart:
    ranked = observations["rankings"].join(observations["items"].select("item_id", "tier"), on="item_id")
    total = len(observations["queries"])
    counts = ranked.group_by("rank", "tier").len().with_columns(share=pl.col("len") / total)
    ranks = counts.select(pl.col("rank").unique()).join(pl.DataFrame({"tier": TIERS}), how="cross")
    table = (
        ranks.join(counts.select("rank", "tier", "share"), on=["rank", "tier"], how="left")
        .with_columns(pl.col("share").fill_null(0.0), order=pl.col("tier").cast(pl.Enum(TIERS)))
        .sort("rank", "order")
        .drop("order")
    )
    pool = observations["items"]["tier"].value_counts(normalize=True)
    even = ", ".join(
        f"{row['tier']} {row['proportion']:.0%}"
        for row in pool.sort(pl.col("tier").cast(pl.Enum(TIERS))).iter_rows(named=True)
    )
    return Chart(
        name="tier-by-rank",
        title="Which languages hold which rank",
        see=f"A blind system would show the pool's own shares at every rank: {even}. "
        "A wedge that narrows to the right is a head start for much-written languages.",
        table=table,
        mark="stacked",
        x="rank",
        y="share",
        color="tier",
        palette="tier",
        x_title="rank in the merged pool",
        y_title="share of images",
        percent=True,
    )


def _per_language(estimates: Estimates, metric: str) -> pl.DataFrame:
    rows = estimates.table.filter((pl.col("metric") == metric) & pl.col("language").is_not_null())
    return named(rows.select("language", "value", "low", "high", "n", "chance"))


def _language_histogram(estimates: Estimates) -> Chart | None:
    metric = _at_ten(estimates, "share")
    if metric is None:
        return None
    table = _per_language(estimates, metric).with_columns(web_share=pl.col("commoncrawl_percent") / 100)
    pool = table["chance"]
    even = pool.max() == pool.min()
    return Chart(
        name="language-share",
        title=f"Languages of the captions returned, top {metric.split('@')[1]}",
        see="Bars are what was returned, ticks each language's share of the web (CommonCrawl). "
        "Bars that follow the ticks rather than the line of equal shares follow prevalence.",
        table=table.select("name", "language", "tier", "value", "low", "high", "n", "chance", "web_share"),
        mark="bars",
        x="name",
        y="value",
        low="low",
        high="high",
        color="tier",
        palette="tier",
        marker="web_share",
        label="language",
        x_title="language, from most to least written on the web",
        y_title="share of returned captions",
        percent=True,
        reference={"share of the pool": float(pool[0])} if even else {},
    )


def _recall_by_language(estimates: Estimates) -> Chart | None:
    table = _per_language(estimates, "R@1")
    if not len(table):
        return None
    return points_by_language(
        table,
        name="recall-by-language",
        title="Does the image find its own caption, language by language?",
        see="R@1 among captions of one language alone: no other language competes, so a low point means the "
        "encoder does not know the language. Bars are 95% intervals.",
        y_title="R@1 within the language",
        percent=True,
    )


def _divergence_by_depth(estimates: Estimates) -> Chart | None:
    rows = estimates.table.filter(
        pl.col("metric").str.contains(r"^D?LBKL@") & (pl.col("grouping") == "tier")
    ).with_columns(pl.col("metric").str.split("@").list.to_struct(fields=["kind", "k"]).struct.unnest())
    if not len(rows):
        return None
    rows = rows.with_columns(pl.col("k").cast(pl.Int64)).filter(pl.col("k") > 1)
    if not len(rows):
        return None
    seen = rows.select("k", pl.col("kind").alias("series"), "value", "low", "high")
    floor = rows.filter(pl.col("kind") == "DLBKL").select(
        "k", pl.lit("DLBKL by chance").alias("series"), pl.col("chance").alias("value"),
        pl.col("chance").alias("low"), pl.col("chance").alias("high"),
    )  # fmt: skip
    return Chart(
        name="divergence-by-depth",
        title="How far from even, at every depth",
        see="The distance between the observed curves and the chance curve is the bias; short lists are "
        "uneven by chance alone. LBKL@1 is the same for every system, so it is left out.",
        table=pl.concat([seen, floor]).sort("series", "k"),
        mark="lines",
        x="k",
        y="value",
        low="low",
        high="high",
        color="series",
        x_title="cutoff k",
        y_title="divergence from equal shares (nats)",
        log=True,
    )


def _examples(observations: Observations, settings: PrevalenceSettings) -> Gallery | None:
    found = values(observations, settings)
    at = [name for name in found.metrics if name.startswith("DLBKL@") and "tier" in name]
    if not at:
        return None
    metric = next((name for name in at if name.startswith(f"DLBKL@{HEADLINE_K} ")), at[-1])
    ordered = found.table.select("query_id", score=pl.col(metric)).sort("score", "query_id")
    spots = {"among the most even": 0.1, "typical": 0.5, "among the least even": 0.9}
    rows = {spot: int(np.floor(share * (len(ordered) - 1))) for spot, share in spots.items()}
    chosen = pl.DataFrame({"spot": list(rows), "row": list(rows.values())}).unique("row", maintain_order=True)
    chosen = chosen.with_columns(ordered[chosen["row"]])
    labels = observations["queries"].join(chosen, on="query_id").with_columns(
        heading=pl.concat_str(
            pl.col("label").fill_null(pl.col("query_id")), pl.lit(": "), "spot", pl.lit(", "),
            pl.lit(metric.split(" ")[0] + " "), pl.col("score").round(2).cast(pl.String),
        )
    )  # fmt: skip
    table = (
        observations["rankings"]
        .filter(pl.col("rank") <= EXAMPLE_DEPTH)
        .join(labels.select("query_id", "heading", order="score"), on="query_id")
        .join(observations["items"], on="item_id")
        .sort("order", "query_id", "rank")
        .select("heading", "rank", "text", "language", "tier", "score", group="query_id", correct="relevant")
    )
    pictures = {
        row["query_id"]: row["picture"]
        for row in labels.sort("score").iter_rows(named=True)
        if row["picture"] is not None
    }
    return Gallery(
        name="examples",
        title="What three images return",
        see="An even, a typical and an uneven list, chosen by their divergence and not by hand.",
        table=table,
        pictures=pictures,
    )


def _at_ten(estimates: Estimates, kind: str) -> str | None:
    """The metric of that kind cut at 10, or at the pool's size where the pool is smaller."""
    names = estimates.table["metric"].filter(estimates.table["metric"].str.starts_with(f"{kind}@"))
    if not len(names):
        return None
    wanted = f"{kind}@{HEADLINE_K}"
    return wanted if wanted in names else str(names[-1])


def judge(estimates: Estimates, settings: PrevalenceSettings) -> Verdict:
    """Biased when DLBKL's interval lies above chance, fair when it does not rise above it."""
    limits = (
        "Even exposure is not correctness: read it beside accuracy and recall.",
        "Tiers follow the web's shares of languages (CommonCrawl CC-MAIN-2025-18), not numbers of speakers.",
    )
    metric = _headline(estimates)
    if metric is None:
        return Verdict(
            audit="prevalence",
            question=QUESTION,
            finding="unclear",
            answer="The pool holds one tier of languages only, so no language can crowd out another tier.",
            limits=limits,
        )
    row = estimates.one(metric, grouping="tier")
    k = metric.split("@")[1]
    favoured, low_share = _favoured(estimates)
    numbers = f"{metric} {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}], chance {row['chance']:.2f}"
    if row["low"] > row["chance"]:
        finding = "biased"
        times = row["value"] / row["chance"]
        answer = (
            f"Yes: the top {k} lean to {favoured} languages, "
            f"{times:.1f} times as uneven as chance ({numbers})."
        )
    elif row["high"] < row["chance"] * 1.5:
        finding, answer = "fair", f"No: languages share the top {k} as evenly as chance would ({numbers})."
    else:
        finding, answer = "unclear", f"Too few images to tell the top {k} from chance ({numbers})."
    return Verdict(
        audit="prevalence",
        question=QUESTION,
        finding=finding,
        answer=answer,
        evidence=tuple(filter(None, (low_share, _worst(estimates), _single(estimates, k)))),
        advice=_advice(finding),
        limits=limits,
    )


def _headline(estimates: Estimates) -> str | None:
    if "grouping" not in estimates.keys:
        return None
    of_tier = estimates.table.filter(pl.col("grouping") == "tier")
    names = [name for name in of_tier["metric"] if name.startswith("DLBKL@") and name != "DLBKL@1"]
    wanted = f"DLBKL@{HEADLINE_K}"
    return wanted if wanted in names else (names[-1] if names else None)


def _favoured(estimates: Estimates) -> tuple[str, str]:
    share = _at_ten(estimates, "share")
    row = estimates.one(share, tier="low") if share else None
    if row is None:
        return "some", ""
    favoured = "much-written" if row["value"] < row["chance"] else "little-written"
    return favoured, (
        f"Low-tier languages write {row['chance']:.0%} of the pool and get {row['value']:.0%} "
        f"[{row['low']:.0%}, {row['high']:.0%}] of the top {share.split('@')[1] if share else ''}."
    )


def _worst(estimates: Estimates) -> str:
    table = _per_language(estimates, "R@1").sort("value", "language")
    if not len(table):
        return ""
    least = ", ".join(f"{row['name']} {row['value']:.0%}" for row in table.head(4).iter_rows(named=True))
    top = table.tail(1).row(0, named=True)
    return f"Worst served, by R@1 within the language: {least}; best: {top['name']} {top['value']:.0%}."


def _single(estimates: Estimates, k: str) -> str:
    row = estimates.one(f"single-group share@{k}", grouping="tier")
    return (
        f"{row['value']:.0%} of images return one side only, low-tier languages or the others, "
        f"in their top {k}; by chance {row['chance']:.1%} would."
    )


def _advice(finding: str) -> tuple[str, ...]:
    if finding != "biased":
        return ()
    return (
        "Align other languages' texts to the encoder's strongest one (distillation on parallel captions).",
        "Until then, retrieve within each language and merge lists by rank instead of by score.",
    )
