"""What stands with a published model: its results for the hub, a section of its card, a factsheet.

`eval_results` is a `model-index` (huggingface.co/docs/hub/model-cards), the metadata that the hub shows as
results: the effect that each verdict rests on and the audit's headlines. A factsheet (Arnold et al.,
"FactSheets", IBM Journal of Research and Development, 2019) says what was tested, how, and what follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from equiview.audits import installed, label_of
from equiview.data.estimates import Estimate
from equiview.data.run import Run
from equiview.data.stamped import SCHEMA_VERSION
from equiview.data.verdict import Verdict
from equiview.io.printing import as_json
from equiview.report.grids import MARKDOWN, escaped
from equiview.report.opening import FINDINGS
from equiview.report.words import counted, interval, metric_of, number

TASK = "image-text-retrieval"


def eval_results(run: Run) -> str:
    """The results of a run as the YAML of a `model-index`, to paste into the metadata of a model's card."""
    card, version = run.manifest.benchmark, run.manifest.versions["equiview"]
    results = []
    for verdict in run.verdicts:
        metrics = [
            {
                "type": row.quantity.metric,
                "name": label_of(verdict.audit, row.quantity),
                "value": row.value,
                "args": {
                    "low": _or_none(row.low),
                    "high": _or_none(row.high),
                    "n": row.n,
                    "chance": row.chance,
                },
            }
            for row in _headlines(run, verdict)
        ]
        metrics.insert(0, {"type": "verdict", "name": verdict.question, "value": verdict.finding})
        results.append(
            {
                "task": {"type": TASK, "name": f"{verdict.audit} audit of equiview {version}"},
                "dataset": {"type": card.name, "name": card.name, "revision": card.fingerprint},
                "metrics": metrics,
            }
        )
    return "\n".join(_yaml({"model-index": [{"name": run.name, "results": results}]})) + "\n"


def model_card(run: Run) -> str:
    """A section of a model's card: each question, its answer with the numbers behind it, and its limits."""
    card = run.manifest.benchmark
    lines = ["## Perspectival bias", ""]
    lines += [escaped(f"Audited on {card.name}, {counted(card.counts)}.", MARKDOWN), ""]
    for verdict in run.verdicts:
        lines += [f"### {escaped(verdict.question, MARKDOWN)}", ""]
        lines += [f"**{FINDINGS[verdict.finding][1]}**: {escaped(verdict.answer, MARKDOWN)}", ""]
        for row in _headlines(run, verdict):
            unit = metric_of(verdict.audit, row.quantity.metric).unit
            words = f"{label_of(verdict.audit, row.quantity)}: {number(row.value, unit)} "
            words += f"{interval(row.low, row.high, unit)} (n {number(row.n)})"
            lines.append(f"- {escaped(words, MARKDOWN)}")
        lines += ["", *(f"Limit: {escaped(limit, MARKDOWN)}" for limit in verdict.limits)]
        lines += [""] if verdict.limits else []
    for failure in run.failures:
        lines += [f"Not measured: {escaped(f'{failure.audit}: {failure.message}', MARKDOWN)}", ""]
    versions = run.manifest.versions
    lines.append(f"Measured with equiview {versions['equiview']}, seed {run.manifest.seed}.")
    return "\n".join(lines) + "\n"


def factsheet(run: Run) -> str:
    """A run as data for those who must document it: what was tested, how, what was found, and its limits."""
    manifest = run.manifest
    findings = [
        verdict.model_dump(mode="json", exclude={"readings"})
        | {"numbers": [_as_data(verdict.audit, row) for row in _headlines(run, verdict)]}
        for verdict in run.verdicts
    ]
    content = {
        "schema_version": SCHEMA_VERSION,
        "system": {"name": run.name, **manifest.subject.model_dump(mode="json", exclude={"name"})},
        "identity": manifest.subject.name,
        "data": manifest.benchmark.model_dump(mode="json"),
        "settings": manifest.settings,
        "seed": manifest.seed,
        "versions": manifest.versions,
        "findings": findings,
        "not_measured": [failure.model_dump(mode="json", exclude={"trace"}) for failure in run.failures],
    }
    return as_json(content) + "\n"


def _headlines(run: Run, verdict: Verdict) -> list[Estimate]:
    """The effect that a verdict rests on, then the headlines of its audit that were measured."""
    known = installed(verdict.audit)
    wanted = [verdict.effect.quantity] if verdict.effect else []
    wanted += [entry.quantity for entry in (known.headlines if known else ())]
    estimates = run.estimates.of(verdict.audit)
    rows = (estimates.at(quantity) for quantity in dict.fromkeys(wanted))
    return [row for row in rows if row is not None]


def _as_data(audit: str, row: Estimate) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in ("value", "low", "high", "n", "chance")}
    about = {"metric": row.quantity.metric, "k": row.quantity.k, "keys": row.quantity.keys}
    return about | {"label": label_of(audit, row.quantity)} | fields


def _or_none(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - nan


def _yaml(content: Any, indent: str = "") -> Iterator[str]:
    """Lines of block YAML; a scalar is written as in JSON, which YAML reads."""
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield f"{indent}{key}:"
            yield from _yaml(value, indent + "  ")
        elif isinstance(value, list) and value:
            yield f"{indent}{key}:"
            for entry in value:
                first, *rest = _yaml(entry, indent + "  ")
                yield f"{indent}- {first.strip()}"
                yield from rest
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, float) and value in (float("inf"), -float("inf")):
        return ".inf" if value > 0 else "-.inf"
    return json.dumps(value, ensure_ascii=False)
