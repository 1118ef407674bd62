"""The page in a real browser: keys, languages, screens, and a connection that is lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from equiview.review import ReviewItem, ReviewText
from tests import browser
from tests.review.reviews import RIGHT, WRONG, Client, Server, picture, serving, write

ARABIC = "أي مدينة؟\nA. باريس"
SCRIPT = "<script>document.title = 'run'</script>"
ITEM = ReviewItem(
    id="a",
    picture=picture(),
    group="ar",
    fields=[
        ReviewText(label="Original", text="Which city?\nA. Paris", language="en"),
        ReviewText(label="Translation", text=ARABIC, language="ar"),
        ReviewText(label="Notes", text=f"{SCRIPT}\u202e{'long' * 80}"),
    ],
)
READY = "return document.documentElement?.dataset.ready !== undefined"


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Page]:
    with browser.browser() as page:
        yield page


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    items = [ITEM.model_copy(update={"id": name}) for name in "abcd"]
    with serving(write(tmp_path, items, title="Is it well translated?", instructions="Read.\nAnswer.")) as it:
        yield it


def enter(window: browser.Page, server: Server, who: str, **look: Any) -> None:
    """Follow a person's link, and wait for the page that it leads to."""
    window.driver.get("about:blank")
    window.driver.get(server.link(who))
    window.until(f"return location.pathname === '/{who}/' && {READY.removeprefix('return ')}")
    if look:
        window.open(f"{server.address}/{who}/", **look)


def press(window: browser.Page, *keys: str) -> None:
    ActionChains(window.driver).send_keys(*keys).perform()


def shown(window: browser.Page) -> int:
    return int(window.run("return document.body.dataset.item"))


def save(window: browser.Page, *keys: str) -> None:
    """Press keys, then Enter, and wait until another page is there."""
    window.run("document.body.dataset.old = ''")
    press(window, *keys, Keys.ENTER)
    window.until(f"return document.body?.dataset.old === undefined && {READY.removeprefix('return ')}")


def votes(server: Server) -> list[tuple[int, dict[str, str]]]:
    database = sqlite3.connect(server.folder / "review.sqlite")
    rows = database.execute("SELECT item, answers FROM votes ORDER BY number").fetchall()
    database.close()
    return [(item, json.loads(answers)) for item, answers in rows]


def test_a_link_from_another_site_leads_in_and_is_left_behind(
    window: browser.Page, server: Server, tmp_path: Path
) -> None:
    mail = tmp_path / "mail.html"
    mail.write_text(f"<html data-ready><a href='{server.link('reviewer-1')}'>your link</a></html>")
    window.open(mail)
    window.run("document.querySelector('a').click()")
    window.until(f"return location.pathname === '/reviewer-1/' && {READY.removeprefix('return ')}")
    assert shown(window)
    assert window.run("return document.referrer") == ""
    assert window.run("return document.cookie") == ""  # no script can read it


def test_everything_is_done_with_keys(window: browser.Page, server: Server) -> None:
    enter(window, server, "reviewer-1")
    first = shown(window)
    save(window, "1", "3")
    second = shown(window)
    assert second != first
    save(window, "2", "2", "1")
    third = shown(window)
    assert votes(server) == [
        (first, {"language": "yes", "relevance": "no"}),
        (second, {"language": "no", "relevance": "partly", "note": "yes"}),
    ]
    press(window, "u")
    window.until(f"return location.pathname === '/reviewer-1/item/{second}'")
    window.until(READY)
    press(window, "u")
    window.until(f"return location.pathname === '/reviewer-1/item/{first}'")
    window.until(READY)
    chosen = "return [...document.querySelectorAll('input:checked')].map((input) => input.value)"
    assert window.run(chosen) == ["yes", "no"]
    window.run("document.querySelectorAll('input[value=partly]')[0].click()")
    save(window)
    assert votes(server)[2] == (first, {"language": "yes", "relevance": "partly"})
    assert shown(window) == third


