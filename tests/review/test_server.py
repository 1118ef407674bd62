"""The server: nobody reads or writes without a secret, and what people send is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest

from equiview.review import Question, ReviewItem, ReviewText, export_review
from equiview.review.server import HEADERS
from tests.review.reviews import (
    QUESTIONS,
    RIGHT,
    WRONG,
    Client,
    Server,
    picture,
    serving,
    visible,
    write,
)

SCRIPT = "<script>alert(1)</script>"
BIDI = "\u202eevil\u2066 <img src=x onerror=alert(1)>"
NASTY = ReviewItem(
    id=f"nasty{SCRIPT}",
    group=SCRIPT,
    picture=picture(),
    fields=[
        ReviewText(label=SCRIPT, text=SCRIPT, language='"><script>alert(1)</script>'),
        ReviewText(label=BIDI, text=BIDI, language="ar"),
        ReviewText(label="{{ 7 * 7 }}", text="{{ settings }}\n'\"&", language="he"),
    ],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A review of a single nasty item, and more people than it needs."""
    folder = tmp_path_factory.mktemp("review")
    asked = Question(id="nasty", text=SCRIPT, choices=(SCRIPT, BIDI), required=False)
    write(folder, [NASTY], questions=(*QUESTIONS, asked), instructions=SCRIPT, title=SCRIPT, reviewers=4)
    with serving(folder) as started:
        yield started


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    """A review nobody has begun."""
    with serving(write(tmp_path, 6)) as started:
        yield started


PATHS = ("", "item/1", "picture/1", "static/review.css", "static/review.js", "export/judgements.csv", "votes",
         "in/", f"in/{'0' * 48}", "in/\u00e9", "picture/x", "none")  # fmt: skip


@pytest.mark.parametrize("who", ["reviewer-1", "coordinator", "adjudicator", "reviewer-99", "docs", "%00"])
def test_without_a_secret_there_is_nothing(server: Server, who: str) -> None:
    with httpx.Client(base_url=server.address, follow_redirects=False) as client:
        for path in PATHS:
            for cookie in ({}, {f"review-{'0' * 8}": "x"}):
                reply = client.get(
                    f"/{who}/{path}", headers={"Cookie": "; ".join(map("=".join, cookie.items()))}
                )
                assert (reply.status_code, reply.content) in ((404, b""), (405, b"")), path
        reply = client.post(f"/{who}/votes", json={}, headers={"Origin": server.address})
        assert (reply.status_code, reply.content) == (404, b"")


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/openapi.json", "/reviewer-1", "/favicon.ico", "/../review.json"]
)
def test_nothing_else_is_served(server: Server, path: str) -> None:
    reply = httpx.get(server.address + path)
    assert (reply.status_code, reply.content) == (404, b"")


def test_a_link_sets_a_cookie_and_leaves_the_address(server: Server) -> None:
    reply = httpx.get(server.link("reviewer-1"))
    token = server.link("reviewer-1").rpartition("/")[2]
    assert '<meta http-equiv="refresh" content="0; url=/reviewer-1/">' in reply.text
    assert token not in reply.text
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/reviewer-1/;" in cookie


def test_one_persons_secret_opens_nobody_elses_page(server: Server) -> None:
    with Client(server, "reviewer-1") as client:
        (name, token), *_ = client.http.cookies.items()
        for who in ("reviewer-2", "coordinator", "adjudicator"):
            reply = httpx.get(f"{server.address}/{who}/", headers={"Cookie": f"{name}={token}"})
            assert (reply.status_code, reply.content) == (404, b"")
        assert client.http.get("/reviewer-1/export/judgements.csv").status_code == 404


def test_every_reply_is_guarded(server: Server) -> None:
    with Client(server, "reviewer-1") as client:
        for path in ("", "picture/1", "static/review.js", "none", "in/x"):
            headers = client.http.get(f"/reviewer-1/{path}").headers
            for name, value in HEADERS.items():
                assert headers[name] == value or (path == "picture/1" and name == "Cache-Control"), path
            assert "server" not in headers
        assert "unsafe" not in HEADERS["Content-Security-Policy"]
        outside_values = re.sub(r'"[^"]*"', "", client.page())
        assert not re.search(r"<script(?! src=)|<style|<[^>]* (style|on\w+)=", outside_values)


