"""Training a connector: what a step does, that only the connector learns, and that a kill changes nothing."""

import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.mitigation.connector.settings import ConnectorSettings
from equiview.mitigation.connector.stage import Data, Trainee, train_stage
from equiview.mitigation.connector.train import train_connector
from equiview.subjects import load_subject
from equiview.subjects.chat.soft_tokens import LanguageModel, new_connector, soft_tokens
from equiview.subjects.encoders.checkpoint import Checkpoint
from tests.mitigation.connector import models

CPU = torch.device("cpu")


def loaded(folder: Path, *, tokens: int = 2, template: str = "{image}{prompt} =") -> LanguageModel:
    return LanguageModel.load(Checkpoint.find(str(folder), "test"), CPU, torch.float32, template, tokens)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.language_model(tmp_path_factory.mktemp("llama"))


def data_of(model: LanguageModel, n: int = 8) -> Data:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    answers = ["red", "a long green answer", "blue", "grey " * 5] * (n // 4)
    return Data(vectors, np.arange(n), [model.row("which colour?", answer) for answer in answers])


def connector_of(model: LanguageModel):
    torch.manual_seed(3)
    return new_connector(8, model.hidden, model.tokens)


def plain_step(model: LanguageModel, connector, data: Data, rate: float) -> float:
    """One step written out: a loss for each example alone, its mean over all tokens learnt, AdamW once."""
    total, count = torch.zeros(()), 0
    for place, row in enumerate(data.rows):
        words = model.model.get_input_embeddings()(torch.tensor([row["input_ids"]]))
        soft = connector(torch.from_numpy(data.vectors[place : place + 1]) * math.sqrt(8)).view(1, 2, -1)
        start = row["soft"].index(1)
        whole = torch.cat([words[:, :start], soft, words[:, start + 2 :]], dim=1)
        scores = model.model(inputs_embeds=whole).logits[0]
        learnt = [at for at, label in enumerate(row["labels"]) if label >= 0]
        for at in learnt:
            total = total - torch.log_softmax(scores[at - 1], dim=0)[row["input_ids"][at]]
        count += len(learnt)
    optimiser = torch.optim.AdamW(connector.parameters(), lr=rate, weight_decay=0.0)
    loss = total / count
    loss.backward()
    torch.nn.utils.clip_grad_norm_(connector.parameters(), 1.0)
    optimiser.step()
    return float(loss.detach())


@pytest.mark.parametrize("forward", [8, 2])
@pytest.mark.parametrize("kind", list(models.KINDS))
def test_a_step_is_that_of_a_plain_loop(kind, forward, tmp_path):
    model = loaded(models.language_model(tmp_path / kind, kind))
    data = data_of(model)
    settings = models.settings(
        forward=forward,
        warmup=0.0,
        schedule="constant",
        captions={"batch": 8, "learning_rate": 1e-3, "steps": 1, "epochs": 1.0},
    )
    ours, plain = connector_of(model), connector_of(model)
    log = train_stage("captions", ours, model, data, tmp_path / "work", settings, lambda *_: None)
    loss = plain_step(model, plain, data, 1e-3)
    assert [entry["step"] for entry in log] == [1]
    assert log[0]["loss"] == pytest.approx(loss, rel=1e-4)
    before = connector_of(model).state_dict()
    for name, weights in plain.state_dict().items():
        moved = weights - before[name]
        assert moved.abs().max() > 5e-4
        # AdamW's first step is the rate times the gradient's sign, save where the gradient is nearly none.
        assert (
            torch.allclose(ours.state_dict()[name], weights, atol=2e-5)
            or ((ours.state_dict()[name] - weights).abs() < 2e-5).float().mean() > 0.999
        )


def test_gradients_reach_the_connector_alone(checkpoint):
    model = loaded(checkpoint)
    data = data_of(model)
    trainee = Trainee(connector_of(model), model)
    batch = model.batch(data.rows)
    trainee(torch.from_numpy(data.vectors), **batch)["loss"].backward()
    names = [name for name, _ in trainee.named_parameters()]
    assert names == ["connector.0.weight", "connector.0.bias", "connector.2.weight", "connector.2.bias"]
    assert all(weights.grad.abs().sum() > 0 for weights in trainee.parameters())
    assert all(weights.grad is None and not weights.requires_grad for weights in model.model.parameters())
    assert set(trainee.state_dict()) == set(names)
    assert not model.model.training


def test_prompt_soft_tokens_and_filler_are_not_learnt(checkpoint):
    model = loaded(checkpoint, template="so {image} {prompt} =")
    short, long = model.row("which?", "red"), model.row("which colour is it?", "a long green answer")
    words = model.tokenizer
    assert words.decode(short["input_ids"][0]) == "<s>"
    assert sum(short["soft"]) == 2
    learnt = [label for label in short["labels"] if label >= 0]
    assert words.decode(learnt) == " red<|endoftext|>"
    read = [token for token, soft, label in zip(*map(short.get, ("input_ids", "soft", "labels")), strict=True)
            if not soft and label < 0]  # fmt: skip
    assert words.decode(read) == "<s>so  which? ="
    for side in ("left", "right"):
        batch = model.batch([short, long], side)
        gap = len(long["input_ids"]) - len(short["input_ids"])
        filler = slice(0, gap) if side == "left" else slice(-gap, None)
        assert gap > 0
        assert batch["attention_mask"][0, filler].sum() == 0
        assert (batch["labels"][0, filler] == -100).all()
        assert batch["soft"][0, filler].sum() == 0


def test_filling_up_and_batches_change_no_loss(checkpoint):
    model = loaded(checkpoint)
    data = data_of(model, 4)
    with torch.no_grad():
        soft = soft_tokens(connector_of(model), torch.from_numpy(data.vectors), 2)
    counts = [sum(label >= 0 for label in row["labels"]) for row in data.rows]
    together = model.loss(model.batch(data.rows), soft) * sum(counts)
    alone = [
        model.loss(model.batch([row]), soft[place : place + 1]) * counts[place]
        for place, row in enumerate(data.rows)
    ]
    assert float(together) == pytest.approx(float(sum(alone)), rel=1e-5)


def trained(out: Path, checkpoint: Path, folder: Path, **changes) -> Path:
    encoder = load_subject(f"embeddings:{folder}")
    return train_connector(
        encoder,
        str(checkpoint),
        out,
        captions=models.captions(),
        questions=models.questions(),
        settings=models.settings(**changes),
        device="cpu",
    )


def test_it_learns_and_says_of_what_it_is_made(tmp_path):
    checkpoint = models.taught(tmp_path / "taught")
    folder = models.world(tmp_path / "world")
    seen = []
    encoder = load_subject(f"embeddings:{folder}")
    out = train_connector(
        encoder,
        str(checkpoint),
        tmp_path / "out",
        captions=models.captions(),
        settings=models.settings(captions={"batch": 8, "learning_rate": 3e-2, "steps": 150}),
        device="cpu",
        progress=lambda label, done, total: seen.append((label, done, total)),
    )
    losses = json.loads((out / "loss.json").read_text())["captions"]
    assert [entry["step"] for entry in losses] == list(range(1, 151))
    assert losses[-1]["loss"] < losses[0]["loss"] / 3
    assert ("training on captions", 150, 150) in seen
    assert json.loads((out / "figures" / "loss.json").read_text())["mark"] == "lines"
    card = json.loads((out / "connector.json").read_text())
    assert card["encoder"]["fingerprint"] == encoder.fingerprint
    assert card["language_model"]["name"] == str(checkpoint)
    assert card["settings"]["captions"]["steps"] == 150
    assert {"torch", "transformers", "accelerate"} <= set(card["versions"])
    assert set(load_file(out / "connector.safetensors")) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert list((out / ".stages").glob("*/checkpoint-*")) == []
    subject = load_subject(f"connector:{out},device=cpu")
    assert subject.parent == encoder.fingerprint
    requests = [Request(f"r{row}", "see", "en", image=row, max_tokens=12) for row in range(24)]
    said = [reply.text for reply in subject.ask(requests, models.images())]
    assert np.mean([said[row] == models.SAID[row % 4] for row in range(24)]) > 0.9, said


def test_training_again_gives_the_same_bytes_and_does_nothing_twice(tmp_path, checkpoint):
    folder = models.world(tmp_path / "world")
    first, second = (trained(tmp_path / name, checkpoint, folder) for name in ("a", "b"))
    files = ["connector.json", "connector.safetensors", "loss.json", "figures/loss.json"]
    assert [(first / name).read_bytes() for name in files] == [(second / name).read_bytes() for name in files]
    times = {name: (first / name).stat().st_mtime_ns for name in files}
    trained(first, checkpoint, folder)
    assert {name: (first / name).stat().st_mtime_ns for name in files} == times


def test_the_second_stage_begins_with_the_weights_of_the_first(tmp_path, checkpoint):
    folder = models.world(tmp_path / "world")
    both = trained(
        tmp_path / "both", checkpoint, folder, questions={"batch": 4, "learning_rate": 1e-12, "steps": 1}
    )
    after_captions = load_file(both / ".stages" / "captions.safetensors")
    after_both = load_file(both / "connector.safetensors")
    assert all(torch.allclose(after_captions[name], after_both[name], atol=1e-7) for name in after_both)


def test_half_precision_is_used_when_asked(tmp_path, checkpoint):
    folder = models.world(tmp_path / "world")
    losses = {}
    for precision in ("fp32", "bf16"):
        out = trained(tmp_path / precision, checkpoint, folder, precision=precision)
        losses[precision] = json.loads((out / "loss.json").read_text())["captions"]
    first, last = ([losses[name][place]["loss"] for name in losses] for place in (0, -1))
    assert first[0] != first[1]
    assert first[0] == pytest.approx(first[1], rel=0.02)
    assert last[0] == pytest.approx(last[1], rel=0.1)
    assert {weights.dtype for weights in load_file(tmp_path / "bf16" / "connector.safetensors").values()} == {
        torch.float32
    }


def test_a_folder_of_another_training_is_left_alone(tmp_path, checkpoint):
    folder = models.world(tmp_path / "world")
    out = trained(tmp_path / "out", checkpoint, folder)
    with pytest.raises(InputError, match=r"was begun with another recipe\.seed; choose another folder"):
        trained(out, checkpoint, folder, seed=1)


def test_a_loss_that_is_nan_or_infinite_stops_training(tmp_path, checkpoint):
    folder = models.world(tmp_path / "world")
    with pytest.raises(
        InputError, match=r"the loss is NaN or infinite at step .*; try a lower learning_rate"
    ):
        trained(
            tmp_path / "out",
            checkpoint,
            folder,
            max_grad_norm=1e30,
            weight_decay=1e30,
            captions={"batch": 8, "learning_rate": 10.0, "steps": 8},
        )


def test_nothing_to_learn_from_is_an_error(tmp_path, checkpoint):
    folder = models.world(tmp_path / "world")
    with pytest.raises(InputError, match="captions, questions or both"):
        train_connector(load_subject(f"embeddings:{folder}"), str(checkpoint), tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match=r"captions, example \d+: its prompt alone is longer than 8 tokens"):
        trained(
            tmp_path / "long",
            checkpoint,
            folder,
            max_length=8,
            template="a very long beginning {image}{prompt}",
        )


def test_the_page_shows_the_defaults():
    page = (Path(__file__).parents[3] / "docs" / "mitigation" / "connector.md").read_text()
    shown = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    assert {*shown, "template"} == set(ConnectorSettings.model_fields)
    assert ConnectorSettings.of(shown) == ConnectorSettings()


def test_settings_are_those_of_the_recipe_unless_given():
    usual = ConnectorSettings()
    assert (
        usual.captions.batch,
        usual.captions.learning_rate,
        usual.questions.batch,
        usual.questions.learning_rate,
    ) == (
        256,
        1e-3,
        128,
        2e-5,
    )
    mine = ConnectorSettings.of({"tokens": 4, "questions": {"learning_rate": 1e-4}})
    assert (mine.tokens, mine.questions.learning_rate, mine.questions.batch) == (4, 1e-4, 128)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("tokens = 0", "setting tokens"),
        ("speed = 3", "setting speed"),
        ("clip = 1.0", "'clip' is named 'max_grad_norm' now"),
        ("[captions]\nrate = 1e-3", "setting captions: 'rate' is named 'learning_rate' now"),
        ("[captions]\nbatch = 20", "setting captions.batch: 20 is no multiple of forward, 16"),
        ('template = "{prompt}"', r"must hold \{image\} once"),
        ('question_prompt = "Well?"', r"setting question_prompt: must hold \{question\} once"),
    ],
)
def test_settings_that_are_wrong_are_named(content, said):
    with pytest.raises(InputError, match=said):
        ConnectorSettings.of(tomllib.loads(content))
