"""How parity is shown."""

from __future__ import annotations

from typing import Any

import polars as pl

from equiview.audits._languages import name_of, named, points_by_language, square
from equiview.audits._parity_answers import DIRECTIONS, ParitySettings
from equiview.audits._parity_groups import PARTS, value_order
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Figure
from equiview.data.observations import Observations

QUESTION = "Is accuracy equal across languages, and across people within and across languages?"
MANY_LANGUAGES = 12
KEYS = ("task", "language", "other", "attribute", "group", "against", "within", "paraphrase", "part", "tier")


def draw(observations: Observations, estimates: Estimates, settings: ParitySettings) -> list[Figure]:
    """Accuracy and gaps by language (F, Fig. 1c, 2), then groups (Fig. 3, 4) and what gaps are made of."""
    order = value_order(observations["groups"], observations["prompts"])
    tasks = tasks_of(estimates)
    classified = [task for task in tasks if task not in DIRECTIONS]
    made: list[Figure | None] = []
    for task in tasks:
        if task in DIRECTIONS:
            made.append(_accuracy(estimates, task))
    made.append(_classified(estimates, classified))
    for task in tasks:
        made.append(_gaps(estimates, task, settings))
        if task != DIRECTIONS[1]:
            made.append(_pairs(estimates, task))
    for task in tasks:
        for attribute, known in order.items():
            made.append(_by_group(estimates, task, attribute, known))
            if len(known) == 2:
                for other, values in order.items():
                    if other != attribute:
                        made.append(_within(estimates, task, attribute, known[0], other, values))
                made.append(_parts(estimates, task, attribute, known[0], settings))
    made.append(_paraphrases(estimates, classified))
    return [figure for figure in made if figure is not None]


def rows_of(estimates: Estimates, metric: str, given: tuple[str, ...], **keys: str) -> pl.DataFrame:
    """Rows of a metric, judged or not, with these keys, `given` keys of any value, and no others."""
    table = estimates.table.filter(pl.col("metric").is_in([metric, f"{metric} (too few)"]))
    table = table.with_columns(
        *(pl.lit(None, dtype=pl.String).alias(name) for name in KEYS if name not in table.columns)
    )
    for name in KEYS:
        if name in keys:
            table = table.filter(pl.col(name) == keys[name])
        elif name in given:
            table = table.filter(pl.col(name).is_not_null())
        else:
            table = table.filter(pl.col(name).is_null())
    return table


def tasks_of(estimates: Estimates) -> list[str]:
    """The tasks, matching first."""
    there = estimates.table["task"].drop_nulls().unique(maintain_order=True).to_list()
    return [task for task in (*DIRECTIONS, *there) if task in there][: len(there)]


def metric_of(task: str) -> str:
    """What the accuracy of a task is called."""
    return "R@1" if task in DIRECTIONS else "accuracy"


def title_of(task: str) -> str:
    """A task in words."""
    return {DIRECTIONS[0]: "image to text", DIRECTIONS[1]: "text to image"}.get(task, f"{task}, zero-shot")


def _accuracy(estimates: Estimates, task: str) -> Chart | None:
    table = named(rows_of(estimates, "R@1", ("language",), task=task))
    if not len(table):
        return None
    what = (
        "Does each image find its own caption"
        if task == DIRECTIONS[0]
        else "Does each caption find its image"
    )
    return points_by_language(
        table,
        name=f"accuracy-{task}",
        title=f"{what}, language by language?",
        see="Every language has a pool of its own with equally many candidates, so level points are what is "
        "fair. Bars are 95% intervals.",
        y_title=f"R@1, {title_of(task)}",
        percent=True,
    )


def _classified(estimates: Estimates, tasks: list[str]) -> Chart | None:
    if not tasks:
        return None
    table = pl.concat([named(rows_of(estimates, "accuracy", ("language",), task=task)) for task in tasks])
    return Chart(
        name="accuracy-classified",
        title="Accuracy of zero-shot classification by the language of the prompts",
        see="Points of one colour that lie level are fair to languages. Mean over paraphrases of the "
        "prompts; how far these lie apart is shown below.",
        table=table.select("name", "language", "task", "value", "low", "high", "n", "chance"),
        mark="points",
        x="name",
        y="value",
        low="low",
        high="high",
        color="task",
        label="language",
        x_title="language of the prompts",
        y_title="accuracy",
        percent=True,
    )


def _gaps(estimates: Estimates, task: str, settings: ParitySettings) -> Chart | None:
    rows = rows_of(estimates, "gap to pivot", ("language", "other"), task=task)
    if not len(rows):
        return None
    p = rows_of(estimates, "Holm p of gap to pivot", ("language", "other"), task=task)
    table = named(rows.join(p.select("language", holm_p="value"), on="language", how="left"))
    table = table.with_columns(
        differs=pl.when(pl.col("holm_p") <= 0.05)
        .then(pl.lit("differs (Holm)"))
        .otherwise(pl.lit("not told apart"))
    )
    pivot = name_of().get(settings.pivot, settings.pivot)
    return Chart(
        name=f"gap-to-pivot-{task}",
        title=f"How much worse than {pivot}: {title_of(task)}",
        see=f"Above 0 the language is served worse than {pivot}. Gaps that stay apart from 0 when all of "
        "them are tested together (Holm) are named so.",
        table=table.select("name", "language", "differs", "value", "low", "high", "holm_p", "n"),
        mark="points",
        x="name",
        y="value",
        low="low",
        high="high",
        color="differs",
        label="language",
        x_title="language, from most to least written on the web",
        y_title=f"{metric_of(task)} of {pivot} less that of the language",
        percent=True,
        reference={"equal": 0.0},
    )


