"""docs/performance.md and its figure, from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from labs.marked import with_part

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "performance.md"
FIGURE = "images/performance-growth.svg"
LEAST = (1e-4, 8.0)
"""Seconds, and megabytes, below which a cost is noise."""
COLUMNS = (
    "| | seconds | of the processor | ratio | memory, MB | apart |",
    "|---|---:|---:|---:|---:|---:|",
)


def write_page(found: dict[str, Any], out: Path | None = None) -> None:
    """Write the page's tables and figure anew; to `out` if it is given, where a copy of the page goes."""
    text = with_tables(PAGE.read_text(encoding="utf-8"), found)
    place = DOCS if out is None else out
    (place / FIGURE).parent.mkdir(parents=True, exist_ok=True)
    (place / PAGE.name).write_text(text, encoding="utf-8")
    if curves := [curve for name in found if name.startswith("growth") for curve in found[name]["found"]]:
        draw(curves, place / FIGURE)


def with_tables(page: str, found: dict[str, Any]) -> str:
    """The page with each table as measured; one of what was not measured stays as it is."""
    for name, result in found.items():
        page = with_part(page, f"measured: {name}", _table(result))
    return page


def exponent(curve: dict[str, Any], of: int = 0) -> float | None:
    """The power of the size that processor time, or memory (1), grows with: a slope on logarithmic scales.

    None where any of it is less than `LEAST`, of which nothing can be said.
    """
    costs = [cost[of] for cost in curve["costs"]]
    if any(cost is None or cost < LEAST[of] for cost in costs):
        return None
    return float(np.polyfit(np.log(curve["sizes"]), np.log(costs), 1)[0])


def draw(curves: list[dict[str, Any]], path: Path) -> None:
    """Processor time against size, each curve with its exponent."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "equiview", "svg.fonttype": "none", "font.size": 8}):
        columns = 3
        rows = -(-len(curves) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(7.2, 2.2 * rows), squeeze=False)
        for axis in axes.flat[len(curves) :]:
            axis.set_visible(False)
        for axis, curve in zip(axes.flat, curves, strict=False):
            axis.loglog(curve["sizes"], [cost[0] for cost in curve["costs"]], marker="o", color="#3b5bdb")
            axis.set_title(f"{curve['of']}\n{curve['by']} to the {_power(exponent(curve))}", fontsize=8)
            seconds = [cost[0] for cost in curve["costs"]]
            axis.set_xticks(curve["sizes"], [f"{size:,}" for size in curve["sizes"]])
            axis.set_yticks(seconds, [f"{second:.2g}" for second in seconds])
            axis.minorticks_off()
            axis.set_xlabel(curve["by"])
            axis.set_ylabel("s of the processor")
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _power(found: float | None) -> str:
    return "–" if found is None else f"{found:.2f}"


def _accelerator(machine: dict[str, Any]) -> str:
    return f"an {machine['accelerator']} and " if "accelerator" in machine else ""


def _table(what: dict[str, Any]) -> str:
    found, machine = what["found"], what["machine"]
    about = (
        f"Measured on {_accelerator(machine)}{machine['processors']} processors, kernels of "
        f"{machine['kernel']}, with a load of {machine['load']} from other work; Python {machine['python']}, "
        f"NumPy {machine['versions']['numpy']}."
    )
    if isinstance(found, list):
        lines = ["| | grows with | sizes | seconds of the processor | memory, MB | exponent | of memory |",
                 "|---|---|---|---|---|---:|---:|"]  # fmt: skip
        for curve in found:
            sizes = ", ".join(f"{size:,}" for size in curve["sizes"])
            seconds = ", ".join(f"{cost[0]:.2f}" for cost in curve["costs"])
            memory = ", ".join("?" if cost[1] is None else f"{cost[1]:.0f}" for cost in curve["costs"])
            lines.append(
                f"| {curve['of']} | {curve['by']} | {sizes} | {seconds} | {memory} "
                f"| {_power(exponent(curve))} | {_power(exponent(curve, 1))} |"
            )
        return "\n".join([*lines, "", about])
    if "rows" in found:
        lines = [found["work"][0].upper() + found["work"][1:] + f", {found['rounds']} rounds:", "", *COLUMNS]
        for row in found["rows"]:
            memory = "" if row["extra_mb"] is None else f"{row['extra_mb']:.0f}"
            apart = "" if row["apart"] is None else f"{row['apart']:.0e}"
            lines.append(
                f"| {row['name']} | {row['seconds']:.3g} | {row['processor']:.3g} | {row['ratio']:.2f} "
                f"| {memory} | {apart} |"
            )
        missing = f" Not installed: {', '.join(found['missing'])}." if found["missing"] else ""
        clock = " Ratios are by the clock." if found.get("by_clock") else ""
        return "\n".join([*lines, "", f"Apart: {found['unit']}.{clock} {about}{missing}"])
    if "observe" in found:
        lines = [f"{found['work']}:", "", "| | seconds | of the processor | peak above the vectors, MB |",
                 "|---|---:|---:|---:|"]  # fmt: skip
        for step in ("observe", "measure"):
            row = found[step]
            lines.append(
                f"| {step} | {row['seconds']:.3g} | {row['processor']:.3g} "
                f"| {row['peak_above_vectors_mb']:.0f} |"
            )
        ratio = found["observe"]["processor"] / found["top_k_processor"]
        text = (
            f"The vectors are {found['vectors_mb']:.0f} MB; {found['before_mb']:.0f} MB of the rest were in "
            "use before: the interpreter, libraries, captions. Top-k alone takes "
            f"{found['top_k_processor']:.3g} s of the processor; to observe takes {ratio:.2f} times that."
        )
        return "\n".join([*lines, "", text, "", about])
    lines = [f"{found['work']}:", "", "| part | ms of the processor per image |", "|---|---:|"]
    lines += [f"| {part} | {cost:.2f} |" for part, cost in found["parts"].items()]
    builds = "; ".join(
        f"{build['images']:,} images {build['processor']:.3g} s, {build['peak_mb']} MB at most"
        for build in found["builds"]
    )
    return "\n".join([*lines, "", f"Whole builds, pages included: {builds}.", "", about])
