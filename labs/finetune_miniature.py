"""O's mitigation in miniature, where removal is exact: `python labs/finetune_miniature.py`.

An encoder of scenes that learnt pairs of things (strength .8) is fine-tuned on D, further scenes of that
strength, and on D and D', the same scenes without one thing: the ratio |D'| / |D| from 0 to .4 (Figure 4),
and ways of making pictures and captions at a ratio of .1 (Table 3). All are audited on the same scenes of
strength .5, and compared image by image. What was measured is kept; a run that is stopped goes on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from curves import draw_lines, write_rows
from equiview.audits.decorrelation import DECORRELATION
from equiview.benchmarks.scenes import Fill, SceneOptions, scenes_of
from equiview.build.removal.fill import filling
from equiview.data.items import Items
from equiview.data.metric import quantity
from equiview.data.values import Values
from equiview.io.progress import silent
from equiview.io.tables import write_bytes
from equiview.mitigation.finetune.losses import contrastive
from equiview.mitigation.finetune.pairs import Mixture, Pairs, mixed, pairs_of
from equiview.mitigation.finetune.settings import FineTuneSettings
from equiview.mitigation.finetune.stage import train
from equiview.mitigation.finetune.trainee import Inputs, Trainee
from equiview.stats import mean_interval, sign_flip_test
from equiview.studies import advise
from equiview.subjects import Encoder
from scene_encoder import scene_encoder
from scene_tower import SceneHead, scene_tower, seen
from scenes_curve import SceneEncoder, small_pictures
from sources import WORK
from text_tower import SCALE, Reader, TextTower

STRENGTH, SEEDS = 0.8, 2
D = SceneOptions(strength=STRENGTH, images=3_000, gallery=0, seed=1)
ASKED = SceneOptions(images=1_000)
RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4)
TABLE = (
    ("phrases", "blur"),
    ("phrases", "zero"),
    ("phrases", "mean"),
    ("model", "inpaint"),
    ("prompts", "inpaint"),
    ("phrases", "inpaint"),
)
"""How captions and pictures of D' are made, as in O; in the ratios they are dropped and removed exactly."""
SHARE = 0.1
"""The ratio of the rows of the table; O's is .08."""
SETTINGS = FineTuneSettings.of(
    {
        "forward": 256,
        "adapter": {"batch": 256, "learning_rate": 1e-3, "epochs": 10.0, "decay": 0.5, "decay_epochs": 2.0},
    }
)
MEASURED = {
    **{f"odmap@{k}": quantity("ODmAP", k) for k in (1, 5, 10)},
    "naming_gone@10": quantity("naming what is gone", 10),
    "excess_naming@10": quantity("excess naming", 10),
    "r@1_image-to-text": quantity("R", 1, direction="image-to-text"),
    "r@1_text-to-image": quantity("R", 1, direction="text-to-image"),
}
Numbers = dict[str, NDArray[np.float64]]


def parent(seed: int) -> tuple[SceneHead, TextTower]:
    """The encoder before, a copy of its own for each caller."""
    head, tower, _ = scene_encoder(STRENGTH, seed)
    return head, tower


class Towers(Trainee):
    """The head and the text tower of an encoder of scenes; the tower that sees stays as it is."""

    def __init__(self, pairs: Mixture, seed: int) -> None:
        super().__init__(pairs)
        self.head, self.tower = parent(seed)
        self.seen = torch.cat([shown(side) for side in pairs.sides.values()])
        self.reader = Reader(pairs.texts)

    def pictures(self, rows: Sequence[int]) -> Inputs:
        return {"seen": self.seen[list(rows)]}

    def captions(self, rows: Sequence[int]) -> Inputs:
        return {"features": self.reader.rows(np.asarray(rows))}

    def vectors(self, pictures: Inputs, captions: Inputs) -> tuple[Tensor, Tensor]:
        return self.head(pictures["seen"]), self.tower(captions["features"])

    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        return contrastive(SCALE * images @ captions.T, same)

    def save(self, folder: Path) -> None:
        torch.save(self.state_dict(), folder / "towers.pt")


_SEEN: dict[str, Tensor] = {}


