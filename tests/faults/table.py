"""The table of faults. Whoever adds an input adds its rows.

`FILES` names every kind of file that is read; each meets every fault of `faults.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.faults.faults import FAULTS
from tests.faults.running import Case

SMALL = ("--setting", "prevalence.replicates=100")


def audit(subject: str, benchmark: str, *more: str) -> tuple[str, ...]:
    words = ("audit", subject, "--benchmark", benchmark, "--audit", "prevalence", "--out", "out")
    return (*words, *SMALL, *more)


VECTORS = audit("embeddings:world", "folder:world")
PHOTOS = audit("pictogram:aligned", "folder:photos", "--no-cache")
READ = "embeddings:data"  # the benchmark is read before any vector

FILES: list[tuple[str, str, tuple[str, ...]]] = [
    ("vectors", "world/images.csv", VECTORS),
    ("vectors", "world/texts.csv", VECTORS),
    ("vectors", "world/images.npy", VECTORS),
    ("vectors", "world/texts.npy", VECTORS),
    ("parquet", "world/images.parquet", VECTORS),
    ("parquet", "world/texts.parquet", VECTORS),
    ("photos", "photos/3.png", PHOTOS),
    ("lists", "lists.txt", audit("run:lists.txt", "run:lists.txt")),
    ("lists", "lists.csv", audit("run:lists.csv", "run:lists.csv")),
    ("lists", "lists.parquet", audit("run:lists.parquet", "run:lists.parquet")),
    ("lists", "items.csv", audit("run:lists.txt", "run:lists.txt,items=items.csv")),
    ("lists", "qrels.txt", audit("run:lists.txt", "run:lists.txt,qrels=qrels.txt")),
    ("lists", "queries.csv", audit("run:lists.txt", "run:lists.txt,queries=queries.csv")),
    ("xm3600", "data/captions.jsonl", audit(READ, "xm3600:data")),
    ("multi30k", "data/data/task1/raw/test_2016_flickr.de.gz", audit(READ, "multi30k:data")),
    ("multi30k", "data/data/task1/image_splits/test_2016_flickr.txt", audit(READ, "multi30k:data")),
    ("flickr30k", "data/dataset_flickr30k.json", audit(READ, "flickr30k:data")),
    ("coco", "data/dataset_coco.json", audit(READ, "coco:data,split=test")),
    ("coco", "data/annotations/captions_val2014.json", audit(READ, "coco:data,split=val2014")),
    ("coco", "data/annotations/instances_val2014.json", audit(READ, "coco:data,split=val2014")),
    ("xtd", "data/XTD10/test_image_names.txt", audit(READ, "xtd:data")),
    ("xtd", "data/XTD10/test_1kcaptions_es.txt", audit(READ, "xtd:data")),
    ("xflickrco", "data/annotations/de/test.jsonl", audit(READ, "xflickrco:data")),
    ("fairface", "data/fairface_label_val.csv", audit(READ, "fairface:data")),
    ("phase", "data/phase_gcc_val_regions_20221101.json", audit(READ, "phase:data")),
    ("coco-people", "data/images_val2014.csv", audit(READ, "coco-people:data")),
    ("vqav2", "data/v2_OpenEnded_mscoco_val2014_questions.json", audit(READ, "vqav2:data")),
    ("vqav2", "data/v2_mscoco_val2014_annotations.json", audit(READ, "vqav2:data")),
]


def spoiled(path: str, fault: str, folder: Path) -> None:
    FAULTS[fault](folder / path)


def of_files() -> Iterator[Case]:
    for place, path, words in FILES:
        for fault in FAULTS:
            yield Case(f"{place} {Path(path).name}: {fault}", place, partial(spoiled, path, fault), words)


CASES: list[Case] = [*of_files()]
