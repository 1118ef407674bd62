import gzip
import os
import socket

import pytest

from equiview.errors import InputError
from equiview.io.files import content_of, is_file, parse_json, read_json, read_lines, readable


def a_pipe(path):
    os.mkfifo(path)


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def a_loop(path):
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a folder"),
        (a_pipe, "is a pipe, a socket or a device"),
        (a_socket, "is a pipe, a socket or a device"),
        (lambda path: path.symlink_to("/dev/zero"), "is a pipe, a socket or a device"),
        (lambda path: path.symlink_to("nowhere"), "is a link to a file that is missing"),
        (a_loop, "cannot be read"),
    ],
)
@pytest.mark.parametrize("read", [readable, content_of, read_lines, read_json])
def test_only_an_ordinary_file_is_opened(tmp_path, monkeypatch, make, message, read):
    monkeypatch.chdir(tmp_path)  # a socket's name may be no longer than a hundred letters
    path = tmp_path / "x"
    make(path.relative_to(tmp_path) if make is a_socket else path)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert not is_file(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "x/" * 3000])
def test_a_name_that_no_file_can_have_is_an_error_of_one_line(tmp_path, name):
    with pytest.raises(InputError, match=r"no such file|cannot be read") as caught:
        readable(tmp_path / name)
    assert "\0" not in str(caught.value)
    assert not is_file(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": {"b": 1, "b": 2}}', "an object has the field 'b' twice"),
        ("[NaN]", "NaN is no JSON number"),
        ("[-Infinity]", "-Infinity is no JSON number"),
        ("[1e999]", "the number 1e999 is too large"),
        ("1" * 5000, "is not JSON, is it cut off"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        (r'["\ud800"]', "half of a surrogate pair"),
        (r'{"\udfff": 1}', "half of a surrogate pair"),
        (b"\xff", "is not JSON"),
        (b"", "is not JSON"),
    ],
)
def test_json_is_read_strictly(content, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_json(content, "x.json")
    assert str(caught.value).startswith("x.json: ")


def test_json_keeps_what_is_right():
    assert parse_json(r'["\ud83d\ude00", 1e10, 12345678901234567890]', "x") == [
        "😀",
        1e10,
        12345678901234567890,
    ]
    assert parse_json(b"\xef\xbb\xbf[]", "x") == []


def test_a_compressed_text_that_is_damaged_is_an_error_of_one_line(tmp_path):
    path = tmp_path / "x.gz"
    whole = gzip.compress(b"one\ntwo\n" * 100, mtime=0)
    refused = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            assert read_lines(path) == ["one", "two"] * 100  # the header has bytes that mean nothing here
        except InputError:
            refused += 1
    assert refused > len(whole) / 2


def test_a_text_with_a_nul_is_refused_with_its_line(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"a\nb\0\n")
    with pytest.raises(InputError, match=r"x\.txt, line 2: holds a NUL"):
        read_lines(tmp_path / "x.txt")
