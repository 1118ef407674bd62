"""`pictograms`: the embedded benchmark, 1,280 drawings of emoji and their names in 36 languages.

Every name of a drawing, in any language, is relevant to it, and all languages name every drawing: a system
that treats languages alike has no reason to return one of them more than another. The drawings are Noto's, an
artist that the embedded encoders never saw; the names are those of Unicode CLDR.

A drawing with a country's flag is defined here too (`with_flag`), for benchmarks of association bias and for
the scripts in labs/ that train the embedded encoders.
"""

from __future__ import annotations

import io
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import polars as pl

from equiview.benchmarks.base import Benchmark, same_image
from equiview.data.items import Items

if TYPE_CHECKING:
    from PIL.Image import Image

SOURCE = (
    "drawings: Noto Emoji (asturur-noto-emoji 3.0.3, @iconify-json/noto 1.2.9); "
    "names: Unicode CLDR 48 (cldr-annotations-full and cldr-annotations-derived-full 48.2.0)"
)
LICENCE = "drawings Apache-2.0, names Unicode-3.0"

BADGE_WIDTH, BADGE_HEIGHT = 0.4, 0.28
"""Size of a flag badge as shares of the drawing's side."""


def pictograms(argument: str = "") -> Benchmark:
    """The embedded benchmark; it takes no argument.

    Images have `concept` (code points such as `1f355`), `family` (concepts that look alike share one) and
    `group` (Unicode's). Texts have these, `language`, `image_id`, and `borrowed`, true where a name is the
    English one.
    """
    attributes = ("concept", "family", "group")
    drawn = drawings().select("image_id", "picture", *attributes)
    named = names().join(drawn.drop("picture"), on="concept", how="left", maintain_order="left")
    text_id = pl.concat_str("concept", "language", separator=":").alias("id")
    columns = (text_id, "text", "language", "image_id", *attributes, "borrowed")
    images = Items("image", drawn.rename({"image_id": "id"}), "pictograms: drawings")
    texts = Items("text", named.select(columns), "pictograms: names")
    return Benchmark(
        name="pictograms",
        images=images,
        texts=texts,
        relevance=same_image(images, texts),
        about="emoji drawings by one artist, named in the 36 languages of Crossmodal-3600",
        source=SOURCE,
        licence=LICENCE,
    )


def drawings() -> pl.DataFrame:
    """One row for each concept: image_id, concept, family, group, picture (WebP, 96 x 96, transparent)."""
    return shipped_table("drawings")


def names() -> pl.DataFrame:
    """One row for each language and concept: concept, language, text, borrowed."""
    return shipped_table("names")


def english_names() -> dict[str, str]:
    """The English name of each concept."""
    return dict(names().filter(language="en").select("concept", "text").iter_rows())


def nigerian_names() -> pl.DataFrame:
    """Names in Yoruba (`yo`) and Hausa (`ha`), columns as in `names`."""
    return shipped_table("names_nigeria")


def flags() -> pl.DataFrame:
    """One row for each of the 16 countries of P's table 4: country (its code), concept, picture (WebP)."""
    return shipped_table("flags")


@cache
def shipped_table(name: str) -> pl.DataFrame:
    """A table that comes with equiview, by its name in `pictogram_data`."""
    content = files("equiview.benchmarks").joinpath("pictogram_data", f"{name}.parquet").read_bytes()
    return pl.read_parquet(io.BytesIO(content))


def flag_badge(flag: Image, side: int) -> Image:
    """A flag as RGBA, cropped to its drawn part, in a thin white frame, for a drawing `side` pixels wide."""
    import PIL.Image

    flag = flag.convert("RGBA")
    flag = flag.crop(flag.getchannel("A").getbbox())
    width, height, frame = round(side * BADGE_WIDTH), round(side * BADGE_HEIGHT), max(1, round(side / 64))
    badge = PIL.Image.new("RGBA", (width, height), "white")
    size = (width - 2 * frame, height - 2 * frame)
    badge.alpha_composite(flag.resize(size, PIL.Image.Resampling.LANCZOS), (frame, frame))
    return badge


@cache
def _flag_images() -> dict[str, Image]:
    import PIL.Image

    pictures = flags().select("country", "picture").iter_rows()
    return {code: PIL.Image.open(io.BytesIO(picture)) for code, picture in pictures}


@cache
def _badge(country: str, side: int) -> Image:
    """The badge of a country for drawings of a side, made once."""
    return flag_badge(_flag_images()[country], side)


def flagged(drawing: bytes, country: str) -> bytes:
    """An encoded drawing `with_flag` of a country, by its code, as PNG."""
    buffer = io.BytesIO()
    plain = _decoded(drawing)
    _with_badge(plain, _badge(country, plain.width)).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


@lru_cache(maxsize=1)  # one drawing gets many flags
def _decoded(drawing: bytes) -> Image:
    import PIL.Image

    return _on_white(PIL.Image.open(io.BytesIO(drawing)))


def _on_white(drawing: Image) -> Image:
    import PIL.Image

    background = PIL.Image.new("RGBA", drawing.size, "white")
    background.alpha_composite(drawing.convert("RGBA"))
    return background.convert("RGB")


def _with_badge(plain: Image, badge: Image) -> Image:
    """A square drawing with a badge in its lower right corner; neither has any transparency."""
    flagged = plain.copy()
    flagged.paste(badge, (plain.width - badge.width, plain.height - badge.height))
    return flagged


def with_flag(drawing: Image, flag: Image) -> Image:
    """A square drawing with a flag in its lower right corner: RGB on white, of the drawing's size."""
    return _with_badge(_on_white(drawing), flag_badge(flag, drawing.width))
