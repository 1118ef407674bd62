"""Pictures of every kind that people have: each becomes RGB as a person sees it, or says what is wrong."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from equiview.io import pictures
from equiview.io.pictures import decoded


def saved(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def grey(levels, dtype):
    return Image.fromarray(np.asarray([levels], dtype=dtype))


def row(content):
    return np.asarray(decoded(content))[0, :, 0].tolist()


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bits_become_8_and_are_not_cut_off_at_white(kind):
    assert row(saved(grey([0, 257, 32_896, 65_535], np.uint16), kind)) == [0, 1, 128, 255]


def test_32_bits_and_floats_are_scaled_by_the_white_they_have():
    assert row(saved(grey([0, 1000, 65_535], np.int32), "TIFF")) == [0, 4, 255]
    assert row(saved(grey([0, 100, 255], np.int32), "TIFF")) == [0, 100, 255]
    assert row(saved(grey([0, 0.5, 1], np.float32), "TIFF")) == [0, 128, 255]
    assert row(saved(grey([0, np.nan, 255], np.float32), "TIFF")) == [0, 0, 255]
    assert row(saved(grey([-5, 50_000, 100_000], np.float32), "TIFF")) == [0, 128, 255]


def test_cmyk_palette_and_bilevel_become_rgb():
    assert decoded(saved(Image.new("CMYK", (2, 2), (0, 255, 255, 0)), "TIFF")).getpixel((0, 0)) == (255, 0, 0)
    assert decoded(saved(Image.new("RGB", (2, 2), "red").convert("P"))).getpixel((0, 0)) == (255, 0, 0)
    assert decoded(saved(Image.new("1", (2, 2), 1))).getpixel((0, 0)) == (255, 255, 255)


def test_transparent_parts_are_white_in_every_mode():
    assert decoded(saved(Image.new("LA", (2, 2), (0, 0)))).getpixel((0, 0)) == (255, 255, 255)
    assert decoded(saved(Image.new("RGBA", (2, 2), (0, 0, 0, 128)))).getpixel((0, 0)) == (127, 127, 127)
    palette = Image.new("P", (2, 2), 0)
    palette.putpalette([255, 0, 0, 0, 255, 0])
    assert decoded(saved(palette, transparency=0)).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_exif_turns_a_picture_upright_and_damaged_exif_is_no_harm():
    image = Image.new("RGB", (4, 2), "white")
    exif = image.getexif()
    exif[0x0112] = 6
    assert decoded(saved(image, "JPEG", exif=exif)).size == (2, 4)
    assert decoded(saved(image, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff")).size == (4, 2)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_the_first_frame_of_several_is_taken(kind):
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    content = saved(frames[0], kind, save_all=True, append_images=frames[1:])
    red, _, blue = decoded(content).getpixel((0, 0))
    assert red > 200
    assert blue < 60


def test_one_pixel_is_a_picture():
    assert decoded(saved(Image.new("L", (1, 1), 7))).getpixel((0, 0)) == (7, 7, 7)


def test_large_pictures_are_made_smaller_on_the_way(monkeypatch):
    monkeypatch.setattr(pictures, "LARGE", 400 * 300)
    monkeypatch.setattr(pictures, "LARGE_SIDE", 100)
    for kind in ("JPEG", "PNG"):
        reduced = decoded(saved(Image.new("RGB", (800, 200), "red"), kind))
        assert reduced.size == (100, 25)
        assert reduced.getpixel((0, 0))[0] > 250
    palette = decoded(saved(Image.new("P", (800, 200), 3), "GIF"))
    assert palette.size == (100, 25)


def claims(width, height):
    """A PNG of a few bytes that says it is of this size."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_a_small_file_that_claims_to_be_immense_is_refused():
    with pytest.raises(ValueError, match=r"exceeds limit .* make the picture smaller"):
        decoded(claims(100_000, 100_000))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"<html>not found</html>", "not a picture"),
        (saved(Image.effect_noise((64, 64), 50), "PNG")[:900], "trunc"),
        (saved(Image.effect_noise((64, 64), 50), "JPEG")[:900], "trunc"),
        (saved(Image.effect_noise((64, 64), 50), "GIF")[:900], "trunc|broken|unrecognized|."),
        (saved(Image.effect_noise((64, 64), 50), "WEBP")[:300], "."),
        (claims(8, 8), "."),
    ],
)
def test_what_cannot_be_read_says_why(content, message):
    with pytest.raises(ValueError, match=message):
        decoded(content)
