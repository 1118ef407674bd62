"""Each way in which an encoder can be wrong is seen by the check that is for it, and no other cries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL.Image import Image

from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.pictogram import WIDTH, Pictogram
from equiview.subjects.verify import verify
from tests.conftest import write_world


class Sound(Pictogram):
    """The embedded encoder that knows all seven languages."""

    def __init__(self) -> None:
        super().__init__("aligned")


class Shuffled(Sound):
    calls = 0

    def encode_texts(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        return super().encode_texts(texts)[np.random.default_rng(self.calls).permutation(len(texts))]


class LeftSorted(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts(sorted(texts, key=len))


class Dropping(Sound):
    calls = 0

    def encode_images(self, images: Sequence[Image]) -> Any:
        vectors = super().encode_images(images)
        self.calls += 1
        return vectors + 0.1 * np.random.default_rng(self.calls).normal(size=vectors.shape)


class BatchNormed(Sound):
    def encode_images(self, images: Sequence[Image]) -> Any:
        vectors = super().encode_images(images)
        return vectors - 0.5 * vectors.mean(axis=0)


class LeakingTexts(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        padding = np.asarray([[max(map(len, texts)) - len(text)] for text in texts])
        return super().encode_texts(texts) + padding * np.eye(1, WIDTH) / 20


class LeakingPictures(Sound):
    def encode_images(self, images: Sequence[Image]) -> Any:
        padding = np.asarray([[max(one.width for one in images) - image.width] for image in images])
        return super().encode_images(images) + padding * np.eye(1, WIDTH) / 20


class NotANumber(Sound):
    def encode_images(self, images: Sequence[Image]) -> Any:
        vectors = super().encode_images(images)
        vectors[-1, 3] = np.nan
        return vectors


class Zero(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        vectors = super().encode_texts(texts)
        vectors[0] = 0
        return vectors


class Constant(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), WIDTH))


class OfAnotherWidth(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts(texts)[:, :64]


class OfAnotherSpace(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts(texts)[:, ::-1]


PADDED = "texts, batch of 1 or 32"  # a batch of texts is padded to its longest


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Sound, set()),
        (Shuffled, {"captions find pictures", "texts, encoded again", "texts, in reverse order", PADDED,
                    "texts beside a long one"}),
        (LeftSorted, {"captions find pictures", "texts, in reverse order", PADDED}),
        (Dropping, {"pictures, encoded again", "pictures, in reverse order", "pictures, batch of 1 or 32",
                    "pictures beside a large one"}),
        (BatchNormed, {"pictures, batch of 1 or 32", "pictures beside a large one"}),
        (LeakingTexts, {PADDED, "texts beside a long one"}),
        (LeakingPictures, {"pictures beside a large one"}),
        (NotANumber, {"numbers"}),
        (Zero, {"numbers"}),
        (Constant, {"captions find pictures", "distinct texts"}),
        (OfAnotherWidth, {"width"}),
        (OfAnotherSpace, {"captions find pictures"}),
    ],
)  # fmt: skip
def test_what_is_wrong_looks_wrong(kind: type[Sound], wrong: set[str]) -> None:
    checks = verify(kind())
    assert {check.check for check in checks if check.result == "looks wrong"} == wrong
    assert all(bool(check.advice) == (check.result != "ok") for check in checks)


class Capitals(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts([text if text.islower() else text[::-1] for text in texts])


class Cut(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts([" ".join(text.split()[:77]) for text in texts])


class Refusing(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        if max(len(text.split()) for text in texts) > 100:
            raise InputError("too long")
        return super().encode_texts(texts)


class Longer(Sound):
    similarity = "dot"

    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts(texts) * np.asarray([[len(text)] for text in texts])


class Half(Sound):
    def encode_images(self, images: Sequence[Image]) -> Any:
        vectors = super().encode_images(images)
        return vectors * (1 + np.random.default_rng(len(images)).normal(size=vectors.shape) / 100)


class AlikeAtTheEnd(Sound):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        return super().encode_texts(["crown" if text == "bed" else text for text in texts])


@pytest.mark.parametrize(
    ("kind", "check", "said"),
    [
        (Capitals, "capital letters", r"R@1 [89]\d% in lower case, \d% in capitals"),
        (Cut, "long texts", "are cut after at most 256 words"),
        (Refusing, "long texts", r"of 128 words are refused \(too long\)"),
        (Longer, "lengths of vectors", "texts 3 to 1.; dot ranks longer ones higher"),
        (Half, "pictures, batch of 1 or 32", r"differ by \d\.\d% of the distance between items"),
        (AlikeAtTheEnd, "distinct texts", "some of 32 texts share a vector"),
    ],
)
def test_what_may_be_right_is_a_note(kind: type[Sound], check: str, said: str) -> None:
    checks = {made.check: made for made in verify(kind())}
    assert not [made for made in checks.values() if made.result == "looks wrong"]
    assert checks[check].result == "note"
    assert re.search(said, checks[check].seen), checks[check].seen


def test_languages_that_a_model_does_not_know_are_named() -> None:
    captions = next(c for c in verify(Pictogram("english")) if c.check == "captions find pictures")
    assert captions.result == "note"
    assert "no better than guessing in ru, zh, ar, hi, sw" in captions.advice


class Tokens(Sound):
    """One vector a token: the one that the model gives, and another that says nothing."""

    similarity = "maxsim"

    def encode_images(self, images: Sequence[Image]) -> Any:
        return [np.stack([vector, np.zeros(WIDTH) + 0.01]) for vector in super().encode_images(images)]

    def encode_texts(self, texts: Sequence[str]) -> Any:
        return [vector[None] for vector in super().encode_texts(texts)]


def test_a_vector_a_token_is_verified_alike() -> None:
    assert {check.result for check in verify(Tokens())} == {"ok", "note"}


def test_progress_reaches_its_end() -> None:
    told: list[tuple[str, int, int]] = []
    verify(Sound(), lambda *given: told.append(given))
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, _, total in told} == {len(told)}


def test_only_a_model_can_be_verified(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    with pytest.raises(InputError, match="is stored vectors; only a model that encodes"):
        verify(load_subject(f"embeddings:{world}"))
    lists = tmp_path / "run.csv"
    lists.write_text("query_id,rank,item_id,score\ni0,1,i0-en,1\n")
    with pytest.raises(InputError, match="is result lists; only a model that encodes"):
        verify(load_subject(f"run:{lists}"))
