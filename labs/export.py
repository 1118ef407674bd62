"""Towers to ONNX with 8-bit weights.

The graphs are written node by node, so what ships is what is read here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from image_tower import ANYWHERE, SHOWN, SOFTNESS, WEIGHTS, Block, Look, SeeingTower, centred
from scene_tower import SceneHead, SceneTower
from text_tower import OUT, TextTower

OPSET, IR_VERSION = 17, 8


class Graph:
    """Collects nodes and weights; each method returns the name of what it computes."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, array: NDArray[np.generic]) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def int8(self, weight: NDArray[np.float32]) -> str:
        """A weight stored in 8 bits with one scale for each row of its first axis."""
        rows = np.abs(weight.reshape(len(weight), -1)).max(axis=1)
        scale = (np.maximum(rows, 1e-12) / 127).astype(np.float32)
        shape = (-1,) + (1,) * (weight.ndim - 1)
        stored = np.clip(np.rint(weight / scale.reshape(shape)), -127, 127).astype(np.int8)
        zero = np.zeros(len(weight), dtype=np.int8)
        return self.add(
            "DequantizeLinear", self.constant(stored), self.constant(scale), self.constant(zero), axis=0
        )

    def save(self, path: Path, inputs: list[onnx.ValueInfoProto], result: str) -> int:
        """Write the model, whose output is `result`; returns its size in bytes."""
        self.nodes.append(helper.make_node("Identity", [result], ["vectors"]))
        output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["n", OUT])
        graph = helper.make_graph(self.nodes, path.stem, inputs, [output], self.weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="equiview"
        )
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))
        return path.stat().st_size


def export_text_tower(tower: TextTower, path: Path) -> int:
    """`features` int32 `(n, longest)` padded with 0 to `vectors` float32 `(n, 120)`."""
    graph = Graph()
    table = _array(tower.table.weight)
    scale = (np.abs(table).max(axis=0) / 127).astype(np.float32)
    rows = graph.add("Gather", graph.constant(np.rint(table / scale).astype(np.int8)), "features", axis=0)
    axis = graph.constant(np.array([1], dtype=np.int64))
    # Whole numbers: the sum is exact, whatever the order and however much padding.
    total = graph.add("ReduceSum", graph.add("Cast", rows, to=TensorProto.INT32), axis, keepdims=0)
    real = graph.add("Sign", "features")
    count = graph.add("Cast", graph.add("ReduceSum", real, axis, keepdims=1), to=TensorProto.FLOAT)
    mean = graph.add("Div", graph.add("Cast", total, to=TensorProto.FLOAT), count)
    x = graph.add("Mul", mean, graph.constant(scale))
    norm = [graph.constant(_array(p)) for p in (tower.norm.weight, tower.norm.bias)]
    x = graph.add("LayerNormalization", x, *norm, axis=-1, epsilon=tower.norm.eps)
    for layer, after in ((tower.first, True), (tower.second, False)):
        weight = graph.int8(_array(layer.weight))
        x = graph.add("Gemm", x, weight, graph.constant(_array(layer.bias)), transB=1)
        x = graph.add("Relu", x) if after else x
    features = helper.make_tensor_value_info("features", TensorProto.INT32, ["n", "longest"])
    return graph.save(path, [features], graph.add("LpNormalization", x, axis=1, p=2))


def export_image_tower(seeing: SeeingTower, path: Path) -> int:
    """`pixels` uint8 `(n, 64, 64, 3)` to `vectors` float32 `(n, 120)`."""
    graph, tower = Graph(), seeing.tower
    x = graph.add("Transpose", graph.add("Cast", "pixels", to=TensorProto.FLOAT), perm=[0, 3, 1, 2])
    x = graph.add("Mul", x, graph.constant(np.array(1 / (255 * 0.35), dtype=np.float32)))
    x = graph.add("Sub", x, graph.constant(np.array(0.6 / 0.35, dtype=np.float32)))
    near = graph.add("Relu", _convolution(graph, x, tower.near[0], tower.near[1]))
    for block in tower.near[3:]:
        near = _block(graph, near, block)
    far = near
    for block in tower.far:
        far = _block(graph, far, block)
    person = _block(graph, near, tower.person)
    scale = graph.constant(np.array(ANYWHERE, dtype=np.float32))
    mean = graph.add("Flatten", graph.add("GlobalAveragePool", far), axis=1)
    x = graph.add("Concat", graph.add("Flatten", far, axis=1), graph.add("Mul", mean, scale), axis=1)
    parts = []
    for name, head in tower.heads.items():
        read = x
        if name in SHOWN:
            seen = graph.add("Mul", _look(graph, person, tower.looks[name]), scale)
            read = graph.add("Concat", x, seen, axis=1)
        part = _head(graph, read, head)
        if name == "concept":
            part = _unit(graph, graph.add("MatMul", part, graph.constant(_array(seeing.kept))))
        if name in SHOWN:
            classes = graph.constant(SOFTNESS * _array(getattr(seeing, name)).T)
            probable = graph.add("Softmax", graph.add("MatMul", part, classes), axis=1)
            parts.append(graph.add("MatMul", probable, graph.constant(centred(name))))
        else:
            weight = graph.constant(np.array(WEIGHTS[name], dtype=np.float32))
            parts.append(graph.add("Mul", part, weight))
    pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["n", 64, 64, 3])
    return graph.save(path, [pixels], _unit(graph, graph.add("Concat", *parts, axis=1)))


