"""The tasks: matching in two directions, and zero-shot classification of an attribute of the images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equiview.data.estimates import Estimates
from equiview.data.languages import web_shares
from equiview.data.metric import quantity

NAMED = "concept"
"""The task of classifying images by the names of their concepts."""
SIDES = ("language", "attribute", "group", "against")
"""The keys of a gap of two groups, beside its task."""
DIRECTIONS = ("image-to-text", "text-to-image")
PEOPLE = ("gender", "race", "age", "skin")
"""Attributes of people."""
PLACES = ("region", "income_quartile")
"""Attributes of where a picture is from."""
JUDGED = (*PEOPLE, *PLACES)
"""Unequal accuracy among people and places is bias, while among kinds of things it need not be."""


def most_written(names: Iterable[str]) -> str:
    """The language that is written most on the web; known languages come before unknown ones.

    >>> most_written(["sw", "de", "mi"]), most_written(["tlh", "yo"]), most_written(["tlh", "qya"])
    ('de', 'yo', 'qya')
    """
    shares = web_shares()
    order = {code: place for key in ("iso639_3", "code") for place, code in enumerate(shares[key])}
    return min(names, key=lambda name: (order.get(name, len(order)), name))


def pivot_of(estimates: Estimates, task: str) -> str:
    """The pivot language of a task, read from its gaps; "" where no language shares an image with it."""
    rows = estimates.by(("language", "other"), "gap to pivot", task=task).table
    return str(rows["other"][0]) if len(rows) else ""


def metric_of(task: str) -> tuple[str, int | None]:
    """The metric and cutoff of a task's accuracy.

    >>> metric_of("image-to-text"), metric_of("gender")
    (('R', 1), ('accuracy', None))
    """
    return ("R", 1) if task in DIRECTIONS else ("accuracy", None)


def accuracy_name(task: str) -> str:
    """The label of a task's accuracy: R@1 or accuracy."""
    return quantity(*metric_of(task)).label()


def title_of(task: str) -> str:
    """A task for titles and sentences."""
    return task.replace("-", " ") if task in DIRECTIONS else f"{task}, zero-shot"


def tasks_of(estimates: Estimates) -> list[str]:
    """The tasks that were measured, matching first."""
    measured = (
        estimates.table.filter(metric="skill")["task"].drop_nulls().unique(maintain_order=True).to_list()
    )
    return [*(task for task in DIRECTIONS if task in measured), *classified(measured)]


def classified(tasks: Sequence[str]) -> list[str]:
    """Those of the tasks that are zero-shot classification."""
    return [task for task in tasks if task not in DIRECTIONS]
