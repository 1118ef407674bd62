"""Requests as a task of Inspect: one sample each, asked in one turn, its picture put in when it is asked.

A picture is read only then, so that thousands of samples take no memory. Making a reply from an output, and
one line from an error, is here as well, for the subject, its finished logs and Inspect's own command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from equiview.data.items import Items
from equiview.data.requests import Reply, Request, Stopped
from equiview.extras import require
from equiview.io.notices import notice
from equiview.io.secrets import legible, redacted
from equiview.subjects.chat.quiet import hide_secrets
from equiview.subjects.chat.sending import SIDE, Pictures

EXTRA = "chat"
STOPPED: dict[str, Stopped] = {"content_filter": "refused", "max_tokens": "length"}
TRIES = 3
"""Tries of a request while its answer is unusable: cut off, not JSON, without a choice."""
NO_ANSWER = (ValueError, LookupError, TypeError)
"""Errors of libraries for such an answer."""
Told = Callable[[str, "Reply | Exception"], object]
Paid = Callable[[Request, "Reply | None"], object]


class NotAskedError(Exception):
    """A request that was not asked, since asking was stopped."""


def samples(
    requests: Sequence[Request],
    about: Sequence[Mapping[str, Any]] | None = None,
    targets: Sequence[str] | None = None,
) -> list[Any]:
    """A sample of Inspect's for each request, known by the request's id; `about` and `targets` go with it."""
    sample = require("inspect_ai.dataset", EXTRA).Sample
    about = about or [{"language": request.language} for request in requests]
    return [
        sample(id=request.id, input=request.prompt, target=target, metadata=dict(more))
        for request, more, target in zip(requests, about, targets or [""] * len(requests), strict=True)
    ]


def asker(
    requests: Sequence[Request],
    images: Items | None,
    *,
    side: int = SIDE,
    told: Told = lambda *_: None,
    stopped: Callable[[], bool] = lambda: False,
    finished: Callable[[], Awaitable[object]] | None = None,
    price: tuple[float, float] | None = None,
    seed: int | None = None,
    tries: int = TRIES,
    paid: Paid = lambda *_: None,
) -> Any:
    """A solver of Inspect's that asks a sample's request, and passes each reply or failure to `told`.

    Once `stopped` is true nothing more is asked, and what was not asked has no output in the log. `finished`
    is called after the last request. `price` is dollars for a million tokens read and written;
    a request that repeats another is sent with `seed` and its number added, if there is a seed. `paid` is
    told of every answer that came, None where it cannot be used; a request has so many `tries`.
    """
    of_id = {request.id: request for request in requests}
    pictures = Pictures(images, side)
    left = set(of_id)

    async def solve(state: Any, generate: Any) -> Any:
        hide_secrets()
        request = of_id[str(state.sample_id)]
        try:
            if stopped():
                told(request.id, NotAskedError())
                return state
            again = {} if seed is None or not request.repeat else {"seed": seed + request.repeat}
            state.messages = [await _message(request, pictures)]
            for more in reversed(range(max(1, tries))):
                try:
                    # Tools are never given; a service that calls one all the same would be asked for ever.
                    state = await generate(state, max_tokens=request.max_tokens, tool_calls="none", **again)
                except NO_ANSWER:
                    paid(request, None)
                    if not more or stopped():
                        raise
                    continue
                _clean_output(state.output, request)
                reply = reply_of(state.output, price) if state.output.choices else None
                paid(request, reply)
                break
            told(request.id, _usable(reply, state.output))
            return state
        except Exception as error:  # whatever providers raise
            _clean_transcript()
            told(request.id, error)
            raise RuntimeError(said(error)) from None
        finally:
            left.discard(request.id)
            if not left and finished is not None:
                await finished()

    def equiview() -> Any:
        return solve

    return require("inspect_ai.solver", EXTRA).solver(equiview)()


def _usable(reply: Reply | None, output: Any) -> Reply:
    """The reply in an output; RuntimeError where it holds none."""
    if reply is None or output.stop_reason == "model_length":
        raise RuntimeError(output.error or (reply and reply.text) or "an answer without text")
    if output.message.tool_calls and not reply.text:
        raise RuntimeError("the answer is a call of a tool, of which none was offered")
    return reply


async def _message(request: Request, pictures: Pictures) -> Any:
    model = require("inspect_ai.model", EXTRA)
    if request.image is None:
        return model.ChatMessageUser(content=request.prompt)
    uri = await require("anyio", EXTRA).to_thread.run_sync(pictures.uri, request.image)
    return model.ChatMessageUser(
        content=[model.ContentImage(image=uri), model.ContentText(text=request.prompt)]
    )


def reply_of(output: Any, price: tuple[float, float] | None = None) -> Reply:
    """The reply in an output of Inspect's; `price` is dollars for a million tokens read and written."""
    usage = output.usage
    read = written = cost = None
    if usage is not None:
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        read, written, cost = usage.input_tokens + cached, usage.output_tokens, usage.total_cost
    if price is not None and read is not None and written is not None:
        cost = (read * price[0] + written * price[1]) / 1e6
    content = output.message.content
    refused = not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)
    stopped: Stopped = "refused" if refused else STOPPED.get(output.stop_reason, "stop")
    return Reply(legible(output.completion), stopped, read, written, cost)


def _clean_output(output: Any, request: Request) -> None:
    """Make an output legible, and Inspect's record of it, before either is written."""
    outputs, changed = [output], False
    events = require("inspect_ai.log", EXTRA).transcript().events
    for event in events:
        if event.event == "model" and event.output is not None:
            outputs.append(event.output)
    messages = [choice.message for each in outputs for choice in each.choices]
    parts = [part for message in messages if isinstance(message.content, list) for part in message.content]
    for holder in (*outputs, *messages, *parts):
        for name in ("completion", "content", "text", "reasoning"):
            value = getattr(holder, name, None)
            if isinstance(value, str) and legible(value) != value:
                setattr(holder, name, legible(value))
                changed = True
    if changed:
        notice(f"{request.id}: the reply holds a key or half of a letter, which is replaced")
        for event in events:
            if event.event == "model":
                event.call = None


def said(error: BaseException) -> str:
    """The message of a provider's error, in one line and without secrets."""
    while (attempt := getattr(error, "last_attempt", None)) is not None and attempt.exception():
        error = attempt.exception()
    if type(error).__name__ == "ModelGenerateError" and error.__cause__ is not None:
        error = error.__cause__  # its own message repeats the request
    text = " ".join(str(error).split())
    known = type(error).__module__.startswith(("equiview", "openai", "anthropic"))
    return redacted(text if known and text else f"{type(error).__name__}: {text}".rstrip(": "))[:300]


def _clean_transcript() -> None:
    """Mask secrets in Inspect's record of a failure: services repeat the key that they refuse."""
    for event in require("inspect_ai.log", EXTRA).transcript().events:
        if event.event == "model" and event.error:
            event.error, event.call = redacted(event.error), None
            event.traceback = event.traceback_ansi = None
