"""An encoder that counts what it encodes, and items for it."""

import io

import numpy as np
import polars as pl
from PIL import Image

from equiview.data.items import Items
from equiview.subjects import EmbeddingModel


class Counting(EmbeddingModel):
    """An encoder that counts what it was asked to encode."""

    image_batch = 4
    text_batch = 5

    def __init__(self, argument="", scale=1.0):
        super().__init__(argument)
        self.scale = scale
        self.encoded = 0

    @property
    def fingerprint(self):
        return f"counting{self.argument}"

    def encode_images(self, images):
        self.encoded += len(images)
        return self.scale * np.array([[*image.getpixel((0, 0)), 1.0] for image in images])

    def encode_texts(self, texts):
        self.encoded += len(texts)
        return self.scale * np.array([[len(text), ord(text[-1]), 1 / len(text), 1.0] for text in texts])


class Tokens(Counting):
    similarity = "maxsim"

    @property
    def fingerprint(self):
        return "tokens"

    def encode_texts(self, texts):
        self.encoded += len(texts)
        return [[[ord(letter), 1.0] for letter in text] for text in texts]


def texts(*strings):
    ids = [f"t{row}" for row in range(len(strings))]
    return Items(
        "text", pl.DataFrame({"id": ids, "text": strings}).with_columns(language=pl.lit("en")), "texts"
    )


def many(count):
    return texts(*(f"text {row} " + "x" * (row % 7) for row in range(count)))


def picture(colour):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2), colour).save(buffer, "PNG")
    return buffer.getvalue()


def images(*pictures):
    table = pl.DataFrame({"id": [f"i{row}" for row in range(len(pictures))], "picture": pictures})
    return Items("image", table, "images")
