"""A small world that every part can be tried on: images and their captions in four languages, as vectors."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from PIL import Image

from equiview.io.notices import notice

if TYPE_CHECKING:
    from tests.browser import Page

os.environ["GRPC_VERBOSITY"] = "NONE"  # its threads outlive the test that started them, and log amid another
os.environ["OMP_NUM_THREADS"] = "1"  # of torch and of processes: models are tiny, and waiting is work
os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the library is imported; else it asks again and again
# A busy machine is slow, not wrong; and the same tests try the same examples everywhere, whichever modules of
# equiview are loaded: Hypothesis would try their constants too.
providers.is_local_module_file = lambda _: False
settings.register_profile(
    "equiview", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("equiview")

gc.disable()  # until all is collected: what tests import stays, and looking through it took long

collect_ignore = ["plugin", "error_rates/brevity.py", "frozen.py"]  # to import them changes the process

FIRST = (
    *("test_demo", "test_error_rates", "test_docs", "test_same_bytes", "test_faults", "test_resume"),
    *("test_fuzz", "test_bench", "test_ray", "test_drawn_colours", "test_databases", "test_chat_audits"),
    *("test_page", "test_kills", "test_cli", "test_train", "test_command", "test_processes", "test_kinds"),
    *("test_open_clip", "test_plugin"),
)
"""Files that take longest: begun first, so that workers that are given whole files end together."""

LANGUAGES = ("en", "de", "sw", "mi")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of `FIRST` before all others."""
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(FIRST)))


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of every collection of garbage: it stays to the end."""
    gc.freeze()
    gc.enable()


def write_world(folder: Path, *, images: int = 40, width: int = 8, skew: float = 1.0, seed: int = 0) -> Path:
    """Write the tables and vectors of a world that pushes little-written languages aside by `skew`."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(images, width)).astype(np.float32)
    aside = np.outer([0, 0, 1, 1], rng.normal(size=width))  # English and German stay, Swahili and Maori move
    rows, vectors = [], []
    for image in range(images):
        for index, language in enumerate(LANGUAGES):
            rows.append((f"i{image}-{language}", f"caption {image} in {language}", language, f"i{image}"))
            vectors.append(seen[image] + 0.3 * rng.normal(size=width) + skew * aside[index])
    pl.DataFrame({"id": [f"i{image}" for image in range(images)]}).write_csv(folder / "images.csv")
    columns = ["id", "text", "language", "image_id"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(folder / "texts.csv")
    np.save(folder / "images.npy", seen)
    np.save(folder / "texts.npy", np.asarray(vectors, dtype=np.float32))
    return folder


def add_pictures(folder: Path) -> None:
    """Give each image of a world a picture of its own, in a file beside its table."""
    table = pl.read_csv(folder / "images.csv").with_columns(path=pl.col("id") + ".png")
    table.write_csv(folder / "images.csv")
    rng = np.random.default_rng(0)
    for name in table["path"]:
        Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).save(folder / name)


@pytest.fixture(autouse=True)
def _unsaid() -> None:
    """A notice is said once a process; here once a test, whichever tests came before."""
    notice.cache_clear()


@pytest.fixture(scope="session")
def window() -> Iterator[Page]:
    """One browser for all tests that read pages."""
    from tests.browser import browser

    with browser() as page:
        yield page


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world")
