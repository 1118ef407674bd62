"""What audits would ask of models that cost money, and what effects they would find; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from equiview.audits.applying import chosen
from equiview.audits.execute import configure
from equiview.audits.power import powers_of
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.requests import Plan
from equiview.making.plan import dollars
from equiview.store import StoredAnswerer, StoredEncoder, stored_answers
from equiview.subjects import Answerer, Encoder, Subject, load_subject
from equiview.subjects.parts import services_of

PLANNED = {
    "audit": pl.String, "model": pl.String, "purpose": pl.String, "requests": pl.Int64, "pictures": pl.Int64,
    "kept": pl.Int64, "input_tokens": pl.Int64, "output_tokens": pl.Int64, "dollars": pl.Float64,
}  # fmt: skip
POWER = {
    "audit": pl.String, "planted": pl.String, "n": pl.Int64, "of": pl.String, "tolerance": pl.Float64,
    "multiple": pl.Float64, "n_for_twice": pl.Int64,
}  # fmt: skip


def plan(
    subject: str | Subject,
    benchmark: str | Benchmark,
    audits: Sequence[str],
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> pl.DataFrame:
    """What these audits would ask models that may cost money; nothing is asked.

    A row for each audit, model and purpose: requests, of them with pictures and how many are answered and
    kept already, estimates of the tokens in and out of all, and dollars of what is not kept; null where that
    is not known. Of an embedding service, requests, pictures, tokens and dollars are of all images and texts
    of the benchmark whose vectors are not kept, `kept` counts those that are, and they stand with the first
    audit, since all take the same. An audit that asks no model has a row that says so.
    """
    subject = load_subject(subject) if isinstance(subject, str) else subject
    items = load_benchmark(benchmark) if isinstance(benchmark, str) else benchmark
    rows: list[dict[str, Any]] = []
    vectors = _of_services(subject, items)
    for name, audit, configured in configure(*chosen(subject, items, audits, settings), seed=0):
        audit.check_subject(subject)
        plans = audit.plan(subject, items, configured) if audit.plan else []
        rows += [{"audit": name} | _planned(part, subject, items) for part in plans]
        if not rows:  # vectors are embedded once, for all audits
            rows += [{"audit": name} | part for part in vectors]
        elif vectors:
            rows.append({"audit": name, "purpose": "takes the same vectors"})
        if not plans and not vectors:
            rows.append({"audit": name, "purpose": "asks no model"})
    return pl.DataFrame(rows, schema=PLANNED)


def power(
    benchmark: str | Benchmark,
    audits: Sequence[str],
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> pl.DataFrame:
    """What effect verdicts of these audits would find on a benchmark in 4 of 5 cases; nothing is run.

    A row for each audit and kind of effect that was planted in it (`equiview.audits.power`): how many queries
    the verdict is over and what they are, the tolerance, the effect that is found, as a multiple of it, and
    how many queries find an effect of twice the tolerance. Audits of which this is not known have no row.
    """
    items = load_benchmark(benchmark) if isinstance(benchmark, str) else benchmark
    rows: list[dict[str, Any]] = []
    for name, audit, configured in configure(audits, settings, seed=0):
        n = audit.unit.count(items)
        tolerance = getattr(configured, "tolerance", None)
        if not n or not tolerance:
            continue
        usual = type(configured).model_fields["tolerance"].default
        for kind in powers_of(name):
            at = kind.scaled(tolerance / usual)
            rows.append(
                {"audit": name, "planted": kind.system, "n": n, "of": audit.unit.name}
                | {"tolerance": tolerance, "multiple": at.effect(n), "n_for_twice": at.queries(2.0)}
            )
    return pl.DataFrame(rows, schema=POWER)


def _planned(plan: Plan, subject: Subject, items: Benchmark) -> dict[str, Any]:
    """A plan with what it would cost at the price of its model, and what of it is kept."""
    model = subject if plan.model == subject.name else load_subject(plan.model)
    fields = {name: value for name, value in vars(plan).items() if name in PLANNED}
    if not isinstance(model, Answerer):
        return fields
    kept, rest = None, plan
    if plan.asked and isinstance(with_store := stored_answers(model), StoredAnswerer):
        kept = with_store.kept(plan.asked, items.images)
        missing = with_store.missing(plan.asked, items.images)
        rest = Plan.of(plan.model, plan.purpose, missing, plan.output_tokens // plan.requests)
    return fields | {"kept": kept, "dollars": dollars(rest, model.price)}


def _of_services(subject: Subject, items: Benchmark) -> list[dict[str, Any]]:
    """What embedding all images and texts would take of each service that gives vectors of an encoder."""
    rows: list[dict[str, Any]] = []
    for service in services_of(subject) if isinstance(subject, Encoder) else ():
        kept = StoredEncoder(service)
        for part in filter(None, (items.images, items.texts)):
            plan = service.plan(part, missing := kept.missing(part))
            fields = {name: value for name, value in vars(plan).items() if name in PLANNED}
            cost = dollars(plan, service.price)
            rows.append(fields | {"kept": len(part) - len(missing), "dollars": cost})
    return rows
