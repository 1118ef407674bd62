"""`openai:MODEL`: an embedding service that speaks the OpenAI embeddings shape, images as data URIs.

The key is read from EQUIVIEW_API_KEY or OPENAI_API_KEY and goes nowhere but into the request. Options:

- `url=` where the service is, up to and with `/v1` (default: OpenAI's).
- `rate=` requests a minute at most.
- `price=` per million tokens in your currency; what was spent is in `spent`, with the tokens in `used`.
- `revision=` a word of your own, changed when the service changes the model behind the name.
"""

from __future__ import annotations

import base64
import io
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equiview.data.ahead import ahead
from equiview.data.arguments import split_argument
from equiview.data.fingerprint import fingerprint
from equiview.errors import InputError
from equiview.subjects._libraries import require
from equiview.subjects.base import register
from equiview.subjects.encoders._torch import readable
from equiview.subjects.encoders.base import EmbeddingModel

if TYPE_CHECKING:
    from PIL.Image import Image

TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers after which the same request may succeed."""
SIDE = 1024
"""Longer side, in pixels, to which pictures are made smaller before they are sent."""


@dataclass
class Clock:
    """Time, so that tests need not wait for it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@register(
    "openai", usage=("openai:MODEL",), about="an embedding service in the OpenAI shape, images as data URIs"
)
class EmbeddingService(EmbeddingModel):
    """A remote embedding service."""

    packages = ("pillow",)

    def __init__(self, argument: str = "", clock: Clock | None = None) -> None:
        super().__init__(argument)
        allowed = ("url", "rate", "price", "batch", "revision")
        self.model, options = split_argument(argument, "openai", allowed)
        if not self.model:
            raise InputError("subject 'openai' needs the name of a model: openai:MODEL")
        self.url = options.get("url", "https://api.openai.com/v1").rstrip("/")
        if not re.match(r"https?://", self.url):
            raise InputError(f"openai: url is {self.url!r}; expected http(s)://...")
        self.revision = options.get("revision", "")
        self.rate = _number("rate", options.get("rate", "0"))
        self.price = _number("price", options.get("price", "0"))
        self.batch = int(_number("batch", options.get("batch", "64"))) or 64
        self.clock = clock or Clock()
        self.used = 0
        """Tokens that the service says it read."""
        self._next = 0.0

    @property
    def spent(self) -> float:
        """What the tokens so far cost, at `price` per million."""
        return self.used * self.price / 1e6

    @property
    def fingerprint(self) -> str:
        """A hash of address, model and the revision given: the weights are out of sight."""
        return fingerprint(self.url, self.model, self.revision, SIDE)

    @cached_property
    def client(self) -> Any:
        """The connection, kept open between requests."""
        key = os.environ.get("EQUIVIEW_API_KEY") or os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return require("httpx", "services").Client(headers=headers, timeout=120)

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Vectors `(n, width)` of RGB images, encoded in threads while requests run."""
        return self._vectors([{"image": uri} for uri in ahead(data_uri, images, depth=16)])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors `(n, width)` of texts; services refuse an empty one, so a blank is sent for it."""
        return self._vectors([text or " " for text in readable(texts)])

    def _vectors(self, inputs: Sequence[Any]) -> NDArray[np.float32]:
        batches = [inputs[start : start + self.batch] for start in range(0, len(inputs), self.batch)]
        return np.concatenate([self._answered(batch) for batch in batches])

    def _answered(self, batch: Sequence[Any]) -> NDArray[np.float32]:
        answer = self._asked({"model": self.model, "input": list(batch), "encoding_format": "float"})
        try:
            rows = {int(row["index"]): row["embedding"] for row in answer["data"]}
            vectors = np.asarray([rows[place] for place in range(len(batch))], dtype=np.float32)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{self.url}: answered without one embedding for each of {len(batch)} inputs; "
                "does it speak the OpenAI embeddings shape, and take images?"
            ) from None
        usage = answer.get("usage") or {}
        self.used += int(usage.get("total_tokens") or usage.get("prompt_tokens") or 0)
        return vectors

    def _asked(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request, asked again while the service is busy, each time after twice as long."""
        httpx = require("httpx", "services")
        reason = ""
        for attempt in range(TRIES):
            self._keep_rate()
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
            try:
                answer = self.client.post(f"{self.url}/embeddings", json=body)
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if answer.status_code == 200:
                    return _read(answer, self.url)
                reason = f"{answer.status_code}: {_message(answer)}"
                if answer.status_code not in PASSING:
                    raise InputError(f"{self.url}: refused model {self.model!r} ({reason})")
                wait = max(wait, _retry_after(answer))
            if attempt < TRIES - 1:
                self.clock.sleep(wait)
        raise InputError(f"{self.url}: no answer after {TRIES} tries ({reason}); run again to go on")

    def _keep_rate(self) -> None:
        if self.rate:
            now = self.clock.now()
            if now < self._next:
                self.clock.sleep(self._next - now)
            self._next = max(now, self._next) + 60 / self.rate


def data_uri(image: Image) -> str:
    """A picture, at most `SIDE` pixels long, as a PNG in a data URI: nothing is lost on the way but size."""
    if max(image.size) > SIDE:
        image = image.copy()
        image.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        raise InputError(f"openai: {name} is {value!r}; expected a number from 0")
    return number


def _read(answer: Any, url: str) -> dict[str, Any]:
    try:
        content = answer.json()
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{url}: answered with something that is no JSON object")
    return content


def _message(answer: Any) -> str:
    """What a service says went wrong, in one line."""
    try:
        error = answer.json()["error"]
        text = str(error.get("message") if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        text = str(answer.text)
    return " ".join(text.split())[:200]


def _retry_after(answer: Any) -> float:
    try:
        return min(LONGEST_WAIT, float(answer.headers.get("retry-after", 0)))
    except ValueError:  # a date: our own waiting is near enough
        return 0.0
