"""How neighbourhoods are shown: example pictures and words, bias by model and group, correlations."""

from __future__ import annotations

import polars as pl

from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.items import blind_order
from equiview.studies.neighbourhoods import GLOBAL, Neighbourhoods

EXAMPLES = 12
"""Pictures of a group that are shown."""
BETWEEN = " x "
COLUMNS = ("name", "run", "value", "low", "high", "n")


def figures_of(found: Neighbourhoods) -> list[Figure]:
    """A gallery of the groups (S, Fig. 2), a heat map for each attribute (Fig. 3), correlations (Table 2)."""
    return [*_gallery(found), *_heat_maps(found), *_correlations(found)]


def _alone(found: Neighbourhoods, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of single attributes, with the name of each group: its number and its first two words."""
    words = {group: text.split(", ")[:2] for group, text in found.groups.select("group", "words").iter_rows()}
    named = {group: f"{group}: {', '.join(first)}" for group, first in words.items() if first[0]}
    name = pl.col("group").replace(named)
    return table.filter(~pl.col("attribute").str.contains(BETWEEN, literal=True)).with_columns(name=name)


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-").replace(",", "")


def _gallery(found: Neighbourhoods) -> list[Figure]:
    """A random sample of each group, from the images whose pictures were kept."""
    parts = []
    for row in found.groups.iter_rows(named=True):
        pictured = found.members.filter(pl.col("group") == row["group"], pl.col("picture").is_not_null())
        if not len(pictured):
            continue
        chosen = pictured[blind_order(pictured["image_id"])[:EXAMPLES]]
        words = f": {row['words']}" if row["words"] else ""
        parts.append(
            chosen.select(
                "group",
                pl.lit(f"Group {row['group']}, {row['size']} images{words}").alias("heading"),
                pl.int_range(1, pl.len() + 1).alias("rank"),
                pl.lit("").alias("text"),
                pl.lit(False).alias("winner"),
                item_picture="picture",
            )
        )
    if not parts:
        return []
    return [
        Gallery(
            name="groups",
            title="The groups, by example",
            see="Images that every model keeps together, drawn by lot. Words are those that set the "
            "captions of a group apart from the other groups'.",
            table=pl.concat(parts),
            pictures={},
        )
    ]


def _heat_maps(found: Neighbourhoods) -> list[Figure]:
    """Bias of every model in every group, over all images first; models in the order of their global bias."""
    figures: list[Figure] = []
    alone = _alone(found, found.biases)
    for (metric, attribute, direction), part in alone.group_by(
        "metric", "attribute", "direction", maintain_order=True
    ):
        overall = part.filter(group=GLOBAL).sort("value", "run", descending=[True, False])["run"].to_list()
        order = {run: place for place, run in enumerate(overall)}
        place = pl.col("run").replace_strict(order, default=len(order))
        about = ", ".join(filter(None, [f"{metric} by {attribute}", direction]))
        figures.append(
            Chart(
                name=_slug(f"bias-{about}"),
                title=about,
                see="A row for each model, most biased over all images first. Where bias were the same "
                "everywhere, every column would go from dark to light like the first.",
                table=part.sort(place, maintain_order=True).select(*COLUMNS, "chance"),
                mark="heatmap", x="name", y="run", color="value", x_title="group", y_title="model",
            )
        )  # fmt: skip
    return figures


def _correlations(found: Neighbourhoods) -> list[Figure]:
    figures: list[Figure] = []
    alone = _alone(found, found.correlations)
    for (metric, direction), part in alone.group_by("metric", "direction", maintain_order=True):
        about = ", ".join(filter(None, [metric, direction]))
        figures.append(
            Chart(
                name=_slug(f"rho-{about}"),
                title=f"Does bias over all images say which models are biased locally? {about}",
                see="Spearman's rho across models: 1 where a group orders them as all images do, 0 where it "
                "has nothing to do with it.",
                table=part.rename({"rho": "value"}).select("name", "attribute", *COLUMNS[2:], "p", "p_holm"),
                mark="points", x="name", y="value", low="low", high="high", color="attribute",
                x_title="group", y_title="Spearman's rho", reference={"none": 0.0},
            )
        )  # fmt: skip
    return figures
