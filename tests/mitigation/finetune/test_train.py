"""Fine-tuning: it learns, the result is a subject with its parent, and only what should changes."""

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from equiview import api
from equiview.errors import InputError
from equiview.mitigation.finetune.encoders import Dual
from equiview.mitigation.finetune.pairs import load_synthetic, mixed
from equiview.mitigation.finetune.settings import FineTuneSettings
from equiview.mitigation.finetune.train import finetune
from equiview.mitigation.folder import precision_of
from equiview.subjects import load_subject
from tests.mitigation.finetune import worlds
from tests.subjects.encoders import tiny

MOST = {"clip": 40, "siglip": 40, "blip": 40, "vsepp": 40}


def tuned(name: str, folder: Path, out: str = "out", **changes) -> Path:
    return finetune(
        load_subject(name),
        folder / out,
        worlds.pairs(folder / "pictures"),
        settings=worlds.settings(**changes),
        device="cpu",
    )


def losses(out: Path) -> list[float]:
    return [entry["loss"] for entry in json.loads((out / "loss.json").read_text())["fine-tuning"]]


@pytest.mark.parametrize("kind", list(MOST))
def test_each_kind_learns_and_becomes_a_subject_with_its_parent(kind, tmp_path):
    name = worlds.checkpoint(kind, tmp_path / "before")
    parent = load_subject(name)
    recipe = {"batch": 8, "learning_rate": 2e-3, "steps": MOST[kind], "decay": 1.0}
    out = tuned(name, tmp_path, **{worlds.KINDS[kind]: recipe})
    lost = losses(out)
    assert len(lost) == MOST[kind]
    assert np.mean(lost[-5:]) < 0.8 * np.mean(lost[:5]), lost
    subject = load_subject(f"finetuned:{out},device=cpu,batch=4")
    assert subject.parent == parent.fingerprint != subject.fingerprint
    direct = load_subject(f"{worlds.SCHEMES[kind]}:{out / 'model'}")
    pictures = worlds.pairs(tmp_path / "pictures").real.images.pictures(range(4))
    for method, given in (("encode_images", pictures), ("encode_texts", ["a dog", "a sofa"])):
        after = getattr(subject, method)(given)
        np.testing.assert_array_equal(after, getattr(direct, method)(given))
        assert np.abs(after - getattr(parent, method)(given)).max() > 1e-3
    assert not (out / ".checkpoints").exists()
    card = json.loads((out / "finetune.json").read_text())
    assert card["parent"]["name"] == f"{worlds.SCHEMES[kind]}:{tmp_path / 'before'}"
    assert card["pairs"] == {"real": 16}
    assert card["settings"]["steps"] == MOST[kind]
    assert json.loads((out / "figures" / "loss.json").read_text())["mark"] == "lines"


def test_an_embedded_encoder_gets_an_adapter_that_changes_nothing_at_first(tmp_path):
    parent = load_subject("pictogram:aligned")
    texts = ["a dog", "a sofa"]
    pictures = worlds.pairs(tmp_path / "pictures").real.images.pictures(range(4))
    for hidden in (0, 8):
        recipe = {"batch": 8, "learning_rate": 1e-9, "steps": 1, "hidden": hidden}
        still = load_subject(
            f"finetuned:{tuned('pictogram:aligned', tmp_path, f'still{hidden}', adapter=recipe)}"
        )
        assert np.abs(still.encode_texts(texts) - parent.encode_texts(texts)).max() < 1e-5
        assert np.abs(still.encode_images(pictures) - parent.encode_images(pictures)).max() < 1e-5
    recipe = {"batch": 8, "learning_rate": 1e-2, "steps": 30, "hidden": 8}
    out = tuned("pictogram:aligned", tmp_path, adapter=recipe)
    lost = losses(out)
    assert np.mean(lost[-5:]) < 0.6 * np.mean(lost[:5])
    subject = load_subject(f"finetuned:{out}")
    assert subject.parent == parent.fingerprint
    scores = subject.encode_images(pictures) @ subject.encode_texts(worlds.captions(4)).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2, 3]
    moved = load_subject(f"finetuned:{out},encoder=pictogram:aligned")
    assert moved.fingerprint == subject.fingerprint
    with pytest.raises(InputError, match=r"was trained with the encoder 'pictogram:aligned' .* another one"):
        load_subject(f"finetuned:{out},encoder=pictogram:skewed")


def test_the_same_command_gives_the_same_bytes_and_does_nothing_twice(tmp_path):
    name = worlds.checkpoint("clip", tmp_path / "before")
    first, second = (tuned(name, tmp_path, out) for out in ("a", "b"))
    files = [path.relative_to(first) for path in sorted(first.rglob("*")) if path.is_file() and path.suffix]
    assert Path("model/model.safetensors") in files
    assert [(first / file).read_bytes() for file in files] == [(second / file).read_bytes() for file in files]
    times = {file: (first / file).stat().st_mtime_ns for file in files}
    tuned(name, tmp_path, "a")
    assert {file: (first / file).stat().st_mtime_ns for file in files} == times
    with pytest.raises(InputError, match=r"was begun with another recipe\.seed; choose another folder"):
        tuned(name, tmp_path, "a", seed=1)


