"""Train the embedded encoder of scenes and write it as ONNX: `python labs/train_scenes.py`.

Twenty minutes on two idle cores the first time, most of it for the tower that sees. Numbers in the log are
measured on what ships: the 8-bit models and the held-out artist's scenes.
"""

from __future__ import annotations

import json

import numpy as np
import torch
from sklearn.metrics import average_precision_score

from equiview.benchmarks.scenes import SceneOptions, scenes_of
from equiview.subjects import load_subject
from equiview.subjects.encoders.pictogram import BUCKETS
from export import export_scene_tower, export_text_tower
from image_tower import WEIGHTS
from model_card import write_card
from scene_encoder import CAPTIONS, SCENES, scene_encoder
from scene_encoder import STEPS as TEXT_STEPS
from scene_tower import BATCH, STEPS, scene_tower, seen
from scenes import things
from scenes_curve import IMAGES, measured, small_pictures
from sources import ROOT, fetch

MODELS = ROOT / "src" / "equiview" / "subjects" / "encoders" / "pictogram_models"
LOGS = ROOT / "labs" / "logs"
STRENGTH, SEED = 0.8, 0
"""How often things of a pair appear together in the training of the encoder that ships."""


def main() -> None:
    torch.set_num_threads(1)  # where others compute as well, two threads wait for each other
    fetch()
    tower, image_log = scene_tower()
    head, text_tower, text_log = scene_encoder(STRENGTH, SEED)
    sizes = {
        "scenes-image": export_scene_tower(tower, head, MODELS / "scenes-image.onnx"),
        "scenes": export_text_tower(text_tower, MODELS / "scenes.onnx"),
    }
    report = {
        "settings": {
            "strength": STRENGTH,
            "image_scenes": STEPS * BATCH,
            "scenes": SCENES,
            "captions": SCENES * CAPTIONS,
            "text_steps": TEXT_STEPS,
            "seed": SEED,
        },
        "bytes": sizes,
        "scene_mean_average_precision": average_precision(),
        "measured": measured(load_subject("pictogram:scenes"), scenes_of(SceneOptions(images=IMAGES))),
        "logs": {"image": image_log, "text": text_log},
    }
    (LOGS / "scenes.json").write_text(json.dumps(report, indent=1) + "\n")
    encoders = json.loads((LOGS / "encoders.json").read_text())
    write_card(MODELS / "MODEL_CARD.md", encoders, report, buckets=BUCKETS, weights=WEIGHTS)
    print(sizes, report["scene_mean_average_precision"], report["measured"])


def average_precision() -> dict[str, float]:
    """Mean over things of the average precision with which the tower finds the scenes they are in; chance."""
    benchmark = scenes_of(SceneOptions(images=500, gallery=0, strength=0.0))
    images = benchmark.images.take(np.arange(500))
    scores = seen(scene_tower()[0], small_pictures(images)).numpy()
    truth = np.zeros((len(images), len(things())), dtype=bool)
    for row, name in enumerate(images.ids):
        truth[row, benchmark.images.draw.scenes[name].shown] = True  # type: ignore[union-attr]
    by_thing = [average_precision_score(t, s) for t, s in zip(truth.T, scores.T, strict=True)]
    return {"mean": round(float(np.mean(by_thing)), 4), "chance": round(float(truth.mean()), 4)}


if __name__ == "__main__":
    main()
