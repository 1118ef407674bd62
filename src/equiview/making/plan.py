"""The plan of a job as tables: requests to models with their cost, and other work."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from equiview.data.requests import Plan
from equiview.making.base import Job, Task

ASKED = "What would be asked at most"
DONE = "What would be done at most"


def planned(job: Job) -> dict[str, pl.DataFrame]:
    """The tables of a job's plan by their titles; one that would be empty is left out."""
    plan = job.plan()
    schema = {"name": pl.String, "count": pl.Int64, "unit": pl.String, "seconds": pl.Float64}
    done = pl.DataFrame([asdict(part) for part in plan if isinstance(part, Task)], schema=schema)
    if done["seconds"].is_null().all():
        done = done.drop("seconds")
    prices = {model.name: model.price for model in job.models.values()}
    requests = [
        {name: value for name, value in vars(part).items() if name != "asked"}
        | {"dollars": dollars(part, prices[part.model])}
        for part in plan
        if isinstance(part, Plan)
    ]
    asked = pl.DataFrame(requests, schema_overrides={"dollars": pl.Float64})
    return {title: table for title, table in ((ASKED, asked), (DONE, done)) if len(table)}


def dollars(plan: Plan, price: tuple[float, float] | None) -> float | None:
    """The cost of a plan at a price of a million tokens in and out; None where the price is unknown."""
    if price is None:
        return None
    return (plan.input_tokens * price[0] + plan.output_tokens * price[1]) / 1e6
