"""Kinds of fine-tuning: which takes an encoder, one in a package of another, and folders of version 0.1."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from equiview.errors import InputError
from equiview.mitigation.finetune.kinds import KINDS, kind_of
from equiview.subjects import load_subject
from tests import processes
from tests.mitigation.finetune import worlds
from tests.mitigation.finetune.test_train import tuned

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "tests" / "plugin" / "offset"
OLD_NAMES = {"learning_rate": "rate", "decay_epochs": "every", "max_grad_norm": "clip"}


@pytest.mark.parametrize(("model", "kind"), [*worlds.KINDS.items(), ("pictogram", "adapter")])
def test_each_encoder_has_its_kind(model, kind, tmp_path):
    name = "pictogram:aligned" if model == "pictogram" else worlds.checkpoint(model, tmp_path)
    subject = load_subject(name)
    assert kind_of(subject) == kind
    assert kind_of(subject, "adapter") == "adapter"
    assert set(KINDS.all()) == {"adapter", "blip", "dual", "vsepp"}


def test_a_kind_that_does_not_take_the_encoder_is_refused():
    subject = load_subject("pictogram:aligned")
    with pytest.raises(InputError, match="'kind': dual does not take 'pictogram:aligned'; adapter does"):
        kind_of(subject, "dual")
    with pytest.raises(InputError, match="no kind of fine-tuning is named 'duel'; did you mean 'dual'"):
        kind_of(subject, "duel")


def test_an_adapter_learns_over_a_whole_checkpoint_where_it_is_asked_for(tmp_path):
    name = worlds.checkpoint("clip", tmp_path / "before")
    out = tuned(name, tmp_path, kind="adapter")
    assert sorted(path.name for path in (out / "model").iterdir()) == ["heads.safetensors"]
    assert load_subject(f"finetuned:{out}").encode_texts(["a dog"]).shape == (1, 16)


@pytest.mark.parametrize("name", ["vsepp", "pictogram:aligned"])
def test_a_folder_of_version_0_1_is_still_a_subject(name, tmp_path):
    before = name if ":" in name else worlds.checkpoint(name, tmp_path / "before")
    out = tuned(before, tmp_path)
    now = load_subject(f"finetuned:{out}")
    card = json.loads((out / "finetune.json").read_text())
    card["settings"] = {OLD_NAMES.get(key, key): value for key, value in card["settings"].items()}
    del card["scheme"]
    (out / "finetune.json").write_text(json.dumps(card))
    (out / "maker.json").unlink()
    then = load_subject(f"finetuned:{out}")
    assert (then.fingerprint, then.parent, then.about) == (now.fingerprint, now.parent, now.about)


@pytest.fixture(scope="module")
def equiview(tmp_path_factory: pytest.TempPathFactory):
    """The command line beside the package, entry points included."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(PACKAGE)], check=True, capture_output=True)
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    return partial(processes.equiview, PYTHONPATH=path, EQUIVIEW_CACHE=str(site / "cache"))


def test_a_package_brings_a_kind_of_its_own(equiview, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("forward = 4\n[offset]\nsteps = 30\ntemperature = 0.1\n")
    words = ["train", "finetune", "pictogram:aligned", "--data", f"folder:{worlds.world(tmp_path / 'd')}"]
    out = tmp_path / "out"
    done = equiview(*words, "--config", str(config), "--device", "cpu", "--out", str(out))
    assert done.returncode == 0, done.stderr
    card = json.loads((out / "finetune.json").read_text())
    assert (card["kind"], card["scheme"], card["settings"]["temperature"]) == ("offset", "offset", 0.1)
    losses = [step["loss"] for step in json.loads((out / "loss.json").read_text())["fine-tuning"]]
    assert len(losses) == 30
    assert losses[-1] < losses[0]
    done = equiview(
        "audit", f"finetuned:{out}", "--benchmark", f"folder:{tmp_path / 'd'}", "--audit", "individual",
        "--out", str(tmp_path / "run"), "--dry-run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_page_shows_that_package():
    page = (ROOT / "docs" / "mitigation" / "finetune.md").read_text()
    for file in PACKAGE.glob("*.py"):
        assert f'```python title="{file.name}"\n{file.read_text()}```\n' in page
    points = (PACKAGE / "pyproject.toml").read_text().split("\n\n")
    assert all(part in page for part in points if part.startswith("[project.entry-points"))
