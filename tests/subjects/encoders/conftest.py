"""Tiny checkpoints, made once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers

from tests.subjects.encoders import tiny


@pytest.fixture(scope="session", autouse=True)
def quiet_library() -> None:
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # tiny models only wait for each other


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny checkpoint by name, made at its first use. Read it, do not change it."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = tiny.build(tiny.ALL[name], tmp_path_factory.mktemp(name))
        return made[name]

    return get


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
