"""What a model is asked, what it replies, and what asking would cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from equiview.io.fingerprint import fingerprint

BYTES = 4
"""Bytes of UTF-8 that a token of a prompt has, roughly and over many languages."""
PICTURE_TOKENS = 800
"""What a picture usually counts for."""
Stopped = Literal["stop", "length", "refused"]
"""Why a reply ended: by itself, at its limit of tokens, or by a filter of the service."""


@dataclass(frozen=True)
class Request:
    """One thing a model is asked, in one turn.

    `id` is distinct among the requests asked together, and says the same in every run: `QUESTION:LANGUAGE`.
    `prompt` is all that a chat model reads, beside the picture of row `image`, if any, of the images that it
    is asked about. `question` and `options` are what a subject reads that answers by choosing among options;
    None where there are none. A reply has at most `max_tokens` tokens. `repeat` counts how often the same was
    asked before: a reply of its own is wanted.
    """

    id: str
    prompt: str
    language: str
    image: int | None = None
    question: str = ""
    options: tuple[str, ...] = ()
    max_tokens: int = 1024
    repeat: int = 0

    def key(self, picture: bytes = b"") -> str:
        """What tells it from every other request, whatever its id; `picture` is a hash of its picture.

        >>> here, there = (Request(id, "What is it?", "en") for id in ("a", "b"))
        >>> here.key() == there.key(), here.key() == here.key(b"another picture")
        (True, False)
        """
        content = asdict(self) | {"id": "", "image": self.image is not None}
        if not self.repeat:
            del content["repeat"]
        return fingerprint(json.dumps(content, ensure_ascii=False, sort_keys=True), picture)


@dataclass(frozen=True)
class Reply:
    """What came back: its text, why it ended, and what it took, None where that is not known.

    `cost` is in US dollars.
    """

    text: str
    stopped: Stopped = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Reply:
        """A reply from what `content` made of it.

        >>> Reply.of(Reply("B", output_tokens=1).content)
        Reply(text='B', stopped='stop', input_tokens=None, output_tokens=1, cost=None)
        """
        return cls(**content)

    @property
    def content(self) -> dict[str, Any]:
        """Its fields, as JSON can hold them."""
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """What would be asked of one model: how many requests, of them with a picture, and tokens.

    Tokens are estimates: of the prompts' lengths, and of what a reply of this kind usually takes. `asked` are
    the requests themselves, where they are known beforehand: some may be answered already.
    """

    model: str
    purpose: str
    requests: int
    pictures: int
    input_tokens: int
    output_tokens: int
    asked: tuple[Request, ...] = ()

    @classmethod
    def of(
        cls, model: str, purpose: str, requests: Sequence[Request], reply_tokens: int, *, usual: bool = False
    ) -> Plan:
        """What asking these requests would take, with `reply_tokens` for each reply.

        `usual` ones are of usual length and stand for others that are not known beforehand.

        >>> plan = Plan.of("chat:m/m", "questions", [Request("a", "What is it? " * 30, "en", image=0)], 5)
        >>> plan.pictures, plan.input_tokens, plan.output_tokens
        (1, 890, 5)
        """
        pictures = sum(request.image is not None for request in requests)
        read = tokens_in(request.prompt for request in requests) + PICTURE_TOKENS * pictures
        asked = () if usual else tuple(requests)
        return cls(model, purpose, len(requests), pictures, read, reply_tokens * len(requests), asked)


def tokens_in(texts: Iterable[str]) -> int:
    """About how many tokens texts are.

    >>> tokens_in(["A tower.", "塔"])
    3
    """
    return sum(-(-len(text.encode()) // BYTES) for text in texts)
