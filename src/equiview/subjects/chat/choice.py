"""`choice:ENCODER`: an encoder answers a multiple-choice question by the option most similar to the picture.

Question and option are put into a template, by default "{question} {option}".
`choice:ENCODER,template={option}` compares the options alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_bytes
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.search import comparable, pair_scores
from equiview.subjects.chat.encoder_answerer import EncoderAnswerer, texts_of
from equiview.subjects.encoders.base import Encoder

TEMPLATE = "{question} {option}"


class Choice(EncoderAnswerer):
    """An encoder that chooses among options; equal best scores are decided by a hash of the option.

    `ties` counts the requests last asked whose best score several options have.
    """

    def __init__(self, argument: str = "", encoder: Encoder | None = None) -> None:
        super().__init__(argument, encoder, option="template", example="choice:pictogram:aligned")
        self.template = self.given or TEMPLATE
        if "{option}" not in self.template:
            raise InputError(
                f"choice: the template {self.template!r} must hold {{option}}, as in {TEMPLATE!r}"
            )
        self.ties = 0

    @property
    def fingerprint(self) -> str:
        """A hash of the encoder and the template."""
        return fingerprint("choice", self.encoder.fingerprint, self.template)

    @property
    def about(self) -> str:
        """Its template, then the encoder."""
        choice = f"chooses the option whose {self.template!r} is most similar to the picture"
        return f"{choice}; {self.encoder.about}"

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place, reply), the text of the chosen option; InputError without a picture or options."""
        if not requests:
            return
        if images is None:
            raise InputError(f"{self.name}: an encoder answers about pictures, and there are none")
        for request in requests:
            missing = "no picture" if request.image is None else "" if request.options else "no options"
            if missing:
                raise InputError(
                    f"{self.name}: request {request.id!r} has {missing}; an encoder chooses among options by "
                    "their similarity to a picture"
                )
        scores, counts = self._scores(requests, images, progress)
        self.ties = 0
        parts = np.split(scores, np.cumsum(counts)[:-1])
        for place, (request, of_request) in enumerate(zip(requests, parts, strict=True)):
            best = np.flatnonzero(of_request == of_request.max())
            self.ties += len(best) > 1
            first = min(best.tolist(), key=lambda at: hash_bytes(request.options[at].encode()))
            yield place, Reply(request.options[first])
        if self.ties:
            notice(
                f"{self.name}: in {self.ties} of {len(requests)} answers several options are equally similar "
                "to the picture; a hash of their words decides"
            )

    def _scores(
        self, requests: Sequence[Request], images: Items, progress: Progress
    ) -> tuple[NDArray[np.float32], list[int]]:
        """The similarity of each request's options to its picture, joined, and their numbers."""
        pairs = [(request, option) for request in requests for option in request.options]
        shown, image_at = np.unique([request.image for request, _ in pairs], return_inverse=True)
        texts = [self._text(request.question, option) for request, option in pairs]
        language_of = {text: request.language for text, (request, _) in zip(texts, pairs, strict=True)}
        place_of = {text: place for place, text in enumerate(language_of)}
        picture_vectors = comparable(self.encoder, images.take(shown), progress)
        text_vectors = comparable(self.encoder, texts_of(language_of, "options"), progress)
        text_at = np.asarray([place_of[text] for text in texts])
        counts = [len(request.options) for request in requests]
        return pair_scores(picture_vectors, text_vectors, image_at, text_at), counts

    def _text(self, question: str, option: str) -> str:
        """The filled template; placeholders inside the question or option are not replaced."""
        given = {"question": question, "option": option}
        return re.sub(r"\{(question|option)\}", lambda place: given[place[1]], self.template)
