"""OpenCLIP in processes of their own: its torchvision would keep transformers from being imported here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import install_open_clip

Made = Callable[[str], Path]
ROOT = Path(__file__).parents[3]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    assert not install_open_clip.missing(), "run once: python -m tests.install_open_clip"
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(install_open_clip.FOLDER)]))
    return subprocess.run(
        [sys.executable, *command],
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "200"},
        **{"cwd": ROOT, "capture_output": True, "text": True},
        check=False,
    )


def test_vectors_are_those_of_the_library() -> None:
    done = run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name("open_clip_checks.py"))
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("scheme", ["hf", "open_clip"])
def test_a_torchvision_of_another_build_is_said_in_a_sentence(checkpoint: Made, scheme: str) -> None:
    done = run("-m", "equiview", "verify", f"{scheme}:{checkpoint('clip')}")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "operator torchvision::nms does not exist" in done.stderr
    assert "--index-url https://download.pytorch.org/whl/cpu" in done.stderr


def test_without_openclip_its_extra_is_named(checkpoint: Made) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "equiview", "verify", f"open_clip:{checkpoint('open_clip')}"],
        **{"capture_output": True, "text": True},
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'equiview[open-clip]'" in done.stderr
