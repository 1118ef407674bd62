"""How parity is shown."""

from __future__ import annotations

import polars as pl

from equiview.audits.charts import BY_WEB, MEASURED, intervals, matrix, named, points_by_language, square
from equiview.audits.judging import ALPHA
from equiview.audits.parity.answers import Answers
from equiview.audits.parity.groups import PARTS, value_order
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import (
    DIRECTIONS,
    accuracy_name,
    classified,
    metric_of,
    pivot_of,
    tasks_of,
    title_of,
)
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure
from equiview.data.languages import language_name

MANY_LANGUAGES = 12


def draw(answers: Answers, estimates: Estimates, settings: ParitySettings) -> list[Figure | None]:
    """Accuracy and gaps by language (F, Fig. 1c, 2), then groups (Fig. 3, 4) and what gaps are made of."""
    tasks = tasks_of(estimates)
    figures: list[Figure | None] = [_accuracy(estimates, task) for task in tasks if task in DIRECTIONS]
    figures.append(_classified(estimates, classified(tasks)))
    for task in tasks:
        figures.append(_gaps(estimates, task, settings))
        if task != DIRECTIONS[1]:
            figures.append(_pairs(estimates, task))
    for task in tasks:
        order = value_order(answers, task)
        for attribute, values in order.items():
            figures.append(_by_group(estimates, task, attribute, values))
            if len(values) == 2:
                for other, within in order.items():
                    if other != attribute:
                        figures.append(_within(estimates, task, attribute, values[0], other, within))
                figures.append(_parts(estimates, task, attribute, values[0]))
    figures.append(_paraphrases(estimates, classified(tasks)))
    return figures


def _accuracy(estimates: Estimates, task: str) -> Chart | None:
    rows = estimates.by("language", *metric_of(task), task=task).table
    if not len(rows):
        return None
    found = "image find its own caption" if task == DIRECTIONS[0] else "caption find its image"
    return points_by_language(
        named(rows),
        name=f"accuracy-{task}",
        title=f"Does each {found}, language by language?",
        see="Every language has a pool of its own with equally many candidates, so level points are what is "
        "fair. Bars are 95% intervals.",
        y_title=f"R@1, {title_of(task)}",
        percent=True,
    )


def _classified(estimates: Estimates, tasks: list[str]) -> Chart | None:
    if not tasks:
        return None
    table = pl.concat([named(estimates.by("language", "accuracy", task=task).table) for task in tasks])
    return intervals(
        name="accuracy-classified",
        title="Accuracy of zero-shot classification by the language of the prompts",
        see="Points of one colour that lie level are fair to languages. Mean over paraphrases of the "
        "prompts; how far these lie apart is shown below.",
        table=table.select("name", "language", "task", *MEASURED, "chance"),
        x=("name", "language of the prompts"),
        y_title="accuracy",
        color="task",
        domain=tuple(tasks),
        label="language",
        percent=True,
    )


def _gaps(estimates: Estimates, task: str, settings: ParitySettings) -> Chart | None:
    rows = estimates.by(("language", "other"), "gap to pivot", task=task).table
    if not len(rows):
        return None
    limit = f"{100 * settings.tolerance:.3g} points"
    answers = (f"not shown to exceed {limit}", f"exceeds {limit} (Holm)")
    table = named(rows).with_columns(
        differs=pl.when(pl.col("p_holm") <= ALPHA).then(pl.lit(answers[1])).otherwise(pl.lit(answers[0]))
    )
    pivot = language_name(pivot_of(estimates, task))
    return intervals(
        name=f"gap-to-pivot-{task}",
        title=f"How much worse than {pivot}: {title_of(task)}",
        see=f"Above 0 the language is served worse than {pivot}. Gaps that are shown to exceed {limit} "
        "when all that the verdict reads are tested together (Holm) are named so.",
        table=table.select("name", "language", "differs", "value", "low", "high", "p_holm", "n"),
        x=("name", BY_WEB),
        y_title=f"gap to {pivot}, {accuracy_name(task)}",
        color="differs",
        domain=answers,
        label="language",
        points=True,
        reference={"equal": 0.0, "tolerance": settings.tolerance},
    )


def _pairs(estimates: Estimates, task: str) -> Chart | None:
    rows = estimates.by(("language", "other"), "gap", task=task).table
    if len(rows) < 3:
        return None
    return matrix(
        name=f"gap-by-pair-{task}",
        title=f"Gap of every two languages, families together: {title_of(task)}",
        see="Each cell is the accuracy of the column's language less that of the row's, in points. A row "
        "that is orange all along is served worse than the others, a blue one better.",
        table=square(rows, sign=-1),
        x=("language", "language"),
        y=("other", "compared with"),
        points=True,
        reference={"equal": 0.0},
    )


