"""Six captioners on the images of COCO val2014 that show women or men: amplification, LIC, CIDEr, DBA.

    python labs/coco_captions.py CAPTIONS HUMAN OUT

CAPTIONS is `coco_captioning/final_captions_eccv2018` of github.com/princetonvisualai/directional-bias-amp
(MIT): what six captioners of Burns et al. (ECCV 2018) wrote about COCO val2014. HUMAN is COCO's
`annotations/captions_val2017.json`, 25,014 human captions of 5,000 of these images. Neither is shipped.
Gender is that which an image's human captions say, where they say one alone. OUT gets a run for each
captioner; the numbers go to labs/results/coco_captions.csv, the paired tests to
labs/results/coco_captions_pairs.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from equiview.audits.amplification import group_by_words, known_words
from equiview.audits.execute import execute
from equiview.benchmarks import Benchmark
from equiview.benchmarks.base import same_image
from equiview.benchmarks.coco import coco_captions
from equiview.benchmarks.release import text_items
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.data.run import Run
from equiview.io.files import read_json
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.studies.compare import compare
from equiview.subjects import Answerer

CAPTIONERS = ("baseline_ft", "balanced", "upweight", "confusion", "confident", "equalizer")
RESULTS = Path(__file__).parent / "results"
PEOPLE = (1, 2, 3)
"""Human captions that are audited as if a captioner had written them, against the others."""
SEED = 0


class Captions(Answerer):
    """What a captioner wrote, by image."""

    def __init__(self, name: str, written: Mapping[str, str]) -> None:
        super().__init__(name)
        self.name, self.written = name, written
        self._fingerprint = fingerprint(name, *written.items())

    @classmethod
    def read(cls, path: Path) -> Captions:
        """Those of a file."""
        return cls(path.stem, {str(entry["image_id"]): entry["caption"] for entry in read_json(path)})

    @property
    def fingerprint(self) -> str:
        """A hash of all of it."""
        return self._fingerprint

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Its caption of each image that it wrote one of."""
        for place, request in enumerate(requests):
            if request.id in self.written:
                yield place, Reply(self.written[request.id])


def benchmark(path: Path) -> Benchmark:
    """The images of a caption file, their human captions, and the gender that these say."""
    names, captions = coco_captions(path, "val2017")
    words, said = known_words("gender", "en"), dict[str, list[str]]()
    for image, _, text, _ in captions:
        said.setdefault(image, []).append(text)
    gender = [group_by_words(said.get(image, []), words) for image in names]
    images = Items("image", pl.DataFrame({"id": list(names), "gender": gender}), str(path))
    texts = text_items(captions, path)
    return Benchmark("coco-captions-by-gender", images, texts, same_image(images, texts))


def person(data: Benchmark, slot: int) -> tuple[Captions, Benchmark]:
    """One human caption of each image as a captioner's, and the benchmark without it."""
    texts = data.need_texts().table
    written = dict(texts.filter(slot=slot).select("image_id", "text").iter_rows())
    others = Items("text", texts.filter(pl.col("slot") != slot), data.need_texts().source)
    name = f"{data.name}-without-{slot}"
    return Captions(f"human {slot}", written), Benchmark(
        name, data.images, others, same_image(data.images, others)
    )


def page(table: pl.DataFrame, pairs: pl.DataFrame) -> Iterator[str]:
    """The rows of the table in docs/audits/amplification.md, numbers times 100 but for CIDEr and DBA."""
    for name in (*CAPTIONERS, *(f"human {slot}" for slot in PEOPLE)):
        rows = table.filter(captioner=name)

        def cell(metric: str, spec: str, times: float, rows: pl.DataFrame = rows, **keys: str) -> str:
            row = rows.filter(metric=metric, **keys).row(0, named=True)
            ends = (row["low"], row["high"])
            return f"{times * row['value']:{spec}} [{', '.join(f'{times * end:{spec}}' for end in ends)}]"

        groups = [cell("CIDEr", ".1f", 100, group=group) for group in ("female", "male")]
        leaked = [cell("leakage", ".1f", 100, of=of).split(" ")[0] for of in ("replies", "humans")]
        of_all = rows.filter(pl.col("group").is_null())
        tested = [cell(metric, ".1f", 100, of_all) for metric in ("LIC", "amplification")]
        dba = cell("DBA", ".2f", 1000, variant="paper")
        other = pairs.filter(b=name, metric="LIC")
        against = (
            "" if not len(other) else f"{100 * other['difference'].item():+.1f} ({other['p'].item():.2f})"
        )
        yield f"| {' | '.join([name, *groups, *leaked, *tested, dba, against])} |"


def main(captions: Path, human: Path, out: Path) -> None:
    data = benchmark(human)
    runs: list[Run] = []
    for name in CAPTIONERS:
        subject = Captions.read(captions / f"{name}.json")
        runs.append(execute(subject, data, ["amplification"], out / name, name=name, seed=SEED))
        print(name, runs[-1].verdicts[0].answer, flush=True)
    runs += [
        execute(
            *person(data, slot), ["amplification"], out / f"human-{slot}", name=f"human {slot}", seed=SEED
        )
        for slot in PEOPLE
    ]
    columns = ["captioner", "metric", "value", "low", "high", "n", "chance", "p", "p_holm"]
    tables = [run.estimates.table.with_columns(captioner=pl.lit(run.name)) for run in runs]
    table = pl.concat(tables, how="diagonal_relaxed")
    keys = [key for key in ("attribute", "group", "of", "variant", "what") if key in table.columns]
    table.select(*columns[:2], *keys, *columns[2:]).write_csv(
        RESULTS / "coco_captions.csv", float_precision=6
    )
    pairs = compare(runs[: len(CAPTIONERS)], against=runs[0])
    pairs.write_csv(RESULTS / "coco_captions_pairs.csv", float_precision=6)
    print(*page(table, pairs), sep="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
