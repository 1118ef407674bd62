"""Galleries on disk: the same lists as in memory, read in order, within a memory that they do not fit in."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from equiview.errors import InputError
from equiview.search import Targets, ranked_within, reading, top_k
from equiview.search.halves import CAST, FEW, as_float32
from equiview.search.scaling import Scaled

linux = pytest.mark.skipif(sys.platform != "linux", reason="files are read past their mapping on Linux")


def stored(path, dtype=np.float16, n=20_000, width=64):
    """Vectors in a file with rows that tie, of 0 and of tiny numbers, mapped; and the same in memory."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n, width)).astype(dtype)
    values[5000:5020] = values[7]
    values[:, 0] = rng.choice(np.array([0, -0.0, 6e-8, -6e-8], dtype=dtype), n)
    np.save(path, values)
    return np.load(path, mmap_mode="r"), values


@pytest.fixture
def read(monkeypatch):
    """Files of any size are read by the thread; gives how many parts it has read."""
    numbers = []
    part = reading._Reader._part
    monkeypatch.setattr(reading, "LEAST_BYTES", 1)
    monkeypatch.setattr(reading._Reader, "_part", lambda *given: numbers.append(given[2:4]) or part(*given))
    return numbers


@linux
@pytest.mark.parametrize("past_cache", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("form", [lambda rows: rows, Scaled], ids=["as it is", "scaled"])
def test_lists_and_ranks_from_disk_are_those_from_memory(
    tmp_path, read, monkeypatch, form, dtype, past_cache
):
    monkeypatch.setattr(reading, "memory_bytes", lambda: 0 if past_cache else 2**50)
    mapped, held = stored(tmp_path / "vectors.npy", dtype)
    queries = np.random.default_rng(1).standard_normal((150, 64), dtype=np.float32)
    groups = np.arange(len(held)) % 7
    targets = Targets(np.arange(150), np.arange(150) * 3, groups)
    for name, search in (
        ("lists", lambda gallery: [top_k(queries, gallery, 50)]),
        ("ranks", lambda gallery: ranked_within(queries, gallery, 50, targets)),
    ):
        if name == "lists" and form is Scaled:
            continue  # top_k takes vectors that are scaled already
        read.clear()
        (lists, *ranks), (wanted, *other) = search(form(mapped)), search(form(held))
        assert lists.items.tobytes() == wanted.items.tobytes()
        assert lists.scores.tobytes() == wanted.scores.tobytes()
        assert all(found.tobytes() == right.tobytes() for found, right in zip(ranks, other, strict=True))
        assert [first for _, first in read] == list(range(0, len(held), 4096))


@linux
def test_a_part_of_a_mapped_array_is_read_from_where_it_begins(tmp_path, read):
    mapped, held = stored(tmp_path / "vectors.npy")
    queries = np.random.default_rng(1).standard_normal((3, 64), dtype=np.float32)
    found = top_k(queries, mapped[1234:9999], 10)
    assert found.items.tobytes() == top_k(queries, held[1234:9999], 10).items.tobytes()
    assert len(read) == 3
    every = mapped[::2]  # is not in one piece
    assert top_k(queries, every, 10).items.tobytes() == top_k(queries, held[::2], 10).items.tobytes()
    assert len(read) == 3


@linux
@pytest.mark.parametrize("change", ["replaced", "removed", "written over in memory"])
def test_what_the_mapping_has_counts_and_not_what_the_file_became(tmp_path, read, change):
    path = tmp_path / "vectors.npy"
    mapped, held = stored(path)
    queries = np.random.default_rng(1).standard_normal((3, 64), dtype=np.float32)
    if change == "written over in memory":
        mapped = np.load(path, mmap_mode="c")
        mapped[:100] = held[:100] = held[100:200]
    else:
        path.rename(tmp_path / "elsewhere.npy")
    if change == "replaced":
        np.save(path, held[::-1])
    assert top_k(queries, mapped, 10).items.tobytes() == top_k(queries, held, 10).items.tobytes()
    assert not read


@linux
def test_a_file_that_is_cut_off_meanwhile_is_named_and_no_thread_is_left(tmp_path, read):
    import threading

    path = tmp_path / "vectors.npy"
    mapped, _ = stored(path)
    with path.open("r+b") as file:
        file.truncate(1_000_000)
    before = threading.active_count()
    with pytest.raises(InputError, match=r"vectors.npy: ends before its last vector"):
        top_k(np.ones((2, 64), dtype=np.float32), mapped, 10)
    assert threading.active_count() == before


@linux
def test_an_error_of_the_search_ends_the_reading(tmp_path, read):
    import threading

    values = np.ones((40_000, 64), dtype=np.float16)
    values[100] = np.nan
    np.save(tmp_path / "vectors.npy", values)
    before = threading.active_count()
    with pytest.raises(InputError, match="not a number"):
        top_k(np.ones((2, 64), dtype=np.float32), np.load(tmp_path / "vectors.npy", mmap_mode="r"), 10)
    assert threading.active_count() == before


def test_every_half_is_the_float_that_numpy_makes_of_it():
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = np.resize(halves[np.isfinite(halves)], (4 * FEW // 64, 64))
    for values in (finite, finite[:, ::3], finite[:8], finite[:0]):
        room = np.full(values.shape, np.nan, dtype=np.float32)
        for given in (None, room, room[::-1], room[1:]):
            assert as_float32(values, given).tobytes() == values.astype(np.float32).tobytes()
    np.testing.assert_array_equal(as_float32(halves), halves.astype(np.float32))  # and what is not finite


def test_the_model_that_converts_is_one_cast():
    halves, floats = (
        helper.make_tensor_value_info(name, kind, None)
        for name, kind in (("x", TensorProto.FLOAT16), ("y", TensorProto.FLOAT))
    )
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    graph = helper.make_graph([cast], "halves", [halves], [floats])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    assert model.SerializeToString() == CAST


CHILD = """
import resource, sys
import numpy as np
from threadpoolctl import threadpool_limits
from equiview.search import top_k

threadpool_limits(2, user_api="blas")
gallery = np.load(sys.argv[1], mmap_mode="r")
queries = np.random.default_rng(1).standard_normal((20, 64), dtype=np.float32)
top_k(queries, gallery[:9000], 10)  # libraries, threads and their buffers are there


def held(name):
    (line,) = [line for line in open("/proc/self/status") if line.startswith(name)]
    return int(line.split()[1]) * 1024


before = held("VmRSS")
resource.setrlimit(resource.RLIMIT_AS, (held("VmSize") + 64 * 10**6,) * 2)
lists = top_k(queries, gallery, 10)
assert held("VmHWM") - before < 64 * 10**6, (held("VmHWM"), before)
print(lists.items.tolist()[0][:3])
"""


@linux
def test_a_gallery_on_disk_is_searched_in_less_memory_than_it_has(tmp_path):
    path, n = tmp_path / "vectors.npy", 1_000_000  # 128 MB, and 64 MB may be used, its pages included
    part = np.random.default_rng(0).standard_normal((50_000, 64), dtype=np.float32).astype(np.float16)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": (n, 64)})
        for turn in range(n // len(part)):
            file.write((part * np.float16(0.5 + turn / 100)).tobytes())
    one_arena = os.environ | {"MALLOC_ARENA_MAX": "1"}  # a thread's arena reserves 64 MB of addresses
    done = subprocess.run(
        [sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=False, env=one_arena
    )
    queries = np.random.default_rng(1).standard_normal((20, 64), dtype=np.float32)
    wanted = top_k(queries, np.load(path), 10).items.tolist()[0][:3]
    Path(path).unlink()
    assert (done.stdout, done.returncode) == (f"{wanted}\n", 0), done.stderr