def shown(pairs: Pairs) -> Tensor:
    """What the tower sees in the picture of each pair, `(n_pairs, 72)`; each picture once."""
    keys = [f"{pairs.images.source} {pairs.images.ids[int(row)]}" for row in pairs.image]
    new = {key: int(row) for key, row in zip(keys, pairs.image, strict=True) if key not in _SEEN}
    for part in np.array_split(list(new), max(1, len(new) // 500)):
        rows = [new[key] for key in part]
        if rows:
            seen_in = seen(scene_tower()[0], small_pictures(pairs.images.take(rows)))
            _SEEN.update(zip(part.tolist(), seen_in, strict=True))
    return torch.stack([_SEEN[key] for key in keys])


def more_real() -> Pairs:
    """Further pairs like those of D, to tell what D' adds from what more pairs and steps do."""
    pairs = pairs_of(scenes_of(D.model_copy(update={"seed": 2})))
    return replace(pairs, name="more real", images=replace(pairs.images, source="more real"))


def synthetic(texts: str, pictures: str, encoder: SceneEncoder, real: Pairs) -> Pairs:
    """D' made in one of the ways; the same images, in the same order, in all."""
    fill: Fill | None = None if pictures == "exact" else filling(pictures)
    benchmark = scenes_of(D, fill)
    table = benchmark.tables["removals"]
    images = Items("image", benchmark.images.table, f"D' {pictures}", benchmark.images.draw)
    rows = images.rows_of(table["image_id"]).to_numpy()
    captions: dict[str, Callable[[], list[list[str]]]] = {
        "phrases": table["captions"].to_list,
        "prompts": lambda: [[f"A photo of {' and '.join(kept)}."] for kept in table["kept"]],
        "model": lambda: [[text] for text in nearest(Pairs("", images, rows, ()), encoder, real)],
    }
    listed = captions[texts]()
    image = np.repeat(rows, [len(own) for own in listed])
    return Pairs(f"{texts}, {pictures}", images, image, tuple(text for own in listed for text in own))


def nearest(pairs: Pairs, encoder: SceneEncoder, real: Pairs) -> list[str]:
    """In place of a captioning model: the caption of D that the encoder before finds most similar."""
    distinct = list(dict.fromkeys(real.texts))
    items = Items(
        "text", pl.DataFrame({"id": map(str, range(len(distinct))), "text": distinct, "language": "en"})
    )
    with torch.no_grad():
        scores = encoder.head(shown(pairs)).numpy() @ encoder.embed(items).T
    return [distinct[place] for place in scores.argmax(axis=1)]


def numbers(encoder: Encoder) -> Numbers:
    """Each quantity by synthetic image, real image or caption, and which real image that is of."""
    settings = DECORRELATION.configure({})
    observations = DECORRELATION.observe(encoder, scenes_of(ASKED), settings, silent)
    values: Values = DECORRELATION.values(DECORRELATION.view(observations, settings), settings)
    columns: Numbers = {}
    for name, wanted in MEASURED.items():
        column = values.at(wanted)[:, 0]
        asked = ~np.isnan(column)
        columns |= {name: column[asked], f"{name} of": values.clusters[asked]}
    return columns


def tuned(pairs: Mixture, seed: int) -> Encoder:
    """The encoder of a seed after fine-tuning."""
    towers = Towers(pairs, seed)
    settings = SETTINGS.model_copy(update={"seed": seed})
    with tempfile.TemporaryDirectory() as folder:
        cpu = torch.device("cpu")
        train("D", towers, Path(folder), settings.recipes["adapter"], settings, cpu, "fp32", silent)
    return SceneEncoder(towers.head.eval(), towers.tower.eval())


def arms() -> dict[str, tuple[str, str, float | None]]:
    """What is compared by name: captions, pictures and ratio; None is without fine-tuning."""
    ratios = {f"ratio {ratio:g}": ("phrases", "exact", ratio) for ratio in RATIOS}
    ways = {f"{texts}, {pictures}": (texts, pictures, SHARE) for texts, pictures in TABLE}
    control = {f"more real, {ratio:g}": ("real", "real", ratio) for ratio in RATIOS[1:]}
    return {"before": ("", "", None)} | ratios | ways | control


WORTH = Path(advise.__file__).parent / "worth" / "finetune.csv"


def main() -> None:
    torch.set_num_threads(1)
    real = pairs_of(scenes_of(D))
    kept = WORK / "finetune-miniature"
    kept.mkdir(parents=True, exist_ok=True)
    for seed in range(SEEDS):
        before = SceneEncoder(*parent(seed))
        for name, (texts, pictures, ratio) in arms().items():
            path = kept / f"{name}-{seed}.npz"
            if path.is_file():
                continue
            if ratio is None:
                encoder: Encoder = before
            else:
                made = None
                if ratio:
                    made = more_real() if texts == "real" else synthetic(texts, pictures, before, real)
                encoder = tuned(mixed(real, made, ratio, seed), seed)
            np.savez(path, **numbers(encoder))
            print(seed, name, flush=True)
    summarise({name: [np.load(kept / f"{name}-{seed}.npz") for seed in range(SEEDS)] for name in arms()})


def summarise(measured: dict[str, list[Numbers]]) -> None:
    """Means over seeds, and what each is more than fine-tuning on D alone, image by image."""
    base = mean_over(measured["ratio 0"])
    rows = []
    for name, seeds in measured.items():
        texts, pictures, ratio = arms()[name]
        row: dict[str, object] = {"arm": name, "captions": texts, "pictures": pictures, "ratio": ratio}
        for column, ours in mean_over(seeds).items():
            clusters = seeds[0][f"{column} of"]
            row[column] = round(float(ours.mean()), 4)
            row |= compared("more", column, ours - base[column], clusters)
            control = f"more real, {ratio or 0:g}"
            against = mean_over(measured[control if control in measured else "ratio 0"])[column]
            row |= compared("more_than_real", column, ours - against, clusters)
            row[f"{column}_by_seed"] = " ".join(f"{seed[column].mean():.4f}" for seed in seeds)
            row[f"{column}_n"] = len(ours)
        rows.append(row)
    write_rows("finetune_miniature", rows)
    write_worth(pl.DataFrame(rows, infer_schema_length=None))
    curve = [next(row for row in rows if row["arm"] == f"ratio {ratio:g}") for ratio in RATIOS]
    draw_lines(
        "finetune-ratio",
        RATIOS,
        {label: [float(row[column]) for row in curve] for column, label in CURVE.items()},  # type: ignore[arg-type]
        title="Fine-tuning on scenes, some of them without a thing",
        across="synthetic pairs for each real pair",
        up="share",
    )


def compared(
    name: str, column: str, differences: NDArray[np.float64], clusters: NDArray[np.float64]
) -> dict[str, object]:
    """A paired difference, its interval and p; blank for what is compared with itself."""
    cells = [f"{column}_{name}{end}" for end in ("", "_low", "_high", "_p")]
    if not differences.any():
        return dict.fromkeys(cells, "")
    more = mean_interval(differences, clusters=clusters)
    p = sign_flip_test(differences, clusters=clusters, seed=0)
    return {
        cell: round(float(value), 4)
        for cell, value in zip(cells, (more.value, more.low, more.high, p), strict=True)
    }


CURVE = {
    "odmap@1": "ODmAP@1",
    "odmap@5": "ODmAP@5",
    "odmap@10": "ODmAP@10",
    "r@1_image-to-text": "R@1, image to text",
    "r@1_text-to-image": "R@1, text to image",
}


def mean_over(seeds: Sequence[Numbers]) -> Numbers:
    """Each image's mean over seeds."""
    return {name: np.mean([seed[name] for seed in seeds], axis=0) for name in MEASURED}


def write_worth(rows: pl.DataFrame) -> None:
    """What `equiview advise` reads of the ratios of Figure 4."""
    before = rows.filter(arm="before").row(0, named=True)
    found = [
        {
            "audit": "decorrelation",
            "method": f"finetune --ratio {row['ratio']:g}",
            "command": "equiview train finetune SUBJECT --data DATA --synthetic REMOVED "
            f"--ratio {row['ratio']:g} --out DIR",
            "needs": "vectors",
            "system": "an encoder of drawn scenes",
            "bias": "naming what is gone in the first 10, beyond what captions that are alike get",
            "even": 0.0,
            "bias_before": before["excess_naming@10"],
            "bias_after": row["excess_naming@10"],
            "skill": "R@1, image to text",
            "skill_before": before["r@1_image-to-text"],
            "skill_after": row["r@1_image-to-text"],
        }
        for row in rows.iter_rows(named=True)
        if row["arm"].startswith("ratio ")
    ]
    write_bytes(pl.from_dicts(found).write_csv().encode(), WORTH)


if __name__ == "__main__":
    main()
