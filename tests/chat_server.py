"""An OpenAI-compatible chat service on loopback, whose replies a test computes from what was asked.

def reply(prompt, pictures, model):
    return "B" if pictures else Fault("refusal")

with chat_server(reply) as server:
    subject = load_subject(server.subject("knower"))
    ...
server.requests  # what was asked, in the order in which it came
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from unittest.mock import patch

KEY = "sk-loopback-0123456789abcdef"
SERVICE = "loopback"

Kind = Literal[
    "busy",  # 429, with Retry-After of `after` seconds
    "error",  # 500
    "bad request",  # 400
    "no such model",  # 404
    "wrong key",  # 401, which repeats the key that it was sent
    "silence",  # no answer before the server is closed
    "truncated",  # half of the JSON, and the connection is closed
    "malformed",  # something that is no JSON
    "length",  # `text`, cut off at the limit of tokens
    "filtered",  # `text`, stopped by a filter
    "refusal",  # `text` as a refusal, in the field of its own that OpenAI has for it
    "no choices",  # an answer that holds none
    "tool",  # a call of a tool that nobody offered, and no words
    "half a letter",  # `text` and a lone surrogate
    "raw",  # `text` in Latin-1 as the whole body, whatever it is
]


@dataclass(frozen=True)
class Fault:
    """A reply that is not what was hoped for."""

    kind: Kind
    text: str = ""
    after: float = 0


Answer = Callable[[str, list[bytes], str], "str | Fault"]


@dataclass(frozen=True)
class Asked:
    """What came: the words, the pictures as they were sent, the model, all of the body, and the key."""

    prompt: str
    pictures: list[bytes]
    model: str
    body: dict[str, Any]
    key: str


@dataclass
class ChatServer:
    """A running server."""

    url: str
    answer: Answer
    requests: list[Asked] = field(default_factory=list)
    answered: int = 0
    """Replies that were sent whole, faults not counted."""
    at_once: int = 0
    """The most requests that were ever under way together."""
    delay: float = 0.0
    """Seconds that a reply takes."""
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _answered_more: threading.Condition = field(default_factory=threading.Condition)
    _closing: threading.Event = field(default_factory=threading.Event)

    def subject(self, model: str = "knower", options: str = "") -> str:
        """The name of this service's model as a subject."""
        return f"chat:openai-api/{SERVICE}/{model},url={self.url}" + (f",{options}" if options else "")

    @property
    def prompts(self) -> list[str]:
        """The words of every request, in the order in which they came."""
        with self._lock:
            return [asked.prompt for asked in self.requests]

    def replied(self, asked: Asked) -> str | Fault:
        with self._lock:
            self.requests.append(asked)
            self._under_way += 1
            self.at_once = max(self.at_once, self._under_way)
        try:
            if self.delay:
                time.sleep(self.delay)
            reply = self.answer(asked.prompt, asked.pictures, asked.model)
            if isinstance(reply, Fault) and reply.kind == "silence":
                self._closing.wait(60)
            return reply
        finally:
            with self._lock:
                self._under_way -= 1

    def count_answer(self) -> None:
        with self._answered_more:
            self.answered += 1
            self._answered_more.notify_all()

    def wait_for(self, answered: int) -> None:
        """Return once so many requests were answered; TimeoutError after a minute."""
        with self._answered_more:
            if not self._answered_more.wait_for(lambda: self.answered >= answered, timeout=600):
                raise TimeoutError(f"{self.answered} of {answered} requests were answered")

    def close(self) -> None:
        self._closing.set()


