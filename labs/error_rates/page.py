"""docs/error-rates.md: its tables and power curves, drawn from counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from labs.error_rates.harness import PACKAGE, systems_of
from labs.error_rates.power import lines, needed
from labs.error_rates.wanted import WANTS, Reached, wants_of
from labs.marked import with_part

from equiview.audits import AUDITS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "error-rates.md"
IMAGES = ROOT / "docs" / "images"
PART = "results: python -m labs.error_rates --write-docs"
TRUTHS = {
    "none": "nobody is treated differently",
    "planted": "a planted effect",
    "useless": "cannot do the task",
    "tiny": "too little to judge by",
}
COLOURS = ("#56b4e9", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
Rows = Sequence[dict[str, Any]]


def write_docs(table: pl.DataFrame, page: Path = PAGE, images: Path = IMAGES, package: str = PACKAGE) -> None:
    """Put what was counted into the page, and the power curves into `images`."""
    for (audit,), part in table.group_by("audit", maintain_order=True):
        draw_power(str(audit), part.to_dicts(), images)
    page.write_text(written(page.read_text("utf-8"), table, package), "utf-8")


def written(text: str, table: pl.DataFrame, package: str = PACKAGE) -> str:
    """The text of the page with the results of `table` in place of those it has."""
    return with_part(text, PART, "\n".join(results(table, package)))


def results(table: pl.DataFrame, package: str = PACKAGE) -> Iterator[str]:
    """Lines of the page: what is met, then each audit."""
    uncounted = sorted(set(AUDITS.all()) - set(table["audit"])) if package == PACKAGE else []
    if uncounted:
        yield from (f"Not counted yet: {', '.join(uncounted)}.", "")
    if len(table):
        yield from summary(table.to_dicts())
    for (audit,), part in table.group_by("audit", maintain_order=True):
        yield from section(str(audit), part, package)


def summary(rows: Rows) -> Iterator[str]:
    """What is wanted, of how many systems, and where it is missed."""
    seeds = sorted({row["seeds"] for row in rows})
    counted = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    yield from ("## What is met", "", f"Each system was drawn {counted} times at each size and effect.", "")
    yield from ("| wanted | asked of | met | open | missed |", "|---|---|---|---|---|")
    missed = []
    for want in WANTS:
        reached = [(row, want.reached(row)) for row in rows if want.asked_of(row)]
        counts = " | ".join(str(sum(r == name for _, r in reached)) for name in ("met", "open", "missed"))
        yield f"| {want.sentence} | {len(reached)} | {counts} |"
        missed += [(want, row) for row, how in reached if how == "missed"]
    yield ""
    yield "Missed:" if missed else "None of them is missed."
    yield ""
    for want, row in missed:
        planted = "" if row["effect"] is None else f", {row['effect']:g} times the tolerance planted"
        share = f"“{want.finding}” {row[want.finding]} of {row['seeds']}"
        yield f"- {row['audit']}, *{row['system']}*{planted}, {row['size']:,} queries: {share}."
    if missed:
        yield ""


def section(audit: str, table: pl.DataFrame, package: str) -> Iterator[str]:
    """One audit: what its systems are, what was found of them, the power of its planted systems."""
    rows = table.to_dicts()
    systems = systems_of(audit, package)
    yield from (f"## {audit.capitalize()}", "", "| system | truth | what it is |", "|---|---|---|")
    for name in dict.fromkeys(row["system"] for row in rows):
        system = systems[name]
        yield f"| {name} | {TRUTHS[system.truth]} | {system.note} |"
    fixed = [row for row in rows if row["truth"] != "planted"]
    if fixed:
        yield from ("", "| system | queries | seeds | biased | fair | unclear | failed |", "|---" * 7 + "|")
        yield from map(line_of, fixed)
    planted = [row for row in rows if row["truth"] == "planted"]
    for name in dict.fromkeys(row["system"] for row in planted):
        yield from power_table(name, [row for row in planted if row["system"] == name])
    if swept(planted):
        alt = f"Share of verdicts that are biased or fair against the planted effect, {audit}"
        yield from ("", f"![{alt}](images/{image_of(audit)})")
    yield from needed(lines(table).get(audit, []))
    errors = {row["system"]: row["error"] for row in rows if row["error"]}
    if errors:
        yield from ("", "Why some failed, the first of each system:", "")
        yield from (f"- *{name}*: {error}" for name, error in errors.items())
    yield ""


def line_of(row: dict[str, Any]) -> str:
    """A system into which nothing is planted."""
    marks = {want.finding: how for want, how in wants_of(row) if how != "met"}
    biased, fair = (with_interval(row, finding) + said(marks.get(finding)) for finding in ("biased", "fair"))
    rest = f"{share(row, 'unclear')} | {share(row, 'failed')}"
    return f"| {row['system']} | {row['size']:,} | {row['seeds']} | {biased} | {fair} | {rest} |"


def power_table(name: str, rows: Rows) -> Iterator[str]:
    """A planted system: a row for each size, a column for each effect."""
    effects = sorted({row["effect"] for row in rows})
    yield from ("", f"*{name}*, “biased” / “fair” by planted effect in multiples of the tolerance:", "")
    yield "| queries | seeds | " + " | ".join(f"{effect:g}" for effect in effects) + " |"
    yield "|---" * (2 + len(effects)) + "|"
    for size in sorted({row["size"] for row in rows}):
        found = {row["effect"]: row for row in rows if row["size"] == size}
        cells = [cell_of(found[effect]) if effect in found else "" for effect in effects]
        seeds = min(row["seeds"] for row in found.values())
        yield f"| {size:,} | {seeds} | " + " | ".join(cells) + " |"


def cell_of(row: dict[str, Any]) -> str:
    """The shares that are biased and fair, and whether what is wanted of them is missed or open."""
    hows = [how for _, how in wants_of(row)]
    how: Reached | None = "missed" if "missed" in hows else "open" if "open" in hows else None
    return f"{share(row, 'biased')} / {share(row, 'fair')}{said(how)}"


def said(how: Reached | None) -> str:
    """A mark behind a share: nothing where what is wanted is met or nothing is."""
    return {"missed": " **missed**", "open": " (open)"}.get(how or "", "")


def share(row: dict[str, Any], outcome: str) -> str:
    """A count as a percentage of the seeds."""
    return f"{row[outcome] / row['seeds']:.1%}".replace(".0%", "%")


def with_interval(row: dict[str, Any], finding: str) -> str:
    """A percentage with Wilson's interval."""
    low, high = 100 * row[f"{finding}_low"], 100 * row[f"{finding}_high"]
    return f"{share(row, finding)} [{low:.1f}, {high:.1f}]"


