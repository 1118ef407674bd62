"""`openai:MODEL`: an embedding service that speaks the OpenAI embeddings shape, pictures as data URIs.

The key is read from EQUIVIEW_API_KEY or OPENAI_API_KEY and goes nowhere but into the request. Options:

- `url=` where the service is, up to and with `/v1` (default: OpenAI's); it may hold no user, password or key.
- `image=` how a picture is sent, as `uri` (a data URI, the default) or `base64` (its bytes alone).
- `task=` sent with each request, for Jina's services. With `retrieval.query`, pictures are sent as
  `retrieval.passage`.
- `batch=` texts a request (default 64). Pictures go eight at a time, or fewer.
- `rate=` requests a minute at most.
- `parallel=` requests at once (default 4).
- `timeout=` seconds after which a request is repeated (default 60).
- `dim=` numbers of each vector that are kept, the first ones, scaled to length 1 again.
- `price_in=` US dollars for a million tokens read, as of `chat:`; a picture counts as the service counts it.
- `revision=` any word, to be changed when the service changes the model behind the name.

Services of another shape are reached through mteb, which knows several: `mteb:Cohere/Cohere-embed-v4.0`,
`mteb:voyageai/voyage-multimodal-3`.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from equiview.data.arguments import count_option, number_option, split_argument, url_option
from equiview.data.items import Items
from equiview.data.requests import PICTURE_TOKENS, Plan, tokens_in
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.again import PASSING, TRIES, BusyError, Clock, ask_again, retry_after
from equiview.io.ahead import ahead
from equiview.io.fingerprint import fingerprint
from equiview.io.pictures import data_uri, encoded
from equiview.subjects.budget import Budget
from equiview.subjects.encoders.base import EmbeddingModel, narrowed
from equiview.subjects.encoders.torch_encoder import readable

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 1024
"""Longer side, in pixels, to which pictures are made smaller before they are sent."""
PICTURES = 8
"""Pictures in one request at most: services limit the size of requests."""
KEYS = ("EQUIVIEW_API_KEY", "OPENAI_API_KEY")
OPTIONS = ("url", "image", "task", "batch", "rate", "parallel", "timeout", "revision", "dim", "price_in")
OTHER_SHAPES = {"cohere": "mteb:Cohere/Cohere-embed-v4.0", "voyageai": "mteb:voyageai/voyage-multimodal-3"}
"""Services with another protocol, and how they are named instead."""


class EmbeddingService(EmbeddingModel):
    """A remote embedding service."""

    computes = False

    packages = ("pillow",)

    def __init__(self, argument: str = "", clock: Clock | None = None) -> None:
        super().__init__(argument)
        self.model, options = split_argument(argument, "openai", OPTIONS)
        if not self.model:
            raise InputError("subject 'openai' needs the name of a model: openai:MODEL")
        self.url = url_option(options, "openai", "https://api.openai.com/v1")
        for name, instead in OTHER_SHAPES.items():
            if name in (host := urlsplit(self.url).netloc).split("."):
                raise InputError(f"openai: {host} does not speak the OpenAI embeddings shape; say {instead}")
        self.revision = options.get("revision", "")
        self.task = options.get("task", "")
        self.image = options.get("image", "uri")
        if self.image not in {"uri", "base64"}:
            raise InputError(f"openai: image is {self.image!r}; expected uri or base64")
        self.rate = number_option(options, "rate", 0, "openai")
        self.parallel = int(number_option(options, "parallel", 4, "openai")) or 1
        self.timeout = number_option(options, "timeout", 60, "openai") or 60
        self.batch = int(number_option(options, "batch", 64, "openai")) or 64
        self.dim = count_option(options, "dim", 1, "openai") if "dim" in options else 0
        self.text_batch = self.batch * self.parallel
        self.image_batch = min(self.batch, PICTURES) * self.parallel
        given = number_option(options, "price_in", 0, "openai")
        self.price = (given, 0.0) if "price_in" in options else None
        self.budget: Budget | None = None
        self.clock = clock or Clock()
        self._next = 0.0
        self._turn = threading.Lock()
        self._width = 0

    @property
    def fingerprint(self) -> str:
        """A hash of address, model, task and `revision`: the weights themselves cannot be seen."""
        parts = (self.url, self.model, self.revision, self.task, SIDE)
        return fingerprint(*parts, *([f"dim {self.dim}"] if self.dim else []))

    @cached_property
    def client(self) -> Any:
        """The connection, kept open between requests."""
        key = _key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return require("httpx", "services").Client(headers=headers, timeout=self.timeout)

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Vectors `(n, width)` of RGB images, encoded in threads while requests run."""
        pictures = ahead(_sent, images, depth=16)
        sent = (uri if self.image == "uri" else uri.partition("base64,")[2] for uri in pictures)
        task = re.sub(r"query$", "passage", self.task)
        return self._vectors([{"image": picture} for picture in sent], min(self.batch, PICTURES), task)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors `(n, width)` of texts; services refuse an empty one, so a blank is sent for it."""
        return self._vectors([text or " " for text in readable(texts)], self.batch, self.task)

    def _vectors(self, inputs: Sequence[Any], step: int, task: str) -> NDArray[np.float32]:
        if self.budget is not None:
            self.budget.check(self.name, self.price, "vectors")
        batches = [inputs[start : start + step] for start in range(0, len(inputs), step)]
        _ = self.client  # made before there are threads
        with ThreadPoolExecutor(self.parallel, "equiview-service") as pool:
            parts = list(pool.map(lambda batch: self._answered(batch, task), batches))
        for width in (part.shape[1] for part in parts):
            self._width = self._width or width
            if width != self._width:
                raise InputError(
                    f"{self.url}: answered with vectors {width} wide after some {self._width} wide; has the "
                    "model behind the name changed?"
                )
        return narrowed(np.concatenate(parts), self.dim, f"openai:{self.model}")

    def _answered(self, batch: Sequence[Any], task: str) -> NDArray[np.float32]:
        body = {"model": self.model, "input": list(batch), "encoding_format": "float"}
        answer = self._asked(body | ({"task": task} if task else {}))
        self._pay(answer.get("usage"), batch)
        try:
            rows = [(int(row["index"]), row["embedding"]) for row in answer["data"]]
            vectors = np.asarray([vector for _, vector in sorted(rows)], dtype=np.float32)
            complete = sorted(place for place, _ in rows) == list(range(len(batch))) and vectors.ndim == 2
        except (KeyError, TypeError, ValueError):
            complete = False
        if not complete:
            raise InputError(
                f"{self.url}: answered without one embedding for each of {len(batch)} inputs; does it speak "
                "the OpenAI embeddings shape, and take images? Others, such as Cohere's and Voyage's, are "
                "reached as mteb:NAME"
            )
        return vectors

    def _asked(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request, asked again while the service is busy, each time after twice as long."""
        try:
            return ask_again(lambda: self._tried(body), self.url, self.clock)
        except BusyError as reason:
            raise InputError(
                f"{self.url}: no answer after {TRIES} tries ({reason}); run again to go on"
            ) from None

    def _tried(self, body: dict[str, Any]) -> dict[str, Any]:
        httpx = require("httpx", "services")
        self._keep_rate()
        try:
            answer = self.client.post(f"{self.url}/embeddings", json=body)
        except httpx.TimeoutException:
            raise BusyError(f"silent for {self.timeout:g} s") from None
        except httpx.TransportError as error:
            raise BusyError(_without_key(f"{type(error).__name__}: {error}")) from None
        if answer.status_code == 200:
            with contextlib.suppress(ValueError):
                if isinstance(content := answer.json(), dict):
                    return content
            raise InputError(f"{self.url}: answered with something that is not a JSON object")
        reason = f"{answer.status_code}: {_message(answer)}"
        if answer.status_code not in PASSING:
            raise InputError(f"{self.url}: refused model {self.model!r} ({reason})")
        raise BusyError(reason, retry_after(answer.headers.get("retry-after", "0"), self.clock.wall()))

    def _pay(self, usage: Any, batch: Sequence[Any]) -> None:
        """Count the cost of a request: of the tokens that the service says, else of one for each letter."""
        if self.budget is None or self.price is None:
            return
        stated = usage if isinstance(usage, dict) else {}
        said = (stated.get(name) for name in ("prompt_tokens", "total_tokens"))
        tokens = next((n for n in said if isinstance(n, int | float) and n >= 0), None)
        if tokens is None:
            tokens = sum(len(one) if isinstance(one, str) else PICTURE_TOKENS for one in batch)
        self.budget.add(tokens * self.price[0] / 1e6)

    def plan(self, items: Items, rows: Sequence[int]) -> Plan:
        """What it would take to embed these rows of items."""
        step = self.batch
        pictures, tokens = 0, 0
        if items.kind == "image":
            step, pictures = min(self.batch, PICTURES), len(rows)
            tokens = PICTURE_TOKENS * len(rows)
        else:
            tokens = tokens_in(items.texts[row] for row in rows)
        return Plan(self.name, f"vectors of {items.kind}s", -(-len(rows) // step), pictures, tokens, 0)

    def _keep_rate(self) -> None:
        if self.rate:
            with self._turn:
                now = self.clock.now()
                if now < self._next:
                    self.clock.sleep(self._next - now)
                self._next = max(now, self._next) + 60 / self.rate


def _key() -> str:
    """The key of the service, empty if there is none; InputError for characters that keys never have."""
    for name in KEYS:
        if key := os.environ.get(name, "").strip():
            if not re.fullmatch(r"[!-~]+", key):
                raise InputError(f"{name} holds characters that no key has; set it to the key alone")
            return key
    return ""


def _without_key(text: str) -> str:
    """A service's `text` with the key masked."""
    key = _key()
    return text.replace(key, "***") if key else text


def _sent(image: Image) -> str:
    """A picture, reduced to at most `SIDE` pixels, as a lossless PNG in a data URI."""
    if max(image.size) > SIDE:
        image = image.copy()
        image.thumbnail((SIDE, SIDE))
    return data_uri(encoded(image, "PNG"))


def _message(answer: Any) -> str:
    """What a service says went wrong, in one line."""
    try:
        error = answer.json()["error"]
        text = str(error.get("message") if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        text = str(answer.text)
    return _without_key(" ".join(text.split()))[:200]