def test_texts_are_escaped_wherever_they_stand(server: Server) -> None:
    pages = []
    for who in ("reviewer-1", "reviewer-2", "reviewer-3", "reviewer-4"):
        with Client(server, who) as client:
            pages.append(client.page())
    for who, choice in zip(("reviewer-1", "reviewer-2", "reviewer-3"), (SCRIPT, BIDI, SCRIPT), strict=True):
        with Client(server, who) as client:
            assert client.vote(1, RIGHT | {"nasty": choice}).status_code == 200
            pages += [client.page(), client.page("item/1")]
    for who in ("adjudicator", "coordinator"):
        with Client(server, who) as client:
            pages.append(client.page())
    for page in pages:
        assert "<script>" not in page
        assert "<img src=x" not in page
        assert SCRIPT in visible(page)
    shown = pages[0]
    assert '<p class="text" dir="auto" lang="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">' in shown
    assert '<p class="text" dir="rtl" lang="ar">' in shown
    assert BIDI in visible(shown)
    assert "{{ settings }}" in visible(shown)


def test_pictures_are_pictures(server: Server) -> None:
    with Client(server, "reviewer-1") as client:
        reply = client.http.get("/reviewer-1/picture/1")
        assert reply.headers["content-type"] == "image/png"
        assert reply.content == picture()
        (shown,) = (server.folder / "pictures").iterdir()
        shown.write_text("<svg/>")  # changed behind our back
        assert client.http.get("/reviewer-1/picture/1").status_code == 404
        shown.write_bytes(picture())


def test_a_write_needs_the_pages_token_and_its_origin(fresh: Server) -> None:
    with Client(fresh, "reviewer-1") as client, Client(fresh, "reviewer-2") as other:
        item = client.item()
        assert item is not None
        for changed in (
            {"Origin": None},
            {"Origin": "null"},
            {"Origin": "http://elsewhere.example"},
            {"Origin": client.origin.replace("http", "https")},
            {"X-CSRF-Token": None},
            {"X-CSRF-Token": "0" * 64},
            {"X-CSRF-Token": other.csrf()},
        ):
            reply = client.vote(item, RIGHT, **changed)
            assert (reply.status_code, reply.content) == (403, b""), changed
        assert client.vote(item, RIGHT, **{"Content-Type": "text/plain"}).status_code == 415
        assert client.vote(item, RIGHT | {"note": "x" * 70_000}).status_code == 413
        for wrong in ("no id", "0" * 31, "F" * 32):
            assert client.vote(item, RIGHT, vote=wrong).status_code == 422
        assert client.item() == item  # nothing was kept
        assert f'data-csrf="{client.csrf()}"' in client.page()
        assert client.vote(item, RIGHT).status_code == 200
        assert client.item() != item


def test_a_wrong_judgement_is_refused_with_words(fresh: Server) -> None:
    with Client(fresh, "reviewer-1") as client:
        reply = client.vote(1, {"language": "yes"})
        assert reply.status_code == 409
        assert reply.json() == {"problem": "not answered yet: relevance"}
    with Client(fresh, "coordinator") as client:
        assert client.vote(1, RIGHT).status_code == 409


def test_from_the_first_judgement_to_the_export(fresh: Server) -> None:
    for number in (1, 2, 3):
        with Client(fresh, f"reviewer-{number}") as client:
            for turn in range(6):
                item = client.item()
                assert item is not None
                client.vote(item, WRONG if number == 2 and item <= 2 else RIGHT)
                assert f"{turn + 1} judged" in " ".join(visible(client.page()).split())
            assert "You are done. Thank you!" in client.page()
            assert client.http.get(f"/reviewer-{number}/item/7").status_code == 404
    with Client(fresh, "adjudicator") as client:
        shown = visible(client.page())
        assert all(
            name in shown for name in ("reviewer-1", "reviewer-2", "reviewer-3", "Does it say the same?")
        )
        for item in (1, 2):
            assert client.item() == item
            assert client.vote(item, {"relevance": "partly"}).status_code == 200
        assert "Nothing to decide now" in client.page()
        assert "You have decided this item before" in client.page("item/2")
    with Client(fresh, "coordinator") as client:
        shown = " ".join(visible(client.page()).split())
        assert "6 of 6 items complete" in shown
        assert "undefined: every answer is 'yes'" in shown
        assert "nan" not in shown
        for table, rows in (("judgements", 38), ("decisions", 18), ("agreement", 3)):
            reply = client.http.get(f"/coordinator/export/{table}.csv")
            assert len(pl.read_csv(reply.content)) == rows
            assert "attachment" in reply.headers["content-disposition"]
        assert client.http.get("/coordinator/export/votes.csv").status_code == 404
        assert client.http.get("/coordinator/export/judgements.exe").status_code == 404
    exported, *_ = export_review(fresh.folder, fresh.folder / "out.csv")
    assert exported.read_bytes()
    assert len(pl.read_csv(exported)) == 38


