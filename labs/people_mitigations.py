"""What debiasing people, and images by country, was worth on the embedded encoders.

`python -m labs.people_mitigations`. People: fitted on half of the roles of `pictograms-people`, judged on
the others by the social audit, and by how often the role of a drawing is told from its picture. Countries:
fitted on a share of the concepts of `pictograms-culture`, judged on the others by the association audit.
Every number is the mean of several such parts, and so are the ends of its interval. `--only WORD,WORD`
measures anew what has one of these words in its command, beside the encoders as they are, and keeps the other
numbers. Writes labs/results/people_mitigations.csv, what `equiview advise` reads, and the tables of
docs/mitigation/.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from labs.marked import write_part
from rich.progress import track

from equiview import api
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.data.items import Items
from equiview.data.run import Run
from equiview.io.tables import write_bytes
from equiview.search import comparable
from equiview.stats import mean_interval
from equiview.studies import advise
from equiview.subjects.load import load_encoder

Given = dict[str, Any]
GROUPS = ("gender", "skin")
BOTH = ",".join(GROUPS)
PEOPLE: tuple[tuple[str, Given], ...] = (
    ("project", {"by": "gender", "weight": 0}),
    ("project", {"by": "gender"}),
    ("project", {"by": "gender", "weight_by": "ndkl"}),
    ("project", {"by": BOTH, "directions": "captions", "weight": 0}),
    ("project", {"by": BOTH, "directions": "captions"}),
    ("project", {"by": BOTH, "directions": "images"}),
    ("project", {"by": BOTH, "directions": "images", "strength": 0.5}),
    ("project", {"by": BOTH, "directions": "images", "side": "both"}),
    ("project", {"by": BOTH, "directions": "images,captions"}),
    ("center", {"by": "gender", "apart": "role"}),
    ("leace", {"by": "gender", "apart": "role"}),
    ("leace", {"by": "skin", "apart": "role"}),
    ("inlp", {"by": "gender", "apart": "role"}),
    ("inlp", {"by": "skin", "apart": "role"}),
)
CULTURE: tuple[tuple[str, Given], ...] = tuple(
    (method, {"by": "country", "share": 0.3} | ({"strength": 0.5} if strength < 1 else {}))
    for method in ("center", "whiten", "leace", "inlp")
    for strength in (0.5, 1.0)
)
"""A trial is judged if the concepts of all three of its images are held out, so few are fitted on."""


class Setup(NamedTuple):
    """A benchmark, who is tried on it, and how."""

    benchmark: str
    subjects: tuple[str, ...]
    methods: tuple[tuple[str, Given], ...]
    page: str


SETUPS = {
    "social": Setup("pictograms-people", ("pictogram:tied", "pictogram:untied"), PEOPLE, "people.md"),
    "association": Setup(
        "pictograms-culture",
        ("pictogram:skewed", "pictogram:english", "pictogram:aligned"),
        CULTURE,
        "country.md",
    ),
}
BIASES = {
    "social": "largest MaxSkew beyond chance of gender and skin, nats",
    "association": "mean pull of languages (M_cul - M_non)",
}
ROLES = "zero-shot accuracy of roles"
SKILLS = {"social": "R@5 of captions that name the group", "association": "M_sem"}
"""What a method costs: of people it is that who asks for a group finds it."""
SLIGHT = {"social": math.log(1.1), "association": 0.02}
"""The audits' tolerances: bias below which an encoder is not one to try methods on."""
RESULTS = Path(__file__).parent / "results"
OUT = RESULTS / "people_mitigations.csv"
WORTH = Path(advise.__file__).parent / "worth" / "people.csv"
PAGES = Path(__file__).parents[1] / "docs" / "mitigation"
PART = "measured: python -m labs.people_mitigations"


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(prog="python -m labs.people_mitigations", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="halves to draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--written", action="store_true", help="from the numbers in labs/results")
    parser.add_argument("--only", default="", help="words of commands to measure, between commas")
    options = parser.parse_args()
    only = tuple(filter(None, options.only.split(",")))
    known = (
        pl.read_csv(OUT).with_columns(pl.col("method", "options").fill_null("")) if OUT.is_file() else None
    )
    if options.written and known is not None:
        write(known)
        return
    mean = mean_of(options.seeds, options.jobs, only)
    write(mean if not only or known is None else merged(known, mean))


