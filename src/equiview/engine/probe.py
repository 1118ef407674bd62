"""What a machine of a cluster has; run there as it stands here, so it may import nothing of equiview's.

Results are the same bytes only where the same code adds up in the same order, so that is what is asked.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def found(packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of Python and of `packages` ("none" where missing), and the kernels of the BLAS library."""
    machine = {"Python": platform.python_version()}
    for package in packages:
        try:
            machine[package] = version(package).split("+")[0]  # for whichever accelerator
        except PackageNotFoundError:
            machine[package] = "none"
    try:
        import numpy  # noqa: F401 - its library is to be asked
        from threadpoolctl import threadpool_info
    except ImportError:
        return machine
    kernels = {
        f"{entry['internal_api']} {entry.get('architecture') or ''}".strip()
        for entry in threadpool_info()
        if entry["user_api"] == "blas" and "numpy" in entry["filepath"]
    }
    return machine | {"kernels of BLAS": ", ".join(sorted(kernels)) or "none"}