def _by_group(estimates: Estimates, task: str, attribute: str, values: list[str]) -> Chart | None:
    keys = {"task": task, "attribute": attribute}
    rows = estimates.by(("language", "group"), "balanced R", 1, **keys).table
    among = " among equally many candidates of each" if len(rows) else ""
    if not among:
        metric, k = metric_of(task)
        rows = estimates.by(("language", "group"), metric, k, **keys).table
    if not len(rows):
        return None
    table = named(rows).sort(pl.col("group").cast(pl.Enum(values)), maintain_order=True)
    columns = ("name", "language", "group", *MEASURED, "judged")
    heat = table["language"].n_unique() > MANY_LANGUAGES or len(values) > MANY_LANGUAGES
    name = f"accuracy-{task}-by-{attribute}"
    title = f"Accuracy by language and {attribute}{among}: {title_of(task)}"
    if heat:
        return matrix(
            name=name,
            title=title,
            see=f"A dark row is a {attribute} that is hard in every language, a dark column a language that "
            "is served badly; a dark cell in a bright row is what a language alone misses.",
            table=table.select(columns),
            x=("name", BY_WEB),
            y=("group", attribute),
            percent=True,
        )
    return intervals(
        name=name,
        title=title,
        see=f"Points of one {attribute} at one level are fair to languages; colours at one level within a "
        "language are fair to groups.",
        table=table.select(columns),
        x=("name", "language"),
        y_title=accuracy_name(task),
        color="group",
        domain=tuple(values),
        label="language",
        percent=True,
    )


def _within(
    estimates: Estimates, task: str, attribute: str, first: str, other: str, values: list[str]
) -> Chart | None:
    """F's Fig. 3 (gender within race) and Fig. 4 (gender within age)."""
    keys = {"task": task, "attribute": attribute, "group": first, "within": other}
    rows = estimates.by(("language", "against", "within_group"), "group gap", None, **keys).table
    if not len(rows):
        return None
    table = named(rows).with_columns(pl.col("within_group").alias(other))
    table = table.sort(pl.col(other).cast(pl.Enum(values)), maintain_order=True)
    against = table["against"][0]
    return intervals(
        name=f"gap-{task}-{attribute}-within-{other}",
        title=f"{first} less {against} within {other}, by language: {title_of(task)}",
        see=f"Above 0 images of {first} are answered better, below 0 those of {against}. Within one "
        f"{other}, points at different heights are gaps that depend on the language asked in.",
        table=table.select(other, "name", "language", *MEASURED, "judged"),
        x=(other, other),
        y_title=f"accuracy of {first} less that of {against}",
        color="name",
        label="language",
        points=True,
        reference={"equal": 0.0},
    )


def _parts(estimates: Estimates, task: str, attribute: str, first: str) -> Chart | None:
    keys = {"task": task, "attribute": attribute, "group": first}
    rows = estimates.by(("language", "against", "part"), "part of cross gap", None, **keys).table
    if not len(rows):
        return None
    table = named(rows).sort(pl.col("part").cast(pl.Enum(PARTS)), maintain_order=True)
    against, pivot = table["against"][0], language_name(pivot_of(estimates, task))
    return intervals(
        mark="bars",
        name=f"cross-gap-{task}-{attribute}",
        title=f"{first} in each language against {against} in {pivot}: what the gap is made of",
        see="The parts add up to the gap exactly. A tall part across languages is the language's, tall "
        "parts within are the groups'. Proposition 3 bounds the gap by the parts without their signs.",
        table=table.select("name", "language", "part", *MEASURED),
        x=("name", "language"),
        y_title="part of the gap",
        color="part",
        domain=PARTS,
        label="language",
        points=True,
    )


def _paraphrases(estimates: Estimates, tasks: list[str]) -> Chart | None:
    if not tasks:
        return None
    by_paraphrase = [estimates.by(("language", "paraphrase"), "accuracy", task=task).table for task in tasks]
    rows = pl.concat([named(table) for table in by_paraphrase])
    if rows["paraphrase"].n_unique() < 2:
        return None
    table = rows.with_columns(asked=pl.concat_str("task", pl.lit(": "), "paraphrase"))
    return intervals(
        name="paraphrases",
        title="How much it matters how one asks, beside the language in which one asks",
        see="Each point is one wording of the prompts. A difference between languages that is no larger "
        "than that between wordings of one language is not news.",
        table=table.select("name", "language", "asked", *MEASURED),
        x=("name", "language of the prompts"),
        y_title="accuracy",
        color="asked",
        label="language",
        percent=True,
    )