def merged(known: pl.DataFrame, mean: pl.DataFrame) -> pl.DataFrame:
    """What was measured before with what was now, in the order of a whole measurement.

    ValueError where an encoder as it is has other numbers than before: rows would not compare.
    """
    keys = ["audit", "subject", "method", "options", "metric"]
    plain = [part.filter(method="").sort(keys) for part in (known, mean)]
    if not plain[0].equals(plain[1]):
        raise ValueError(f"encoders as they are have changed: measure all anew\n{plain}")
    rows = pl.concat([known.join(mean, on=keys, how="anti", maintain_order="left"), mean])
    order = [
        {"audit": audit, "subject": subject, "method": method, "options": words(given)}
        for audit, setup in SETUPS.items()
        for subject in setup.subjects
        for method, given in (("", {}), *setup.methods)
    ]
    return pl.from_dicts(order).join(rows, on=keys[:-1], maintain_order="left_right").select(known.columns)


def mean_of(seeds: int, jobs: int, only: tuple[str, ...] = ()) -> pl.DataFrame:
    """Measure, on so many halves: audit, subject, method, options, metric, value, low, high, n."""
    cases = [
        (audit, subject, seed, only)
        for audit, setup in SETUPS.items()
        for subject in setup.subjects
        for seed in range(seeds)
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        rows = [
            row
            for part in track(pool.map(measured, *zip(*cases, strict=True)), total=len(cases))
            for row in part
        ]
    keys = ("audit", "subject", "method", "options", "metric")
    mean = pl.from_dicts(rows).group_by(*keys, maintain_order=True)
    return mean.agg(pl.col("value", "low", "high").mean().round(4), pl.col("n").mean().round().cast(pl.Int64))


def measured(audit: str, subject: str, seed: int, only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The numbers of an encoder as it is and by each method, on the part that is held out."""
    setup = SETUPS[audit]
    with TemporaryDirectory() as folder:
        place, rows = Path(folder), []
        made: list[tuple[str, Given, str]] = [("", {}, subject)]
        for number, (method, given) in enumerate(setup.methods):
            command = f"{method} {words(given)}"
            if number and only and not any(word in command for word in only):
                continue
            settings = {"subject": subject, "benchmark": setup.benchmark, "seed": seed} | typed(method, given)
            made.append((method, given, api.make(method, settings, place / f"made-{number}").name))
        judged = load_benchmark(f"held-out:{place / 'made-0'}")  # that of all
        if only and not any(word in f"{made[1][0]} {words(made[1][1])}" for word in only):
            del made[1]
        for number, (method, given, name) in enumerate(made):
            run = api.audit(name, judged, [audit], place / f"run-{number}")
            found = people(run, judged, name) if audit == "social" else culture(run)
            about = {"audit": audit, "subject": subject, "method": method, "options": words(given)}
            rows += [about | row for row in found]
        return rows


def typed(method: str, given: Given) -> Given:
    """Options as values: of `project` several attributes and sources, of all several held apart."""
    listed = {"apart"} | ({"by", "directions"} if method == "project" else set())
    return {key: tuple(value.split(",")) if key in listed else value for key, value in given.items()}


def people(run: Run, judged: Benchmark, name: str) -> Iterator[dict[str, Any]]:
    """Skews by attribute, R of captions, and how often a role is told."""
    found = run.estimates.of("social")
    deepest = max(row.quantity.k or 0 for row in found if row.quantity.metric == "NDKL")
    for attribute in GROUPS:
        for metric, k in (("MaxSkew beyond chance", None), ("MaxSkew", deepest), ("NDKL", deepest)):
            row = found.one(metric, k, attribute=attribute)
            yield _row(f"{metric} of {attribute}", row.value, row.low, row.high, row.n)
            if row.chance is not None and metric != "MaxSkew beyond chance":
                yield _row(f"{metric} of {attribute} by chance", row.chance, row.chance, row.chance, row.n)
    row = found.one("R", 5, direction="text-to-image")
    yield _row(SKILLS["social"], row.value, row.low, row.high, row.n)
    encoder, images = load_encoder(name), judged.images
    names = judged.tables["neutral_prompts"].rename({"prompt_id": "id"})
    names = names.filter(pl.col("concept").is_in(images.table["role"].to_list()))
    pictures, texts = (np.asarray(comparable(encoder, items)) for items in (images, Items("text", names)))
    told = names["concept"].to_numpy()[np.argmax(pictures @ texts.T, axis=1)]
    roles = images.table["role"].to_numpy()
    shown = mean_interval((told == roles).astype(float), clusters=np.unique(roles, return_inverse=True)[1])
    yield _row(ROLES, float(shown.value), float(shown.low), float(shown.high), len(roles))


def culture(run: Run) -> Iterator[dict[str, Any]]:
    """Pull and wins of texts that ask for images, and what images of their own country win."""
    found = run.estimates.of("association")
    for direction in ("text-to-image", "image-to-image"):
        for metric in ("M_cul - M_non", "mean pull of languages", "SP", "M_sem", "M_cul", "M_non"):
            row = found.maybe(metric, direction=direction)
            if row is not None:
                yield _row(f"{metric}, {direction}", row.value, row.low, row.high, row.n)


def _row(metric: str, value: float, low: float | None, high: float | None, n: int) -> dict[str, Any]:
    return {"metric": metric, "value": value, "low": low, "high": high, "n": n}


def words(given: Given) -> str:
    """Options as they are typed; halves and what is held apart aside."""
    return " ".join(
        f"--{key.replace('_', '-')} {value}" for key, value in given.items() if key not in {"apart", "share"}
    )


def write(mean: pl.DataFrame) -> None:
    """Write the numbers, the tables of the pages, and the rows for `equiview advise`."""
    write_bytes(mean.write_csv().encode(), OUT)
    write_bytes(worth(mean).write_csv().encode(), WORTH)
    for audit, setup in SETUPS.items():
        write_part(PAGES / setup.page, PART, table(mean, audit))


def numbers(mean: pl.DataFrame, audit: str, subject: str) -> list[tuple[str, str, dict[str, dict[str, Any]]]]:
    """Method, options and the numbers by metric, of each method on an encoder; the encoder as it is first."""
    part = mean.with_columns(pl.col("method", "options").fill_null("")).filter(audit=audit, subject=subject)
    return [
        (str(method), str(options), {row["metric"]: row for row in rows.iter_rows(named=True)})
        for (method, options), rows in part.group_by("method", "options", maintain_order=True)
    ]


def bias_of(audit: str, found: dict[str, dict[str, Any]]) -> float:
    """The number that a method is to lower."""
    if audit == "social":
        return max(float(found[f"MaxSkew beyond chance of {name}"]["value"]) for name in GROUPS)
    return float(found["mean pull of languages, text-to-image"]["value"])


def skill_of(audit: str, found: dict[str, dict[str, Any]]) -> float:
    """The number that it is not to lower."""
    return float(found[SKILLS[audit] if audit == "social" else "M_sem, text-to-image"]["value"])


def worth(mean: pl.DataFrame) -> pl.DataFrame:
    """What `equiview advise` can read: of encoders that are biased before, a row for each method."""
    rows = []
    for audit, setup in SETUPS.items():
        for subject in setup.subjects:
            (_, _, before), *others = numbers(mean, audit, subject)
            if bias_of(audit, before) < SLIGHT[audit]:
                continue
            for method, options, after in others:
                share = " --share 0.3" if audit == "association" else ""
                apart = " --apart role" if audit == "social" and method != "project" else ""
                rows.append(
                    {
                        "audit": audit,
                        "method": f"{method} {options}",
                        "command": f"equiview mitigate {method} SUBJECT --benchmark BENCHMARK {options}"
                        f"{share}{apart} --out DIR",
                        "needs": "vectors",
                        "system": subject,
                        "bias": BIASES[audit],
                        "even": 0.0,
                        "bias_before": round(bias_of(audit, before), 3),
                        "bias_after": round(bias_of(audit, after), 3),
                        "skill": SKILLS[audit],
                        "skill_before": round(skill_of(audit, before), 3),
                        "skill_after": round(skill_of(audit, after), 3),
                    }
                )
    return pl.from_dicts(rows)


COLUMNS = {
    "social": (
        *(f"{metric} of {name}" for name in GROUPS for metric in ("MaxSkew", "NDKL")),
        ROLES,
        SKILLS["social"],
    ),
    "association": tuple(
        f"{metric}, text-to-image" for metric in ("mean pull of languages", "M_cul - M_non", "SP", "M_sem")
    ),
}


def table(mean: pl.DataFrame, audit: str) -> str:
    """The table of a page, a section for each encoder."""
    lines = []
    for subject in SETUPS[audit].subjects:
        found = numbers(mean, audit, subject)
        heads = [name.removesuffix(", text-to-image") for name in COLUMNS[audit]]
        lines += [f"`{subject}`:", "", f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        for method, options, values in found:
            name = f"`{method} {options}`" if method else "as it is"
            lines.append(f"| {name} | {' | '.join(_shown(values[column]) for column in COLUMNS[audit])} |")
        if audit == "social":
            chance = [found[0][2].get(f"{column} by chance") for column in COLUMNS[audit]]
            cells = [f"{row['value']:.2f}" if row else "" for row in chance]
            lines.append(f"| by chance | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _shown(row: dict[str, Any]) -> str:
    low, high = row["low"], row["high"]
    ends = "" if low is None or high is None or np.isnan([low, high]).any() else f" [{low:.2f}, {high:.2f}]"
    return f"{row['value']:.2f}{ends}"


if __name__ == "__main__":
    main()