def test_help_opens_and_closes_and_keys_do_nothing_below_it(window: browser.Page, server: Server) -> None:
    enter(window, server, "reviewer-1")
    press(window, "?")
    assert window.run("return document.querySelector('#help').open")
    press(window, "1", "u")
    assert not window.run("return document.querySelector('input:checked')")
    press(window, "?")
    assert not window.run("return document.querySelector('#help').open")


def test_an_optional_answer_can_be_taken_back_and_a_required_one_is_asked_for(
    window: browser.Page, server: Server
) -> None:
    enter(window, server, "reviewer-1")
    press(window, "1", Keys.ENTER)
    assert window.run("return document.querySelector('#status').textContent") == "Answer this question first."
    assert window.run("return document.querySelector('[aria-invalid]').dataset.id") == "relevance"
    press(window, "1", "2")
    assert window.run("return document.querySelector('[name=note]:checked').value") == "no"
    window.run("document.querySelector('[name=note]:checked').focus()")
    save(window, "2")
    assert [answers for _, answers in votes(server)] == [RIGHT]


def test_a_keyboard_of_another_script_chooses_too(window: browser.Page, server: Server) -> None:
    enter(window, server, "reviewer-1")
    window.run("""for (const code of ["Digit1", "Digit3"])
        document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "&", code, bubbles: true}));""")
    save(window)
    assert [answers for _, answers in votes(server)] == [WRONG]


def test_a_lost_connection_loses_nothing(window: browser.Page, server: Server) -> None:
    enter(window, server, "reviewer-1")
    item = shown(window)
    server.kill()
    press(window, "1", "1", Keys.ENTER)
    window.until("return document.querySelector('#status').textContent.startsWith('Not saved yet')")
    press(window, "2", Keys.ENTER)  # too late to change: it is on its way
    server.start()
    window.until(f"return document.body && document.body.dataset.item !== '{item}'")
    assert votes(server) == [(item, RIGHT)]
    window.problems()


def test_a_full_disk_loses_nothing(window: browser.Page, server: Server) -> None:
    enter(window, server, "reviewer-1")
    item = shown(window)
    with server.full_disk():
        press(window, "1", "1", Keys.ENTER)
        said = "document.querySelector('#status').textContent"
        window.until(f"return {said}.startsWith('Not saved yet: the server cannot save at the moment.')")
        assert votes(server) == []
    window.until(f"return document.body && document.body.dataset.item !== '{item}'")
    assert votes(server) == [(item, RIGHT)]
    window.problems()


def test_without_its_picture_an_item_is_not_judged(window: browser.Page, server: Server) -> None:
    (kept,) = (server.folder / "pictures").iterdir()
    kept.write_bytes(picture("red"))
    enter(window, server, "reviewer-1")
    window.until("return document.querySelector('figure img').complete")
    press(window, "1", "1", Keys.ENTER)
    said = window.run("return document.querySelector('#status').textContent")
    assert said.startswith("The picture cannot be shown.")
    assert votes(server) == []
    window.problems()


def test_texts_run_in_their_own_direction_and_nothing_else_runs(window: browser.Page, server: Server) -> None:
    enter(window, server, "reviewer-1")
    window.problems()
    window.open(f"{server.address}/reviewer-1/")
    texts = window.run("""return [...document.querySelectorAll(".field .text")].map((text) => {
        const range = document.createRange();
        range.selectNodeContents(text);
        const [box, lines] = [text.getBoundingClientRect(), range.getBoundingClientRect()];
        const sides = [lines.left - box.left < 2, box.right - lines.right < 2];
        return [text.lang, getComputedStyle(text).direction, ...sides];
    })""")
    assert texts[:2] == [["en", "ltr", True, False], ["ar", "rtl", False, True]]
    assert window.run("return document.querySelectorAll('.field .text')[1].textContent") == ARABIC
    assert window.run("return document.title") == "Is it well translated?"
    assert SCRIPT in window.run("return document.querySelectorAll('.field .text')[2].textContent")
    assert window.problems(server.address) == []


