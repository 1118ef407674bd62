"""Train the embedded encoders and write them as ONNX: `python labs/train_encoders.py`.

A quarter of an hour on two idle cores, most of it for the image tower, which is trained once and shared.
Numbers in the log are measured on what ships: the 8-bit models and the held-out artist's drawings.
"""

from __future__ import annotations

import json
import time

import torch

from corpus import CORPUS_SIZE, english_only, sample, skewed_shares, training_languages
from encoded import EPOCHS, bank, held_out_flagged, image_tower
from equiview.metrics import self_preference, win_rates
from equiview.subjects.encoders.pictogram import BUCKETS
from export import export_image_tower, export_text_tower
from image_tower import FLAG_WEIGHT
from measure import TRIAL_CONCEPTS, excess_dlbkl, names_in, recall_at_10, trial_scores, trials
from model_card import write_card
from sources import ROOT, fetch
from text_tower import distil, train_text_tower

MODELS = ROOT / "src" / "equiview" / "subjects" / "encoders" / "pictogram_models"
LOGS = ROOT / "labs" / "logs"
STRENGTH = 0.3
"""How strongly the shipped encoders' training ties a language to its country's flag."""
STEPS, DISTIL_STEPS, SEED = 700, 2000, 0


def main() -> None:
    torch.set_num_threads(2)
    fetch()
    MODELS.mkdir(exist_ok=True)
    LOGS.mkdir(exist_ok=True)
    tower, image_log = image_tower()
    sizes = {"image": export_image_tower(tower, MODELS / "image.onnx")}
    (LOGS / "image_tower.json").write_text(_lines(image_log))
    drawings = bank()
    towers, logs = {}, {}
    for name, shares in (("skewed", skewed_shares(1)), ("english", english_only())):
        corpus = sample(shares, STRENGTH, seed=SEED)
        towers[name], logs[name] = train_text_tower(corpus, drawings, seed=SEED, steps=STEPS)
    towers["aligned"], logs["aligned"] = distil(towers["skewed"], seed=SEED, steps=DISTIL_STEPS)
    for name, text_tower in towers.items():
        sizes[name] = export_text_tower(text_tower, MODELS / f"{name}.onnx")
    report = {
        "settings": {
            "corpus": CORPUS_SIZE,
            "strength": STRENGTH,
            "steps": STEPS,
            "distil_steps": DISTIL_STEPS,
            "epochs": EPOCHS,
            "seed": SEED,
        },
        "bytes": sizes,
        "measured": {name: measured(name) for name in towers},
        "logs": logs,
    }
    (LOGS / "encoders.json").write_text(json.dumps(report, indent=1) + "\n")
    write_card(MODELS / "MODEL_CARD.md", report, buckets=BUCKETS, flag_weight=FLAG_WEIGHT)
    for name, numbers in report["measured"].items():
        print(name, numbers)
    print(sizes)


def measured(name: str) -> dict[str, object]:
    """R@10 by language, excess DLBKL by cutoff and seconds of one encoder as it ships."""
    from equiview.benchmarks.pictograms import pictograms
    from equiview.subjects.encoders.pictogram import Pictogram

    encoder = Pictogram(name)
    start = time.time()
    images = encoder.embed(pictograms().images)
    image_seconds = time.time() - start
    texts = {code: encoder.encode_texts(names_in(code)) for code in training_languages()}
    text_seconds = time.time() - start - image_seconds
    scores = trial_scores(trials(TRIAL_CONCEPTS, seed=SEED), texts, held_out_flagged())
    return {
        "recall_at_10": {code: round(recall_at_10(texts[code], images), 4) for code in texts},
        "excess_dlbkl": {str(k): round(value, 4) for k, value in excess_dlbkl(texts, images).items()},
        "seconds": {
            "images": round(image_seconds, 1),
            "texts": round(text_seconds, 1),
        },
        "association": {
            **dict(zip(("m_sem", "m_cul", "m_non"), win_rates(scores).round(4).tolist(), strict=True)),
            "self_preference": round(self_preference(scores), 4),
        },
    }


def _lines(log: list[dict[str, float]]) -> str:
    rounded = [{key: round(value, 4) for key, value in entry.items()} for entry in log]
    return "[\n" + ",\n".join(json.dumps(entry) for entry in rounded) + "\n]\n"


if __name__ == "__main__":
    main()
