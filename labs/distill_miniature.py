"""What distillation was worth on the embedded encoders: `python -m labs.distill_miniature`.

Each student is taught by half of the concepts of the pictograms and judged on the other half by the audits
of parity and prevalence, beside `pictogram:aligned`. That encoder had read the names of all concepts, without
drawings, so a student is taught these as well, by files. Writes labs/results/distill.csv and the table of
docs/mitigation/distill.md. A folder (`--work`) keeps what is done, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.io.tables import write_bytes

SUBJECTS = ("pictogram:english", "pictogram:skewed")
MODEL = "pictogram:aligned"
REPLICATES = 100
OUT = Path(__file__).parent / "results" / "distill.csv"
PAGE = Path(__file__).parents[1] / "docs" / "mitigation" / "distill.md"
MARKS = ("<!-- measured: python -m labs.distill_miniature -->", "<!-- end of measured -->")
METHOD = "distill"
COMMAND = "equiview mitigate distill SUBJECT --benchmark BENCHMARK"


@dataclass(frozen=True)
class Way:
    """A way of teaching: its name in the table, its options, and whether names of all concepts teach."""

    name: str
    options: str
    student: str
    all_names: bool = False


WAYS = (
    Way("an adapter, half of the concepts", "", "adapter"),
    Way("n-grams, half of the concepts", " --student ngrams", "ngrams"),
    Way("n-grams, names of all concepts", " --student ngrams --parallel en=FILE,...", "ngrams", True),
)
MEASURED = {
    ("parity", "range of R@1 over languages"): 0.0,
    ("prevalence", "DLBKL over languages at 50 above its floor"): 0.0,
    ("prevalence", "exposure of the low tier at 10"): 1.0,
}
"""What stands for the bias in each audit, and its value without bias."""
SKILL = {"parity": "R@1, text to image", "prevalence": "NDCG at 10"}


def main() -> None:
    """Teach, judge, and write what was measured."""
    parser = argparse.ArgumentParser(prog="python -m labs.distill_miniature", description=__doc__)
    parser.add_argument("--work", type=Path, help="folder of students and runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.work or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        found = pl.from_dicts(list(rows(place)))
    write_bytes(found.write_csv().encode(), OUT)
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    write_bytes(f"{before}{MARKS[0]}\n\n{table(found)}\n{MARKS[1]}{after}".encode(), PAGE)


def rows(place: Path) -> Iterator[dict[str, Any]]:
    """A row for each encoder, way of teaching and measure."""
    for subject in SUBJECTS:
        short = subject.partition(":")[2]
        made = {way: taught(subject, way, place, f"{short}-{number}") for number, way in enumerate(WAYS)}
        judged = f"held-out:{made[WAYS[0]].partition(':')[2]}"
        before = numbers(subject, judged, place / f"run-{short}")
        after = {way: numbers(name, judged, place / f"run-{short}-{number}")
                 for number, (way, name) in enumerate(made.items())}  # fmt: skip
        model = Way(MODEL, "", "")
        after[model] = numbers(MODEL, judged, place / "run-aligned")
        for way, values in after.items():
            for (audit, bias), even in MEASURED.items():
                yield {
                    "audit": audit,
                    "method": METHOD if way.student else "",
                    "way": way.name,
                    "command": COMMAND + way.options if way.student else "",
                    "needs": "vectors",
                    "system": subject,
                    "bias": bias,
                    "even": even,
                    "bias_before": before[bias],
                    "bias_after": values[bias],
                    "skill": SKILL[audit],
                    "skill_before": before[SKILL[audit]],
                    "skill_after": values[SKILL[audit]],
                }


def taught(subject: str, way: Way, place: Path, name: str) -> str:
    """The name of a student."""
    given: dict[str, Any] = {"subject": subject, "student": way.student, "device": "cpu"}
    if way.all_names:
        given["parallel"] = (names(place),)
    else:
        given["benchmark"] = "pictograms"
    return api.make(METHOD, given, place / name).name


def names(place: Path) -> str:
    """A file for each language with the name of each concept a line."""
    texts = load_benchmark("pictograms").need_texts().table
    wide = texts.unique(["image_id", "language"], keep="first", maintain_order=True)
    wide = wide.pivot("language", index="image_id", values="text").drop("image_id").drop_nulls()
    folder = place / "names"
    folder.mkdir(exist_ok=True)
    for code in wide.columns:
        write_bytes("".join(f"{text}\n" for text in wide[code]).encode(), folder / f"{code}.txt")
    return ",".join(f"{code}={folder / code}.txt" for code in wide.columns)


def numbers(name: str, judged: str, place: Path) -> dict[str, float]:
    """What the audits find on the images that are held out."""
    settings = {audit: {"replicates": REPLICATES} for audit in SKILL}
    run = api.audit(name, judged, list(SKILL), place, settings=settings)
    return values_of(run)


def values_of(run: Run) -> dict[str, float]:
    """The numbers of the table."""
    parity, prevalence = (run.estimates.of(audit) for audit in SKILL)
    given = {"task": "text-to-image"}
    values = {
        "range of R@1 over languages": parity.one("range over languages", **given).value,
        SKILL["parity"]: parity.one("R", 1, **given).value,
        "DLBKL over languages at 50 above its floor": prevalence.one(
            "DLBKL", 50, grouping="language", floor="matched"
        ).excess,
        "exposure of the low tier at 10": prevalence.one("exposure ratio", 10, tier="low").value,
        SKILL["prevalence"]: prevalence.one("NDCG", 10, ideal="pool").value,
    }
    return {name: round(float(value), 4) for name, value in values.items()}


def table(found: pl.DataFrame) -> str:
    """The table of the page, a section for each encoder."""
    measures = [name for _, name in MEASURED]
    lines = []
    for subject in SUBJECTS:
        lines += [
            f"`{subject}`:",
            "",
            "| | R@1, text to image | its range over languages | DLBKL over languages at 50, above its floor "
            "| exposure of the low tier at 10 | NDCG@10 |",
            "|---|---|---|---|---|---|",
        ]
        rows = found.filter(system=subject)
        for number, way in enumerate(["as it is", *rows["way"].unique(maintain_order=True)]):
            one = rows.filter(way=way) if number else rows.head(len(MEASURED))
            side = "after" if number else "before"
            bias = dict(one.select("bias", f"bias_{side}").iter_rows())
            skill = dict(one.select("skill", f"skill_{side}").iter_rows())
            cells = [skill[SKILL["parity"]], *(bias[name] for name in measures), skill[SKILL["prevalence"]]]
            name = f"`{way}`" if way == MODEL else way
            lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in cells) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
