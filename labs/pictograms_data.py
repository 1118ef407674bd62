"""Write the embedded benchmark's tables: `python labs/pictograms_data.py`.

Same packages, same bytes. Drawings are Noto's alone, the artist that training leaves out.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from concepts import FLAG_OF, NIGERIA, concepts, equiview_languages, families, name_of
from sources import ROOT, emoji_list, fetch, noto, package_dir, render

PLACE = ROOT / "src" / "equiview" / "benchmarks" / "pictogram_data"
SIDE, QUALITY = 96, 82


def main() -> None:
    fetch()
    PLACE.mkdir(exist_ok=True)
    listed = concepts()
    family = families()
    write(
        "drawings",
        {
            "image_id": [f"noto-{concept}" for concept in listed],
            "concept": listed,
            "family": [family[concept] for concept in listed],
            "group": [emoji_list()[concept]["group"] for concept in listed],
            "picture": [webp(noto(concept, SIDE)) for concept in listed],
        },
    )
    write("names", names_in(equiview_languages()))
    write("names_nigeria", names_in(NIGERIA))
    write(
        "flags",
        {
            "country": list(FLAG_OF),
            "concept": list(FLAG_OF.values()),
            "picture": [webp(noto_flag(flag)) for flag in FLAG_OF.values()],
        },
    )


def names_in(codes: Sequence[str]) -> dict[str, list[object]]:
    """Names by language, then by Unicode's order; `borrowed` marks those equal to the English one."""
    rows = [
        (concept, code, unicodedata.normalize("NFC", name))
        for code in codes
        for concept in concepts()
        if (name := name_of(concept, code))
    ]
    english = {concept: str(name_of(concept, "en")).casefold() for concept in concepts()}
    return {
        "concept": [row[0] for row in rows],
        "language": [row[1] for row in rows],
        "text": [row[2] for row in rows],
        "borrowed": [row[1] != "en" and row[2].casefold() == english[row[0]] for row in rows],
    }


def noto_flag(flag: str) -> Image.Image:
    """Noto's own flag images are flat SVG files named by region."""
    region = "".join(chr(int(code, 16) - 0x1F1E6 + ord("A")) for code in flag.split("-"))
    path = package_dir("asturur-noto-emoji") / "third_party" / "region-flags" / "svg" / f"{region}.svg"
    return render(path.read_text("utf-8"), SIDE)


def webp(image: Image.Image | None) -> bytes:
    assert image is not None
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=QUALITY, alpha_quality=90, method=6)
    return buffer.getvalue()


def write(name: str, columns: Mapping[str, Sequence[object]]) -> None:
    path = PLACE / f"{name}.parquet"
    pq.write_table(pa.table(dict(columns)), path, compression="zstd", compression_level=19)
    print(f"{path.name}: {len(next(iter(columns.values())))} rows, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
