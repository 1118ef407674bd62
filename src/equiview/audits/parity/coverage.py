"""On how many images answers rest: where captions are missing, and of each group of images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import polars as pl

from equiview.audits.estimating import Rows
from equiview.audits.parity.answers import Answers
from equiview.audits.parity.tasks import DIRECTIONS, classified, title_of
from equiview.audits.saying import NAMED, language_of, listed, without_capital
from equiview.benchmarks.parallel import Captions
from equiview.data.estimates import Estimate, Estimates
from equiview.data.metric import quantity
from equiview.io.tables import Column, Schema

COVERAGE = "images compared"
HALF = 0.5
"""Share of the captioned images below which the answer itself says on how few it rests."""

LEFT_OUT = Schema(
    "left_out",
    (
        Column("task", pl.String, "the attribute that was asked for"),
        Column("language", pl.String, "a language in which no image is classified; null: all", nullable=True),
        Column("label", pl.String, "a label of images that no prompt stands for; null: any", nullable=True),
        Column("left_out", pl.Int64, "images that are not classified, or in which no answer is right"),
        Column("images", pl.Int64, "images that there are"),
        Column("reason", pl.String, "why"),
    ),
    optional=True,
)
"""Whom zero-shot classification leaves out."""
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


def left_out_of(
    task: str, truth: pl.Series, values: Collection[str], lacking: Mapping[str, str]
) -> pl.DataFrame:
    """Whom a task leaves out: languages that lack prompts, images without a label, labels without a prompt.

    `truth` is the label of each image, `values` are those that prompts stand for, and `lacking` says of
    languages why they have no prompts.
    """
    n = len(truth)
    rows: list[tuple[str | None, str | None, int, str]]
    rows = [(language, None, n, reason) for language, reason in lacking.items()]
    if unsaid := truth.null_count():
        rows.append((None, None, unsaid, f"no {task} is said, or none that says which group"))
    counts = truth.drop_nulls().value_counts().sort(truth.name)
    rows += [
        (None, label, count, "no prompt stands for it")
        for label, count in counts.iter_rows()
        if label not in values
    ]
    return LEFT_OUT.table(
        {"task": task, "language": language, "label": label, "left_out": out, "images": n, "reason": reason}
        for language, label, out, reason in rows
    )


def add_left_out(rows: Rows, left_out: pl.DataFrame) -> None:
    """The share of images that a task classifies: in a language that it leaves out none, else of all.

    Of labels that no prompt stands for `add_group_coverage` says so.
    """
    for task, language, _, out, images, _ in left_out.filter(pl.col("label").is_null()).iter_rows():
        keys = {"language": language} if language else {}
        rows.add_known(quantity(COVERAGE, None, task=task, **keys), (images - out) / images, images)


def about_left_out(estimates: Estimates) -> Iterator[str]:
    """Sentences that say whom zero-shot classification leaves out."""
    about = estimates.table.filter(metric=COVERAGE)["task"].drop_nulls().unique(maintain_order=True)
    for task in classified(about.to_list()):
        names = sorted(language_of(row) for row in estimates.by("language", COVERAGE, task=task))
        if names:
            more = [f"{len(names) - NAMED} more"] if names[NAMED:] else []
            yield (
                f"Left out of {title_of(task)}, as there is no prompt of its own for each label: "
                f"{listed([*names[:NAMED], *more])}."
            )
        if (whole := estimates.maybe(COVERAGE, task=task)) is not None:
            unsaid = whole.n - round(whole.value * whole.n)
            yield (
                f"Left out of {title_of(task)}: {unsaid:,} of {whole.n:,} images, which have no label of "
                f"{task}, or one that does not say which."
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
