from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from PIL.Image import Image

from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects import EmbeddingModel, load_subject
from equiview.subjects.chat.choice import Choice
from tests.benchmarks.layouts import picture

COLOURS = {"red": (1.0, 0.0), "green": (0.0, 1.0), "both": (0.7, 0.7)}


class Tiny(EmbeddingModel):
    """Sees red pictures and knows the last word of a text. It remembers what it encodes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.pictures = 0

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        self.pictures += len(images)
        return np.asarray([COLOURS["red"]] * len(images), dtype=np.float32)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.asarray([COLOURS[text.split()[-1].lower()] for text in texts], dtype=np.float32)


@pytest.fixture
def images(tmp_path) -> Items:
    picture(tmp_path / "a.jpg")
    picture(tmp_path / "b.jpg")
    paths = [str(tmp_path / name) for name in ("a.jpg", "b.jpg")]
    return Items("image", pl.DataFrame({"id": ["a", "b"], "path": paths}))


def asked(number: int, *options: str, image: int | None = 0, question: str = "Which?") -> Request:
    return Request(f"{number}:en", "prompt", "en", image, question, options)


def test_the_option_most_similar_to_the_picture_is_chosen(images: Items) -> None:
    choice = Choice(encoder=Tiny())
    replies = choice.ask([asked(0, "green", "both", "red"), asked(1, "both", "green", image=1)], images)
    assert [reply.text for reply in replies] == ["red", "both"]
    assert choice.ties == 0


def test_each_picture_and_text_is_encoded_once(images: Items) -> None:
    tiny = Tiny()
    Choice(encoder=tiny).ask([asked(n, "green", "both", "red", image=n % 2) for n in range(6)], images)
    assert tiny.pictures == 2
    assert sorted(tiny.texts) == ["Which? both", "Which? green", "Which? red"]


def test_the_template_can_be_chosen_and_leaves_what_is_put_in_as_it_is(images: Items) -> None:
    tiny = Tiny()
    choice = Choice(",template=[{question}] is {option}", tiny)
    choice.ask([asked(0, "red", "green", question="{option}?")], images)
    assert sorted(tiny.texts) == ["[{option}?] is green", "[{option}?] is red"]


def test_ties_are_counted_and_not_decided_by_place(images: Items, caplog: pytest.LogCaptureFixture) -> None:
    pairs = [("Red", "RED"), ("RED", "Red"), ("red", "green")]
    choice = Choice(encoder=Tiny())
    replies = choice.ask([asked(number, *pair) for number, pair in enumerate(pairs)], images)
    assert replies[0].text == replies[1].text
    assert choice.ties == 2
    assert "in 2 of 3 answers several options are equally similar" in caplog.text


def test_what_it_cannot_answer_is_said(images: Items) -> None:
    choice = Choice(encoder=Tiny())
    with pytest.raises(InputError, match="request '0:en' has no picture; an encoder chooses"):
        choice.ask([asked(0, "red", image=None)], images)
    with pytest.raises(InputError, match="request '0:en' has no options"):
        choice.ask([asked(0)], images)
    with pytest.raises(InputError, match="there are none"):
        choice.ask([asked(0, "red")])
    assert choice.ask([], images) == []


def test_it_is_named_as_other_subjects_are() -> None:
    choice = load_subject("choice:pictogram:aligned")
    assert choice.name == "choice:pictogram:aligned"
    bare = load_subject("choice:pictogram:aligned,template={option}")
    other = load_subject("choice:pictogram:english")
    assert len({choice.fingerprint, bare.fingerprint, other.fingerprint}) == 3
    assert choice.versions.keys() == {"onnxruntime", "pillow"}


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("", "name an encoder, as in choice:pictogram:aligned"),
        ("pictogram:aligned,template=what?", "must hold {option}"),
        ("pictogram:alined", "pictogram:aligned"),
        ("choice:pictogram:aligned", "is a model that answers; an encoder is needed"),
    ],
)
def test_a_wrong_name_is_said(argument: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        load_subject(f"choice:{argument}")
    assert said in str(error.value)