def test_a_person_sees_again_only_what_they_judged(fresh: Server) -> None:
    with Client(fresh, "reviewer-1") as client:
        item = client.item()
        assert item is not None
        assert client.http.get(f"/reviewer-1/item/{item}").status_code == 404
        client.vote(item, WRONG)
        page = client.page(f"item/{item}")
        assert re.search(r'value="no" checked', page)
        assert f'href="/reviewer-1/item/{item}"' in client.page()  # back
        client.vote(item, RIGHT)
        assert not re.search(r'value="no" checked', client.page(f"item/{item}"))


def test_people_go_on_where_they_were_after_a_kill(fresh: Server) -> None:
    with Client(fresh, "reviewer-1") as client:
        first = client.item()
        assert first is not None
        client.vote(first, RIGHT)
        second = client.item()
        fresh.kill()
        fresh.start()
        assert client.item() == second  # the same cookie, and the same item


LARGE = ("9223372036854775807", "9223372036854775808", "9" * 5000)
NUMBERS = (*LARGE, "0", "-1", "1e3", "0.5", "%00", "x")


def test_a_number_that_no_item_can_have_is_not_found(server: Server) -> None:
    with Client(server, "reviewer-1") as client:
        for place in ("item", "picture"):
            for number in NUMBERS:
                reply = client.http.get(f"/reviewer-1/{place}/{number}")
                assert (reply.status_code, reply.content) == (404, b""), number
        for item in (0, -1, 2**62, 2**63, 2**64, 1.5, "x", None):
            assert client.vote(item, RIGHT).status_code in (409, 422), item  # type: ignore[arg-type]


def test_on_a_full_disk_nothing_is_said_to_be_saved(fresh: Server) -> None:
    with Client(fresh, "reviewer-1") as client:
        item, vote = client.item(), "0" * 32
        assert item is not None
        with fresh.full_disk():
            for _ in range(2):
                reply = client.vote(item, RIGHT, vote)
                assert (reply.status_code, reply.json()) == (503, {"problem": "not saved"})
            assert client.item() == item
        assert client.vote(item, RIGHT, vote).status_code == 200
        assert client.vote(item, RIGHT, vote).status_code == 200
        assert client.item() != item
    _, decisions, _ = export_review(fresh.folder, fresh.folder / "out.csv")
    assert pl.read_csv(decisions)["votes"].sum() == 2  # two questions, once each


def test_a_judgement_of_what_has_changed_since_is_refused(fresh: Server) -> None:
    with Client(fresh, "reviewer-1") as client:
        page = client.page()
    item = client.item(page)
    shown = re.search(r'data-shown="([0-9a-f]+)"', page)
    assert item is not None
    assert shown
    fresh.kill()
    write(fresh.folder, [ReviewItem(id=f"i{n}", fields=[ReviewText(text="new")]) for n in range(6)])
    fresh.start()
    with Client(fresh, "reviewer-1") as client:
        reply = client.vote(item, RIGHT, shown=shown[1])
    assert reply.status_code == 409
    assert "changed since this page was loaded" in reply.json()["problem"]


def test_a_picture_that_is_no_longer_the_one_is_not_shown(server: Server) -> None:
    (shown,) = (server.folder / "pictures").iterdir()
    content = shown.read_bytes()
    try:
        with Client(server, "reviewer-1") as client:
            shown.write_bytes(content[:-1] + b"!")  # the same size
            assert client.http.get("/reviewer-1/picture/1").status_code == 404
            shown.unlink()
            assert client.http.get("/reviewer-1/picture/1").status_code == 404
    finally:
        shown.write_bytes(content)
