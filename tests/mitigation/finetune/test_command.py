"""`equiview train finetune` as a process: it is killed, goes on, and ends in the same bytes."""

from pathlib import Path

import pytest

from equiview.subjects import load_subject
from tests.mitigation.connector.test_command import kill_after, refused, run
from tests.mitigation.finetune import worlds

CONFIG = """
forward = 4
save_every = 2
precision = "fp32"
[vsepp]
batch = 8
learning_rate = 1e-3
epochs = 4.5
"""
WRITTEN = [
    *("maker.json", "finetune.json", "loss.json", "figures/loss.json", "figures/loss.svg"),
    *("model/model_best.pth.tar", "model/vocab.json"),
]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """VSE++, whose dropout draws random numbers, with a last step that is amid an epoch."""
    place = tmp_path_factory.mktemp("training")
    config = place / "config.toml"
    config.write_text(CONFIG)
    return [
        *("train", "finetune", worlds.checkpoint("vsepp", place / "before")),
        *("--data", f"folder:{worlds.world(place / 'd')}"),
        *("--synthetic", str(worlds.removals(place / "made")), "--ratio", "0.5"),
        *("--config", str(config), "--device", "cpu", "--out"),
    ]


@pytest.fixture(scope="module")
def whole(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    done = run([*command, str(folder)])
    assert done.splitlines()[-1] == f"Fine-tuned: finetuned:{folder}"
    return folder


@pytest.mark.parametrize("sign", [".checkpoints/checkpoint-4/whole", ".checkpoints/checkpoint-8"])
def test_a_killed_training_ends_in_the_same_bytes(sign, command, whole, tmp_path):
    killed = tmp_path / "killed"
    kill_after([*command, str(killed)], killed / sign, tmp_path)
    run([*command, str(killed)])
    assert [(killed / name).read_bytes() for name in WRITTEN] == [
        (whole / name).read_bytes() for name in WRITTEN
    ]
    assert load_subject(f"finetuned:{killed},device=cpu").encode_texts(["a dog"]).shape == (1, 8)


def test_mistakes_are_said_in_one_line(command, tmp_path):
    for place, value, said in (
        ("--synthetic", "", "a ratio of 0.5 needs synthetic data; name them with --synthetic"),
        ("--data", "pictograms-quiz", "has no captions of its images"),
        ("--config", str(tmp_path / "none.toml"), "no such file"),
    ):
        wrong = [*command, str(tmp_path / "out")]
        wrong[wrong.index(place) + 1] = value
        assert said in refused(wrong)
        assert not (tmp_path / "out").exists()
