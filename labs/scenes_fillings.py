"""What is put where an object was, against its exact removal: `python labs/scenes_fillings.py`.

Photographs have nothing behind an object, so an inpainting model or a plain filling stands for it. In scenes
what is behind is known. The same objects are removed from the same scenes in every way, and an encoder is
audited on each; differences to exact removal are taken image by image.
"""

from __future__ import annotations

import numpy as np

from curves import write_rows
from equiview.audits.decorrelation import DECORRELATION
from equiview.benchmarks.scenes import Fill, SceneOptions, scenes_of
from equiview.build.removal.fill import filling
from equiview.data.metric import Quantity, quantity
from equiview.data.values import Values
from equiview.io.progress import silent
from equiview.metrics import spearman
from equiview.stats import mean_interval
from equiview.subjects import load_subject

IMAGES = 1_000
ENCODER = "pictogram:scenes"
MEASURED = {
    "odmap@1": quantity("ODmAP", 1),
    "odmap@5": quantity("ODmAP", 5),
    "odmap@10": quantity("ODmAP", 10),
    "naming_gone@10": quantity("naming what is gone", 10),
    "naming_there@10": quantity("naming what is there", 10),
}


def main() -> None:
    exact = values_of(None)
    rows = [row("exact", exact, exact)]
    for kind in ("inpaint", "zero", "mean", "blur"):
        fill = filling(kind)
        rows.append(row(fill.name, values_of(fill), exact))
        print(rows[-1], flush=True)
    write_rows("scenes_fillings", rows)


def values_of(fill: Fill | None) -> Values:
    """One number for each synthetic image and quantity."""
    settings = DECORRELATION.configure({})
    benchmark = scenes_of(SceneOptions(images=IMAGES), fill)
    observations = DECORRELATION.observe(load_subject(ENCODER), benchmark, settings, silent)
    return DECORRELATION.values(DECORRELATION.view(observations, settings), settings)


def row(name: str, values: Values, exact: Values) -> dict[str, object]:
    """The means, what they are more than with exact removal, and the correlation of ODmAP@10 over images."""
    cells: dict[str, object] = {"filling": name}
    for label, wanted in MEASURED.items():
        ours = synthetic(values, wanted)
        cells[label] = round(float(ours.mean()), 4)
        more = None if values is exact else mean_interval(ours - synthetic(exact, wanted))
        for end in ("value", "low", "high"):
            cells[f"{label}_more_{end}"] = None if more is None else round(float(getattr(more, end)), 4)
    pair = [synthetic(table, MEASURED["odmap@10"]) for table in (values, exact)]
    return cells | {"spearman_odmap@10": round(float(spearman(*pair)), 3)}


def synthetic(values: Values, wanted: Quantity) -> np.ndarray:
    """The column of a quantity over the synthetic images."""
    column = values.at(wanted)[:, 0]
    return column[~np.isnan(column)]


if __name__ == "__main__":
    main()
