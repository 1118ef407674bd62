"""Reviews to test with: a folder, people at work on it, and a real server in a process of its own."""

from __future__ import annotations

import html
import io
import json
import re
import resource
import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from equiview.review import Question, ReviewItem, ReviewSettings, ReviewText, write_review
from equiview.review.decisions import Opinion
from equiview.review.layout import LINKS
from equiview.review.opening import Review, open_review
from equiview.review.people import Person
from equiview.review.serving import serve_review
from equiview.review.votes import record
from tests.processes import FORKED

QUESTIONS = (
    Question(id="language", text="Is the translation in the right language?"),
    Question(id="relevance", text="Does it say the same?", choices=("yes", "partly", "no")),
    Question(id="note", text="Anything odd?", required=False),
)
RIGHT = {"language": "yes", "relevance": "yes"}
WRONG = {"language": "yes", "relevance": "no"}


def picture(colour: str = "teal", kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (60, 40), colour).save(stream, kind)
    return stream.getvalue()


def write(folder: Path, items: int | list[ReviewItem] = 6, **settings: Any) -> Path:
    """Write a review of so many items, or of these."""
    given = (
        [ReviewItem(id=f"i{n}", fields=[ReviewText(label="Text", text=f"text {n}")]) for n in range(items)]
        if isinstance(items, int)
        else items
    )
    chosen = {"title": "Translations", "questions": QUESTIONS, "reviewers": 3} | settings
    return write_review(folder, ReviewSettings(**chosen), given)


@contextmanager
def opened(folder: Path, people: int | None = None) -> Iterator[Review]:
    review = open_review(folder, people)
    try:
        yield review
    finally:
        review.database.close()


def reviewers(review: Review) -> list[Person]:
    return [person for person in review.people.values() if person.role == "reviewer"]


def judge(review: Review, person: Person, item: int, answers: dict[str, str], vote: str = "") -> None:
    """Record a judgement as the server does."""
    record(
        review.database, review.settings, person, vote=vote or uuid.uuid4().hex, item=item, answers=answers
    )
    review.assignment.release(person, item)


def said(review: Review, item: int) -> dict[str, dict[str, str]]:
    from equiview.review.votes import opinions_on

    opinions: list[Opinion] = opinions_on(review.database.connection, item)
    return {opinion.author: dict(opinion.answers) for opinion in opinions}


def _serve(folder: Path, port: int, started: Connection) -> None:
    def say(line: str) -> None:
        if address := re.search(r"http://127\.0\.0\.1:(\d+)/coordinator", line):
            started.send(int(address[1]))

    serve_review(folder, port=port, say=say)


@dataclass
class Server:
    """A server in a process; `kill` ends it as a power cut would."""

    folder: Path
    port: int = 0
    process: Any = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        receiving, sending = FORKED.Pipe(duplex=False)
        with receiving, sending:
            self.process = FORKED.Process(target=_serve, args=(self.folder, self.port, sending))
            self.process.start()
            sending.close()
            self.port = receiving.recv()  # EOFError when it ended instead of starting

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """While it lasts, no file of the server may grow, as on a disk without space."""
        pid, limit = self.process.pid, resource.RLIMIT_FSIZE
        before = resource.prlimit(pid, limit)
        resource.prlimit(pid, limit, (1, before[1]))
        try:
            yield
        finally:
            resource.prlimit(pid, limit, before)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.process.close()

    def link(self, who: str) -> str:
        return f"{self.address}/{who}/in/{json.loads((self.folder / LINKS).read_text())[who]}"


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


class Client:
    """A person's browser without the browser."""

    def __init__(self, server: Server, who: str) -> None:
        self.http = httpx.Client(base_url=server.address, timeout=300)
        self.who = who
        self.origin = server.address
        assert self.http.get(server.link(who)).status_code == 200

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def page(self, path: str = "") -> str:
        reply = self.http.get(f"/{self.who}/{path}")
        assert reply.status_code == 200, reply.status_code
        return reply.text

    def item(self, page: str | None = None) -> int | None:
        """The number of the item that is shown."""
        shown = re.search(r'data-item="(\d+)"', page or self.page())
        return int(shown[1]) if shown else None

    def csrf(self) -> str:
        from equiview.review.people import csrf_of

        return csrf_of(next(iter(self.http.cookies.values())))

    def vote(
        self, item: int, answers: dict[str, str], vote: str = "", shown: str | None = None, **changed: Any
    ) -> httpx.Response:
        """Send a judgement as the page does; `changed` replaces headers, None leaving one out."""
        headers = {"Origin": self.origin, "X-CSRF-Token": self.csrf(), "Content-Type": "application/json"}
        headers = {name: value for name, value in (headers | changed).items() if value is not None}
        content = {"vote": vote or secrets.token_hex(16), "item": item, "answers": answers}
        body = json.dumps(content if shown is None else content | {"shown": shown})
        return self.http.post(f"/{self.who}/votes", content=body, headers=headers)


def visible(page: str) -> str:
    """The text of a page, as a reader would see it."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page))