@contextmanager
def chat_server(answer: Answer, *, service: str = SERVICE) -> Iterator[ChatServer]:
    """Serve on a free port of loopback; sets the key and the address that Inspect reads, and unsets them."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    server = ChatServer(f"http://127.0.0.1:{httpd.server_port}/v1", answer)
    httpd.chat = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        with patch.dict(os.environ, environment(server.url, service)):
            yield server
    finally:
        server.close()
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def environment(url: str, service: str = SERVICE) -> dict[str, str]:
    """What Inspect reads to find the service, for a process that is started apart."""
    return {f"{service.upper()}_API_KEY": KEY, f"{service.upper()}_BASE_URL": url}


def at_first(fault: Fault, answer: Answer, times: int = 1) -> Answer:
    """A service that fails the first `times` times that it is asked something, and answers afterwards."""
    seen: dict[str, int] = {}
    lock = threading.Lock()

    def replied(prompt: str, pictures: list[bytes], model: str) -> str | Fault:
        with lock:
            seen[prompt] = seen.get(prompt, 0) + 1
            again = seen[prompt] <= times
        return fault if again else answer(prompt, pictures, model)

    return replied


class Handler(BaseHTTPRequestHandler):
    """One request of the OpenAI chat-completions shape."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: ChatServer = self.server.chat  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self._send(404, {"error": {"message": f"no such path: {self.path}"}})
        asked = _read(body, self.headers.get("Authorization", "").removeprefix("Bearer "))
        reply = server.replied(asked)
        if isinstance(reply, Fault):
            return self._fail(reply, asked)
        self._send(200, completion(asked, reply))
        server.count_answer()
        return None

    def _fail(self, fault: Fault, asked: Asked) -> None:
        kind = fault.kind
        said = {
            "busy": (429, "too many requests"),
            "error": (500, "something broke"),
            "bad request": (400, "the picture is too large"),
            "no such model": (404, f"no model is named {asked.model}"),
            "wrong key": (401, f"wrong key: {asked.key}"),
        }
        if kind in said:
            status, message = said[kind]
            headers = {"Retry-After": f"{fault.after:g}"} if kind == "busy" else {}
            return self._send(status, {"error": {"message": message, "type": kind}}, headers)
        if kind in {"length", "filtered", "refusal"}:
            finish = {"length": "length", "filtered": "content_filter", "refusal": "stop"}[kind]
            return self._send(200, completion(asked, fault.text, finish, refusal=kind == "refusal"))
        body = fault.text.encode("latin-1") if kind == "raw" else b""
        if kind == "tool":
            called = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
            content = completion(asked, "", "tool_calls")
            content["choices"][0]["message"] |= {"content": None, "tool_calls": [called]}
            body = json.dumps(content).encode()
        if kind == "half a letter":
            body = json.dumps(completion(asked, fault.text + "\ud83d")).encode()
        if kind in {"tool", "half a letter", "raw"}:
            return self._write(200, body)
        if kind == "no choices":
            return self._send(200, completion(asked, "") | {"choices": []})
        if kind in {"truncated", "malformed"}:
            content = json.dumps(completion(asked, "never whole")).encode()
            return self._write(200, content[: len(content) // 2] if kind == "truncated" else b"<html>")
        self.close_connection = True  # silence: the client has gone long ago
        return None

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self._write(status, json.dumps(content, ensure_ascii=False).encode(), headers)

    def _write(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            named = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
            for name, value in named.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # a client that waited no longer, or was killed
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


def _read(body: dict[str, Any], key: str) -> Asked:
    words, pictures = [], []
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                words.append(part["text"])
            else:
                pictures.append(base64.b64decode(part["image_url"]["url"].partition("base64,")[2]))
    return Asked("\n".join(words), pictures, body["model"], body, key)


def completion(asked: Asked, text: str, finish: str = "stop", *, refusal: bool = False) -> dict[str, Any]:
    """An answer in the shape of OpenAI's, about four letters a token and 85 tokens a picture."""
    taken = len(asked.prompt) // 4 + 1 + 85 * len(asked.pictures)
    given = len(text) // 4 + 1
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {
                    "role": "assistant",
                    "content": None if refusal else text,
                    "refusal": text if refusal else None,
                },
            }
        ],
        "usage": {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given},
    }
