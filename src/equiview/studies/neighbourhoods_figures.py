"""How neighbourhoods are shown: example pictures and words, bias by model and group, correlations."""

from __future__ import annotations

import polars as pl

from equiview.data.figures import Chart, Figure, Gallery
from equiview.data.items import blind_order
from equiview.studies.neighbourhoods import GLOBAL, Neighbourhoods

EXAMPLES = 12
"""Pictures of a group that are shown."""
BETWEEN = " x "


def figures_of(found: Neighbourhoods) -> list[Figure]:
    """A gallery of the groups (S, Fig. 2), a heat map for each attribute (Fig. 3), correlations (Table 2)."""
    return [*_gallery(found), *_heat_maps(found), *_correlations(found)]


def _name(found: Neighbourhoods) -> dict[str, str]:
    """What a reader calls each group."""
    named = {GLOBAL: GLOBAL}
    for row in found.groups.iter_rows(named=True):
        words = ", ".join(row["words"].split(", ")[:2])
        named[row["group"]] = f"{row['group']}: {words}" if words else row["group"]
    return named


def _gallery(found: Neighbourhoods) -> list[Figure]:
    """Examples of each group drawn by lot, of the images whose pictures were kept."""
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
    named = _name(found)
    alone = found.biases.filter(~pl.col("attribute").str.contains(BETWEEN, literal=True))
    for (metric, attribute, direction), part in alone.group_by(
        "metric", "attribute", "direction", maintain_order=True
    ):
        overall = part.filter(group=GLOBAL).sort("value", "run", descending=[True, False])["run"].to_list()
        order = {run: place for place, run in enumerate(overall)}
        table = part.with_columns(
            place=pl.col("run").replace_strict(order, default=len(order)),
            name=pl.col("group").replace_strict(named, default=pl.col("group")),
        ).sort("place", maintain_order=True)
        about = f"{metric} by {attribute}" + (f", {direction}" if direction else "")
        figures.append(
            Chart(
                name=f"bias-{about}".lower().replace(" ", "-").replace(",", ""),
                title=about,
                see="A row for each model, most biased over all images first. Where bias were the same "
                "everywhere, every column would go from dark to light like the first.",
                table=table.select("name", "run", "value", "low", "high", "n", "chance"),
                mark="heatmap", x="name", y="run", color="value", x_title="group", y_title="model",
            )
        )  # fmt: skip
    return figures


def _correlations(found: Neighbourhoods) -> list[Figure]:
    figures: list[Figure] = []
    named = _name(found)
    alone = found.correlations.filter(~pl.col("attribute").str.contains(BETWEEN, literal=True))
    for (metric, direction), part in alone.group_by("metric", "direction", maintain_order=True):
        about = f"{metric}" + (f", {direction}" if direction else "")
        table = part.with_columns(name=pl.col("group").replace_strict(named, default=pl.col("group")))
        figures.append(
            Chart(
                name=f"rho-{about}".lower().replace(" ", "-").replace(",", ""),
                title=f"Does bias over all images say which models are biased locally? {about}",
                see="Spearman's rho across models: 1 where a group orders them as all images do, 0 where it "
                "has nothing to do with it.",
                table=table.rename({"rho": "value"}).select(
                    "name", "attribute", "value", "low", "high", "n", "p", "p_holm"
                ),
                mark="points", x="name", y="value", low="low", high="high", color="attribute",
                x_title="group", y_title="Spearman's rho", reference={"none": 0.0},
            )
        )  # fmt: skip
    return figures