def swept(rows: Rows) -> dict[str, Rows]:
    """Planted systems that were tried with several effects, with their rows."""
    by_name = {
        name: [row for row in rows if row["system"] == name] for name in {row["system"] for row in rows}
    }
    return {name: part for name, part in sorted(by_name.items()) if len({row["effect"] for row in part}) > 1}


def image_of(audit: str) -> str:
    """The name of the picture of an audit's power."""
    return f"power-{audit}.svg"


def draw_power(audit: str, rows: Rows, images: Path = IMAGES) -> Path | None:
    """An SVG of the share that is biased (solid) and fair (dashed) against the effect, a panel a system."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    systems = swept([row for row in rows if row["truth"] == "planted"])
    if not systems:
        return None
    plt.rcParams.update({"svg.hashsalt": "equiview", "svg.fonttype": "path", "font.size": 9})
    across = min(2, len(systems))
    down = -(-len(systems) // across)
    shape = {"figsize": (max(6.4, 4.2 * across), 0.6 + 2.8 * down), "layout": "constrained", "squeeze": False}
    figure, panels = plt.subplots(down, across, sharex=True, sharey=True, **shape)
    sizes = sorted({row["size"] for row in rows})
    for panel, (name, part) in zip(panels.flat, systems.items(), strict=False):
        for colour, size in zip(COLOURS, sizes, strict=False):
            line = sorted((row for row in part if row["size"] == size), key=lambda row: row["effect"])
            effects = [row["effect"] for row in line]
            for finding, style in (("biased", "o-"), ("fair", "o--")):
                y = [row[finding] / row["seeds"] for row in line]
                label = f"{finding}, {size:,} queries"
                panel.plot(effects, y, style, color=colour, markersize=3, linewidth=1.2, label=label)
        panel.axvline(1, color="#777777", linestyle=":", linewidth=1)
        panel.axhline(0.9, color="#cccccc", linewidth=0.8)
        panel.axhline(0.05, color="#cccccc", linewidth=0.8)
        panel.set(title=name, xlabel="planted effect, multiples of the tolerance", ylabel="share of verdicts")
        panel.set_ylim(-0.02, 1.02)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in list(panels.flat)[len(systems) :]:
        panel.axis("off")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, len(sizes)), frameon=False)
    images.mkdir(parents=True, exist_ok=True)
    path = images / image_of(audit)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
