"""`chat:MODEL`: a model that answers, reached through Inspect AI, whose model strings these are.

`openai/gpt-4o`, `anthropic/...`, `openai-api/SERVICE/MODEL` for any OpenAI-compatible server,
`equiview-hf/PATH` for a vision-language model of transformers on this machine. Keys are read from the
variables that Inspect reads them from, such as OPENAI_API_KEY or SERVICE_API_KEY, and are not kept. Options:

- `url=` where the service is, up to and with `/v1`; it may hold no user, password or key.
- `temperature=` (default 0); `none` sends none, for models that refuse one.
- `seed=` sent with each request.
- `side=` longer side of a picture, in pixels, above which it is made smaller (default 1024).
- `connections=` requests under way at once (default: Inspect's, which adapts to the service).
- `timeout=` seconds after which a request is repeated (default 600).
- `retries=` how often (default 8), each time after a longer wait.
- `revision=` any word, to be changed when the model behind the name changes.
- `price_in=`, `price_out=` US dollars for a million tokens read and written.
- `device=`, `dtype=` for a model on this machine.
- `logs=` folder of Inspect's logs (default: $INSPECT_LOG_DIR, else `logs` in the cache folder).

Retries, rate limits and concurrency are Inspect's. Its log holds no pictures: `inspect view` shows the rest.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from equiview.data.arguments import count_option, number_option, split_argument, url_option
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.cache import cache_folder
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.io.secrets import redacted, without_keys
from equiview.subjects.chat.base import Answerer
from equiview.subjects.chat.local import PROVIDER, register_provider
from equiview.subjects.chat.quiet import logging_kept
from equiview.subjects.chat.sending import SIDE
from equiview.subjects.chat.task import EXTRA, TRIES, NotAskedError, Told, asker, said, samples
from equiview.subjects.encoders.checkpoint import Checkpoint

OPTIONS = ("url", "temperature", "seed", "side", "connections", "timeout", "retries", "revision",
           "price_in", "price_out", "device", "dtype", "logs")  # fmt: skip
HOPELESS = 20
"""Failures before the first answer after which asking stops: a wrong key fails every request."""
HERE = (PROVIDER, "hf")
"""Providers whose models are folders on this machine, or come from the Hugging Face hub."""
LOCAL = (*HERE, "llama-cpp-python", "mockllm", "ollama", "sglang", "vllm")
"""Providers that run a model on machines of the user's own, where tokens have no price."""
EVALUATION = ""
"""In place of a request's id where the whole evaluation failed."""
ALSO_CALLED = {"GROK": "XAI"}
"""Providers whose variables have another name."""
_ONE_AT_A_TIME = threading.Lock()
"""Inspect runs one evaluation in a process at a time."""