def export_scene_tower(tower: SceneTower, head: SceneHead, path: Path) -> int:
    """`pixels` uint8 `(n, 64, 64, 3)` to `vectors` float32 `(n, 120)`."""
    graph = Graph()
    x = graph.add("Transpose", graph.add("Cast", "pixels", to=TensorProto.FLOAT), perm=[0, 3, 1, 2])
    x = graph.add("Mul", x, graph.constant(np.array(1 / (255 * 0.35), dtype=np.float32)))
    x = graph.add("Sub", x, graph.constant(np.array(0.6 / 0.35, dtype=np.float32)))
    x = graph.add("Relu", _convolution(graph, x, tower.body[0], tower.body[1]))
    for block in tower.body[3:]:
        x = _block(graph, x, block)
    places = _convolution(graph, x, tower.places, None)
    seen = graph.add("Sigmoid", graph.add("ReduceLogSumExp", places, axes=[2, 3], keepdims=0))
    weight = graph.int8(_array(head.linear.weight))
    x = graph.add("Gemm", seen, weight, graph.constant(_array(head.linear.bias)), transB=1)
    pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["n", 64, 64, 3])
    return graph.save(path, [pixels], _unit(graph, x))


def _block(graph: Graph, x: str, block: Block) -> str:
    short = x
    if isinstance(block.short, nn.Sequential):
        if isinstance(block.short[0], nn.AvgPool2d):
            short = graph.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
        short = _convolution(graph, short, block.short[1], None)
    y = graph.add("Relu", _convolution(graph, x, block.first, block.norm1))
    y = _convolution(graph, y, block.second, block.norm2)
    return graph.add("Relu", graph.add("Add", y, short))


def _look(graph: Graph, x: str, look: Look) -> str:
    shape = graph.constant(np.array([0, 0, -1], dtype=np.int64))
    what = graph.add("Reshape", graph.add("Relu", _convolution(graph, x, look.what, look.norm)), shape)
    where = graph.add("Reshape", _convolution(graph, x, look.where, None), shape)
    what = graph.add("Transpose", what, perm=[0, 2, 1])
    return graph.add("Flatten", graph.add("MatMul", graph.add("Softmax", where, axis=2), what), axis=1)


def _convolution(graph: Graph, x: str, layer: nn.Conv2d, norm: nn.BatchNorm2d | None) -> str:
    """A convolution with the batch normalisation after it folded in."""
    weight = _array(layer.weight)
    bias = np.zeros(len(weight), np.float32) if layer.bias is None else _array(layer.bias)
    if norm is not None:
        gain, shift = _folded(norm)
        weight, bias = weight * gain[:, None, None, None], bias * gain + shift
    padding, stride = list(layer.padding) * 2, list(layer.stride)
    return graph.add("Conv", x, graph.int8(weight), graph.constant(bias), pads=padding, strides=stride)


def _head(graph: Graph, x: str, head: nn.Sequential) -> str:
    gain, shift = _folded(head[1])
    weight = graph.int8(_array(head[0].weight) * gain[:, None])
    y = graph.add("Gemm", x, weight, graph.constant(shift), transB=1)
    return _unit(graph, y)


def _unit(graph: Graph, x: str) -> str:
    return graph.add("LpNormalization", x, axis=1, p=2)


def _folded(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    assert norm.running_var is not None
    assert norm.running_mean is not None
    gain = _array(norm.weight) / np.sqrt(_array(norm.running_var) + norm.eps)
    return gain.astype(np.float32), (_array(norm.bias) - _array(norm.running_mean) * gain).astype(np.float32)


def _array(parameter) -> NDArray[np.float32]:
    return parameter.detach().float().contiguous().numpy()
