"""`connector:DIR`: what it writes is what its language model writes after the soft tokens."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from equiview.benchmarks import load_benchmark
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.mitigation.connector.train import train_connector
from equiview.store import Store, StoredAnswerer, stored_answers
from equiview.subjects import load_subject
from equiview.subjects.chat.soft_tokens import check_template
from tests.mitigation.connector import models


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    torch.set_num_threads(1)


@pytest.fixture(scope="module", params=["llama", "gpt_neox"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A connector that was trained for a moment, between vectors and a random language model."""
    place = tmp_path_factory.mktemp(request.param)
    world = models.world(place / "world")
    checkpoint = models.language_model(place / "lm", request.param)
    return train_connector(
        load_subject(f"embeddings:{world}"),
        str(checkpoint),
        place / "connector",
        questions=models.questions(),
        settings=models.settings(questions={"batch": 4, "learning_rate": 0.05, "steps": 12}),
        device="cpu",
    )


def requests_of(n: int = 24, most: int = 7) -> list[Request]:
    prompts = ("which colour?", "what is it that is to be seen here?", "?")
    return [Request(f"q{row}", prompts[row % 3], "en", image=row, max_tokens=most) for row in range(n)]


def by_hand(subject, request: Request) -> str:
    """Greedy decoding written out: no cache, no filling up, one token at a time."""
    model = subject.language_model
    row = model.row(request.prompt)
    vector = subject.encoder.embed(models.images().take([request.image]))
    unit = torch.tensor(vector / np.linalg.norm(vector))
    with torch.no_grad():
        soft = subject.connector(unit * unit.shape[1] ** 0.5).view(1, 2, -1)
        words = model.model.get_input_embeddings()(torch.tensor([row["input_ids"]]))
        start = row["soft"].index(1)
        whole = torch.cat([words[:, :start], soft, words[:, start + 2 :]], dim=1)
        written: list[int] = []
        while len(written) < request.max_tokens:
            token = int(model.model(inputs_embeds=whole).logits[0, -1].argmax())
            if token == model.tokenizer.eos_token_id:
                break
            written.append(token)
            whole = torch.cat([whole, model.model.get_input_embeddings()(torch.tensor([[token]]))], dim=1)
    return model.tokenizer.decode(written, skip_special_tokens=True).strip()


def test_it_writes_what_decoding_by_hand_gives(folder):
    subject = load_subject(f"connector:{folder},device=cpu")
    requests = requests_of()
    replies = subject.ask(requests, models.images())
    assert [reply.text for reply in replies] == [by_hand(subject, request) for request in requests]
    assert len({reply.text for reply in replies}) > 3
    for request, reply in zip(requests, replies, strict=True):
        assert reply.stopped == ("length" if reply.output_tokens == 7 else "stop") or reply.output_tokens == 7
        assert reply.input_tokens == len(subject.language_model.row(request.prompt)["input_ids"])


def test_it_is_transformers_own_generation(folder):
    subject = load_subject(f"connector:{folder},device=cpu")
    model = subject.language_model
    request = requests_of()[1]
    batch = model.batch([model.row(request.prompt)], side="left")
    unit = subject.encoder.embed(models.images().take([1]))
    soft = subject._soft(unit)
    with torch.no_grad():
        ids = model.model.generate(
            inputs_embeds=model.embedded(batch, soft),
            attention_mask=batch["attention_mask"],
            do_sample=False,
            max_new_tokens=7,
        )
    (reply,) = subject.ask([request], models.images())
    assert reply.text == model.tokenizer.decode(ids[0], skip_special_tokens=True).strip()


@pytest.mark.parametrize("size", [1, 5, 24])
def test_the_size_of_batches_changes_nothing(folder, size):
    usual = load_subject(f"connector:{folder},device=cpu").ask(requests_of(), models.images())
    other = load_subject(f"connector:{folder},device=cpu,batch={size}").ask(requests_of(), models.images())
    assert other == usual


def test_limits_of_tokens_are_kept_request_by_request(folder):
    subject = load_subject(f"connector:{folder},device=cpu")
    short, long = (subject.ask(requests_of(6, most), models.images()) for most in (2, 7))
    mixed = [
        *requests_of(6, 2),
        *(Request(f"{r.id}-long", r.prompt, "en", r.image, max_tokens=7) for r in requests_of(6)),
    ]
    assert subject.ask(mixed, models.images()) == [*short, *long]
    assert all(reply.output_tokens <= 2 for reply in short)


