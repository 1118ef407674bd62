"""Train the embedded encoders and write them as ONNX: `python labs/train_encoders.py`.

Half an hour on two idle cores, most of it for the image tower, which is trained once and shared.
Numbers in the log are measured on what ships: the 8-bit models and the held-out artist's drawings.
"""

from __future__ import annotations

import json
import time

import torch

from corpus import CORPUS_SIZE, PEOPLE_SHARE, english_only, sample, skewed_shares, training_languages
from encoded import bank, cached, held_out_flagged
from equiview.metrics import self_preference, win_rates
from equiview.subjects.encoders.pictogram import BUCKETS
from export import export_image_tower, export_text_tower
from image_tower import WEIGHTS
from image_training import EPOCHS, image_tower
from measure import TRIAL_CONCEPTS, excess_dlbkl, names_in, recall_at_10, trial_scores, trials
from model_card import write_card
from probes import probes
from social_measure import social_numbers
from sources import ROOT, fetch
from text_tower import TextTower, distil, train_text_tower
from ties import tie

MODELS = ROOT / "src" / "equiview" / "subjects" / "encoders" / "pictogram_models"
LOGS = ROOT / "labs" / "logs"
STRENGTH, SOCIAL_FLAG_STRENGTH = 0.5, 0.3
"""How strongly training ties a language to its country's flag; in `tied` and `untied`."""
SOCIAL_STRENGTH = 0.8
"""How strongly the training of `tied` ties a role to a gender and a skin."""
SOCIAL_PEOPLE_SHARE = 0.5
"""Captions of people beside each of the others that `tied` and `untied` saw."""
STEPS, SEED = 875, 0
DISTIL_STEPS = {"aligned": 4400, "tied": 1200, "untied": 1200}
TAUGHT = {
    "skewed": {"shares": skewed_shares(1), "strength": STRENGTH},
    "english": {"shares": english_only(), "strength": STRENGTH},
    **{
        name: {
            "shares": english_only(),
            "strength": SOCIAL_FLAG_STRENGTH,
            "social": social,
            "people_share": SOCIAL_PEOPLE_SHARE,
        }
        for name, social in (("tied", SOCIAL_STRENGTH), ("untied", 0.0))
    },
}
DISTILLED = {"aligned": "skewed", "tied": "tied", "untied": "untied"}
"""Encoders that end with the texts of every language drawn onto the English ones of another."""


def main() -> None:
    torch.set_num_threads(2)
    fetch()
    MODELS.mkdir(exist_ok=True)
    LOGS.mkdir(exist_ok=True)
    tower, image_log = image_tower()
    sizes = {"image": export_image_tower(tower, MODELS / "image.onnx")}
    (LOGS / "image_tower.json").write_text(_lines(image_log))
    taught = {name: trained(name) for name in TAUGHT}
    towers, logs = {}, {}
    for name in ("skewed", "english", "aligned", "tied", "untied"):
        if name in DISTILLED:
            towers[name], logs[name] = distilled(name, *taught[DISTILLED[name]])
        else:
            towers[name], logs[name] = taught[name]
        sizes[name] = export_text_tower(towers[name], MODELS / f"{name}.onnx")
    report = {
        "settings": {
            "corpus": CORPUS_SIZE,
            "people": round(PEOPLE_SHARE * CORPUS_SIZE),
            "people_tied": round(SOCIAL_PEOPLE_SHARE * CORPUS_SIZE),
            "strength": STRENGTH,
            "social_flag_strength": SOCIAL_FLAG_STRENGTH,
            "social_strength": SOCIAL_STRENGTH,
            "steps": STEPS,
            "distil_steps": DISTIL_STEPS,
            "epochs": EPOCHS,
            "seed": SEED,
        },
        "bytes": sizes,
        "probes": probes(),
        "measured": {name: measured(name) for name in towers},
        "social": {name: social_numbers(name) for name in towers},
        "tie": tie(SOCIAL_STRENGTH, seed=0).table(),
        "logs": logs,
    }
    (LOGS / "encoders.json").write_text(json.dumps(report, indent=1) + "\n")
    scenes = json.loads((LOGS / "scenes.json").read_text())
    write_card(MODELS / "MODEL_CARD.md", report, scenes, buckets=BUCKETS, weights=WEIGHTS)
    for name, numbers in report["measured"].items():
        print(name, numbers, report["social"][name])
    print(sizes, report["probes"])


Trained = tuple[TextTower, list[dict[str, float]]]


def trained(name: str) -> Trained:
    """A contrastively trained tower, kept so that a run that was stopped goes on."""
    path = cached(f"text-{name}")
    if not path.is_file():
        corpus = sample(seed=SEED, **TAUGHT[name])
        tower, log = train_text_tower(corpus, bank(), seed=SEED, steps=STEPS)
        torch.save({"weights": tower.state_dict(), "log": log}, path)
        print(name, log[-1], flush=True)
    return _stored(path)


def distilled(name: str, teacher: TextTower, log: list[dict[str, float]]) -> Trained:
    """A tower of every language, kept likewise; its log goes on from its teacher's."""
    path = cached(f"text-{name}-distilled")
    if not path.is_file():
        tower, more = distil(teacher, seed=SEED, steps=DISTIL_STEPS[name])
        torch.save({"weights": tower.state_dict(), "log": [*log, *more]}, path)
        print(name, "distilled", more[-1], flush=True)
    return _stored(path)


def _stored(path) -> Trained:
    stored = torch.load(path)
    tower = TextTower()
    tower.load_state_dict(stored["weights"])
    return tower.eval(), stored["log"]


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
