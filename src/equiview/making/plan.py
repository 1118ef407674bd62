"""What making would take, as tables: what would be asked of models at which price, and what else is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import polars as pl

from equiview.data.requests import Plan
from equiview.making.base import Job, Task
from equiview.subjects import Answerer

ASKED = "What would be asked at most"
DONE = "What would be done at most"


def planned(job: Job) -> dict[str, pl.DataFrame]:
    """The tables of a job's plan by their titles; one that would be empty is left out."""
    plan = job.plan()
    schema = {"name": pl.String, "count": pl.Int64, "unit": pl.String, "seconds": pl.Float64}
    done = pl.DataFrame([asdict(part) for part in plan if isinstance(part, Task)], schema=schema)
    if done["seconds"].is_null().all():
        done = done.drop("seconds")
    asked = priced([part for part in plan if isinstance(part, Plan)], job.models.values())
    return {title: table for title, table in ((ASKED, asked), (DONE, done)) if len(table)}


def priced(plans: Sequence[Plan], models: Iterable[Answerer]) -> pl.DataFrame:
    """Plans as a table, with US dollars where the price of a model is known."""
    prices = {model.name: model.price for model in models}
    rows = []
    for plan in plans:
        fields = {name: value for name, value in vars(plan).items() if name != "asked"}
        rows.append(fields | {"dollars": dollars(plan, prices[plan.model])})
    return pl.DataFrame(rows, schema_overrides={"dollars": pl.Float64})


def dollars(plan: Plan, price: tuple[float, float] | None) -> float | None:
    """What a plan would cost at a price of a million tokens in and out; None where that is not known."""
    if price is None:
        return None
    return (plan.input_tokens * price[0] + plan.output_tokens * price[1]) / 1e6