def test_a_training_that_was_stopped_after_its_last_step_trains_no_more(tmp_path, monkeypatch):
    name = worlds.checkpoint("clip", tmp_path / "before")
    recipe = {
        "batch": 8,
        "learning_rate": 1e-3,
        "steps": 5,
    }  # two steps are an epoch, so the last is amid one

    def stop(self, folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Dual, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            tuned(name, tmp_path, "stopped", dual=recipe)
    first, second = tuned(name, tmp_path, "stopped", dual=recipe), tuned(name, tmp_path, "whole", dual=recipe)
    for file in ("finetune.json", "loss.json", "model/model.safetensors"):
        assert (first / file).read_bytes() == (second / file).read_bytes()


def test_the_rate_falls_by_steps_as_in_the_paper(tmp_path):
    recipe = {"batch": 4, "learning_rate": 1e-3, "epochs": 4, "steps": 0, "decay_epochs": 1.5, "decay": 0.5}
    out = tuned(worlds.checkpoint("clip", tmp_path / "before"), tmp_path, dual=recipe)
    rates = [entry["rate"] for entry in json.loads((out / "loss.json").read_text())["fine-tuning"]]
    assert rates == pytest.approx([1e-3] * 6 + [5e-4] * 6 + [2.5e-4] * 4)


def test_frozen_parameters_stay(tmp_path):
    name = worlds.checkpoint("clip", tmp_path / "before")
    recipe = {"batch": 8, "learning_rate": 1e-2, "steps": 2, "frozen": ["vision_model.", "visual_projection"]}
    out = tuned(name, tmp_path, dual=recipe)
    before, after = (load_file(place / "model.safetensors") for place in (tmp_path / "before", out / "model"))
    still = {name for name in before if torch.equal(before[name], after[name])}
    assert still >= {name for name in before if name.startswith(("vision_model.", "visual_projection"))}
    assert "text_projection.weight" not in still
    for frozen, said in (
        (["visoin"], "no parameter begins with 'visoin'; they begin: .*vision_model"),
        ([""], "nothing is left"),
    ):
        with pytest.raises(InputError, match=said):
            tuned(name, tmp_path, "bad", dual={**recipe, "frozen": frozen})


def test_the_scale_of_clip_stays_below_100(tmp_path):
    subject = load_subject(f"{worlds.checkpoint('clip', tmp_path / 'before')},device=cpu")
    trainee = Dual(subject, worlds.pairs(tmp_path / "pictures"), worlds.settings().recipes["dual"])
    with torch.no_grad():
        trainee.model.logit_scale.fill_(5.0)
    trainee.after_step()
    assert float(trainee.model.logit_scale.exp().detach()) == pytest.approx(100)


def test_half_precision_is_used_when_asked(tmp_path):
    name = worlds.checkpoint("clip", tmp_path / "before")
    lost = {
        precision: losses(tuned(name, tmp_path, precision, precision=precision))
        for precision in ("fp32", "bf16")
    }
    assert lost["fp32"] != lost["bf16"]
    assert lost["fp32"][0] == pytest.approx(lost["bf16"][0], rel=0.05)
    weights = load_file(tmp_path / "bf16" / "model" / "model.safetensors")
    assert {value.dtype for value in weights.values() if value.is_floating_point()} == {torch.float32}
    assert precision_of("auto", torch.device("cpu")) == "fp32"
    with pytest.raises(InputError, match="fp16 needs CUDA"):
        precision_of("fp16", torch.device("cpu"))


def test_synthetic_pairs_are_learnt_from_too(tmp_path):
    real = worlds.pairs(tmp_path / "pictures").real
    pairs = mixed(real, load_synthetic(str(worlds.removals(tmp_path / "made"))), 0.25, 0)
    recipe = {"batch": 4, "learning_rate": 1e-3, "epochs": 1, "steps": 0}
    out = finetune(
        load_subject(worlds.checkpoint("clip", tmp_path / "before")),
        tmp_path / "out",
        pairs,
        settings=worlds.settings(dual=recipe),
        device="cpu",
    )
    card = json.loads((out / "finetune.json").read_text())
    assert card["pairs"] == {"real": 16, "synthetic": 4}
    assert card["data"]["synthetic"]["name"] == str(tmp_path / "made")
    assert len(losses(out)) == 5
    assert "fine-tuned on world and" in load_subject(f"finetuned:{out}").about


def test_runs_before_and_after_are_paired(tmp_path):
    out = tuned("pictogram:aligned", tmp_path)
    benchmark, settings = "scenes:images=40,gallery=40", {"decorrelation": {"replicates": 100}}
    runs = [
        api.audit(name, benchmark, ["decorrelation"], tmp_path / place, settings=settings)
        for place, name in (("before", "pictogram:aligned"), ("after", f"finetuned:{out}"))
    ]
    before, after = (run.manifest.subject for run in runs)
    assert after.parent == before.fingerprint


def test_a_tuned_checkpoint_is_tuned_further_by_its_own_name(tmp_path):
    out = tuned(worlds.checkpoint("clip", tmp_path / "before"), tmp_path)
    with pytest.raises(InputError, match=f"to fine-tune it further, name that: hf:{out}/model$"):
        tuned(f"finetuned:{out},device=cpu", tmp_path, "further")
    assert tuned(f"hf:{out}/model", tmp_path, "further").is_dir()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("colpali", "compares by maxsim; fine-tuning is for encoders with one vector an item"),
        ("embeddings", "is an encoder without a model that makes vectors"),
    ],
)
def test_subjects_that_cannot_be_tuned_are_said(name, said, tmp_path):
    if name == "colpali":
        subject = f"colpali:{tiny.build(tiny.colpali, tmp_path / 'checkpoint')}"
    else:
        np.save(tmp_path / "images.npy", np.ones((1, 2), dtype=np.float32))
        pl.DataFrame({"id": ["a"]}).write_csv(tmp_path / "images.csv")
        subject = f"embeddings:{tmp_path}"
    with pytest.raises(InputError, match=said):
        tuned(subject, tmp_path)


