"""`describe:ENCODER`: an encoder describes from memory what it is told the name of.

It reads the name alone, in whatever language. Of the pictograms' English names it takes those most similar to
it, and says them in the language asked in (`equiview.benchmarks.vocabulary`). So what it says of a place is
what its text tower knows of the name. `describe:ENCODER,words=N` says N of them, 6 by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from equiview.benchmarks.pictograms import english_names
from equiview.benchmarks.vocabulary import said, spoken_languages
from equiview.data.arguments import count_option
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.data.vectors import Vectors
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.search import comparable, top_k
from equiview.subjects.chat.encoder_answerer import EncoderAnswerer, texts_of
from equiview.subjects.encoders.base import Encoder

WORDS = 6


class Describe(EncoderAnswerer):
    """An encoder that says what a name is most similar to, without a picture."""

    def __init__(self, argument: str = "", encoder: Encoder | None = None) -> None:
        super().__init__(argument, encoder, option="words", example="describe:pictogram:flags-aligned")
        options = {"words": self.given} if self.given else {}
        self.words = count_option(options, "words", WORDS, "describe", most=100)

    @property
    def fingerprint(self) -> str:
        """A hash of the encoder, the vocabulary and the number of words."""
        return fingerprint("describe", self.encoder.fingerprint, repr(english_names()), str(self.words))

    @property
    def looks(self) -> bool:
        """It reads and sees nothing."""
        return False

    @property
    def about(self) -> str:
        """How it describes, then the encoder."""
        return f"says the {self.words} pictograms most similar to a name; {self.encoder.about}"

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place, reply), names between semicolons.

        InputError for a request with a picture, without a name, or in a language that has no such names.
        """
        for request in requests:
            wrong = (
                "a picture, but this describes from memory" if request.image is not None
                else "no name of what is to be described" if not request.question
                else f"language {request.language!r}, in which the pictograms have no names"
                if request.language not in spoken_languages()
                else ""
            )  # fmt: skip
            if wrong:
                raise InputError(f"{self.name}: request {request.id!r} has {wrong}")
        language_of = {request.question: request.language for request in reversed(requests)}
        if not language_of:
            return
        place_of = {text: place for place, text in enumerate(language_of)}
        asked = comparable(self.encoder, texts_of(language_of, "names to describe"), progress)
        nearest = top_k(asked, self._vocabulary, self.words).items
        concepts = list(english_names())
        for place, request in enumerate(requests):
            rows = nearest[place_of[request.question]].tolist()
            yield place, Reply(said([concepts[row] for row in rows], request.language))

    @cached_property
    def _vocabulary(self) -> Vectors:
        """The vectors of the English names, `(1280, width)`."""
        return comparable(
            self.encoder, texts_of(dict.fromkeys(english_names().values(), "en"), "vocabulary"), silent
        )
