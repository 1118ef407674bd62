"""Encoders that a worker imports, with batches so small that there are many."""

import os

from equiview.errors import InputError
from equiview.subjects.encoders.pictogram import Pictogram


class Small(Pictogram):
    """An embedded encoder in small batches."""

    image_batch = 4
    text_batch = 8


class Refusing(Small):
    """Reads no text with a 7."""

    def encode_texts(self, texts):
        if bad := next((text for text in texts if "7" in text), None):
            raise InputError(f"text {bad!r} holds a number that is refused")
        return super().encode_texts(texts)


class Dying(Small):
    """Ends its process at a text."""

    def encode_texts(self, texts):
        os._exit(1)


class Elsewhere(Small):
    """Another model in every process."""

    @property
    def fingerprint(self):
        return f"process {os.getpid()}"


class Keyed(Small):
    """Needs a key, and says it in what goes wrong."""

    def __init__(self, argument):
        super().__init__("skewed")
        self.argument = argument

    @property
    def fingerprint(self):
        return "keyed"

    def encode_texts(self, texts):
        raise InputError(f"the service refused {self.argument}")
