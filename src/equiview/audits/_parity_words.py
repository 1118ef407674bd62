"""Parity put into words."""

from __future__ import annotations

from typing import Any

import polars as pl

from equiview.audits._languages import name_of
from equiview.audits._parity_answers import DIRECTIONS, ParitySettings
from equiview.audits._parity_views import QUESTION, metric_of, rows_of, tasks_of, title_of
from equiview.data.estimates import Estimates
from equiview.data.run import Verdict

PEOPLE = ("gender", "race", "age", "skin")
"""Attributes of people: unequal accuracy among them is bias, while among kinds of things it need not be."""
ALPHA = 0.05
LIMITS = (
    "Equal accuracy is not good accuracy, and unequal accuracy may come from captions that say less.",
    "A language may be ranked evenly in a mixed pool and still find nothing in its own: prevalence cannot "
    "see that, R@1 within the language can.",
)
LABELS = (
    "Labels of gender, race and age were given by onlookers; they are not what the people pictured say of "
    "themselves.",
    "The prompts that come with equiview were not checked by native speakers of their languages.",
)


def judge(estimates: Estimates, settings: ParitySettings) -> Verdict:
    """Biased when a gap to the pivot, or of people, exceeds `tolerance` and is told apart after Holm.

    A gap between languages must also exceed the range over paraphrases of either language, where there are.
    Fair when the intervals of all gaps lie within the tolerance.
    """
    tasks = tasks_of(estimates)
    gaps = pl.concat([_gaps(estimates, task) for task in tasks])
    people = _people_gaps(estimates, tasks)
    large = gaps.filter((pl.col("value").abs() > _at_least(settings)) & (pl.col("p") <= ALPHA))
    unfair = people.filter((pl.col("value").abs() > settings.tolerance) & (pl.col("p") <= ALPHA))
    within = pl.concat([gaps.select("low", "high"), people.select("low", "high")])
    level = (within["low"] >= -settings.tolerance).all() and (within["high"] <= settings.tolerance).all()
    first = _spread(estimates, tasks[0])
    if len(large) or len(unfair):
        finding = "biased"
        said = [_languages(large, gaps, settings), _worst_group(unfair)]
        answer = f"No: {' '.join(filter(None, said))}"
    elif level:
        finding = "fair"
        answer = f"Yes: all gaps are within {settings.tolerance:.0%}, intervals included. {first}"
    else:
        finding, answer = "unclear", f"Not decided at gaps of {settings.tolerance:.0%}. {first}"
    evidence = [
        *(_spread(estimates, task) for task in tasks),
        *(_worst(estimates, task) for task in tasks if task in DIRECTIONS),
        *(_paraphrases(estimates, task) for task in tasks),
        _too_few(estimates),
    ]
    return Verdict(
        audit="parity",
        question=QUESTION,
        finding=finding,
        answer=answer,
        evidence=tuple(dict.fromkeys(line for line in evidence if line and line not in answer)),
        advice=_advice(large, unfair),
        limits=LIMITS + (LABELS if any(task not in DIRECTIONS for task in tasks) else ()),
    )


def _at_least(settings: ParitySettings) -> pl.Expr:
    return pl.max_horizontal(pl.lit(settings.tolerance), pl.col("paraphrases").fill_null(0.0))


def _gaps(estimates: Estimates, task: str) -> pl.DataFrame:
    """Gaps to the pivot of one task with their p, and how far paraphrases of the two languages differ."""
    keys = ("language", "other")
    rows = rows_of(estimates, "gap to pivot", keys, task=task)
    p = rows_of(estimates, "Holm p of gap to pivot", keys, task=task).select("language", p="value")
    spread = rows_of(estimates, "range over paraphrases", ("language",), task=task).select(
        "language", spread="value"
    )
    return (
        rows.select("task", *keys, "value", "low", "high", "n")
        .join(p, on="language", how="left")
        .join(spread, on="language", how="left")
        .join(spread.rename({"language": "other", "spread": "spread of pivot"}), on="other", how="left")
        .with_columns(paraphrases=pl.max_horizontal("spread", "spread of pivot"))
        .select("task", *keys, "value", "low", "high", "n", "p", "paraphrases")
    )


