"""Pictures of reports for docs/gallery.md: pages that equiview made, opened in headless Chromium.

    equiview demo --out equiview-demo
    python -m labs.gallery equiview-demo/report.html [OTHER.html ...]

A picture is of a part of a page, by its name in `PARTS`, from the first of the pages that has it. Needs the
development install and Chromium with its driver (`tests/install_browser.py`).
"""

from __future__ import annotations

import base64
import io
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from tests.browser import Page, browser

OUT = Path(__file__).parents[1] / "docs" / "images" / "gallery"
WIDE, NARROW = 1120, 390
QUALITY = 60
EXPLORER = "[data-explorer]"


@dataclass(frozen=True)
class Part:
    """What is shown: an element by its selector, at a width of the window, up to a height in pixels."""

    selector: str
    width: int = WIDE
    height: int = 900
    unfold: bool = True


PARTS = {
    "opening": Part("#opening", unfold=False),
    "phone": Part("#opening", width=NARROW, height=1100, unfold=False),
    "prevalence": Part("#figure-prevalence-exposure-by-language", height=1100),
    "parity": Part("#figure-parity-gap-by-pair-image-to-text"),
    "association": Part("#figure-association-wins-by-country-text-to-image"),
    "knowledge": Part("#figure-knowledge-accuracy-by-language"),
    "social": Part("#figure-social-examples", height=700),
    "apart": Part("#audit-prevalence .apart"),
    "explorer": Part(EXPLORER),
}


def picture(window: Page, part: Part) -> Image.Image | None:
    """The part of the page that is open; None where the page has no such part."""
    window.run("document.querySelector(arguments[0])?.scrollIntoView({behavior: 'instant'})", part.selector)
    box = window.run(
        """const e = document.querySelector(arguments[0]);
        if (!e) return null;
        const r = e.getBoundingClientRect();
        return [r.left + scrollX, r.top + scrollY, r.width, r.height];""",
        part.selector,
    )
    if box is None:
        return None
    left, top, width, height = box
    clip = {"x": left, "y": top, "width": width, "height": min(height, part.height), "scale": 1}
    taken = window.command("Page.captureScreenshot", captureBeyondViewport=True, format="png", clip=clip)
    return Image.open(io.BytesIO(base64.b64decode(taken["data"])))


def main(pages: list[Path]) -> None:
    """Write the pictures, and say which parts no page has."""
    OUT.mkdir(parents=True, exist_ok=True)
    with browser() as window:
        for name, part in PARTS.items():
            for page in pages:
                window.open(page.resolve(), width=part.width, unfold=part.unfold)
                if part.selector == EXPLORER and window.run(
                    "return !!document.querySelector(arguments[0])", EXPLORER
                ):
                    window.run("document.querySelector(arguments[0]).scrollIntoView()", EXPLORER)
                    window.until(f"return document.querySelector('{EXPLORER}').dataset.ready === 'yes'")
                if (shown := picture(window, part)) is not None:
                    path = OUT / f"{name}.webp"
                    shown.convert("RGB").save(path, quality=QUALITY, method=6)
                    print(f"{path.name}: {shown.width} x {shown.height}, {path.stat().st_size:,} bytes")
                    break
            else:
                print(f"no page has {part.selector}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main([Path(argument) for argument in sys.argv[1:]])
