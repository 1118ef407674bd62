"""`names`: a translator of lists of pictograms' names, word by word, by Unicode CLDR's names of them.

It reads the text alone, as a chat model does, and sees by itself in which language it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from equiview.benchmarks.pictograms import names
from equiview.benchmarks.vocabulary import in_english, language_of
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.subjects.chat.base import Answerer


class Names(Answerer):
    """A dictionary that answers: for audits that have descriptions of `describe:` translated."""

    @property
    def fingerprint(self) -> str:
        """A hash of the names."""
        return fingerprint("names", names().write_csv())

    @property
    def sampled(self) -> bool:
        """It always says the same."""
        return False

    @property
    def about(self) -> str:
        """What it looks up."""
        return "translates lists of pictograms' names into English, word by word (Unicode CLDR)"

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place, reply), a JSON object with the translation of the request's question."""
        for place, request in enumerate(requests):
            text = request.question
            english = in_english(text, language_of(text) or request.language)
            yield place, Reply(json.dumps({"translation": english}, ensure_ascii=False))
