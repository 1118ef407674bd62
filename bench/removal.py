"""Time and memory of `equiview build removal` beside decoding, and of each filling.

Pictures are noise put through a blur, 640 x 480, with seven objects, COCO's mean number per image. What an
image costs is taken apart: decoding, the rules, captions, fillings, and all of it with a filling that costs
nothing. Whole builds are filled with zeros, with their highest memory at a tenth of the images and at all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image, ImageFilter

from equiview.benchmarks import load_benchmark
from equiview.benchmarks.objects import CLASSES
from equiview.build.removal.areas import mask_of
from equiview.build.removal.captions import phrases_naming, without
from equiview.build.removal.fill import KINDS, Filling, Picture, filling
from equiview.build.removal.images import Remover
from equiview.build.removal.rules import Rejected, Removal, candidates
from equiview.build.removal.settings import RemovalSettings
from equiview.build.removal.sources import Sources
from equiview.text.things import coco_things

S = TypeVar("S")
T = TypeVar("T")
NAMES = [name for name in CLASSES if name]
WHOLE = """
import sys, time
from pathlib import Path
from typing import TypeVar
from equiview import api
began = time.process_time()
api.make("removal", {"benchmark": sys.argv[1], "fill": "zero"}, Path(sys.argv[2]))
(highest,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(time.process_time() - began, int(highest.split()[1]) / 1024)
"""


def costs(size: str) -> dict[str, Any]:
    """Milliseconds of processor time per image of each part, then seconds and memory of whole builds."""
    images, side = (10, 160) if size == "small" else (300, 640)
    with tempfile.TemporaryDirectory() as folder:
        name = write(Path(folder) / "all", images, 7, side)
        found = {
            "work": f"{images} images of {side} x {side * 3 // 4}, seven objects",
            "parts": parts(name, Path(folder)),
        }
        few = write(Path(folder) / "few", images // 10, 7, side)
        builds = []
        for which, count in ((few, images // 10), (name, images)):
            words = [sys.executable, "-c", WHOLE, which, f"{folder}/out-{count}"]
            said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
            seconds, memory = map(float, said.split())
            builds.append({"images": count, "processor": round(seconds, 2), "peak_mb": round(memory)})
        return found | {"builds": builds}


def write(place: Path, images: int, objects: int, side: int) -> str:
    """A COCO of blurred noise; returns how the benchmark is called."""
    rng = np.random.default_rng(0)
    (place / "val2014").mkdir(parents=True)
    (place / "annotations").mkdir()
    height = side * 3 // 4
    listed, boxes, texts = [], [], []
    for number in range(1, images + 1):
        noise = Image.fromarray(rng.integers(0, 256, (height, side, 3), dtype=np.uint8))
        noise.filter(ImageFilter.GaussianBlur(3)).save(place / f"val2014/{number}.jpg", quality=90)
        listed.append({"id": number, "file_name": f"{number}.jpg"})
        for category in rng.choice(len(NAMES), objects):
            corner, size = rng.random(2) * 0.55, rng.random(2) * 0.4 + 0.02
            box = [*(corner * (side, height)), *(size * (side, height))]
            boxes.append({"image_id": number, "category_id": int(category) + 1, "bbox": box, "area": 1.0})
        for _ in range(5):
            first, second = rng.choice(NAMES, 2)
            texts.append({"image_id": number, "caption": f"A {first} on the small brown {second} by a wall."})
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES, start=1)]
    content = {"captions": {"images": listed, "annotations": texts},
               "instances": {"images": listed, "annotations": boxes, "categories": categories}}  # fmt: skip
    for kind, lists in content.items():
        (place / f"annotations/{kind}_val2014.json").write_text(json.dumps(lists))
    return f"coco:{place}"


def parts(name: str, folder: Path) -> dict[str, float]:
    """What each part of an image costs, in milliseconds."""
    items = load_benchmark(name)
    sources, words = Sources(items), coco_things()
    rows = range(len(items.images))
    found: dict[str, float] = {}

    def report(what: str, do: Callable[[S], T], of: Sequence[S]) -> list[T]:
        """Do something for each row and keep what one took; libraries are loaded before."""
        do(of[0])
        began = time.process_time()
        results = [do(row) for row in of]
        found[what] = round((time.process_time() - began) / len(of) * 1000, 3)
        return results

    pictures = report("decoding", lambda row: np.asarray(items.images.pictures([row])[0]), list(rows))
    read = report("reading its rows", sources.__getitem__, list(rows))
    size = pictures[0].shape[1], pictures[0].shape[0]

    def ruled(row: int) -> list[Removal | Rejected]:
        return list(candidates(read[row].regions(*size)[0], *size))

    ruled_rows = report("rules", ruled, list(rows))
    removals = {row: next((f for f in ruled_rows[row] if isinstance(f, Removal)), None) for row in rows}
    made = {row: removal for row, removal in removals.items() if removal}

    def captions(row: int) -> list[str | None]:
        removed = made[row].removed
        return [without(c.text, phrases_naming(c, removed, words)) for c in read[row].captions]

    def filled(fill: Filling, row: int) -> Picture:
        return fill(pictures[row], mask_of(made[row].region, *size))

    report("captions", captions, list(made))
    for kind in KINDS:
        fill = filling(kind)
        report(fill.name, partial(filled, fill), list(made))
    nothing = Filling("nothing", lambda picture, mask: np.zeros_like(picture))
    remover = Remover(folder / "parts", RemovalSettings(), items.images, nothing, words)
    remover.remove(read[rows[-1]])  # loads what it needs
    report("all of it, decoding and writing included", remover.remove, read[:-1])
    return found
