"""Libraries that belong to an extra: imported where they are needed, and their versions."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from equiview.errors import InputError

IMPORT_TORCHVISION = {"mteb", "open_clip", "sentence_transformers", "transformers"}
"""Libraries that import torchvision where it is installed, and fail if it does."""


def require(module: str, extra: str) -> Any:
    """Import `module`, or say in one line how to install what is missing."""
    if module in IMPORT_TORCHVISION:
        check_torchvision()
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{module} is needed for this and cannot be imported ({error}); "
            f"install it with: pip install 'equiview[{extra}]'"
        ) from None


def accelerator() -> str | None:
    """The name of the first accelerator that torch can use here, cuda or mps, or None; imports torch."""
    torch = importlib.import_module("torch")
    kinds = {"cuda": torch.cuda, "mps": torch.backends.mps}
    return next((name for name, kind in kinds.items() if kind.is_available()), None)


def cuda_in_use() -> bool:
    """Whether something here, as an encoder, has imported torch, and it has a CUDA accelerator."""
    return "torch" in sys.modules and accelerator() == "cuda"


def check_torchvision() -> None:
    """InputError where torchvision is installed but is not of the same build as torch."""
    try:
        importlib.import_module("torchvision")
    except ModuleNotFoundError:
        return
    except (ImportError, OSError, RuntimeError) as error:
        pair = " and ".join(
            f"{name} {number}" for name, number in versions_of("torch", "torchvision").items()
        )
        raise InputError(
            f"torchvision cannot be imported ({str(error).splitlines()[0]}): {pair} are of different builds; "
            "install both from one index, for a processor alone: pip install --force-reinstall torch "
            "torchvision --index-url https://download.pytorch.org/whl/cpu; or uninstall torchvision"
        ) from None


def versions_of(*packages: str) -> dict[str, str]:
    """The version of each of these packages that is installed; none of them is imported.

    >>> sorted(versions_of("numpy", "no-such-package"))
    ['numpy']
    """
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
