"""`equiview train connector` as a process: it learns, is killed, goes on, and ends in the same bytes."""

import time
from pathlib import Path

import pytest

from equiview.data.requests import Request
from equiview.subjects import load_subject
from tests.faults.running import typed
from tests.mitigation.connector import models
from tests.processes import COMMAND, start

CONFIG = """
tokens = 2
template = "{image}{prompt} ="
caption_prompt = "see"
question_prompt = "{question}"
forward = 4
save_every = 2
precision = "fp32"
captions = { batch = 8, learning_rate = 1e-2, steps = 30 }
questions = { batch = 4, learning_rate = 1e-3, steps = 6 }
"""
PATIENCE = 1200.0
WRITTEN = [
    "maker.json",
    "connector.json",
    "connector.safetensors",
    "loss.json",
    "figures/loss.json",
    "figures/loss.svg",
]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place = tmp_path_factory.mktemp("training")
    world = models.world(place / "world")
    checkpoint = models.language_model(place / "lm")
    config = place / "config.toml"
    config.write_text(CONFIG)
    return [
        *("train", "connector"),
        *("--encoder", f"embeddings:{world}", "--language-model", str(checkpoint)),
        *("--captions", f"folder:{world}", "--questions", str(world / "questions.jsonl")),
        *("--config", str(config), "--device", "cpu", "--out"),
    ]


@pytest.fixture(scope="module")
def whole(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    done = run([*command, str(folder)])
    assert done.splitlines()[-1] == f"Connector: connector:{folder}"
    return folder


def run(command: list[str]) -> str:
    """What a command prints in this process, which has imported torch; it has to end well."""
    code, output, errors = typed(command)
    assert code == 0, errors
    return output


def refused(command: list[str]) -> str:
    """The one line in which a command is refused."""
    code, _, errors = typed(command)
    assert code == 1, errors
    assert len(errors.strip().splitlines()) == 1, errors
    return errors


def kill_after(command: list[str], sign: Path, place: Path) -> None:
    """Start it with one thread, and kill it with SIGKILL once `sign` is there; it speaks into `place`."""
    process = start(f"import torch; torch.set_num_threads(1); {COMMAND}", command, place)
    end = time.monotonic() + PATIENCE
    while not sign.exists():
        assert process.is_alive(), "it ended before it could be killed"
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.002)
    process.kill()
    process.join()


@pytest.mark.parametrize(
    "sign",
    [".stages/captions/checkpoint-4/whole", ".stages/captions/checkpoint-6", ".stages/captions.safetensors"],
)
def test_a_killed_training_ends_in_the_same_bytes(sign, command, whole, tmp_path):
    killed = tmp_path / "killed"
    kill_after([*command, str(killed)], killed / sign, tmp_path)
    assert not (killed / "connector.safetensors").exists()
    run([*command, str(killed)])
    assert [(killed / name).read_bytes() for name in WRITTEN] == [
        (whole / name).read_bytes() for name in WRITTEN
    ]
    (reply,) = load_subject(f"connector:{killed},device=cpu").ask(
        [Request("q", "which colour?", "en", image=0, max_tokens=3)], models.images()
    )
    assert reply.output_tokens in {1, 2, 3}


def test_mistakes_are_said_in_one_line(command, tmp_path):
    for changes, said in {
        ("--encoder", "hf-caption-not-there"): "no such subject",
        ("--language-model", str(tmp_path / "nowhere")): "no such folder",
        ("--captions", "vqav2x"): "no such benchmark",
        ("--questions", str(tmp_path / "none.jsonl")): "no such file",
    }.items():
        wrong = [*command, str(tmp_path / "out")]
        wrong[wrong.index(changes[0]) + 1] = changes[1]
        assert said.removeprefix("no such ") in refused(wrong)
        assert not (tmp_path / "out").exists()
