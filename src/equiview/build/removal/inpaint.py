"""Inpainting models as ONNX files, by what they expect of their inputs.

- `pipeline`: a picture and a mask as uint8, of any size; the mask is 255 where the picture is known. MI-GAN's
  exported pipeline is like that.
- `lama`: a picture from 0 to 1 and a mask of 1 where it is unknown, as floats of one size; LaMa.
- `migan`: one input of four channels, the mask less a half and the known part of the picture from -1 to 1;
  MI-GAN's generator.

A model of one size sees a square around what is removed, with as much again on every side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.hashes import hash_files

CHANNELS = {"picture": 3, "mask": 1, "both": 4}
MARGIN = 1.0
"""What a model of one size sees around what is removed, as a share of its longer side."""


class OnnxInpainter:
    """An inpainting model in a file; InputError for one of no known convention."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        (content,) = hash_files([str(path)])
        if isinstance(content, OSError):
            raise InputError(f"{path}: cannot be read ({content.strerror or content})")
        self.path = path
        self.name = f"{path.name} ({fingerprint(content)})"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise InputError(f"{path}: is no ONNX model that can be loaded ({_line(error)})") from None
        self._inputs = {entry.name: entry for entry in self._session.get_inputs()}
        self.convention, self.side = self._convention()

    def _convention(self) -> tuple[str, int | None]:
        """Its convention, and its side if it takes a single size."""
        shapes = {name: entry.shape for name, entry in self._inputs.items()}
        types = {entry.type for entry in self._inputs.values()}
        channels = sorted(
            shape[1] for shape in shapes.values() if len(shape) == 4 and isinstance(shape[1], int)
        )
        sizes = {size for shape in shapes.values() for size in shape[2:] if isinstance(size, int)}
        side = sizes.pop() if len(sizes) == 1 else None
        if channels == [1, 3] and types == {"tensor(uint8)"}:
            return "pipeline", side
        if channels == [1, 3] and types == {"tensor(float)"}:
            return "lama", side or 512
        if channels == [4] and types == {"tensor(float)"}:
            return "migan", side or 512
        listed = ", ".join(f"{name} {entry.type} {entry.shape}" for name, entry in self._inputs.items())
        raise InputError(
            f"{self.path}: takes {listed}, unlike LaMa and MI-GAN; expected a picture of "
            "three channels and a mask of one, or one input of four channels"
        )

    def __call__(self, picture: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """The picture as the model fills it; InputError if it returns something else than a picture."""
        if self.side is None:
            return self._filled(picture, mask)
        left, upper, side = _window(mask)
        part, hole = _cut(picture, left, upper, side), _cut(mask, left, upper, side)
        small = _resized(part, self.side)
        small_hole = _resized(hole.astype(np.uint8) * 255, self.side) > 0
        filled = picture.copy()
        large = _resized(self._filled(small, small_hole), side)
        height, width = mask.shape
        rows = slice(max(upper, 0), min(upper + side, height))
        columns = slice(max(left, 0), min(left + side, width))
        filled[rows, columns] = large[
            rows.start - upper : rows.stop - upper, columns.start - left : columns.stop - left
        ]
        return filled

    def _filled(self, picture: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
        height, width = mask.shape
        try:
            (result, *_) = self._session.run(None, self._feed(picture, mask))
        except Exception as error:
            size = f"{width} x {height}"
            raise InputError(f"{self.path}: fails on a picture of {size} pixels ({_line(error)})") from None
        if np.shape(result) != (1, 3, height, width):
            raise InputError(
                f"{self.path}: returns shape {np.shape(result)}, expected {(1, 3, height, width)}; is it a "
                "model that fills pictures?"
            )
        return self._as_picture(np.asarray(result[0]))

    def _feed(self, picture: NDArray[np.uint8], mask: NDArray[np.bool_]) -> dict[str, Any]:
        planes = picture.transpose(2, 0, 1)[None]
        hole = mask[None, None]
        by_channels = {entry.shape[1]: name for name, entry in self._inputs.items()}
        if self.convention == "pipeline":
            return {by_channels[3]: planes, by_channels[1]: np.where(hole, 0, 255).astype(np.uint8)}
        if self.convention == "lama":
            return {by_channels[3]: planes.astype(np.float32) / 255, by_channels[1]: hole.astype(np.float32)}
        known = 1 - hole.astype(np.float32)
        scaled = planes.astype(np.float32) / 127.5 - 1
        return {by_channels[4]: np.concatenate([known - 0.5, scaled * known], axis=1)}

    def _as_picture(self, result: NDArray[Any]) -> NDArray[np.uint8]:
        """Planes as the model scales them, as a picture."""
        if not np.isfinite(result).all():
            raise InputError(f"{self.path}: returns values that are not finite")
        values = result.astype(np.float32)
        if self.convention == "migan":
            values = (values + 1) * 127.5
        elif self.convention == "lama" and values.max(initial=0) <= 1.5:  # some exports end before 255
            values = values * 255
        return np.clip(np.rint(values), 0, 255).astype(np.uint8).transpose(1, 2, 0)


def _window(mask: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Left and upper edge and side of the square that a model of one size sees."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    hole = max(rows[-1] - rows[0], columns[-1] - columns[0]) + 1
    side = min(round(hole * (1 + 2 * MARGIN)), max(mask.shape))
    side = max(side, int(hole))
    centre_row, centre_column = (rows[0] + rows[-1] + 1) // 2, (columns[0] + columns[-1] + 1) // 2
    return (
        _placed(int(centre_column), side, mask.shape[1]),
        _placed(int(centre_row), side, mask.shape[0]),
        side,
    )


def _placed(centre: int, side: int, length: int) -> int:
    """Where a window begins: around its centre, inside the picture where it fits."""
    if side >= length:
        return (length - side) // 2
    return min(max(centre - side // 2, 0), length - side)


def _cut(values: NDArray[Any], left: int, upper: int, side: int) -> NDArray[Any]:
    """A square part; what lies outside the picture repeats its edge."""
    rows = np.clip(np.arange(upper, upper + side), 0, values.shape[0] - 1)
    columns = np.clip(np.arange(left, left + side), 0, values.shape[1] - 1)
    return np.ascontiguousarray(values[rows[:, None], columns])


def _resized(picture: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    from PIL import Image

    image = Image.fromarray(picture)
    return np.asarray(image.resize((side, side), Image.Resampling.BILINEAR)).astype(np.uint8)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
