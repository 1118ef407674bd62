"""On how many images answers rest: where captions are missing, and of each group of images."""

from __future__ import annotations

import polars as pl

from equiview.audits.estimating import Rows
from equiview.audits.parity.answers import Answers
from equiview.audits.parity.tasks import DIRECTIONS
from equiview.audits.saying import language_of, without_capital
from equiview.benchmarks.parallel import Captions
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import quantity
from equiview.io.tables import Column, Schema

COVERAGE = "images compared"
HALF = 0.5
"""Share of the captioned images below which the answer itself says on how few it rests."""

SCHEMA = Schema(
    "coverage",
    (
        Column("language", pl.String, "language of the captions"),
        Column("captioned", pl.Int64, "images that have a caption in it"),
        Column("compared", pl.Int64, "images whose captions in it are matched"),
        Column("images", pl.Int64, "images that have a caption in any of the languages"),
    ),
)


def coverage_of(captions: Captions, *, common: bool) -> pl.DataFrame:
    """A row for each language; with `common` only images with captions in all languages are compared."""
    has = (captions.rows >= 0).any(axis=0)
    captioned = has.sum(axis=1)
    compared = [len(captions.complete)] * len(captioned) if common else captioned
    columns = {"language": captions.languages, "captioned": captioned, "compared": compared}
    return pl.DataFrame(columns | {"images": [int(has.any(axis=0).sum())] * len(captioned)}).cast(
        {"captioned": pl.Int64, "compared": pl.Int64, "images": pl.Int64}
    )


def add_coverage(rows: Rows, coverage: pl.DataFrame) -> None:
    """The share of captioned images that each language is compared on: exact, not estimated."""
    for language, _, compared, images in coverage.iter_rows():
        rows.add_known(quantity(COVERAGE, language=language), compared / images, images)


def add_group_coverage(rows: Rows, answers: Answers) -> None:
    """The share of each group's images on which a task compares it, and whether these are enough to judge.

    A row without a group is the share of the task's images whose group of that attribute is known.
    """
    for task, correct in answers.tasks.items():
        if task == DIRECTIONS[1]:
            continue  # the same images
        asked = answers.ids.filter(pl.Series(correct.asked_in_all)).implode()
        labels = answers.labels_for(task).with_columns(compared=pl.col("query_id").is_in(asked))
        for (attribute,), part in labels.group_by("attribute", maintain_order=True):
            keys = {"task": task, "attribute": str(attribute)}
            known = part.filter("compared")["query_id"].n_unique()
            if n := int(correct.asked_in_all.sum()):
                rows.add_known(quantity(COVERAGE, None, **keys), known / n, n)
            for (value,), group in part.group_by("value", maintain_order=True):
                compared, of = int(group["compared"].sum()), len(group)
                wanted = quantity(COVERAGE, None, **keys, group=str(value))
                rows.add_known(wanted, compared / of, of, judged=compared >= answers.settings.least)


def about_coverage(estimates: Estimates, *, common: bool) -> str:
    """A sentence that says on how many images matching rests; "" where nothing is matched."""
    least = _least(estimates)
    if least is None:
        return ""
    compared = round(least.value * least.n)
    if compared == least.n:
        return f"Matching rests on all {least.n:,} captioned images."
    which = (
        "those with a caption in every language"
        if common
        else f"in {language_of(least)}, the language with the fewest"
    )
    return f"Matching rests on {compared:,} of {least.n:,} captioned images ({least.value:.0%}), {which}."


def warning_of(estimates: Estimates, *, common: bool) -> str:
    """The same with what to do, where it rests on less than half of the images; else ""."""
    least = _least(estimates)
    if least is None or least.value >= HALF:
        return ""
    advice = "parity.languages chooses languages" + (
        ", parity.common=false keeps all images" if common else ""
    )
    return f" Careful: {without_capital(about_coverage(estimates, common=common))[:-1]}; {advice}."


def _least(estimates: Estimates) -> Estimate | None:
    return min(estimates.by("language", COVERAGE), key=lambda row: row.value, default=None)
