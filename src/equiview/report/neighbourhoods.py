"""The study of neighbourhoods as a page: its answer in words, its figures, tables and the published one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

import polars as pl

from equiview.data.run import Run
from equiview.report.study import Table, study_page
from equiview.studies.neighbourhoods import GLOBAL, Neighbourhoods
from equiview.studies.neighbourhoods_figures import figures_of

LEVEL = 0.05
QUESTION = "Is a model's bias the same in every part of its space of images?"


def neighbourhoods_page(found: Neighbourhoods, runs: Sequence[Run]) -> bytes:
    """The page of a study, as UTF-8 HTML."""
    published = json.loads(files("equiview.studies").joinpath("published_neighbourhoods.json").read_bytes())
    tables = [
        Table("The groups", found.groups.drop("clusters")),
        Table(
            "Correlation of local and global bias",
            found.correlations,
            "Spearman's rho across models, p (Holm) is corrected over the whole table."
            if len(found.correlations)
            else "Four models or more are needed, with a bias that differs between them.",
        ),
        Table("Bias by model and group", found.biases),
        Table(
            f"Published: {published['title']}",
            pl.DataFrame(published["rows"]),
            f"From “{published['source']}”: p is not corrected there, and one correlation is not defined.",
        ),
    ]
    title = f"{len(found.groups)} neighbourhoods of images"
    return study_page(title, QUESTION, sentences(found, runs), figures_of(found), tables, runs)


def sentences(found: Neighbourhoods, runs: Sequence[Run]) -> list[str]:
    """The study's answer: how much bias varies between groups, and what the whole says of the parts."""
    sizes = found.groups["size"].to_list()
    kept = "that all models keep together" if len(runs) > 1 else "of the model's own clusters"
    lines = [f"{len(sizes)} groups {kept}, of {sizes[0]:,} to {sizes[-1]:,} images."]
    rows = found.correlations
    if not len(rows):
        lines.append(
            f"With {len(runs)} of the 4 models or more that it takes, nothing is said of correlation."
        )
    else:
        shown, rho = rows.filter(pl.col("p_holm") <= LEVEL), rows["rho"].to_list()
        lines.append(
            f"Of {len(rows)} correlations of local with global bias across {max(rows['n'].to_list())} "
            f"models, "
            f"{len(shown)} are shown not to be 0 (corrected); rho is from {min(rho):.2f} to {max(rho):.2f}."
        )
    return lines + list(_extremes(found))


def _extremes(found: Neighbourhoods) -> list[str]:
    """Where each attribute's bias is largest of what can be judged, beside all images, by one metric."""
    metric = found.biases["metric"][0]
    lines = []
    for (attribute,), part in found.biases.filter(metric=metric).group_by("attribute", maintain_order=True):
        local = part.filter(pl.col("group") != GLOBAL)
        enough = local.filter(pl.col("judged").ne_missing(False)).sort("value", descending=True)
        if few := len(local) - len(enough):
            lines.append(
                f"{few} of {len(local)} values of {metric} by {attribute} are of too few to judge by."
            )
        local = enough
        if not len(local):
            continue
        most = local.row(0, named=True)
        overall = part.filter(group=GLOBAL, run=most["run"])
        overall = overall.filter(pl.col("direction").eq_missing(most["direction"]))
        if len(overall):
            lines.append(
                f"{metric} by {attribute} is largest in group {most['group']} for {most['run']}: "
                f"{most['value']:.3f}, over all images {overall['value'][0]:.3f}."
            )
    return lines
