"""`equiview mitigate distill` as a process: it is killed, goes on, and ends in the same bytes."""

from pathlib import Path

import pytest

from equiview.subjects import load_subject
from tests.mitigation.connector.test_command import kill_after, refused, run
from tests.mitigation.distill import worlds
from tests.subjects.encoders import tiny

CONFIG = """
forward = 4
save_every = 2
precision = "fp32"
[model]
batch = 8
learning_rate = 1e-3
epochs = 4.5
"""
WRITTEN = [
    *("maker.json", "distill.json", "held-out.json", "loss.json", "figures/loss.json", "figures/loss.svg"),
    *("model/model.safetensors", "model/student.safetensors", "model/tokenizer.json", "model/config.json"),
]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """XLM-R, whose dropout draws random numbers, with a last step that is amid an epoch."""
    place = tmp_path_factory.mktemp("teaching")
    (place / "config.toml").write_text(CONFIG)
    return [
        *("mitigate", "distill", "pictogram:english"),
        *("--student", str(tiny.build(worlds.xlmr, place / "student"))),
        *("--benchmark", worlds.world(place / "world"), "--parallel", worlds.files(place / "files")),
        *("--config", str(place / "config.toml"), "--device", "cpu", "--out"),
    ]


@pytest.fixture(scope="module")
def whole(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    said = run([*command, str(folder)])
    assert f"Subject: distilled:{folder}" in said
    assert f"--benchmark held-out:{folder} --audit parity" in " ".join(said.split())
    return folder


def test_a_killed_training_ends_in_the_same_bytes(command, whole, tmp_path):
    killed = tmp_path / "killed"
    kill_after([*command, str(killed)], killed / ".checkpoints" / "checkpoint-4" / "whole", tmp_path)
    run([*command, str(killed)])
    for name in WRITTEN:
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert load_subject(f"distilled:{killed},device=cpu").student.encode_texts(["a dog"]).shape == (1, 120)


def test_mistakes_are_said_in_one_line(command, tmp_path):
    for place, value, said in (
        ("--parallel", "en=none,de=none", "none: no such file"),
        ("--student", str(tmp_path), "has no weights"),
        ("--config", str(tmp_path / "none.toml"), "no such file"),
    ):
        wrong = [*command, str(tmp_path / "out")]
        wrong[wrong.index(place) + 1] = value
        assert said in refused(wrong)
        assert not (tmp_path / "out").exists()
