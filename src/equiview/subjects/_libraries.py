"""Libraries that belong to an extra: imported where they are needed, and their versions."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from equiview.errors import InputError


def require(module: str, extra: str) -> Any:
    """Import `module`, or say in one line how to install what is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{module} is needed for this and cannot be imported ({error}); "
            f"install it with: pip install 'equiview[{extra}]'"
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