LOOKS = {
    "desk": {"width": 1280, "height": 900},
    "desk, dark": {"width": 1280, "height": 900, "dark": True},
    "phone": {"width": 390, "height": 844},
    "phone, dark": {"width": 390, "height": 844, "dark": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_pages_fit_the_screen(window: browser.Page, server: Server, look: str) -> None:
    for number, answers in enumerate((RIGHT, WRONG, RIGHT), start=1):
        with Client(server, f"reviewer-{number}") as client:
            client.vote(1, answers)
    for who in ("reviewer-1", "adjudicator", "coordinator"):
        enter(window, server, who)
        window.problems()
        window.open(f"{server.address}/{who}/", **LOOKS[look])
        assert window.overflow() == []
        assert window.problems(server.address) == []
        sizes = window.run("""return [...document.querySelectorAll("main .choice, main .button")]
            .map((e) => e.getBoundingClientRect()).flatMap((box) => [box.height, box.width])""")
        assert min(sizes, default=44) >= 44
        assert contrast(window) >= 4.5
        if who != "coordinator":
            assert window.run("return document.querySelector('figure img').naturalWidth") == 60
            assert window.run("""document.querySelector("fieldset").scrollIntoView();
                const box = document.querySelector("#save").getBoundingClientRect();
                return box.bottom <= innerHeight && box.top >= 0""")  # within reach of the questions


def contrast(window: browser.Page) -> float:
    """The least contrast of a text with what is behind it (WCAG 2, relative luminance)."""
    return window.run("""
        const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const rgba = (colour) => {
            paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
            return [...paint.getImageData(0, 0, 1, 1).data];
        };
        const light = (colour) => {
            const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            const [r, g, b] = rgba(colour).map(part);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (e) => {
            for (; e; e = e.parentElement) {
                const colour = getComputedStyle(e).backgroundColor;
                if (rgba(colour)[3] === 255) return colour;
            }
            return "white";
        };
        const texts = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() &&
            [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
        return Math.min(...texts.map((e) => {
            const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
        }));
    """)


def test_what_has_the_focus_is_seen_and_what_can_be_chosen_has_a_name(
    window: browser.Page, server: Server
) -> None:
    enter(window, server, "reviewer-1", width=1280, height=900)
    ringed = """let e = document.activeElement;
        e = e.matches("input") ? e.closest("label") : e;
        return [e.tagName, parseFloat(getComputedStyle(e).outlineWidth), getComputedStyle(e).outlineStyle]"""
    reached = set()
    for _ in range(9):
        press(window, Keys.TAB)
        tag, width, style = window.run(ringed)
        if tag == "BODY":
            break
        reached.add(tag)
        assert width >= 2
        assert style == "solid"
    assert {"LABEL", "BUTTON", "A", "SUMMARY"} <= reached
    nodes = window.command("Accessibility.getFullAXTree")["nodes"]
    roles = {"radio", "group", "button", "image", "progressbar", "form"}
    seen = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    named = [(node["role"]["value"], node["name"]["value"]) for node in seen]
    assert [name for role, name in named if role == "radio"] == [
        "yes",
        "no",
        "yes",
        "partly",
        "no",
        "yes",
        "no",
    ]
    groups = [name for role, name in named if role == "group"]
    assert "Does it say the same?" in groups
    assert "Anything odd? optional" in groups
    assert all(name for role, name in named if role != "group"), named


def test_the_adjudicator_decides_with_keys(window: browser.Page, server: Server) -> None:
    for number, answers in enumerate((RIGHT, WRONG, RIGHT), start=1):
        with Client(server, f"reviewer-{number}") as client:
            client.vote(2, answers)
    enter(window, server, "adjudicator")
    assert window.run("return document.querySelector('.said').innerText").split() == [
        "reviewer-1", "yes", "reviewer-2", "no", "reviewer-3", "yes",
    ]  # fmt: skip
    save(window, "2")
    assert votes(server)[-1] == (2, {"relevance": "partly"})
    assert "Nothing to decide now" in window.run("return document.body.innerText")
