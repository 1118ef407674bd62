"""The store of vectors: what is written is found, what is damaged is named, what is pruned is gone."""

import os
import time

import numpy as np
import pytest

from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.store import Store, stored
from equiview.store.vectors import Shelf, keys_of
from tests.store.counting import Counting, Tokens, images, many, texts


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def key(letter):
    return letter.encode() * 16


def rows(letters, width=4):
    return np.array([[ord(letter)] * width for letter in letters], dtype=np.float32)


def fill(shelf, *batches):
    for batch in batches:
        shelf.add([key(letter) for letter in batch], rows(batch))
    shelf.refresh()


def suffixes(shelf):
    return sorted(path.suffix for path in shelf.folder.iterdir() if path.suffix != ".json")


def joined(store):
    (path,) = store.folders()[0].glob("*.joined")
    return path


def make_old(path, seconds=7200):
    os.utime(path, (time.time() - seconds,) * 2)


def test_batches_are_found_in_any_order_before_and_after_they_are_joined(store):
    shelf = store.shelf("x")
    fill(shelf, "abc", "de", "f")
    wanted = [key(letter) for letter in "fadb"]
    assert shelf.missing([*wanted, key("z"), key("y"), key("z")]) == [key("z"), key("y")]
    before = shelf.get(wanted)
    assert before[:, 0].tolist() == [102, 97, 100, 98]
    shelf.join()
    assert suffixes(shelf) == [".joined"]
    np.testing.assert_array_equal(shelf.get(wanted), before)
    np.testing.assert_array_equal(store.shelf("x").get(wanted), before)


def test_what_is_read_in_stored_order_is_mapped_once_it_is_joined(store):
    shelf = store.shelf("x")
    fill(shelf, "ab", "cd")
    wanted = [key(letter) for letter in "bcd"]
    copied = shelf.get(wanted)
    shelf.join()
    mapped = shelf.get(wanted)
    assert copied.flags.owndata
    assert not mapped.flags.owndata
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(mapped, copied)


def test_what_two_wrote_is_joined_and_kept_once(store):
    one, other = store.shelf("x"), store.shelf("x")
    fill(one, "ab", "c")
    fill(other, "ab", "d")
    one.refresh()
    one.join()
    assert suffixes(one) == [".joined"]
    assert len(one.files[0].items) == 4
    other.join()  # the batches that it knew of are gone
    assert sorted(other.rows) == [key(letter) for letter in "abcd"]
    other.add([key("e")], rows("e"))
    one.refresh()
    assert one.get([key("e"), key("d")])[:, 0].tolist() == [101, 100]


def test_a_reader_keeps_what_it_has_listed_when_others_join_or_prune(store):
    reader, writer = store.shelf("x"), store.shelf("x")
    fill(writer, "ab", "cd")
    reader.refresh()
    writer.join()
    assert reader.get([key("c"), key("a")])[:, 0].tolist() == [99, 97]
    store.prune()
    assert reader.get([key("c"), key("a")])[:, 0].tolist() == [99, 97]
    reader.folder.mkdir(exist_ok=True)
    reader.refresh()
    assert not reader.rows


def test_a_file_that_vanishes_while_it_is_listed_is_looked_for_again(store, monkeypatch):
    shelf, other = store.shelf("x"), store.shelf("x")
    fill(other, "ab", "cd")
    read = []

    def join_first(path):
        if not read:
            other.join()
        read.append(path)
        return original(path)

    original = Shelf.refresh.__globals__["files"].read
    monkeypatch.setattr("equiview.store.files.read", join_first)
    shelf.refresh()
    assert sorted(shelf.rows) == [key(letter) for letter in "abcd"]
    assert [file.path.suffix for file in shelf.files] == [".joined"]


def test_vectors_of_several_kinds_are_not_mixed(store):
    shelf = store.shelf("x")
    fill(shelf, "ab")
    shelf.add([key("c")], rows("c", width=3))
    shelf.add([key("d")], TokenVectors.of([rows("de")]))
    shelf.refresh()
    shelf.join()
    assert suffixes(shelf) == [".joined"] * 3
    assert shelf.get([key("c")]).shape == (1, 3)
    with pytest.raises(InputError, match=r"vectors of several kinds .* prune them"):
        shelf.get([key("a"), key("c")])
    with pytest.raises(InputError, match=r"vectors of several kinds .* prune them"):
        shelf.get([key("a"), key("d")])


def test_a_text_is_not_an_image_and_encoders_do_not_share(store):
    assert set(keys_of(texts("a"))).isdisjoint(keys_of(images(b"a")))
    stored(Counting("one"), store).embed(many(3))
    other = Counting("two")
    stored(other, store).embed(many(3))
    assert other.encoded == 3


