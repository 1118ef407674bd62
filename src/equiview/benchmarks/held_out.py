"""`held-out:DIR`: the part of a benchmark that a mitigation was not fitted on, to judge it and its parent by.

`equiview mitigate` writes `held-out.json`: the benchmark's name and fingerprint, and the ids of its images.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from equiview.benchmarks.base import Benchmark, load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.tables import write_bytes

FILE = "held-out.json"


def write_held_out(folder: Path, name: str, whole: Benchmark, rows: Sequence[int]) -> None:
    """Write which images are held out of a benchmark that is loaded by `name`."""
    ids = whole.images.ids[list(rows)].to_list()
    content = {"benchmark": name, "fingerprint": whole.fingerprint, "images": ids}
    write_bytes(json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n", folder / FILE)


def held_out(argument: str) -> Benchmark:
    """The images that are held out, with their texts; InputError where the benchmark has changed."""
    if not argument:
        raise InputError("held-out: name the folder of a mitigation, as in held-out:DIR")
    path = Path(argument).expanduser() / FILE
    try:
        content = json.loads(content_of(path))
        name, fingerprint, ids = content["benchmark"], content["fingerprint"], content["images"]
        wanted = set(map(str.strip, ids)) if isinstance(ids, list) else {""}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: damaged, or not what `equiview mitigate` writes; make it again") from None
    whole = load_benchmark(str(name))
    if whole.fingerprint != fingerprint:
        raise InputError(f"{path}: benchmark {name!r} has changed since; mitigate again")
    part = without_images(whole, [image for image in whole.images.ids if image not in wanted])
    return replace(
        part, name=f"{whole.name}, held out", about=f"{whole.about} ({len(part.images)} images held out)"
    )
