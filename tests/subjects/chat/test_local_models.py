"""Local models that answer and caption, against a direct call of the library's processor and `generate`."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
import transformers as hf

from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects import Answerer, load_subject
from tests.subjects.chat.tiny import ANSWERERS, CAPTIONERS
from tests.subjects.encoders.tiny import build, pictures

QUESTIONS = ["a dog ?", "ein Hund auf dem Sofa ?", "a dog", "the quick brown fox ?", "dog ?"]
TOKENS = 6
Made = Callable[[str], Path]


@pytest.fixture(scope="module", autouse=True)
def quiet_library() -> None:
    hf.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Made:
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = build((CAPTIONERS | ANSWERERS)[name], tmp_path_factory.mktemp(name))
        return made[name]

    return get


@pytest.fixture(scope="module")
def images() -> Items:
    stored = []
    for picture in pictures()[:4]:
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        stored.append(buffer.getvalue())
    return Items("image", pl.DataFrame({"id": list("abcd"), "picture": stored}))


def asked(questions: list[str]) -> list[Request]:
    return [
        Request(f"q{place}", question, "en", image=place % 4, question=question, max_tokens=TOKENS)
        for place, question in enumerate(questions)
    ]


def to_caption() -> list[Request]:
    return [
        Request(name, "Describe it.", "en", image=row, max_tokens=TOKENS) for row, name in enumerate("abcd")
    ]


def texts(subject: Answerer, requests: list[Request], images: Items) -> list[str]:
    return [reply.text for reply in subject.ask(requests, images)]


def upstream(folder: Path, kind: str, images: Items, row: int, text: str | None) -> str:
    """One picture at a time, by the library's own processor."""
    processor: Any = hf.AutoProcessor.from_pretrained(folder, backend="pil")
    model = getattr(hf, kind).from_pretrained(folder).eval()
    (picture,) = images.pictures([row])
    if kind == "GitForCausalLM" and text is not None:
        ids = [
            processor.tokenizer.cls_token_id,
            *processor.tokenizer(text, add_special_tokens=False).input_ids,
        ]
        pixels = processor.image_processor(images=picture, return_tensors="pt").pixel_values
        inputs = {"pixel_values": pixels, "input_ids": torch.tensor([ids])}
    else:
        given = {} if text is None else {"text": text}
        inputs = dict(processor(images=picture, **given, return_tensors="pt"))
    with torch.inference_mode():
        if kind == "ViltForQuestionAnswering":
            return str(model.config.id2label[int(model(**inputs).logits.argmax())])
        ids = model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)[0]
    if text is not None and kind in {"GitForCausalLM", "Blip2ForConditionalGeneration"}:
        ids = ids[inputs["input_ids"].shape[1] :]
    return str(processor.tokenizer.decode(ids, skip_special_tokens=True)).strip()


CAPTION_CLASSES = {
    "blip_caption": "BlipForConditionalGeneration",
    "git": "GitForCausalLM",
    "blip2": "Blip2ForConditionalGeneration",
}
ANSWER_CLASSES = {
    "blip_vqa": "BlipForQuestionAnswering",
    "vilt": "ViltForQuestionAnswering",
    "git": "GitForCausalLM",
    "blip2": "Blip2ForConditionalGeneration",
}


@pytest.mark.parametrize("family", CAPTIONERS)
def test_captions_are_those_of_the_library(checkpoint: Made, images: Items, family: str) -> None:
    subject = load_subject(f"hf-caption:{checkpoint(family)},batch=3")
    expected = [upstream(checkpoint(family), CAPTION_CLASSES[family], images, row, None) for row in range(4)]
    assert texts(subject, to_caption(), images) == expected
    assert len(set(expected)) > 1  # the picture matters


@pytest.mark.parametrize("family", ANSWERERS)
def test_answers_are_those_of_the_library(checkpoint: Made, images: Items, family: str) -> None:
    subject = load_subject(f"hf-vqa:{checkpoint(family)},batch=3")
    form = "Question: {} Answer:" if family == "blip2" else "{}"
    expected = [
        upstream(checkpoint(family), ANSWER_CLASSES[family], images, place % 4, form.format(question))
        for place, question in enumerate(QUESTIONS)
    ]
    assert texts(subject, asked(QUESTIONS), images) == expected
    assert len(set(expected)) > 1


def test_an_answer_does_not_depend_on_what_is_asked_beside_it(checkpoint: Made, images: Items) -> None:
    whole, alone = (load_subject(f"hf-vqa:{checkpoint('blip_vqa')},batch={size}") for size in (5, 1))
    assert texts(whole, asked(QUESTIONS), images) == texts(alone, asked(QUESTIONS), images)


def test_what_decides_the_answers_is_in_the_fingerprint(checkpoint: Made) -> None:
    names = ("", ",batch=2", ",dtype=bfloat16")
    prints = [load_subject(f"hf-vqa:{checkpoint('vilt')}{name}").fingerprint for name in names]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("name", "family", "said"),
    [
        ("hf-caption", "blip_caption", "use hf-vqa"),
        ("hf-vqa", "vilt", "use hf-caption"),
    ],
)
def test_a_request_of_the_other_kind_is_refused(
    checkpoint: Made, images: Items, name: str, family: str, said: str
) -> None:
    requests = asked(QUESTIONS) if name == "hf-caption" else to_caption()
    with pytest.raises(InputError, match=said):
        load_subject(f"{name}:{checkpoint(family)}").ask(requests, images)


def test_a_request_without_a_picture_is_refused(checkpoint: Made) -> None:
    with pytest.raises(InputError, match="about no picture"):
        load_subject(f"hf-caption:{checkpoint('git')}").ask([Request("a", "Describe it.", "en")])


def test_a_checkpoint_of_another_kind_is_refused(checkpoint: Made, images: Items) -> None:
    with pytest.raises(InputError) as error:
        load_subject(f"hf-caption:{checkpoint('vilt')}").ask(to_caption(), images)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("argument", ["", "/nowhere/at/all", "{folder},batch=0", "{folder},side=3"])
def test_what_cannot_be_loaded_is_said(checkpoint: Made, argument: str) -> None:
    with pytest.raises(InputError):
        load_subject(f"hf-vqa:{argument.format(folder=checkpoint('vilt'))}")


def test_a_model_says_no_more_than_it_has_places_for(checkpoint: Made, images: Items) -> None:
    long = [Request(name, "", "en", image=row, max_tokens=500) for row, name in enumerate("abcd")]
    for family in CAPTIONERS:
        subject = load_subject(f"hf-caption:{checkpoint(family)}")
        assert all(len(text.split()) < 500 for text in texts(subject, long, images))
