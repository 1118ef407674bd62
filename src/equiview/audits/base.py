"""What an audit is, and how one is added: a file of functions for one question.

    observe(subject, benchmark, settings) -> Observations    slow, runs the model
    values(observations, settings) -> Values                 one number per query and metric
    measure(observations, settings) -> Estimates             intervals, chance floors
    draw(observations, estimates, settings) -> figures
    judge(estimates, settings) -> Verdict                    the answer in words

Everything after `observe` is pure and can be redone without the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.figures import Figure
from equiview.data.observations import Observations
from equiview.data.progress import Progress
from equiview.data.registry import Registry
from equiview.data.run import Verdict
from equiview.data.tables import Schema
from equiview.errors import InputError
from equiview.subjects import Encoder, Subject


class Settings(BaseModel):
    """What every audit lets a user choose."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0
    replicates: int = Field(default=10_000, ge=100, description="bootstrap and permutation replicates")


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Values:
    """One row a query: `query_id`, `cluster`, then a metric a column.

    Rows that share a cluster are not independent. A null says the metric was not asked of that query.
    """

    table: pl.DataFrame

    @property
    def metrics(self) -> list[str]:
        """The metric columns."""
        return [name for name in self.table.columns if name not in {"query_id", "cluster"}]


@dataclass(frozen=True)
class Audit(Generic[S]):
    """One question and the functions that answer it.

    `headline` names the metrics by which runs are compared, `schemas` the observed tables. `ratios` names
    headline metrics that are not means but one mean over another: the columns of `Values` to divide.
    """

    name: str
    question: str
    source: str
    settings: type[S]
    schemas: Mapping[str, Schema]
    headline: tuple[str, ...]
    observe: Callable[[Any, Benchmark, S, Progress], Observations]
    values: Callable[[Observations, S], Values]
    measure: Callable[[Observations, S], Estimates]
    draw: Callable[[Observations, Estimates, S], list[Figure]]
    judge: Callable[[Estimates, S], Verdict]
    ratios: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    subjects: tuple[type[Subject], ...] = (Encoder,)

    def configure(self, given: Mapping[str, Any]) -> S:
        """Settings from what the user gave; InputError says which one is wrong and which there are."""
        try:
            return self.settings.model_validate(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "settings"
            known = ", ".join(self.settings.model_fields)
            raise InputError(
                f"audit {self.name!r}, setting {where!r}: {first['msg'].lower()} (settings: {known})"
            ) from None


AUDITS: Registry[Audit[Any]] = Registry("audit", "equiview.audits")


def register(audit: Audit[S]) -> Audit[S]:
    """Make an audit known by its name."""
    AUDITS.register(audit.name, about=audit.question)(audit)
    return audit
