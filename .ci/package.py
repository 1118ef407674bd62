"""Build sdist and wheel, install both into fresh environments, and run what was installed.

    python .ci/package.py [PYTHON]

By uv the wheel that was built from the sdist, by pip the tree itself, as the Containerfile does it: both must
install the same files. PYTHON, this one by default, is that of the environments; with the oldest that is
supported, the wheel also runs with the oldest libraries that it takes. Needs uv, and a registry with
hatchling and the core's libraries.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS, ENDING = ("Scripts", ".exe") if os.name == "nt" else ("bin", "")
AUDIT = (
    *("audit", "pictogram:aligned", "--benchmark", "pictograms-people", "--audit", "social"),
    *("--setting", "social.replicates=200"),
)
INSTALLED = """
import hashlib, importlib.metadata, json
files = importlib.metadata.files("equiview")
kept = [file for file in files if file.parts[0] == "equiview" and file.suffix != ".pyc"]
print(json.dumps({str(file): hashlib.sha256(file.read_binary()).hexdigest() for file in kept}))
"""


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints; it must succeed."""
    began = time.monotonic()
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, encoding="utf-8", check=False)
    print(f"{time.monotonic() - began:5.1f}s {' '.join(map(str, words))[:100].splitlines()[0]}", flush=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def by_pip(environment: Path, python: str) -> None:
    """Install the tree as the Containerfile does, and without a shell by the same two commands."""
    (line,) = re.findall(
        r"^RUN (python -m venv .*)$", (ROOT / "Containerfile").read_text("utf-8"), re.MULTILINE
    )
    if os.name == "nt":
        run(python, "-m", "venv", environment)
        run(environment / SCRIPTS / "python.exe", "-m", "pip", "install", "--no-cache-dir", ".")
    else:
        run(
            "sh",
            "-euc",
            line.replace("python -m", f"'{python}' -m").replace("/opt/equiview", str(environment)),
        )


def installed(environment: Path, place: Path) -> dict[str, str]:
    """What is installed, and runs: its files and their hashes."""
    text = (ROOT / "src" / "equiview" / "__init__.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    said = run(environment / SCRIPTS / f"equiview{ENDING}", "--version", cwd=place)
    if version not in said:
        raise SystemExit(f"{said!r} is not version {version}")
    return dict(json.loads(run(environment / SCRIPTS / f"python{ENDING}", "-c", INSTALLED, cwd=place)))


def by_uv(environment: Path, python: str, wheel: Path, *options: str) -> None:
    """Install the wheel into a new environment."""
    uv = (sys.executable, "-m", "uv", "--quiet")
    run(*uv, "venv", "--python", python, environment)
    inside = environment / SCRIPTS / f"python{ENDING}"
    run(*uv, "pip", "install", *options, "--python", inside, wheel)


def is_oldest(python: str) -> bool:
    """Whether it is the oldest Python that is supported: older libraries have no wheels for newer ones."""
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    return f">={run(python, '-c', 'import sys; print(*sys.version_info[:2], sep=chr(46))').strip()}" == oldest


def audited(environment: Path, out: Path) -> None:
    """List what there is, and audit an embedded encoder."""
    equiview = environment / SCRIPTS / f"equiview{ENDING}"
    if "prevalence" not in run(equiview, "list", cwd=out.parent):
        raise SystemExit("no audit is listed")
    run(equiview, *AUDIT, "--out", out, cwd=out.parent)
    if not (out / "report.html").is_file():
        raise SystemExit("the audit made no page")


def main() -> None:
    """Do it in a temporary folder, and say what was installed."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        os.environ |= {"EQUIVIEW_CACHE": str(place / "cache"), "PIP_NO_COMPILE": "0"}
        # The wheel of the sdist.
        run(sys.executable, "-m", "uv", "--quiet", "build", "--out-dir", place / "dist", ROOT)
        (wheel,) = (place / "dist").glob("*.whl")
        by_uv(place / "uv", python, wheel)
        by_pip(place / "pip", python)
        found = {how: installed(place / how, place) for how in ("uv", "pip")}
        audited(place / "uv", place / "run")
        if is_oldest(python):
            by_uv(place / "lowest", python, wheel, "--resolution", "lowest-direct")
            audited(place / "lowest", place / "run of the lowest")
        if found["uv"] != found["pip"]:
            raise SystemExit(f"differ: {sorted(dict(found['uv'].items() ^ found['pip'].items()))[:10]}")
        print(f"{wheel.name}: {len(found['uv'])} files, the same from sdist and tree, by uv and by pip")


if __name__ == "__main__":
    main()
