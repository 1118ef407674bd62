"""See to it that the report's tests find a browser and its driver: `python -m tests.install_browser`.

Does nothing where both are found. On Debian and its kin, as root, it installs Debian's Chromium; anywhere
else it says what to install and exits with 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGES = ("chromium", "chromium-driver")


def missing() -> list[str]:
    """What of browser and driver is not on the PATH."""
    from tests.browser import BROWSERS, DRIVERS

    kinds = {"browser": BROWSERS, "browser driver": DRIVERS}
    return [kind for kind, names in kinds.items() if not any(map(shutil.which, names))]


def main() -> None:
    """Install what is missing, or exit saying what to install."""
    if not missing():
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        print(f"installing {' and '.join(PACKAGES)} for the report's tests", flush=True)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for step in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
            # What the browser cannot do without is checked below, so a step that fails says so only once.
            subprocess.run(["apt-get", "-qq", *step], env=environment, check=False, stdout=subprocess.DEVNULL)
    if lacking := missing():
        sys.exit(
            f"the report's tests need a {' and a '.join(lacking)} on the PATH and found none; "
            f"install Chromium, Chrome or Edge with its driver (Debian: apt-get install {' '.join(PACKAGES)})"
        )


if __name__ == "__main__":
    main()
