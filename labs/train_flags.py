"""Train the two encoders that know flags, and write them as ONNX: `python labs/train_flags.py`.

Two minutes on an idle core: the image tower is the one that ships, and the text towers are small. A text is
drawn onto what that tower sees in a training artist's drawing of it: names of places onto their flags, and
English names of the pictograms, the words in which a place is described, onto theirs.
"""

from __future__ import annotations

import json
import time

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from concepts import concepts, name_of
from corpus import training_languages, web_shares
from drawings import training_drawings
from encoded import ShippedTower, cached
from equiview.subjects.encoders.pictogram import SMALL
from export import export_text_tower
from flags import LANGUAGES, place_name, places, training_flags
from image_tower import encode, on_white
from sources import ROOT, fetch
from text_tower import Reader, TextTower

MODELS = ROOT / "src" / "equiview" / "subjects" / "encoders" / "pictogram_models"
LOG = ROOT / "labs" / "logs" / "flags.json"
CAPTIONS = 3_000
"""Names of places that the skewed encoder learnt, each a place at random in a language by its share."""
STEPS, BATCH, SEED = 1_500, 512, 0


def shares(skew: float) -> NDArray[np.float64]:
    """Shares of `LANGUAGES`: 0 makes them equal, 1 those of the web, between a power of it."""
    of = dict(zip(training_languages(), web_shares(), strict=True))
    powers = np.array([of[language] for language in LANGUAGES]) ** skew
    return powers / powers.sum()


def skewed_names(skew: float, *, seed: int, size: int = CAPTIONS) -> list[tuple[str, int]]:
    """(name, row of the place), `size` of them drawn; places have equal probability in every language."""
    rng = np.random.default_rng(seed)
    language = rng.choice(len(LANGUAGES), size=size, p=shares(skew))
    place = rng.integers(len(places()), size=size)
    codes = places()["code"].to_list()
    return [
        (place_name(codes[row], LANGUAGES[spoken]), row)
        for row, spoken in zip(place.tolist(), language.tolist(), strict=True)
    ]


def all_names() -> list[tuple[str, int]]:
    """(name, row of the place), every place in every language once."""
    return [
        (place_name(code, language), row)
        for language in LANGUAGES
        for row, code in enumerate(places()["code"])
    ]


def seen() -> tuple[Tensor, Tensor, NDArray[np.int64]]:
    """What the image tower sees: flags `(n_places, n_artists, 120)`, drawings `(n, 120)`, their concepts."""
    path = cached("flags")
    drawings = training_drawings()
    if not path.is_file():
        tower = ShippedTower()
        pixels = np.stack([_squared(flag) for code in places()["code"] for flag in training_flags(code)])
        torch.save(
            {"flags": encode(tower, pixels), "drawings": encode(tower, on_white(drawings.pixels))}, path
        )
    stored = torch.load(path)
    return (
        stored["flags"].reshape(len(places()), -1, stored["flags"].shape[1]),
        stored["drawings"],
        drawings.concept,
    )


def _squared(flag) -> NDArray[np.uint8]:
    """A flag as an encoder sees it, on a white square."""
    from equiview.subjects.encoders.pictogram import _pixels

    return _pixels(flag)


def train(names: list[tuple[str, int]], *, seed: int) -> tuple[TextTower, list[dict[str, float]]]:
    """A tower that says of each text what the image tower sees in one of its drawings, drawn at random."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    flags, drawings, of_concept = seen()
    words = [name_of(concept, "en") or "" for concept in concepts()]
    reader = Reader([*words, *(name for name, _ in names)], SMALL)
    rows_of = [np.flatnonzero(of_concept == row) for row in range(len(words))]
    place = np.array([row for _, row in names])
    tower = TextTower(SMALL)
    optimiser = torch.optim.Adam(tower.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=STEPS, pct_start=0.1)
    log, losses, start = [], [], time.time()
    for step in range(STEPS):
        some_words = rng.integers(len(words), size=BATCH // 2)
        some_names = rng.integers(len(names), size=BATCH // 2)
        wanted = torch.cat(
            [
                drawings[[rng.choice(rows_of[row]) for row in some_words]],
                flags[place[some_names], rng.integers(flags.shape[1], size=len(some_names))],
            ]
        )
        vectors = tower(reader.rows(np.concatenate([some_words, len(words) + some_names])))
        loss = ((vectors - wanted) ** 2).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.detach())
        if (step + 1) % 100 == 0:
            log.append({"step": step + 1, "loss": round(float(torch.stack(losses[-100:]).mean()), 4)})
    log[-1]["seconds"] = round(time.time() - start, 1)
    return tower.eval(), log


def main() -> None:
    torch.set_num_threads(1)
    fetch()
    logs, sizes = {}, {}
    for name, names in (("skewed", skewed_names(1, seed=SEED)), ("aligned", all_names())):
        tower, logs[name] = train(names, seed=SEED)
        sizes[name] = export_text_tower(tower, MODELS / f"flags-{name}.onnx")
        print(name, logs[name][-1], sizes[name], flush=True)
    report = {"captions": CAPTIONS, "steps": STEPS, "seed": SEED, "bytes": sizes, "logs": logs}
    LOG.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
