"""Power of each audit as lines: slope and threshold of the probit of its counts, for `equiview.audits`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from labs.error_rates.harness import systems_of

import equiview
from equiview.audits.power import SCHEMA, Power
from equiview.io.tables import write_bytes

DATA = Path(equiview.__file__).parent / "audits" / "power.csv"
EFFECTS = (1.5, 2.0, 3.0)
"""Multiples of the tolerance for which the page says how many queries they need."""
THRESHOLDS = 1.6, 4.0
"""What a verdict that is wrong in 5% of cases at the tolerance has at least, and what none has."""
FLATTEST = 0.001
"""A line so flat says that an effect is not found, not how many queries would find it."""
LEAST, MOST = 100, 100_000
"""Queries beyond which a number is an extrapolation too far."""


def fitted(rows: Sequence[dict[str, Any]]) -> Power | None:
    """The line of one planted system, by maximum likelihood; None where its effects were hardly found.

    `rows` are its counts; effects below the tolerance take no part, as "biased" is wrong there.
    """
    from scipy.optimize import minimize
    from scipy.special import log_ndtr

    counted = [row for row in rows if row["effect"] is not None and row["effect"] >= 1]
    if not any(row["biased"] for row in counted if row["effect"] > 1) or len(counted) < 2:
        return None
    x = np.array([np.sqrt(row["size"]) * (row["effect"] - 1) for row in counted])
    # Half a case more of each: effects that are always found, or never, leave the line undetermined.
    hits = np.array([row["biased"] for row in counted]) + 0.5
    misses = np.array([row["seeds"] for row in counted]) - hits + 1

    def cost(at: np.ndarray) -> float:
        z = np.exp(at[0]) * x - np.clip(np.exp(at[1]), *THRESHOLDS)
        return float(-(hits * log_ndtr(z) + misses * log_ndtr(-z)).sum())

    starts = [np.array([slope, np.log(2.0)]) for slope in (-5.0, -3.5, -2.0)]
    best = min((minimize(cost, start, method="Nelder-Mead") for start in starts), key=lambda found: found.fun)
    slope, threshold = np.exp(best.x[0]), np.clip(np.exp(best.x[1]), *THRESHOLDS)
    if slope < FLATTEST:
        return None
    return Power(rows[0]["system"], round(float(slope), 4), round(float(threshold), 3))


def lines(table: pl.DataFrame) -> dict[str, list[Power]]:
    """By audit the lines of its planted systems whose effect can be chosen."""
    found: dict[str, list[Power]] = {}
    planted = table.filter(pl.col("truth") == "planted")
    for (audit, _), part in planted.group_by(["audit", "system"], maintain_order=True):
        if part["effect"].n_unique() > 1 and (power := fitted(part.to_dicts())):
            found.setdefault(str(audit), []).append(power)
    return found


def write_power(table: pl.DataFrame, path: Path = DATA) -> None:
    """Write the lines of all audits where `equiview.audits.power` reads them."""
    rows = [
        {"audit": audit, "note": systems_of(audit)[power.system].note}
        | {name: getattr(power, name) for name in ("system", "slope", "threshold")}
        for audit, powers in lines(table).items()
        for power in powers
    ]
    write_bytes(pl.DataFrame(rows, schema=SCHEMA).write_csv().encode(), path)


def needed(powers: Sequence[Power]) -> list[str]:
    """Lines of a table: how many queries a verdict needs to find an effect in 4 of 5 cases."""
    if not powers:
        return []
    head = " | ".join(f"{effect:g} x" for effect in EFFECTS)
    title = "Queries that a verdict needs to find an effect in 4 of 5 cases, by multiples of the tolerance:"
    rows = ["", title, "", f"| planted | {head} |", "|---" * (1 + len(EFFECTS)) + "|"]
    for power in powers:
        counts = (power.queries(effect) for effect in EFFECTS)
        cells = " | ".join(_in_words(n) for n in counts)
        rows.append(f"| {power.system} | {cells} |")
    return rows


def _in_words(n: int) -> str:
    if n < LEAST:
        return f"under {LEAST}"
    return f"over {MOST:,}" if n > MOST else f"{float(f'{n:.2g}'):,.0f}"
