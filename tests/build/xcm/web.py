"""A host on loopback whose answers a test chooses, by path."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """One answer; `length` overrides the header Content-Length, and a negative one leaves it out."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None


Reply = Callable[[str, dict[str, str]], Answer]


@dataclass
class Host:
    """A running host."""

    url: str
    asked: list[str] = field(default_factory=list)
    """The path of every request, in the order in which they came."""
    agents: set[str] = field(default_factory=set)


@contextmanager
def host(reply: Reply) -> Iterator[Host]:
    """Serve `reply(path, headers)` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running.asked.append(self.path)
            running.agents.add(self.headers.get("User-Agent", ""))
            answer = reply(self.path, dict(self.headers))
            self.send_response(answer.status)
            length = len(answer.body) if answer.length is None else answer.length
            sized = {"Content-Length": str(length)} if length >= 0 else {}
            for name, value in (answer.headers | sized).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = Host(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