def test_too_few_pairs_and_a_loss_that_is_nan_or_infinite_are_said(tmp_path):
    name = worlds.checkpoint("clip", tmp_path / "before")
    with pytest.raises(
        InputError, match=r"'world': 16 pairs are fewer than a batch of 32; set a smaller 'dual\.batch'"
    ):
        tuned(name, tmp_path, forward=8, dual={"batch": 32})
    with pytest.raises(
        InputError, match=r"the loss is NaN or infinite at step .*; try a lower learning_rate"
    ):
        tuned(
            name, tmp_path, "far", dual={"batch": 8, "learning_rate": 10.0, "weight_decay": 1e30, "steps": 5}
        )


def test_an_unfinished_or_changed_folder_is_no_subject(tmp_path):
    out = tuned("pictogram:aligned", tmp_path)
    heads = out / "model" / "heads.safetensors"
    heads.write_bytes(heads.read_bytes() + b" ")
    with pytest.raises(InputError, match="model: was changed after it was trained"):
        load_subject(f"finetuned:{out}")
    card = json.loads((out / "finetune.json").read_text())
    (out / "finetune.json").write_text(json.dumps(card | {"weights": ""}))
    with pytest.raises(InputError, match="its training is not finished; train it again"):
        load_subject(f"finetuned:{out}")
    with pytest.raises(InputError, match="holds no fine-tuned encoder"):
        load_subject(f"finetuned:{tmp_path}")
    with pytest.raises(InputError, match="name the folder"):
        load_subject("finetuned:")


def test_the_defaults_are_the_papers():
    usual = FineTuneSettings().recipes
    stated = {
        kind: (recipe.batch, recipe.learning_rate, recipe.epochs, recipe.decay_epochs, recipe.decay)
        for kind, recipe in usual.items()
    }
    assert stated.pop("adapter") == (256, 1e-3, 10, 2, 0.5)  # ours
    assert stated == {
        "dual": (256, 2e-6, 10, 2, 0.5),
        "vsepp": (256, 1e-4, 10, 2, 0.5),
        "blip": (16, 1e-5, 2, 0.5, 0.5),
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[dual]\nbatch = 20\nforward = 3", r"table \[dual\], setting forward"),
        ("forward = 8\n[dual]\nbatch = 20", "setting dual.batch: 20 is no multiple of forward, 8"),
        ("precision = 'fp8'", "setting precision"),
        ("[vsepp]\nmargin = 0", r"table \[vsepp\], setting margin"),
        ("[dual]\nrate = 1e-5", r"table \[dual\], 'rate' is named 'learning_rate' now"),
        ("[blip]\nevery = 1", r"table \[blip\], 'every' is named 'decay_epochs' now"),
        ("[vsepp]\nclip = 1", r"table \[vsepp\], 'clip' is named 'max_grad_norm' now"),
        ("speed = 1", "setting speed"),
        ("dual = 1", r"table \[dual\]"),
    ],
)
def test_settings_that_are_wrong_are_named(content, said):
    with pytest.raises(InputError, match=said):
        FineTuneSettings.of(tomllib.loads(content))


def test_the_page_shows_the_defaults():
    page = (Path(__file__).parents[3] / "docs" / "mitigation" / "finetune.md").read_text()
    shown = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    assert set(shown) == set(FineTuneSettings().model_dump())
    assert FineTuneSettings.of(shown) == FineTuneSettings()
