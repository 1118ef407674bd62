"""What each method at query time was worth on the embedded encoders: `python -m labs.mitigations`.

Each method is fitted on half of the concepts of the pictograms and judged on the others by the prevalence
audit; so are the methods that re-rank lists, which are fitted to nothing. Writes labs/results/mitigations.csv
and the tables of docs/mitigation/. `--seeds N` draws N halves; `--only METHOD,METHOD` measures these anew,
beside the encoders as they are, and keeps the other numbers.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from labs.marked import write_part
from rich.progress import track

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.io.tables import write_bytes
from equiview.mitigation.vectors.settings import METHODS
from equiview.studies import advise

SUBJECTS = ("pictogram:skewed", "pictogram:english", "pictogram:aligned")
STRENGTHS = (0.5, 1.0)
CUTOFFS = (1, 10, 99)
LISTS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "interleave": (("language", {}),),
    "fair-topk": (("language", {}), ("tier", {})),
    "rrf": (("language", {}),),
    "detgreedy": (("language", {}), ("tier", {})),
    "detrelaxed": (("language", {}), ("tier", {})),
    "detconstsort": (("language", {}), ("tier", {})),
    "fa-ir": (("tier", {"protected": "low"}),),
    "exposure": (("language", {}), ("tier", {})),
}
"""Methods that re-rank lists, by which groups, and what they are given besides."""
SAME = {"detcons": "fair-topk"}
"""Methods that are another by name, which is measured."""
OUT = Path(__file__).parent / "results" / "mitigations.csv"
WORTH = Path(advise.__file__).parent / "worth" / "mitigations.csv"
BIASED = 1.5
"""From which farthest exposure on an encoder is one to try methods on."""
PAGES = Path(__file__).parents[1] / "docs" / "mitigation"
PART = "measured: python -m labs.mitigations"


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(prog="python -m labs.mitigations", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="halves to draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--written", action="store_true", help="from the numbers in labs/results")
    parser.add_argument("--only", default="", help="methods to measure, between commas; default: all")
    options = parser.parse_args()
    only = tuple(filter(None, options.only.split(",")))
    known = pl.read_csv(OUT).with_columns(pl.col("method", "by").fill_null("")) if OUT.is_file() else None
    if options.written and known is not None:
        write(known)
        return
    mean = mean_of(options.seeds, options.jobs, only)
    write(mean if not only or known is None else merged(known, mean))


def merged(known: pl.DataFrame, mean: pl.DataFrame) -> pl.DataFrame:
    """What was measured before with what was now, in the order of a whole measurement.

    ValueError where an encoder as it is has other numbers than before: rows would not compare.
    """
    keys = ["subject", "method", "strength", "by"]
    plain = [part.filter(method="").sort("subject") for part in (known, mean)]
    if not plain[0].equals(plain[1]):
        raise ValueError(f"encoders as they are have changed: measure all anew\n{plain}")
    rows = pl.concat([known.join(mean, on=keys, how="anti"), mean])
    order = {"": 0} | {name: number for number, name in enumerate([*METHODS, *LISTS], start=1)}
    ranks = [
        pl.col("subject").replace_strict({name: number for number, name in enumerate(SUBJECTS)}),
        pl.col("method").replace_strict(order),
        pl.col("strength"),
        pl.col("by"),
    ]
    return rows.sort(ranks)


def mean_of(seeds: int, jobs: int, only: tuple[str, ...] = ()) -> pl.DataFrame:
    """Measure, on so many halves; `only` these methods, if any."""
    cases = [(subject, seed, only) for subject in SUBJECTS for seed in range(seeds)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        rows = [
            row
            for part in track(pool.map(measured, *zip(*cases, strict=True)), total=len(cases))
            for row in part
        ]
    return (
        pl.from_dicts(rows)
        .group_by("subject", "method", "strength", "by", maintain_order=True)
        .agg(pl.col(pl.Float64).exclude("strength").mean().round(3))
    )


def write(mean: pl.DataFrame) -> None:
    """Write the numbers, the tables of the pages, and what `equiview advise` reads."""
    write_bytes(worth(mean).write_csv().encode(), WORTH)
    write_bytes(mean.write_csv().encode(), OUT)
    for page, methods in (("vectors.md", METHODS), ("lists.md", LISTS)):
        write_part(PAGES / page, PART, table(mean.filter(pl.col("method").is_in(["", *methods]))))


def worth(mean: pl.DataFrame) -> pl.DataFrame:
    """What `equiview advise` reads: of encoders that are biased before, a row for each method."""
    known = {row["subject"]: row for row in mean.filter(method="").iter_rows(named=True)}
    rows = []
    for row in mean.filter(pl.col("method") != "").iter_rows(named=True):
        before = known[row["subject"]]
        if farthest(before) < BIASED:
            continue
        name = row["method"]
        more = next((given for by, given in LISTS.get(name, ()) if by == row["by"]), {})
        options = {"by": row["by"]} | more | ({"strength": row["strength"]} if row["strength"] < 1 else {})
        words = "".join(f" --{option} {value}" for option, value in options.items() if value)
        data = "" if name in LISTS and name != "exposure" else " --benchmark BENCHMARK"
        rows.append(
            {
                "audit": "prevalence",
                "method": name + words,
                "command": f"equiview mitigate {name} SUBJECT{data}{words} --out DIR",
                "needs": "lists" if name in LISTS else "vectors",
                "system": row["subject"],
                "bias": "exposure at rank 10 of the language or low tier farthest from even (1)",
                "even": 1.0,
                "bias_before": round(farthest(before), 2),
                "bias_after": round(farthest(row), 2),
                "skill": "Accuracy@1",
                "skill_before": before["Accuracy 1"],
                "skill_after": row["Accuracy 1"],
            }
        )
    return pl.from_dicts(rows)


def farthest(row: dict[str, Any]) -> float:
    """How many times too much or too little the group farthest from even is exposed at rank 10."""
    ratios = (row["low tier 10"], row["least 10"], row["most 10"])
    return max(max(ratio, 1 / max(ratio, 0.01)) for ratio in ratios)


def measured(subject: str, seed: int, only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The numbers of an encoder as it is, and by each method and strength, on the half that is held out."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        made = {("", 0.0, ""): subject}
        given: dict[str, Any] = {"subject": subject, "benchmark": "pictograms", "seed": seed}
        parts = api.make("center", given, place / "parts").folder  # of all methods
        for method in (name for name in METHODS if not only or name in only):
            for strength in STRENGTHS:
                out = place / f"{method}-{strength}"
                given = {"subject": subject, "benchmark": "pictograms", "strength": strength, "seed": seed}
                made[method, strength, ""] = api.make(method, given, out).name
        for method in (name for name in LISTS if not only or name in only):
            for by, more in LISTS[method]:
                given = {"subject": subject, "by": by, "depth": 1_000} | more
                if method == "exposure":
                    given |= {"benchmark": "pictograms", "seed": seed}
                made[method, 1.0, by] = api.make(method, given, place / f"{method}-{by}").name
        judged = load_benchmark(f"held-out:{parts}")
        rows = []
        for number, ((method, strength, by), name) in enumerate(made.items()):
            settings = {"prevalence": {"replicates": 100}}
            run = api.audit(name, judged, ["prevalence"], place / f"run-{number}", settings=settings)
            about = {"subject": subject, "method": method, "strength": strength, "by": by}
            rows.append(about | numbers(run))
        return rows


def numbers(run: Run) -> dict[str, float]:
    """Exposure of the low tier, and of the least and most exposed language; accuracy and NDCG."""
    found = run.estimates.of("prevalence")
    values: dict[str, float] = {}
    for k in CUTOFFS:
        languages = [row.value for row in found.by("language", "exposure ratio", k)]
        values[f"low tier {k}"] = found.one("exposure ratio", k, tier="low").value
        values[f"least {k}"], values[f"most {k}"] = min(languages), max(languages)
    values["Accuracy 1"] = found.one("Accuracy", 1).value
    values["Accuracy 5"] = found.one("Accuracy", 5).value
    ndcg = (row for row in found if (row.quantity.metric, row.quantity.k) == ("NDCG", 10))
    values["NDCG 10"] = next(ndcg).value
    return values


def table(rows: pl.DataFrame) -> str:
    """The table of the page, a section for each encoder."""
    lines = []
    for subject in SUBJECTS:
        lines += [
            f"`{subject}`:",
            "",
            "| | low tier at 1, 10, 99 | least and most exposed language at 10 | Accuracy@1, @5 | NDCG@10 |",
            "|---|---|---|---|---|",
        ]
        for row in rows.filter(subject=subject).iter_rows(named=True):
            name = f"`{row['method']}`, " if row["method"] else "as it is"
            name += (
                f"by {row['by']}" if row["by"] else f"strength {row['strength']:g}" if name[0] == "`" else ""
            )
            low = " ".join(f"{row[f'low tier {k}']:.2f}" for k in CUTOFFS)
            ends = f"{row['least 10']:.2f} to {row['most 10']:.2f}"
            right = f"{row['Accuracy 1']:.3f} {row['Accuracy 5']:.3f}"
            lines.append(f"| {name} | {low} | {ends} | {right} | {row['NDCG 10']:.3f} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