class InspectModel(Answerer):
    """A chat model that Inspect AI reaches."""

    packages = ("inspect-ai", "pillow")

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.model, options = split_argument(argument, "chat", OPTIONS)
        if "/" not in self.model.strip("/"):
            raise InputError(
                "subject 'chat' needs a model as Inspect names it: chat:openai/gpt-4o, "
                "chat:openai-api/SERVICE/MODEL or chat:equiview-hf/PATH"
            )
        if without_keys(argument) != argument:
            raise InputError(
                "chat: the model's name or address holds the value of a key in the environment, which would "
                "stand in every log; leave it out, Inspect reads it there"
            )
        self.url = url_option(options, "chat")
        self.revision = options.get("revision", "")

        def number(name: str, usual: float, least: float = 0) -> float:
            return number_option(options, name, usual, "chat", least)

        def whole(name: str, usual: int, least: int = 0) -> int:
            return count_option(options, name, usual, "chat", least)

        self.temperature = None if options.get("temperature") == "none" else number("temperature", 0)
        self.seed = whole("seed", 0) if "seed" in options else None
        self.side = whole("side", SIDE, least=16)
        self.connections = whole("connections", 1, least=1) if "connections" in options else None
        self.timeout, self.retries = whole("timeout", 600, least=1), whole("retries", 8)
        if ("price_in" in options) != ("price_out" in options):
            raise InputError("chat: give both price_in and price_out, or neither")
        self._price = (number("price_in", 0), number("price_out", 0)) if "price_in" in options else None
        self.placed = {name: options[name] for name in ("device", "dtype") if name in options}
        logs = options.get("logs") or os.environ.get("INSPECT_LOG_DIR")
        self.logs = Path(logs).expanduser() if logs else cache_folder() / "logs"

    @property
    def fingerprint(self) -> str:
        """A hash of model, address, revision and what it is asked with.

        A folder on this machine is hashed by its content; weights elsewhere cannot be seen.
        """
        provider, _, path = self.model.partition("/")
        folder = provider in HERE and Path(path).expanduser().is_dir()
        model = f"{provider}/{Checkpoint.find(path, provider).fingerprint}" if folder else self.model
        settings = (self.temperature, self.seed, self.side, self.placed.get("dtype"))
        return fingerprint(model, self.address, self.revision, *settings)

    @property
    def address(self) -> str:
        """Where it is asked, if that is said: by the option, else by the variables that Inspect may read.

        As `LOOP_BASE_URL` for `openai-api/loop/...`, `AZURE_OPENAI_BASE_URL` for `openai/azure/...`.
        """
        if self.url:
            return self.url
        provider, *rest = self.model.split("/")
        asked = rest[0] if provider == "openai-api" else provider
        name = re.sub("[^A-Z0-9]", "_", asked.upper())
        read = re.compile(
            rf"(.*_)?({name}|{ALSO_CALLED.get(name, name)})(_.*)?_BASE_URL|INSPECT_EVAL_MODEL_BASE_URL"
        )
        return " ".join(value for key, value in sorted(os.environ.items()) if value and read.fullmatch(key))

    @property
    def sampled(self) -> bool:
        """Whether it is asked at a temperature above 0, or at one that is not known."""
        return self.temperature != 0

    @property
    def about(self) -> str:
        """The model, and what it is asked with."""
        where = f" at {self.url}" if self.url else ""
        revision = f", revision {self.revision}" if self.revision else ""
        return redacted(f"{self.model}{where}{revision}, temperature {self.temperature}, through Inspect AI")

    @cached_property
    def price(self) -> tuple[float, float] | None:
        """The options' price, else the one Inspect knows; a model on this machine costs nothing."""
        if self._price:
            return self._price
        info = require("inspect_ai.model", EXTRA).get_model_info(self.model)
        if info is not None and info.cost is not None:
            return float(info.cost.input), float(info.cost.output)
        return (0.0, 0.0) if self.model.split("/")[0] in LOCAL else None

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield replies as they come; InputError at the end for what failed, or when the money is spent."""
        if not requests:
            return
        if self.budget is not None and self.budget.limit is not None and self.price is None:
            raise InputError(
                f"{self.name}: a limit of costs needs prices, and those of {self.model} are not known; give "
                "price_in= and price_out=, dollars for a million tokens"
            )
        places = {request.id: place for place, request in enumerate(requests)}
        failed: dict[str, Exception] = {}
        waiting: SimpleQueue[tuple[str, Reply | Exception] | None] = SimpleQueue()
        stop = threading.Event()
        answered = 0

        used = threading.Semaphore()

        def told(name: str, outcome: Reply | Exception) -> None:
            """Hand over an outcome, and ask no further before the one before it was used: it may be kept."""
            while not used.acquire(timeout=0.1) and not stop.is_set():
                pass
            waiting.put((name, outcome))

        def ask() -> None:
            """Have Inspect ask everything; its errors, and the end, go to whoever waits."""
            try:
                with _ONE_AT_A_TIME, logging_kept():
                    self._evaluate(requests, images, told, stop)
            except BaseException as error:  # it must reach the thread that waits, whatever it is
                waiting.put(
                    (EVALUATION, error if isinstance(error, Exception) else RuntimeError(repr(error)))
                )
            finally:
                waiting.put(None)

        threading.Thread(target=ask, daemon=True).start()
        try:
            while (outcome := waiting.get()) is not None:
                name, reply = outcome
                if isinstance(reply, Reply):
                    answered += 1
                    yield places[name], reply
                else:
                    failed[name] = reply
                    if not answered and len(failed) >= HOPELESS:
                        stop.set()
                used.release()
        finally:
            stop.set()
        self._check(requests, answered, failed)

    def _pay(self, request: Request, reply: Reply | None) -> None:
        """Count the cost of an answer; where the service does not state it, at most one token a letter.

        Of an answer that cannot be used, all that it may have been.
        """
        if self.budget is None or self.price is None:
            return
        read, written = self.price
        most = len(request.prompt) * read
        most += (request.max_tokens if reply is None else len(reply.text)) * written
        self.budget.add(most / 1e6 if reply is None or reply.cost is None else reply.cost)

    def _evaluate(
        self, requests: Sequence[Request], images: Items | None, told: Told, stop: threading.Event
    ) -> None:
        inspect = require("inspect_ai", EXTRA)
        dataset = require("inspect_ai.dataset", EXTRA).MemoryDataset(samples(requests), name="requests")
        model = self._opened()
        solver = asker(
            requests,
            images,
            side=self.side,
            told=told,
            stopped=lambda: stop.is_set() or (self.budget is not None and self.budget.reached),
            finished=model.api.aclose,
            price=self.price,
            paid=self._pay,
            tries=min(TRIES, self.retries + 1),
            seed=0 if self.seed is None and self.model.startswith(f"{PROVIDER}/") else self.seed,
        )
        self.logs.mkdir(parents=True, exist_ok=True)
        inspect.eval(
            inspect.Task(dataset=dataset, solver=solver, name="equiview"),
            model=model,
            display="none",
            log_level="error",
            log_dir=str(self.logs),
            log_images=False,
            log_realtime=False,
            log_header_only=True,
            ctl_server=False,
            fail_on_error=False,
            score=False,
        )

    def _opened(self) -> Any:
        """The model, opened anew: its connections belong to one event loop."""
        model = require("inspect_ai.model", EXTRA)
        if self.model.startswith(f"{PROVIDER}/"):
            register_provider()
        settings = model.GenerateConfig(
            temperature=self.temperature,
            seed=self.seed,
            max_connections=self.connections,
            max_retries=self.retries,
            attempt_timeout=self.timeout,
        )
        try:
            opened = model.get_model(
                self.model, base_url=self.url or None, config=settings, memoize=False, **self.placed
            )
        except InputError:
            raise
        except Exception as error:  # a provider that is not there, or lacks its key or library
            text = re.sub(r"\[/?[a-z ]*\]", "", said(error).removeprefix("PrerequisiteError: "))
            raise InputError(f"{self.model}: {text.removeprefix('ERROR: ')}") from None
        client: Any = getattr(opened.api, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0  # Inspect asks again itself: both together ask three times as often
        return opened

    def _check(self, requests: Sequence[Request], answered: int, failed: dict[str, Exception]) -> None:
        """InputError if anything was not answered: why, how often, and of which request first."""
        if EVALUATION in failed:
            error = failed[EVALUATION]
            raise InputError(said(error)) if type(error).__name__ == "PrerequisiteError" else error
        reasons = Counter(said(error) for error in failed.values() if not isinstance(error, NotAskedError))
        if self.budget is not None and self.budget.reached and answered < len(requests):
            also = f"; {reasons.total()} failed" if reasons else ""
            raise InputError(
                f"{self.name}: stopped, ${self.budget.spent:.4f} of at most ${self.budget.limit:g} are "
                f"spent; {answered} of {len(requests)} requests are answered{also}"
            )
        if reasons:
            first = next(name for name, error in failed.items() if not isinstance(error, NotAskedError))
            listed = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
            beside = " and nothing more was asked" if reasons.total() < len(failed) else ""
            raise InputError(
                f"{self.name}: {reasons.total()} of {len(requests)} requests failed{beside}, the first of "
                f"them {first!r}: {listed}"
            )
