"""The contact sheet and the page of words, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from equiview import api
from tests import browser
from tests.build.removal.world import DOG, PERSON, coco

CAPTIONS = (
    "A man <b>throws</b> a frisbee to his dog & more.",
    "Two dogs near the gazebo",
    "An antidisestablishment",
)


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Page]:
    with browser.browser() as page:
        yield page


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    name = coco(place / "in", {image: [DOG, PERSON] for image in range(1, 5)} | {5: [DOG]}, CAPTIONS)
    api.make("removal", {"benchmark": name, "classes": ["dog"], "fill": "zero"}, place / "out")
    return place / "out"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["index.html", "words.html"])
def test_pages_load_nothing_and_fit_the_screen(
    window: browser.Page, pages: Path, name: str, width: int
) -> None:
    window.open(pages / name, width=width)
    assert not window.problems()
    assert not window.overflow()


def test_the_sheet_shows_before_mask_and_after(window: browser.Page, pages: Path) -> None:
    window.open(pages / "index.html")
    rows = window.run("""return [...document.querySelectorAll(".row")].map((row) => [
        [...row.querySelectorAll("img")].map((image) => image.alt + image.naturalWidth), row.innerText])""")
    assert len(rows) == 4
    for pictures, text in rows:
        assert pictures == ["before64", "removed64", "after64"]
        assert "dog · person" in text
        assert "13.0% of the picture" in text
        assert "was: " in text
    reds, blacks = window.run("""return ["removed", "after"].map((kind) => {
        const image = document.querySelector(`img[alt=${kind}]`), canvas = document.createElement("canvas");
        canvas.getContext("2d").drawImage(image, 0, 0);
        return canvas.getContext("2d").getImageData(14, 14, 1, 1).data.slice(0, 3).reduce((all, value) =>
            all.concat(value), []);
    })""")
    assert reds[0] > reds[1] + 60
    assert max(blacks) < 40
    counts = window.run("return document.querySelector('.tables').innerText")
    assert "pictures made\t4" in counts
    assert "it is the only class of its image\t1" in counts


def test_the_page_of_words_says_what_is_understood_and_what_is_not(window: browser.Page, pages: Path) -> None:
    window.open(pages / "words.html")
    classes, nouns = window.run("""return [...document.querySelectorAll("table")].map((table) =>
        [...table.rows].slice(1).map((row) => [...row.cells].map((cell) => cell.innerText)))""")
    rows = {row[0]: row[1:] for row in classes}
    assert rows["dog"] == ["5", "100%", "dog 5, dogs 5"]
    assert rows["person"] == ["4", "100%", "man 5"]
    assert rows["frisbee"] == ["0", "", "frisbee 5"]
    assert "sports ball" not in rows
    unknown = {row[0]: row[1:] for row in nouns}
    assert unknown["gazebo"][::2] == ["5", "Two dogs near the gazebo"]
    assert "dog" not in unknown
    assert "b" not in unknown


def test_one_page_leads_to_the_other(window: browser.Page, pages: Path) -> None:
    window.open(pages / "index.html")
    window.run("document.querySelector('a').click()")
    window.until("return location.pathname.endsWith('words.html') && document.readyState === 'complete'")
    assert window.run("return document.querySelector('a').getAttribute('href')") == "index.html"
