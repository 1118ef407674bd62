"""A headless Chromium that opens a page as a reader would, and tells what went wrong in it.

Every problem counts: what the console says, what is asked of a network, what is wider than the screen. A
machine without a browser fails these tests and is told what to install; nothing is skipped.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge")
DRIVERS = ("chromedriver", "chromium.chromedriver", "msedgedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


def find(names: tuple[str, ...], what: str) -> str:
    """The first program of `names` on the PATH; a clear error otherwise."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise RuntimeError(
        f"the report's tests open pages in a browser and found no {what} ({', '.join(names)}); "
        "on Debian: apt-get install chromium chromium-driver"
    )


@dataclass
class Page:
    """One browser window, steered."""

    driver: webdriver.Chrome

    def open(
        self,
        place: Path | str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        unfold: bool = True,
    ) -> float:
        """Open a file or an address and wait until it is ready, its parts unfolded; seconds that took."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=width < 600)  # fmt: skip
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[theme])
        self.problems()
        began = time.perf_counter()
        self.driver.get(place.as_uri() if isinstance(place, Path) else place)
        self.until("return document.documentElement?.dataset.ready !== undefined")
        if unfold:
            self.run("document.querySelectorAll('details.part').forEach((part) => { part.open = true; })")
            self.until(
                """return [...document.querySelectorAll("details.part .figure[data-kind=chart]")]
                     .every((figure) => ["yes", "failed"].includes(figure.dataset.drawn))"""
            )
        return time.perf_counter() - began

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, seconds: float = 300) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(script)
        )

    def command(self, name: str, **arguments: Any) -> Any:
        """A DevTools command."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def problems(self, server: str = "file:") -> list[str]:
        """What the console said and what was asked of a network, `server` excepted, since the last call."""
        said = [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith((server, "file:", "data:", "blob:")):
                    said.append(f"network: {url}")
        return said

    def overflow(self) -> list[str]:
        """Elements that make the page wider than the screen."""
        return self.run("""
            const wide = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= wide) return [];
            return [...document.querySelectorAll("body *")]
                .filter((e) => e.getBoundingClientRect().right > wide + 1)
                .map((e) => `${e.tagName}.${e.className} ${Math.round(e.getBoundingClientRect().right)}`);
        """)

    def barriers(self) -> list[str]:
        """What axe finds that would keep somebody from reading the page."""
        self.run(files("axe_core_python").joinpath("axe.min.js").read_text("utf-8"))
        self.driver.set_script_timeout(300)
        found: list[str] = self.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => done(
                violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))));
        """)
        return found

    def picture(self, path: Path, *, whole: bool = False) -> Path:
        """Write a PNG of the screen, or of the whole page."""
        taken = self.command("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(taken["data"]))
        return path

    def pdf(self) -> bytes:
        """The page as it would be printed."""
        return base64.b64decode(
            self.command("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        )


@contextmanager
def browser() -> Iterator[Page]:
    """Start a browser with an empty profile, and end it."""
    options = Options()
    options.binary_location = find(BROWSERS, "browser")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(find(DRIVERS, "browser driver")))
        try:
            yield Page(driver)
        finally:
            driver.quit()
