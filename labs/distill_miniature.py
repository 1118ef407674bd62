"""What distillation was worth on the embedded encoders: `python -m labs.distill_miniature`.

Each student is taught by half of the concepts of the pictograms and judged on the other half by the audits
of parity and prevalence, beside `pictogram:aligned`. That encoder had read the names of all concepts, without
drawings, so a student is taught these as well, by files. Writes labs/results/distill.csv, the table of
docs/mitigation/distill.md, and what `equiview advise` reads.
A folder (`--work`) keeps what is done, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from labs.marked import write_part
from labs.mitigations import farthest
from labs.mitigations import numbers as of_prevalence

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.io.tables import write_bytes
from equiview.studies import advise

SUBJECTS = ("pictogram:english", "pictogram:skewed")
MODEL = "`pictogram:aligned`"
AS_IT_IS = "as it is"
REPLICATES = 100
RESULTS = Path(__file__).parent / "results"
WORTH_OUT = Path(advise.__file__).parent / "worth" / "distill.csv"
PAGE = Path(__file__).parents[1] / "docs" / "mitigation" / "distill.md"
PART = "measured: python -m labs.distill_miniature"


@dataclass(frozen=True)
class Way:
    """A way of teaching: its name in the table, the student, and whether the names of all concepts teach."""

    name: str
    student: str
    all_names: bool = False

    @property
    def command(self) -> str:
        """The command, with SUBJECT and BENCHMARK in place of names."""
        data = "--parallel en=FILE,de=FILE" if self.all_names else "--benchmark BENCHMARK"
        return f"equiview mitigate distill SUBJECT {data} --student {self.student} --out DIR"


WAYS = (
    Way("an adapter, half of the concepts", "adapter"),
    Way("n-grams, half of the concepts", "ngrams"),
    Way("n-grams, names of all concepts", "ngrams", all_names=True),
)
COLUMNS = {
    "R@1": "R@1, text to image",
    "English": "R@1 of English",
    "range": "range of R@1 over languages",
    "DLBKL 50": "DLBKL at 50 above its floor",
    "low tier 10": "exposure of the low tier at 10",
    "farthest 10": "exposure at 10 farthest from even",
    "Accuracy 1": "Accuracy@1",
    "NDCG 10": "NDCG@10",
}
"""What is measured, with its heading."""
WORTH = (
    ("parity", "range of R@1 over languages, text to image", 0.0, "range", "R@1, text to image", "R@1"),
    (
        *("prevalence", "exposure at rank 10 of the language or low tier farthest from even (1)", 1.0),
        *("farthest 10", "Accuracy@1", "Accuracy 1"),
    ),
)
"""Of each audit: what stands for the bias, its value without bias, its column; the skill and its column."""


def main() -> None:
    """Teach, judge, and write what was measured."""
    parser = argparse.ArgumentParser(prog="python -m labs.distill_miniature", description=__doc__)
    parser.add_argument("--work", type=Path, help="folder of students and runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.work or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        found = pl.from_dicts(list(rows(place)))
    write_bytes(found.write_csv().encode(), RESULTS / "distill.csv")
    write_bytes(worth(found).write_csv().encode(), WORTH_OUT)
    write_part(PAGE, PART, table(found))


def rows(place: Path) -> Iterator[dict[str, Any]]:
    """A row for each encoder as it is, each way of teaching, and the encoder to compare with."""
    for subject in SUBJECTS:
        short = subject.partition(":")[2]
        made = {way.name: taught(subject, way, place / f"{short}-{row}") for row, way in enumerate(WAYS)}
        judged = f"held-out:{made[WAYS[0].name].partition(':')[2]}"
        for name, system in {AS_IT_IS: subject, **made, MODEL: MODEL.strip("`")}.items():
            out = f"run-{short}-on-{system.partition(':')[2].rpartition('/')[2]}"
            settings = {audit: {"replicates": REPLICATES} for audit in ("parity", "prevalence")}
            run = api.audit(system, judged, list(settings), place / out, settings=settings)
            yield {"system": subject, "way": name} | numbers(run)


def taught(subject: str, way: Way, out: Path) -> str:
    """The name of an encoder with a student, which is taught with the usual settings."""
    given: dict[str, Any] = {"subject": subject, "student": way.student, "device": "cpu"}
    data = {"parallel": (names(out.parent),)} if way.all_names else {"benchmark": "pictograms"}
    return api.make("distill", given | data, out).name


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


def numbers(run: Run) -> dict[str, float]:
    """The numbers of a run by the names of `COLUMNS`."""
    parity, prevalence = (run.estimates.of(audit) for audit in ("parity", "prevalence"))
    exposure, searched = of_prevalence(run), {"task": "text-to-image"}
    values = {
        "R@1": parity.one("R", 1, **searched).value,
        "English": parity.one("R", 1, **searched, language="en").value,
        "range": parity.one("range over languages", **searched).value,
        "DLBKL 50": prevalence.one("DLBKL", 50, grouping="language", floor="matched").excess,
        "farthest 10": farthest(exposure),
    }
    values |= {name: exposure[name] for name in ("low tier 10", "Accuracy 1", "NDCG 10")}
    return {name: round(float(values[name] or 0.0), 3) for name in COLUMNS}


def worth(found: pl.DataFrame) -> pl.DataFrame:
    """A row for each encoder, way of teaching and audit, in the columns that `equiview advise` reads."""
    return pl.from_dicts(
        [
            {
                "audit": audit,
                "method": f"distill --student {way.student}" + (" --parallel" if way.all_names else ""),
                "command": way.command,
                "needs": "vectors",
                "system": f"{subject}, taught the names that are asked" if way.all_names else subject,
                "bias": bias,
                "even": even,
                "bias_before": before[column],
                "bias_after": after[column],
                "skill": skill,
                "skill_before": before[skilled],
                "skill_after": after[skilled],
            }
            for subject in SUBJECTS
            for way in WAYS
            for before in found.filter(system=subject, way=AS_IT_IS).iter_rows(named=True)
            for after in found.filter(system=subject, way=way.name).iter_rows(named=True)
            for audit, bias, even, column, skill, skilled in WORTH
        ]
    )


def table(found: pl.DataFrame) -> str:
    """The table of the page, a section for each encoder."""
    lines = []
    for subject in SUBJECTS:
        lines += [
            f"`{subject}`:",
            "",
            f"| | {' | '.join(COLUMNS.values())} |",
            "|---" * (1 + len(COLUMNS)) + "|",
        ]
        for row in found.filter(system=subject).iter_rows(named=True):
            cells = " | ".join(f"{row[name]:.3f}" for name in COLUMNS)
            lines.append(f"| {row['way']} | {cells} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
