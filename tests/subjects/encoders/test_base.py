"""How items become vectors: order, batches, repeated texts, several vectors an item, and what is refused."""

import io

import numpy as np
import polars as pl
import pytest
from PIL import Image

from equiview.audits.prevalence import SCHEMAS, PrevalenceSettings, observe
from equiview.benchmarks import Benchmark, same_image
from equiview.data.items import Items
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.store.vectors import keys_of
from equiview.subjects import EmbeddingModel


def texts(*strings):
    ids = [f"t{row}" for row in range(len(strings))]
    languages = ["en", "de"] * (len(strings) // 2) + ["en"] * (len(strings) % 2)
    return Items("text", pl.DataFrame({"id": ids, "text": strings, "language": languages}))


def picture(colour):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2), colour).save(buffer, "PNG")
    return buffer.getvalue()


def images(*pictures):
    ids = [f"i{row}" for row in range(len(pictures))]
    return Items(
        "image", pl.DataFrame({"id": ids, "picture": pictures}, schema_overrides={"picture": pl.Binary})
    )


class Letters(EmbeddingModel):
    """Counts of letters; remembers the batches it was given."""

    image_batch = 2
    text_batch = 3

    def __init__(self):
        super().__init__()
        self.seen = []

    def encode_images(self, images):
        self.seen.append(len(images))
        return [np.array([*image.getpixel((0, 0)), 1.0]) for image in images]

    def encode_texts(self, texts):
        self.seen.append(list(texts))
        return [[text.count("a"), text.count("b"), len(text), 1.0] for text in texts]


class Tokens(Letters):
    """One vector a letter."""

    similarity = "maxsim"

    def encode_images(self, images):
        return [np.array([[*image.getpixel((0, 0)), 1.0]] * 2) for image in images]

    def encode_texts(self, texts):
        return [[[ord(letter) - 96, 0, 0, 1.0] for letter in text] for text in texts]


def test_texts_go_longest_first_each_once_and_come_back_in_order():
    encoder = Letters()
    vectors = encoder.embed(texts("a", "bbbb", "ab", "a", "aaa", "bb"))
    assert encoder.seen == [["bbbb", "aaa", "ab"], ["bb", "a"]]
    assert vectors[:, 2].tolist() == [1, 4, 2, 1, 3, 2]
    assert vectors.dtype == np.float32


def test_progress_reaches_the_number_of_items():
    told = []
    Letters().embed(texts("a", "bbbb", "ab", "a", "aaa"), lambda *what: told.append(what))
    assert told[-1] == ("encoding texts", 5, 5)
    Letters().embed(images(*map(picture, ("red", "lime", "blue"))), lambda *what: told.append(what))
    assert told[-1] == ("encoding images", 3, 3)


def test_one_vector_a_token_comes_back_in_order():
    vectors = Tokens().embed(texts("a", "bbbb", "ab", "a"))
    assert isinstance(vectors, TokenVectors)
    assert vectors.lengths.tolist() == [1, 4, 2, 1]
    assert vectors[2][:, 0].tolist() == [1, 2]


def test_unreadable_pictures_stop_or_are_told():
    items = images(picture("red"), b"no", picture("lime"), b"no", b"no")
    with pytest.raises(InputError, match="row 2: picture of 'i1'"):
        Letters().embed(items)
    bad = []
    parts = list(Letters().batches(items, unreadable=lambda row, error: bad.append(row)))
    assert bad == [1, 3, 4]
    assert [rows.tolist() for rows, _ in parts] == [[0], [2]]


class Wrong(Letters):
    def __init__(self, made, similarity="cosine"):
        super().__init__()
        self.made = made
        self.similarity = similarity

    def encode_texts(self, texts):
        return self.made(len(texts))


@pytest.mark.parametrize(
    ("made", "similarity", "message"),
    [
        (lambda n: np.ones((n + 1, 2)), "cosine", r"shape \(3, 2\) for 2 texts"),
        (np.ones, "cosine", r"shape \(2,\) for 2 texts"),
        (lambda n: np.full((n, 2), np.nan), "cosine", "'t0' .* is not finite .* 2 of 2"),
        (lambda n: np.zeros((n, 2)), "cosine", "all zero"),
        (lambda n: TokenVectors.of(np.ones((n, 1, 2))), "cosine", "similarity must then be 'maxsim'"),
        (lambda n: np.ones((n + 1, 1, 2)), "maxsim", "vectors of 3 items for 2 texts"),
        (lambda n: [[[1, 0]], [[1, 0], [0, 0]]], "maxsim", "'t1' .* all zero"),
    ],
)
def test_what_cannot_be_compared_is_refused(made, similarity, message):
    with pytest.raises(InputError, match=message):
        Wrong(made, similarity).embed(texts("aa", "b"))


def test_batches_of_two_widths_are_refused():
    encoder = Wrong(lambda n: np.ones((n, 1 + n)))
    with pytest.raises(InputError, match="two widths"):
        encoder.embed(texts("a", "b", "c", "d"))


def test_the_prevalence_audit_takes_one_vector_a_token():
    pictures = images(*map(picture, ("red", "lime", "blue")))
    strings = texts("a", "ab", "c", "cd", "e", "f")
    table = strings.table.with_columns(image_id=pl.Series(["i0", "i0", "i1", "i1", "i2", "i2"]))
    strings = Items("text", table)
    items = Benchmark("tiny", pictures, strings, same_image(pictures, strings))
    seen = observe(Tokens(), items, PrevalenceSettings(), silent)
    for name, schema in SCHEMAS.items():
        schema.check(seen[name], name)
    assert len(seen["rankings"]) == 18


class ByLanguage(EmbeddingModel):
    """A model whose vectors depend on the language of a text."""

    by_language = True

    def encode_images(self, images):
        return np.ones((len(images), 2))

    def encode_texts(self, texts):
        return self.encode_texts_in(texts, "en")

    def encode_texts_in(self, texts, language):
        return [[len(text), ("en", "de", "sw").index(language) + 1] for text in texts]


def test_the_same_words_in_two_languages_are_two_texts(tmp_path):
    """ "Arm" is poor in German; vectors and the store keep the two apart."""
    table = {"id": list("abcd"), "text": ["arm", "arm", "Hut", "arm"], "language": ["en", "de", "de", "en"]}
    texts = Items("text", pl.DataFrame(table))
    expected = [[3, 1], [3, 2], [3, 2], [3, 1]]
    assert ByLanguage().embed(texts).tolist() == expected
    keys = keys_of(texts, by_language=True)
    assert (keys[0] == keys[3], keys[0] == keys[1]) == (True, False)
    assert keys_of(texts)[0] == keys_of(texts)[1]