def _pairs(estimates: Estimates, task: str) -> Chart | None:
    rows = rows_of(estimates, "gap", ("language", "other"), task=task)
    if len(rows) < 3:
        return None
    table = square(rows, sign=-1)
    return Chart(
        name=f"gap-by-pair-{task}",
        title=f"Gap of every two languages, families together: {title_of(task)}",
        see="Each cell is the accuracy of the column's language less that of the row's. A column that is "
        "bright all along is served better than the others.",
        table=table,
        mark="heatmap",
        x="language",
        y="other",
        color="value",
        x_title="language",
        y_title="compared with",
        percent=True,
    )


def _by_group(estimates: Estimates, task: str, attribute: str, known: list[str]) -> Chart | None:
    rows = rows_of(estimates, metric_of(task), ("language", "group"), task=task, attribute=attribute)
    if not len(rows):
        return None
    table = named(rows).with_columns(judged=pl.col("metric").str.contains("too few").not_())
    table = table.sort(pl.col("group").cast(pl.Enum(known)), maintain_order=True)
    columns = ("name", "language", "group", "value", "low", "high", "n", "judged")
    heat = table["language"].n_unique() > MANY_LANGUAGES or len(known) > MANY_LANGUAGES
    shared: dict[str, Any] = {
        "name": f"accuracy-{task}-by-{attribute}",
        "title": f"Accuracy by language and {attribute}: {title_of(task)}",
        "table": table.select(columns),
        "percent": True,
    }
    if heat:
        return Chart(
            **shared,
            see=f"A dark row is a {attribute} that is hard in every language, a dark column a language that "
            "is served badly; a dark cell in a bright row is what a language alone misses.",
            mark="heatmap",
            x="name",
            y="group",
            color="value",
            x_title="language, from most to least written on the web",
            y_title=attribute,
        )
    return Chart(
        **shared,
        see=f"Points of one {attribute} at one level are fair to languages; colours at one level within a "
        "language are fair to groups.",
        mark="points",
        x="name",
        y="value",
        low="low",
        high="high",
        color="group",
        label="language",
        x_title="language",
        y_title=metric_of(task),
    )


def _within(
    estimates: Estimates, task: str, attribute: str, first: str, other: str, values: list[str]
) -> Chart | None:
    """F's Fig. 3 (gender within race) and Fig. 4 (gender within age)."""
    keys = {"task": task, "attribute": attribute, "group": first}
    rows = rows_of(estimates, "group gap", ("language", "against", "within"), **keys)
    prefix = f"{other}="
    rows = rows.filter(pl.col("within").str.starts_with(prefix))
    if not len(rows):
        return None
    table = named(rows).with_columns(
        pl.col("within").str.strip_prefix(prefix).alias(other),
        judged=~pl.col("metric").str.contains("too few"),
    )
    table = table.sort(pl.col(other).cast(pl.Enum(values)), maintain_order=True)
    against = table["against"][0]
    return Chart(
        name=f"gap-{task}-{attribute}-within-{other}",
        title=f"{first} less {against} within {other}, by language: {title_of(task)}",
        see=f"Above 0 images of {first} are answered better, below 0 those of {against}. Within one "
        f"{other}, points at different heights are gaps that depend on the language asked in.",
        table=table.select(other, "name", "language", "value", "low", "high", "n", "judged"),
        mark="points",
        x=other,
        y="value",
        low="low",
        high="high",
        color="name",
        label="language",
        x_title=other,
        y_title=f"accuracy of {first} less that of {against}",
        percent=True,
        reference={"equal": 0.0},
    )


def _parts(
    estimates: Estimates, task: str, attribute: str, first: str, settings: ParitySettings
) -> Chart | None:
    keys = {"task": task, "attribute": attribute, "group": first}
    rows = rows_of(estimates, "part of cross gap", ("language", "against", "part"), **keys)
    if not len(rows):
        return None
    table = named(rows).sort(pl.col("part").cast(pl.Enum(PARTS)), maintain_order=True)
    against, pivot = table["against"][0], name_of().get(settings.pivot, settings.pivot)
    return Chart(
        name=f"cross-gap-{task}-{attribute}",
        title=f"{first} in each language against {against} in {pivot}: what the gap is made of",
        see="The parts add up to the gap exactly. A tall part across languages is the language's, tall "
        "parts within are the groups'. Proposition 3 bounds the gap by the parts without their signs.",
        table=table.select("name", "language", "part", "value", "low", "high", "n"),
        mark="bars",
        x="name",
        y="value",
        low="low",
        high="high",
        color="part",
        label="language",
        x_title="language",
        y_title="part of the gap",
        percent=True,
    )


def _paraphrases(estimates: Estimates, tasks: list[str]) -> Chart | None:
    if not tasks:
        return None
    rows = pl.concat(
        [named(rows_of(estimates, "accuracy", ("language", "paraphrase"), task=task)) for task in tasks]
    )
    if rows["paraphrase"].n_unique() < 2:
        return None
    table = rows.with_columns(asked=pl.concat_str("task", pl.lit(": "), "paraphrase"))
    return Chart(
        name="paraphrases",
        title="How much it matters how one asks, beside the language in which one asks",
        see="Each point is one wording of the prompts. A difference between languages that is no larger "
        "than that between wordings of one language is not news.",
        table=table.select("name", "language", "asked", "value", "low", "high", "n"),
        mark="points",
        x="name",
        y="value",
        low="low",
        high="high",
        color="asked",
        label="language",
        x_title="language of the prompts",
        y_title="accuracy",
        percent=True,
    )