def _people_gaps(estimates: Estimates, tasks: list[str]) -> pl.DataFrame:
    """Gaps of groups of people within a language, with their p."""
    keys = ("language", "attribute", "group", "against")
    parts = []
    for task in tasks:
        rows = rows_of(estimates, "group gap", keys, task=task).filter(pl.col("metric") == "group gap")
        p = rows_of(estimates, "Holm p of group gap", keys, task=task).select(*keys, p="value")
        parts.append(rows.filter(pl.col("attribute").is_in(PEOPLE)).join(p, on=keys, how="left"))
    return pl.concat(parts).select("task", *keys, "value", "low", "high", "n", "p")


def _name(code: str) -> str:
    return name_of().get(code, code)


def _points(row: dict[str, Any]) -> str:
    low, high = sorted((row["low"], row["high"]), key=abs)
    return f"{abs(row['value']):.1%} [{abs(low):.1%}, {abs(high):.1%}]"


def _languages(large: pl.DataFrame, gaps: pl.DataFrame, settings: ParitySettings) -> str:
    if not len(large):
        return ""
    row = large.sort(pl.col("value").abs(), "task", "language", descending=[True, False, False]).row(
        0, named=True
    )
    side = "worse" if row["value"] > 0 else "better"
    of_task = gaps.filter(task=row["task"])
    count = len(large.filter(task=row["task"]))
    return (
        f"{_name(row['language'])} is served {side} than {_name(settings.pivot)} by {_points(row)} in "
        f"{metric_of(row['task'])}, {title_of(row['task'])}; {count} of {len(of_task)} languages differ by "
        f"more than {settings.tolerance:.0%}."
    )


def _worst_group(unfair: pl.DataFrame) -> str:
    if not len(unfair):
        return ""
    ordered = unfair.sort(
        pl.col("value").abs(), "task", "language", "group", descending=[True, False, False, False]
    )
    row = ordered.row(0, named=True)
    side = "less" if row["value"] < 0 else "more"
    return (
        f"Asked for {row['task']} in {_name(row['language'])}, images labelled {row['group']} are answered "
        f"rightly {side} often than {row['against']} by {_points(row)}."
    )


def _spread(estimates: Estimates, task: str) -> str:
    row = rows_of(estimates, "range over languages", (), task=task).row(0, named=True)
    ends = [rows_of(estimates, f"{end} language", ("language",), task=task) for end in ("lowest", "highest")]
    low, high = (end.row(0, named=True) for end in ends)
    chance = f", {row['chance']:.1%} if languages were alike" if row["chance"] is not None else ""
    return (
        f"{metric_of(task)}, {title_of(task)}: from {_name(low['language'])} {low['value']:.1%} to "
        f"{_name(high['language'])} {high['value']:.1%}, a range of {row['value']:.1%} "
        f"[{row['low']:.1%}, {row['high']:.1%}]{chance}."
    )


def _worst(estimates: Estimates, task: str) -> str:
    rows = rows_of(estimates, "R@1", ("language",), task=task).sort("value", "language")
    if len(rows) < 4:
        return ""
    least = ", ".join(
        f"{_name(row['language'])} {row['value']:.0%}" for row in rows.head(4).iter_rows(named=True)
    )
    return f"Worst served, by R@1 within the language, {title_of(task)}: {least}."


def _paraphrases(estimates: Estimates, task: str) -> str:
    rows = rows_of(estimates, "range over paraphrases", ("language",), task=task)
    if not len(rows):
        return ""
    spread = rows_of(estimates, "range over languages", (), task=task)["value"][0]
    mean = float(rows["value"].to_numpy().mean())
    word = "less than" if spread <= mean else "more than"
    return (
        f"Wordings of one language differ by {mean:.1%} on average in {task}, languages by {spread:.1%}: "
        f"{word} how one asks."
    )


def _too_few(estimates: Estimates) -> str:
    names = ("R@1 (too few)", "accuracy (too few)")
    rows = estimates.table.filter(pl.col("metric").is_in(names))
    if not len(rows):
        return ""
    keys = [name for name in ("attribute", "group", "within") if name in rows.columns]
    cells = rows.unique(keys)
    return f"{len(cells)} groups have too few images to judge; their numbers are given and not judged."


def _advice(large: pl.DataFrame, unfair: pl.DataFrame) -> tuple[str, ...]:
    made = []
    if len(large):
        made.append(
            "Align the texts of the worst languages to the pivot's (distillation on parallel captions), and "
            "measure again on captions that were not used for it."
        )
    if len(unfair):
        made.append("Do not use the system to sort images of people by these labels.")
    return tuple(made)
