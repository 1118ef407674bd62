"""Hashes of files: right for every content, remembered only for the file that was hashed."""

import os
import sqlite3

import pytest

from equiview.io import hashes
from equiview.io.hashes import hash_bytes, hash_files


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of its own, in which everything is remembered, and files are never too recent for it."""
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hashes, "WORTH_KEEPING", 0)
    monkeypatch.setattr(hashes, "RECENT", -(10**12))
    return tmp_path / "cache" / "hashes.sqlite"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"red")
    return path


def read_paths(monkeypatch):
    """The paths that are read from here on."""
    paths = []
    whole = hashes._hash
    monkeypatch.setattr(hashes, "_hash", lambda path: (paths.append(path), whole(path))[1])
    return paths


def test_a_file_is_read_once_while_it_stays_as_it_is(monkeypatch, file):
    assert hash_files([str(file)]) == [hash_bytes(b"red")]
    paths = read_paths(monkeypatch)
    assert hash_files([str(file)]) == [hash_bytes(b"red")]
    assert paths == []


def test_another_file_in_its_place_is_read_even_with_the_old_size_and_date(file, tmp_path):
    hash_files([str(file)])
    date = file.stat()
    other = tmp_path / "other.png"
    other.write_bytes(b"sky")
    os.utime(other, ns=(date.st_atime_ns, date.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_mtime_ns == date.st_mtime_ns
    assert hash_files([str(file)]) == [hash_bytes(b"sky")]


def test_a_file_changed_just_now_is_not_remembered(monkeypatch, file):
    monkeypatch.setattr(hashes, "RECENT", 10**12)
    hash_files([str(file)])
    paths = read_paths(monkeypatch)
    assert hash_files([str(file)]) == [hash_bytes(b"red")]
    assert paths == [str(file)]


def test_few_bytes_are_hashed_without_a_database(monkeypatch, file, cache):
    monkeypatch.setattr(hashes, "WORTH_KEEPING", 100)
    assert hash_files([str(file)]) == [hash_bytes(b"red")]
    assert not cache.exists()


def test_a_file_that_cannot_be_read_is_told_apart(file, tmp_path):
    absent, folder = tmp_path / "absent.png", tmp_path
    first, *others = hash_files([str(file), str(absent), str(folder), "nul\0"])
    assert first == hash_bytes(b"red")
    assert [isinstance(entry, OSError) for entry in others] == [True, True, True]


@pytest.mark.parametrize("content", [b"not a database", b""])
def test_a_damaged_memory_costs_time_only(file, cache, content):
    cache.parent.mkdir(parents=True)
    cache.write_bytes(content)
    assert hash_files([str(file)]) == [hash_bytes(b"red")]


def test_a_memory_of_another_shape_is_not_believed(file, cache):
    cache.parent.mkdir(parents=True)
    with sqlite3.connect(cache) as database:
        database.execute("CREATE TABLE hashes (path TEXT)")
    database.close()
    assert hash_files([str(file)]) == [hash_bytes(b"red")]


def test_progress_counts_files(tmp_path, monkeypatch):
    monkeypatch.setattr(hashes, "AT_A_TIME", 2)
    paths = [tmp_path / str(row) for row in range(5)]
    for path in paths:
        path.write_bytes(path.name.encode())
    told = []
    hash_files([str(path) for path in paths], lambda *what: told.append(what))
    assert told == [("reading pictures", done, 5) for done in (2, 4, 5)]
