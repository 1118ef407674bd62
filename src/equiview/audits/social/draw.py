"""Who is shown: shares by group, the most unequal prompts, MaxSkew by cutoff, R@k by group, pictures."""

from __future__ import annotations

import polars as pl

from equiview.audits.charts import MEASURED, intervals
from equiview.audits.saying import with_capital
from equiview.audits.social.gallery import Gallery as People
from equiview.audits.social.groups import Grouping
from equiview.audits.social.measure import CHANCE_END, MAX_SKEW, SHOWN
from equiview.audits.social.observe import DIRECTIONS, PICTURED
from equiview.audits.social.recall import LEVEL
from equiview.audits.social.sentences import in_words, worst_prompts
from equiview.audits.social.settings import SocialSettings
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure, Gallery


def draw(people: People, estimates: Estimates, settings: SocialSettings) -> list[Figure | None]:
    """The figures, those of pictures after who is shown by group."""
    groups = people.groups
    return [
        _shares(estimates, groups),
        _gallery(people, estimates),
        _worst(estimates, groups),
        *(_curve(estimates, grouping) for grouping in groups if not grouping.is_intersection),
        *(_levels(estimates, direction) for direction in DIRECTIONS),
    ]


def _shares(estimates: Estimates, groups: list[Grouping]) -> Chart | None:
    """Mean share of the lists, beside the share of the set."""
    rows = estimates.table.filter(metric=SHOWN)
    rows = rows.filter(pl.col("prompt").is_null()) if "prompt" in rows.columns else rows
    alone = [grouping.attribute for grouping in groups if not grouping.is_intersection]
    rows = rows.filter(pl.col("attribute").is_in(alone))
    if not len(rows):
        return None
    return intervals(
        mark="bars",
        name="shares",
        title=f"Who is in the top {rows['k'][0]}, on average over neutral prompts",
        see="Bars are groups' shares of what is shown, ticks their shares of the whole set. A bar above its "
        "tick is a group that is shown more often than it is there. Lists that differ from the set in "
        "opposite ways even out here, but not in MaxSkew.",
        table=rows.select(
            pl.format("{} ({})", "group", "attribute").alias("name"), "attribute", *MEASURED, set="chance"
        ),
        x=("name", "group"),
        y_title="share of what is shown",
        marker="set",
        color="attribute",
        percent=True,
    )


def _worst(estimates: Estimates, groups: list[Grouping]) -> Chart | None:
    parts = [worst_prompts(estimates, grouping.attribute) for grouping in groups]
    rows = pl.concat([part.table for part in parts])
    if not len(rows):
        return None
    name = pl.format("{}: {}", "prompt", "group").alias("name")
    table = rows.select(name, "attribute", *MEASURED, set="chance")
    return intervals(
        mark="bars",
        name="worst-prompts",
        title="The prompts with the largest MaxSkew of each attribute",
        see="Of each prompt the group that is shown the most beyond its share; ticks are shares of the "
        "whole set. These are the extremes of all prompts, some of which are extreme by chance.",
        table=table.unique("name", keep="first", maintain_order=True),
        x=("name", "prompt and group"),
        y_title="share of what is shown",
        marker="set",
        color="attribute",
        percent=True,
    )


def _curve(estimates: Estimates, grouping: Grouping) -> Chart | None:
    """MaxSkew at every cutoff, beside its values when groups are exchanged among images."""
    rows = estimates.table.filter(metric=MAX_SKEW, attribute=grouping.attribute)
    if not len(rows) or not grouping.judged:
        return None
    ends = estimates.table.filter(metric=CHANCE_END, attribute=grouping.attribute)
    wide = ends.pivot("end", index="k", values="value", maintain_order=True)
    floor = rows.select("k", value="chance").join(wide, on="k", maintain_order="left")
    seen = rows.select("k", "value", "low", "high", series=pl.lit("these lists"))
    by_chance = floor.select("k", "value", "low", "high", series=pl.lit("by chance"))
    return intervals(
        name=f"curve-{grouping.attribute}",
        title=f"MaxSkew by {grouping.attribute} at every cutoff",
        see="Short lists are uneven by chance. The band by chance is where 95% of means fall when groups are "
        "exchanged among the images; what lies above it is not chance. ln 2 = 0.69 is a group shown twice as "
        "often as it is there.",
        table=pl.concat([seen, by_chance]).with_columns(pl.col("k").cast(pl.Int64)),
        mark="lines",
        x=("k", "cutoff k"),
        color="series",
        domain=("these lists", "by chance"),
        y_title="MaxSkew, mean over prompts",
    )


def _levels(estimates: Estimates, direction: str) -> Chart | None:
    if "group" not in estimates.keys or "direction" not in estimates.keys:
        return None
    rows = estimates.table.filter(pl.col("group").is_not_null(), metric=LEVEL, direction=direction)
    if not len(rows):
        return None
    return intervals(
        name=f"recall-{direction}",
        title=f"R@{rows['k'][0]} of each group, {direction.replace('-', ' ')}",
        see="KL of R says how unequal these are and hides how high they are; so read both.",
        table=rows.select(pl.format("{} ({})", "group", "attribute").alias("name"), "attribute", *MEASURED),
        x=("name", "group"),
        y_title=f"R@{rows['k'][0]}",
        color="attribute",
        percent=True,
    )


def _gallery(people: People, estimates: Estimates) -> Gallery | None:
    """The first results of the most unequal prompts, with the group of each."""
    pictures = dict(people["images"].select("image_id", "picture").iter_rows())
    texts = dict(people["prompts"].select("text", "prompt_id").iter_rows())
    ids = people["images"]["image_id"]
    rankings = people["rankings"].filter(pl.col("rank") <= PICTURED)
    rows = []
    for grouping in people.groups:
        if grouping.is_intersection:
            continue
        names = (*grouping.everyone, "not known")  # the code of an image without a known group is -1
        group_of = {image: names[code] for image, code in zip(ids, grouping.of_image, strict=True)}
        for worst in list(worst_prompts(estimates, grouping.attribute))[:2]:
            prompt = worst.keys["prompt"]
            rows += [
                {
                    "group": f"{grouping.attribute}: {prompt}",
                    "heading": with_capital(in_words(worst)),
                    "rank": row["rank"],
                    "text": group_of[row["image_id"]],
                    "score": row["score"],
                    "winner": False,
                    "item_picture": pictures[row["image_id"]],
                }
                for row in rankings.filter(prompt_id=texts[prompt]).iter_rows(named=True)
            ]
    if not rows:
        return None
    return Gallery(
        name="examples",
        title="What the most unequal prompts return",
        see="The first results of the two prompts with the largest MaxSkew of each attribute.",
        table=pl.from_dicts(rows, schema_overrides={"item_picture": pl.Binary}, infer_schema_length=None),
        pictures={},
    )
