"""The contact sheets of the steps, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from equiview import api
from equiview.build.xcm import XCM
from equiview.build.xcm.steps import STEPS
from tests import browser
from tests.build.xcm.world import WORDS, concepts, folder


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Page]:
    with browser.browser() as page:
        yield page


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sheets")
    japan = folder(place / "photos") / "pizza" / "Japan"
    (japan / "2.png").write_bytes((japan / "1.png").read_bytes())
    (japan / "<b>3.png").write_bytes(b"no picture")
    given = {"images": f"folder:{place}/photos", "concepts": concepts(place / "concepts.csv"), "bits": 2}
    api.make(XCM, WORDS | given, place / "out")
    return place / "out" / "sheets"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("step", STEPS)
def test_sheets_load_nothing_and_fit_the_screen(
    window: browser.Page, sheets: Path, step: str, width: int
) -> None:
    window.open(sheets / f"{step}.html", width=width)
    assert not window.problems()
    assert not window.overflow()


def test_a_rejected_image_stands_beside_the_one_that_it_repeats(window: browser.Page, sheets: Path) -> None:
    window.open(sheets / "duplicates.html")
    pictures, text = window.run("""const row = [...document.querySelectorAll(".row")].at(-1);
        const pictures = [...row.querySelectorAll("img")].map((image) => image.alt + image.naturalWidth);
        return [pictures, row.innerText]""")
    assert pictures == ["japan-0-2-eng.png96", "japan-0-1-eng.png96"]
    assert "japan-0-1-eng (0 bits)" in text
    window.open(sheets / "images.html")
    text = window.run("return document.body.innerText")
    assert "it is no picture\t1" in text
    assert "<b>3" in text  # a name of a file is words
