"""Fetching: what is never fetched, what is asked again, and when."""

from __future__ import annotations

import gzip
import io
import socket
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from equiview.build.xcm import fetch
from equiview.build.xcm.fetch import NotFetchedError, Web, usable
from equiview.errors import InputError
from equiview.io.again import Clock
from tests.build.xcm.web import Answer, Reply, host

PNG = {"Content-Type": "image/png"}
MISSING = Answer(status=404)


def picture(side: int = 64, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.radial_gradient("L").resize((side, side)).convert("RGB").save(stream, kind)
    return stream.getvalue()


class Waits:
    """A clock whose sleeps take no time and are remembered."""

    def __init__(self) -> None:
        self.time, self.slept = 0.0, list[float]()
        self.clock = Clock(now=lambda: self.time, wall=lambda: self.time, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.time += seconds


@pytest.fixture
def waits() -> Waits:
    return Waits()


def paths(**answers: Answer | Callable[[], Answer]) -> Reply:
    def reply(path: str, _: dict[str, str]) -> Answer:
        found = answers.get(path.strip("/").partition("?")[0].replace(".", "_").replace("/", "_"), MISSING)
        return found() if callable(found) else found

    return reply


def web(waits: Waits, rate: float = 0) -> Web:
    return Web("me@example.org", rate, loopback=True, clock=waits.clock)


def refused(fetched: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(NotFetchedError) as caught:
        fetched()
    return caught.value.reason, caught.value.detail


def test_a_picture_comes_as_it_is_and_the_host_knows_who_asks(waits: Waits) -> None:
    with host(paths(a=Answer(picture(), headers=PNG))) as there:
        assert web(waits).picture(f"{there.url}/a") == picture()
        assert there.asked == ["/robots.txt", "/a"]
        assert all(agent.startswith("equiview/") and "(me@example.org)" in agent for agent in there.agents)


def test_redirects_are_followed_and_no_more_than_five(waits: Waits) -> None:
    def reply(path: str, _: dict[str, str]) -> Answer:
        left = int(path[1:]) if path[1:].isdecimal() else -1
        if left < 0:
            return MISSING
        here = {"Location": f"/{left - 1}"}
        return Answer(picture(), headers=dict(PNG)) if left == 0 else Answer(status=302, headers=here)

    with host(reply) as there:
        assert web(waits).picture(f"{there.url}/5") == picture()
        assert refused(lambda: web(waits).picture(f"{there.url}/6"))[1] == "more than 5 redirects"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/a",
        "http://localhost/a",
        "http://2130706433/a",  # 127.0.0.1 as one number
        "http://[::1]/a",
        "http://[::ffff:127.0.0.1]/a",
        "http://10.0.0.1/a",
        "http://192.168.1.1/a",
        "http://172.16.0.1/a",
        "http://169.254.169.254/latest/meta-data",
        "http://100.64.0.1/a",
        "http://0.0.0.0/a",
        "http://[fd00::1]/a",
        "http://[64:ff9b::a00:1]/a",
        "http://224.0.0.1/a",
    ],
)
def test_only_public_addresses_are_connected_to(url: str, waits: Waits) -> None:
    strict = Web(clock=waits.clock, rate=0)
    assert refused(lambda: strict.picture(url))[0] == "its address is not public"


def test_the_setting_for_loopback_opens_no_other_address(waits: Waits) -> None:
    assert refused(lambda: web(waits)._followed("http://10.0.0.1/a", "*", 9, obey=False))[0] == (
        "its address is not public"
    )


def test_a_redirect_to_a_private_address_is_not_followed(waits: Waits) -> None:
    there = {"Location": "http://169.254.169.254/latest/meta-data"}
    with host(paths(a=Answer(status=302, headers=there))) as here:
        found = refused(lambda: web(waits)._followed(f"{here.url}/a", "*", 9, obey=False))
    assert found == ("its address is not public", "169.254.169.254")


def test_one_private_address_of_a_name_is_enough_and_the_checked_one_is_used(
    waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes between check and connection would lead anywhere: it is looked up once."""
    looked: list[str] = []
    addresses = ["93.184.216.34", "10.0.0.1"]
    real = socket.getaddrinfo

    def lookup(name: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if name != "images.example":
            return real(name, port, *rest, **more)
        looked.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (entry, port)) for entry in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    asked = "http://images.example/a"
    assert refused(lambda: Web(clock=waits.clock)._followed(asked, "*", 9, obey=False)) == (
        "its address is not public",
        "images.example",
    )
    with host(paths(a=Answer(picture(), headers=PNG))) as there:
        addresses[:] = ["127.0.0.1"]
        port = there.url.rpartition(":")[2]
        looked.clear()
        body = web(waits)._followed(f"http://images.example:{port}/a", "*", 10_000, obey=False).body
        assert (body, looked) == (picture(), ["images.example"])


@pytest.mark.parametrize(
    "url",
    ["ftp://example.org/a", "file:///etc/passwd", "//a", "http://", "http://u:p@example.org/", "http://[x/"],
)
def test_what_is_no_address_of_the_web_is_refused(url: str, waits: Waits) -> None:
    assert refused(lambda: web(waits).picture(url))[0] == "its address is none"


def test_robots_are_obeyed_for_images_with_wildcards_and_read_once(waits: Waits) -> None:
    rules = Answer(b"User-agent: *\nDisallow: /*/private\nAllow: /\n")
    with host(paths(robots_txt=rules, a=Answer(picture(), headers=PNG))) as there:
        fetching = web(waits)
        assert refused(lambda: fetching.picture(f"{there.url}/x/private"))[0] == "robots.txt forbids it"
        fetching.picture(f"{there.url}/a")
        fetching.picture(f"{there.url}/a")
    assert there.asked == ["/robots.txt", "/a", "/a"]


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (403, True), (500, False)])
def test_a_host_that_cannot_say_is_not_asked(status: int, allowed: bool, waits: Waits) -> None:
    with host(paths(robots_txt=Answer(status=status), a=Answer(picture(), headers=PNG))) as there:
        if allowed:
            assert web(waits).picture(f"{there.url}/a")
        else:
            found = refused(lambda: web(waits).picture(f"{there.url}/a"))
            assert found[0] == "its host's robots.txt cannot be read"


def test_requests_to_a_host_are_apart_by_the_rate_or_by_what_it_asks(waits: Waits) -> None:
    with host(paths(a=Answer(picture(), headers=PNG))) as there:
        fetching = web(waits, rate=4)
        for _ in range(3):
            fetching.picture(f"{there.url}/a")
    assert waits.slept == [0.25, 0.25, 0.25]
    waits.slept.clear()
    slow = Answer(b"User-agent: equiview\nCrawl-delay: 7\n")
    with host(paths(robots_txt=slow, a=Answer(picture(), headers=PNG))) as there:
        fetching = web(waits, rate=4)
        for _ in range(3):
            fetching.picture(f"{there.url}/a")
    assert waits.slept == [0.25, 7, 7]


def test_whoever_is_busy_is_asked_again_when_he_says(waits: Waits) -> None:
    answers = iter([Answer(status=503, headers={"Retry-After": "9"}), Answer(status=500)])
    good = Answer(picture(), headers=PNG)
    with host(paths(a=lambda: next(answers, good))) as there:
        assert web(waits).picture(f"{there.url}/a")
    assert waits.slept == [9, 2]


def test_whoever_stays_busy_is_given_up(waits: Waits) -> None:
    with host(paths(a=Answer(status=503))) as there:
        found = refused(lambda: web(waits).picture(f"{there.url}/a"))
        assert found == ("it could not be fetched", "status 503")
        assert Counter(there.asked)["/a"] == fetch.TRIES
        assert refused(lambda: web(waits).picture(f"{there.url}/none"))[1] == "status 404"
        assert Counter(there.asked)["/none"] == 1


def test_an_answer_that_breaks_off_is_asked_for_again(waits: Waits) -> None:
    answers = iter([Answer(picture()[:40], headers=dict(PNG), length=len(picture()))])
    good = Answer(picture(), headers=PNG)
    with host(paths(a=lambda: next(answers, good))) as there:
        assert web(waits).picture(f"{there.url}/a") == picture()


@pytest.mark.parametrize("length", [None, -1])
def test_a_file_has_a_limit_of_bytes(
    length: int | None, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MOST_BYTES", 50_000)
    with host(paths(a=Answer(bytes(60_000), headers=dict(PNG), length=length))) as there:
        assert refused(lambda: web(waits).picture(f"{there.url}/a"))[0] == "it is too large"


def test_what_is_no_picture_is_refused_and_nothing_is_unpacked(waits: Waits) -> None:
    page = Answer(b"<html>", headers={"Content-Type": "text/html; charset=utf-8"})
    packed = Answer(gzip.compress(bytes(10**6)), headers=PNG | {"Content-Encoding": "gzip"})
    with host(paths(page=page, packed=packed)) as there:
        assert refused(lambda: web(waits).picture(f"{there.url}/page")) == ("it is no picture", "text/html")
        assert "compressed" in refused(lambda: web(waits).picture(f"{there.url}/packed"))[0]


def test_a_host_that_sends_drop_by_drop_is_left(waits: Waits, monkeypatch: pytest.MonkeyPatch) -> None:
    def now() -> float:
        waits.time += 50
        return waits.time

    waits.clock.now = now
    with host(paths(a=Answer(bytes(500_000), headers=PNG))) as there:
        found = refused(lambda: web(waits)._followed(f"{there.url}/a", "*", 10**6, obey=False))
    assert found == ("it could not be fetched", "it took longer than 120 s")


def test_a_search_gives_json_or_says_what_to_do(waits: Waits) -> None:
    replies = {"found": Answer(b'{"a": [1]}'), "broken": Answer(b"{")}
    with host(paths(robots_txt=Answer(b"User-agent: *\nDisallow: /"), **replies)) as there:
        assert web(waits).json(f"{there.url}/found", q="รถไฟ", n=3) == {"a": [1]}
        assert there.asked == ["/found?q=%E0%B8%A3%E0%B8%96%E0%B9%84%E0%B8%9F&n=3"]
        with pytest.raises(InputError, match="is not JSON"):
            web(waits).json(f"{there.url}/broken")
        with pytest.raises(InputError, match=r"the search failed \(.*404\); run again to go on"):
            web(waits).json(f"{there.url}/none")


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims so many pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        whole = kind + content
        return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bomb(60_000, 60_000), "it has too many pixels"),
        (bomb(9_000, 9_000), "it has too many pixels"),
        (b"", "it is no picture"),
        (b"<svg onload='x'>", "it is no picture"),
        (picture()[:200], "it cannot be read"),
        (picture(63), "it is too small"),
    ],
)
def test_files_that_are_no_usable_pictures(content: bytes, reason: str) -> None:
    assert refused(lambda: usable(content, 64))[0] == reason


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WebP"])
def test_pictures_are_usable(kind: str) -> None:
    assert usable(picture(64, kind), 64) == (kind.lower(), 64, 64)
