"""What is put where objects were; inpainting models are made here, in each way of taking their inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from equiview.build.removal.areas import mask_of
from equiview.build.removal.fill import KINDS, filling
from equiview.build.removal.inpaint import OnnxInpainter
from equiview.errors import InputError

FLOAT, BYTE = TensorProto.FLOAT, TensorProto.UINT8
RNG = np.random.default_rng(0)


def scene(height: int = 20, width: int = 30) -> np.ndarray:
    """A picture of noise."""
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)


def hole(height: int = 20, width: int = 30) -> np.ndarray:
    """A hole of 6 x 8 pixels."""
    return mask_of(np.array([[5.0, 4, 13, 10]]), width, height)


def saved(path: Path, nodes: list, inputs: list, outputs: list, constants: list | None = None) -> Path:
    """An ONNX model of these nodes."""
    graph = helper.make_graph(nodes, "inpaint", inputs, outputs, constants or [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def value(name: str, kind: int, shape: list) -> object:
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name: str, kind: int, number: float) -> object:
    return helper.make_tensor(name, kind, [1], [number])


def pipeline(path: Path) -> Path:
    """Of any size, bytes; what is unknown becomes 255 less the mask, that is white, and the rest stays."""
    nodes = [
        helper.make_node("Sub", ["full", "mask"], ["unknown"]),
        helper.make_node("Max", ["image", "unknown"], ["result"]),
    ]
    inputs = [value("image", BYTE, [1, 3, "h", "w"]), value("mask", BYTE, [1, 1, "h", "w"])]
    return saved(
        path, nodes, inputs, [value("result", BYTE, [1, 3, "h", "w"])], [constant("full", BYTE, 255)]
    )


def lama(path: Path, side: int = 16, scale: float = 255.0) -> Path:
    """Of one size, floats from 0 to 1 and a mask of 1 where unknown, which becomes white; up to `scale`."""
    nodes = [
        helper.make_node("Max", ["image", "mask"], ["filled"]),
        helper.make_node("Mul", ["filled", "scale"], ["result"]),
    ]
    inputs = [value("image", FLOAT, [1, 3, side, side]), value("mask", FLOAT, [1, 1, side, side])]
    outputs = [value("result", FLOAT, [1, 3, side, side])]
    return saved(path, nodes, inputs, outputs, [constant("scale", FLOAT, scale)])


def migan(path: Path, side: int = 16) -> Path:
    """Four channels: the mask less a half, then the known part from -1 to 1; what is unknown becomes 1."""
    split = helper.make_tensor("parts", TensorProto.INT64, [2], [1, 3])
    nodes = [
        helper.make_node("Split", ["input", "parts"], ["shifted", "known"], axis=1),
        helper.make_node("Sub", ["half", "shifted"], ["unknown"]),
        helper.make_node("Add", ["known", "unknown"], ["result"]),
    ]
    inputs = [value("input", FLOAT, [1, 4, side, side])]
    outputs = [value("result", FLOAT, [1, 3, side, side])]
    return saved(path, nodes, inputs, outputs, [split, constant("half", FLOAT, 0.5)])


@pytest.mark.parametrize("kind", KINDS)
def test_no_pixel_outside_the_mask_changes(kind: str) -> None:
    picture, mask = scene(), hole()
    filled = filling(kind)(picture, mask)
    assert filled.dtype == np.uint8
    assert (filled[~mask] == picture[~mask]).all()
    assert (filled[mask] != picture[mask]).any()


def test_zero_and_mean_are_what_they_say() -> None:
    picture, mask = scene(), hole()
    assert (filling("zero")(picture, mask)[mask] == 0).all()
    expected = np.rint(picture[mask].mean(axis=0))
    assert (filling("mean")(picture, mask)[mask] == expected).all()


def test_a_blur_keeps_what_is_even() -> None:
    even = np.full((20, 30, 3), 77, dtype=np.uint8)
    assert (filling("blur")(even, hole()) == 77).all()


def test_telea_continues_what_is_around() -> None:
    """Left of the hole it is dark, right of it bright: the filling goes from one to the other."""
    picture = np.zeros((20, 30, 3), dtype=np.uint8)
    picture[:, 9:] = 200
    filled = filling()(picture, hole())
    assert filled[7, 5].mean() < 60
    assert filled[7, 12].mean() > 140


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_a_mask_covers_the_pixels_that_a_box_touches(width: int, height: int, data: st.DataObject) -> None:
    left, right = sorted(data.draw(st.tuples(*[st.integers(0, width)] * 2)))
    upper, lower = sorted(data.draw(st.tuples(*[st.integers(0, height)] * 2)))
    mask = mask_of(np.array([[left, upper, right, lower]], dtype=float), width, height)
    assert mask.sum() == (right - left) * (lower - upper)


@pytest.mark.parametrize(
    ("make", "convention", "side"),
    [(pipeline, "pipeline", None), (lama, "lama", 16), (migan, "migan", 16)],
)
def test_models_of_each_way_fill_with_white(tmp_path: Path, make, convention: str, side: int | None) -> None:
    model = OnnxInpainter(make(tmp_path / "model.onnx"))
    assert (model.convention, model.side) == (convention, side)
    picture, mask = scene() // 2, hole()
    filled = filling("inpaint", tmp_path / "model.onnx")(picture, mask)
    assert (filled[~mask] == picture[~mask]).all()
    assert (filled[mask] >= 250).mean() > 0.9  # resized masks have soft edges


def test_an_output_that_ends_at_one_is_read_as_well(tmp_path: Path) -> None:
    filled = filling("inpaint", lama(tmp_path / "model.onnx", scale=1.0))(scene() // 2, hole())
    assert (filled[hole()] >= 250).mean() > 0.9


@pytest.mark.parametrize("size", [(16, 16), (7, 90), (90, 7), (200, 150)])
def test_pictures_of_every_shape_fit_a_model_of_one_size(tmp_path: Path, size: tuple[int, int]) -> None:
    height, width = size
    mask = np.zeros((height, width), dtype=bool)
    mask[height // 2 :, : width // 2 + 1] = True
    filled = filling("inpaint", lama(tmp_path / "model.onnx"))(scene(height, width) // 2, mask)
    assert filled.shape == (height, width, 3)
    assert (filled[mask] >= 250).mean() > 0.6


def test_the_model_is_named_by_its_file_and_content(tmp_path: Path) -> None:
    first, second = lama(tmp_path / "a.onnx"), lama(tmp_path / "b.onnx", scale=254.0)
    names = {filling("inpaint", path).name for path in (first, second)}
    assert all(name.startswith(("inpaint by a.onnx (", "inpaint by b.onnx (")) for name in names)
    assert len(names) == 2
    assert filling().name == "inpaint by OpenCV's Telea"


@pytest.mark.parametrize(
    ("kind", "model", "message"),
    [
        ("paint", None, "no filling is named 'paint'"),
        ("zero", Path("x.onnx"), "filling 'zero' takes no model"),
        ("inpaint", Path("missing.onnx"), r"missing\.onnx: cannot be read"),
    ],
)
def test_a_wrong_choice_is_a_clear_error(kind: str, model: Path | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        filling(kind, model)


def test_a_file_that_is_no_model_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match=r"x\.onnx: is no ONNX model that can be loaded"):
        filling("inpaint", tmp_path / "x.onnx")


def test_a_model_of_other_inputs_is_a_clear_error(tmp_path: Path) -> None:
    nodes = [helper.make_node("Identity", ["text"], ["result"])]
    path = saved(tmp_path / "x.onnx", nodes, [value("text", FLOAT, [1, 5])], [value("result", FLOAT, [1, 5])])
    with pytest.raises(InputError, match=r"takes text tensor\(float\) \[1, 5\], unlike LaMa and MI-GAN"):
        filling("inpaint", path)


def test_a_model_that_returns_another_shape_is_a_clear_error(tmp_path: Path) -> None:
    nodes = [helper.make_node("Transpose", ["image"], ["result"], perm=[0, 1, 3, 2])]
    inputs = [value("image", BYTE, [1, 3, "h", "w"]), value("mask", BYTE, [1, 1, "h", "w"])]
    path = saved(tmp_path / "x.onnx", nodes, inputs, [value("result", BYTE, [1, 3, "a", "b"])])
    with pytest.raises(InputError, match=r"returns shape \(1, 3, 30, 20\), expected \(1, 3, 20, 30\)"):
        filling("inpaint", path)(scene(), hole())
