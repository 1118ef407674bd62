"""Put OpenCLIP and torchvision where its tests find them: `python -m tests.install_open_clip`.

Not beside the other libraries: the package index has torchvision for CUDA alone, which fails beside a torch
for processors and takes transformers with it. So they lie in a folder of their own, which the tests of
OpenCLIP add to the path of a process of their own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGES = ("open_clip_torch==3.3.0", "torchvision==0.28.0", "ftfy==6.3.1", "wcwidth")
"""Without what they depend on, which the extra `hf` brings; torchvision is that of torch 2.13.0."""
FOLDER = Path(sys.prefix) / "share" / "equiview-tests" / "open_clip"


def missing() -> bool:
    """Whether they are still to be put there."""
    return not all((FOLDER / name).is_dir() for name in ("open_clip", "torchvision", "ftfy", "wcwidth"))


def main() -> None:
    """Install them unless they are there."""
    if missing():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FOLDER)]
        subprocess.run([*pip, *PACKAGES], check=True)


if __name__ == "__main__":
    main()
