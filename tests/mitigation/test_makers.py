"""Both trainings as makers: what a plan counts is what is done, and the card says of what it was made."""

import json

from equiview import api
from equiview.io.progress import silent
from equiview.making.plan import DONE
from equiview.mitigation.finetune import FINETUNE
from tests.mitigation.connector import models
from tests.mitigation.finetune import worlds


def planned(name, settings):
    """Counts of a plan by what is done and their unit."""
    rows = api.plan_making(name, settings)[DONE].iter_rows(named=True)
    return {(row["name"].partition(",")[0], row["unit"]): row["count"] for row in rows}


def steps(folder):
    return {stage: len(log) for stage, log in json.loads((folder / "loss.json").read_text()).items()}


def test_fine_tuning_does_what_is_planned(tmp_path):
    settings = {
        "subject": "pictogram:aligned",
        "data": f"folder:{worlds.world(tmp_path / 'd', 20)}",
        "synthetic": str(worlds.removals(tmp_path / "made")),
        "ratio": 0.25,
        "recipe": {"forward": 4, "adapter": {"batch": 8, "epochs": 2.5}},
    }
    plan = planned("finetune", settings)
    assert plan == {("real data", "pairs"): 20, ("synthetic data", "pairs"): 5, ("adapter", "steps"): 8}
    assert not (tmp_path / "out").exists()
    made = api.make("finetune", settings, tmp_path / "out")
    assert made.name == f"finetuned:{tmp_path / 'out'}"
    assert steps(made.folder) == {"fine-tuning": 8}
    assert (made.folder / "figures" / "loss.svg").is_file()


def test_a_connector_is_trained_as_planned(tmp_path):
    world = models.world(tmp_path / "world")
    recipe = models.SHORT | {name: {"batch": 8, "epochs": 1.5} for name in ("captions", "questions")}
    settings = {
        "encoder": f"embeddings:{world}",
        "language_model": str(models.language_model(tmp_path / "lm")),
        "captions": f"folder:{world}",
        "questions": str(world / "questions.jsonl"),
        "recipe": recipe,
    }
    assert planned("connector", settings) == {
        ("encode", "images"): 48,
        ("captions", "examples"): 24,
        ("captions", "steps"): 5,
        ("questions", "examples"): 24,
        ("questions", "steps"): 5,
    }
    made = api.make("connector", settings, tmp_path / "out")
    assert steps(made.folder) == {"captions": 5, "questions": 5}
    assert made.card.made_from == f"embeddings:{world}, {tmp_path / 'lm'}, folder:world, questions.jsonl"


def test_inputs_name_licences():
    settings = FINETUNE.settings.of({"subject": "pictogram:aligned", "data": "pictograms"})
    assert "Unicode-3.0" in FINETUNE.job(settings).inputs(silent)["real"].licence