def test_a_model_published_with_sampling_still_decodes_greedily(folder):
    usual = load_subject(f"connector:{folder},device=cpu")
    expected = usual.ask(requests_of(), models.images())
    usual.language_model.model.generation_config.update(
        do_sample=True, temperature=5.0, repetition_penalty=9.0
    )
    assert usual.ask(requests_of(), models.images()) == expected


def test_its_card_says_of_what_it_was_made(folder):
    subject = load_subject(f"connector:{folder},device=cpu")
    made = json.loads((folder / "connector.json").read_text())
    assert subject.parent == made["encoder"]["fingerprint"] == subject.encoder.fingerprint
    assert made["language_model"]["name"] in subject.about
    assert subject.fingerprint == load_subject(f"connector:{folder},device=cpu,batch=3").fingerprint
    assert subject.fingerprint != load_subject(f"connector:{folder},device=cpu,dtype=bfloat16").fingerprint
    assert {"torch", "transformers"} <= set(subject.versions)


def test_the_space_after_training_is_the_mean_of_soft_tokens(folder):
    subject = load_subject(f"connector:{folder},device=cpu")
    space = subject.embed(models.images())
    assert space.shape == (24, 32)
    vector = subject.encoder.embed(models.images().take([3]))[0]
    unit = torch.from_numpy(vector / np.linalg.norm(vector))[None]
    with torch.no_grad():
        soft = subject.connector(unit * 8**0.5).view(2, 32).mean(dim=0).numpy()
    assert np.allclose(space[3], soft, atol=1e-5)


def test_what_changed_since_is_noticed(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    weights = copy / "connector.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match="was changed after it was trained"):
        load_subject(f"connector:{copy}")
    weights.unlink()
    with pytest.raises(InputError, match="its training is not finished"):
        load_subject(f"connector:{copy}")
    other = models.world(tmp_path / "other", n=20)
    with pytest.raises(InputError, match=r"was trained with the encoder .* it is another one"):
        load_subject(f"connector:{folder},encoder=embeddings:{other}")
    elsewhere = models.language_model(tmp_path / "lm", "qwen2")
    subject = load_subject(f"connector:{folder},language_model={elsewhere},device=cpu")
    with pytest.raises(InputError, match=r"was trained with the language model .* it is another one"):
        subject.ask(requests_of(1), models.images())


def test_what_it_cannot_answer_is_said(folder):
    subject = load_subject(f"connector:{folder},device=cpu")
    with pytest.raises(InputError, match="request 'a' has no picture"):
        subject.ask([Request("a", "what?", "en")], models.images())
    with pytest.raises(InputError, match=r"tokens and asks for up to 500 more; the language model reads 128"):
        subject.ask([Request("a", "what?", "en", image=0, max_tokens=500)], models.images())
    with pytest.raises(InputError, match=r"holds no connector \(no connector.json\)"):
        load_subject("connector:/nowhere")
    with pytest.raises(InputError, match="name the folder"):
        load_subject("connector")
    with pytest.raises(InputError, match="an encoder"):
        load_subject(f"connector:{folder},encoder=connector:{folder}")
    assert subject.ask([], None) == []


def test_a_template_holds_an_image_and_then_a_prompt():
    for template in (
        "{prompt}",
        "{image}",
        "{prompt}{image}",
        "{image}{image}{prompt}",
        "{image}{prompt}{prompt}",
    ):
        with pytest.raises(InputError, match="must hold"):
            check_template(template)


def test_a_prompt_may_hold_the_words_of_the_template(folder):
    model = load_subject(f"connector:{folder},device=cpu").language_model
    row = model.row("an {image} of {prompt}?")
    assert sum(row["soft"]) == 2
    assert model.tokenizer.decode(row["input_ids"]).endswith("an {image} of {prompt}? =")


def test_with_a_store_it_writes_the_same_and_keeps_vectors_and_answers(tmp_path: Path) -> None:
    drawings = load_benchmark("pictograms").images.take(range(24))
    place = train_connector(
        load_subject("pictogram:aligned"),
        str(models.language_model(tmp_path / "lm", "llama")),
        tmp_path / "connector",
        questions=replace(models.questions(), images=drawings),
        settings=models.settings(questions={"batch": 4, "learning_rate": 0.05, "steps": 1}),
        device="cpu",
    )
    plain, first, second = (load_subject(f"connector:{place}") for _ in range(3))
    asked = requests_of(4)
    replies = plain.ask(asked, drawings)
    assert stored_answers(first).ask(asked, drawings) == replies
    assert list(Store().contents()["name"]) == ["pictogram:aligned"]
    again = stored_answers(second)
    assert isinstance(again, StoredAnswerer)
    assert again.parent == plain.parent == load_subject("pictogram:aligned").fingerprint
    assert again.ask(asked, drawings) == replies