def test_contents_verify_and_prune(store):
    stored(Counting("one"), store, name="the first").embed(many(12))
    stored(Tokens(), store).embed(texts("abc", "d"))
    contents = store.contents()
    assert contents.select("encoder", "name", "items", "vectors").rows() == [
        ("countingone", "the first", 12, 12),
        ("tokens", "Tokens", 2, 4),
    ]
    assert len(store.verify()) == 0
    assert store.prune("tok") > 0
    assert store.contents()["encoder"].to_list() == ["countingone"]
    assert store.prune(unused_days=1) == 0
    make_old(store.folders()[0] / "encoder.json", 200_000)
    assert store.prune(unused_days=1) > 0
    assert len(store.contents()) == 0
    assert not list(store.root.iterdir())


def test_what_another_process_may_be_writing_is_not_pruned(store):
    shelf = store.shelf("x")
    fill(shelf, "ab")
    shelf.join()
    fill(shelf, "cd", "ef")
    (first, second) = sorted(shelf.folder.glob("*.batch"))
    make_old(first)
    store.prune()
    assert list(shelf.folder.glob("*.batch")) == [second]
    shelf.refresh()
    assert sorted(shelf.rows) == [key("e"), key("f")]


def test_what_is_pruned_while_it_is_used_is_encoded_again(store):
    stored(Counting(), store).embed(many(10))

    class Pruned(Counting):
        def encode_texts(self, texts):
            if not self.encoded:
                store.prune()
            return super().encode_texts(texts)

    encoder = Pruned()
    vectors = stored(encoder, store).embed(many(12))
    assert encoder.encoded == 12
    np.testing.assert_array_equal(vectors, Counting().embed(many(12)))


@pytest.mark.parametrize("kind", [Counting, Tokens])
def test_damage_is_found_counted_and_pruned(store, kind):
    stored(kind(), store).embed(many(12))
    path = joined(store)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert store.verify().select("problem", "items").rows() == [
        ("1 of 12 items differ from their checksum", 1)
    ]
    assert store.prune(damaged=True) > 0
    assert len(store.verify()) == 0
    encoder = kind()
    stored(encoder, store).embed(many(12))
    assert encoder.encoded == 12


def test_a_shortened_file_loses_only_what_it_no_longer_holds(store):
    stored(Counting(), store).embed(many(12))
    path = joined(store)
    os.truncate(path, path.stat().st_size - 5 * 16 + 3)
    assert store.verify()["problem"].to_list() == ["5 of 12 items lie beyond the end of the file"]
    encoder = Counting()
    vectors = stored(encoder, store).embed(many(12))
    assert encoder.encoded == 5
    np.testing.assert_array_equal(vectors, Counting().embed(many(12)))


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_file_that_is_not_one_is_named_and_its_items_are_encoded_again(store, content):
    stored(Counting(), store).embed(many(12))
    joined(store).write_bytes(content)
    problems = store.verify()
    assert problems["problem"].to_list()[0].startswith("cannot be read (")
    assert problems["items"].to_list() == [0]
    encoder = Counting()
    stored(encoder, store).embed(many(12))
    assert encoder.encoded == 12
    assert store.prune(damaged=True) == len(content)
    assert len(store.verify()) == 0


def test_leftovers_of_killed_processes_are_pruned_after_an_hour(store):
    stored(Counting(), store).embed(many(3))
    left = store.folders()[0] / ".0-000001.batch.xyz.part"
    left.write_bytes(b"half")
    assert store.prune(damaged=True) == 0
    make_old(left)
    assert store.prune(damaged=True) == 4
    assert not left.exists()


def test_a_full_disk_is_said_and_what_was_stored_is_kept(store, monkeypatch):
    synced, sync = [], os.fsync

    def full(handle):
        synced.append(handle)
        if len(synced) > 4:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr("equiview.data.tables.os.fsync", full)
    with pytest.raises(InputError, match=r"cannot be stored .*No space left.* stored before are kept"):
        stored(Counting(), store).embed(many(30))
    monkeypatch.undo()
    encoder = Counting()
    stored(encoder, store).embed(many(30))
    assert encoder.encoded == 15
    assert len(store.verify()) == 0


def test_a_disk_too_full_to_join_leaves_the_batches_as_they_are(store, monkeypatch):
    shelf = store.shelf("x")
    fill(shelf, "ab", "cd")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("equiview.data.tables.os.fsync", full)
    shelf.join()
    monkeypatch.undo()
    assert suffixes(shelf) == [".batch", ".batch"]
    assert shelf.get([key("d"), key("a")])[:, 0].tolist() == [100, 97]


def test_a_store_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "vectors").write_text("a file where a folder should be")
    with pytest.raises(InputError, match=r"store of vectors cannot be written .* \$EQUIVIEW_CACHE"):
        stored(Counting(), Store(tmp_path)).embed(many(3))


def test_the_store_is_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "mine"))
    assert Store().root == tmp_path / "mine" / "vectors"
