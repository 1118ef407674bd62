"""The store of vectors: what is written is found, what is damaged is named, what is pruned is gone."""

import errno
import io
import os
import resource
import time

import numpy as np
import pytest

from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search import room
from equiview.store import Store, stored
from equiview.store.vectors import keys_of
from tests.store.counting import Counting, Tokens, images, many, texts


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def key(letter):
    return letter.encode() * 16


def rows(letters, width=4):
    return np.array([[ord(letter)] * width for letter in letters], dtype=np.float32)


def npy(content):
    buffer = io.BytesIO()
    np.save(buffer, content)
    return buffer.getvalue()


def fill(shelf, *batches):
    for batch in batches:
        shelf.add([key(letter) for letter in batch], rows(batch))
    shelf.refresh()


def only_file(store):
    (path,) = store.folders()[0].glob("*.vectors")
    return path


def one_batch(encoder, store):
    """Twelve texts in one file."""
    encoder.text_batch = 12
    return stored(encoder, store).embed(many(12))


def make_old(path, seconds=7200):
    os.utime(path, (time.time() - seconds,) * 2)


def test_batches_are_found_in_any_order_by_whoever_looks(store):
    shelf = store.shelf("x")
    fill(shelf, "abc", "de", "f")
    wanted = [key(letter) for letter in "fadb"]
    assert shelf.missing([*wanted, key("z"), key("y"), key("z")]) == [key("z"), key("y")]
    assert shelf.get(wanted)[:, 0].tolist() == [102, 97, 100, 98]
    np.testing.assert_array_equal(store.shelf("x").get(wanted), shelf.get(wanted))


def test_a_key_may_end_with_zeros(store):
    shelf = store.shelf("x")
    keys = [start + bytes(16 - len(start)) for start in (b"", b"a", b"a\0b", b"\xff")]
    assert shelf.missing(keys) == keys
    shelf.add([keys[0], keys[2]], rows("xy"))
    shelf.refresh()
    assert shelf.missing(keys) == [keys[1], keys[3]]
    assert shelf.get(keys[2::-2])[:, 0].tolist() == [ord("y"), ord("x")]
    with pytest.raises(KeyError, match=r"a\\x00"):
        shelf.get(keys)


def test_what_one_file_holds_in_the_order_asked_for_is_mapped(store):
    shelf = store.shelf("x")
    fill(shelf, "abcd", "ef")
    mapped = shelf.get([key(letter) for letter in "bcd"])
    assert not mapped.flags.owndata
    assert not mapped.flags.writeable
    copied = shelf.get([key(letter) for letter in "bcde"])
    assert copied.flags.owndata
    np.testing.assert_array_equal(copied[:3], mapped)


def no_room(*of_file):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_memory_should_not_hold_is_put_in_order_on_disk(store, monkeypatch):
    shelf = store.shelf("x")
    fill(shelf, "abcd", "ef")
    wanted = [key(letter) for letter in "fadb"]
    held, names = shelf.get(wanted), sorted(os.listdir(shelf.folder))
    monkeypatch.setattr(room, "memory_bytes", lambda: 4 * held.nbytes - 1)
    mapped = shelf.get(wanted)
    assert isinstance(mapped, np.memmap)
    assert not isinstance(held, np.memmap)
    np.testing.assert_array_equal(mapped, held)
    assert sorted(os.listdir(shelf.folder)) == names
    monkeypatch.setattr(os, "posix_fallocate", no_room, raising=False)
    with pytest.raises(
        InputError, match=r"more than a quarter of the memory, cannot be put in order there \(No"
    ):
        shelf.get(wanted)


def test_a_container_may_have_less_memory_than_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "LIMITS", ())
    machine = room.memory_bytes()
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "less").write_text("1000000\n")
    for name, expected in (("max", machine), ("missing", machine), ("less", 10**6)):
        monkeypatch.setattr(room, "LIMITS", (tmp_path / name,))
        assert room.memory_bytes() == expected


def test_of_what_two_wrote_everybody_reads_the_same(store):
    one, other = store.shelf("x"), store.shelf("x")
    one.add([key("a")], np.full((1, 4), 1.0))
    other.add([key("a")], np.full((1, 4), 2.0))
    one.refresh()
    other.refresh()
    values = {shelf.get([key("a")])[0, 0] for shelf in (one, other, store.shelf("x"))}
    assert len(values) == 1
    assert store.contents()["items"].to_list() == [1]


def test_what_was_pruned_since_it_was_listed_is_not_found(store):
    reader = store.shelf("x")
    fill(reader, "ab")
    reader.mark.unlink()
    store.prune()
    with pytest.raises(FileNotFoundError):
        reader.get([key("a")])
    reader.refresh()
    with pytest.raises(KeyError):
        reader.get([key("a")])


def test_more_batches_are_read_than_files_may_be_open(store):
    shelf = store.shelf("x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    letters = "abcdefghijklmnopqrstuvwxyz" * 4
    numbers = [str(place).zfill(16).encode() for place in range(len(letters))]
    for number, letter in zip(numbers, letters, strict=True):
        shelf.add([number], rows(letter))
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 40, hard))
    try:
        shelf.refresh()
        vectors = shelf.get(numbers)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert vectors[:, 0].tolist() == [ord(letter) for letter in letters]


def test_vectors_of_several_kinds_are_not_mixed(store):
    shelf = store.shelf("x")
    fill(shelf, "ab")
    shelf.add([key("c")], rows("c", width=3))
    shelf.add([key("d")], TokenVectors.of([rows("de")]))
    shelf.refresh()
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


def test_a_shelf_to_which_a_process_writes_is_spared_unless_it_died_long_ago(store):
    shelf = store.shelf("x")
    with shelf.writing():
        fill(shelf, "ab")
        assert store.prune() == 0
        make_old(shelf.mark)
        fill(shelf, "cd")
        assert store.prune() == 0
        make_old(shelf.mark)
        assert store.prune() > 0
    assert not list(store.root.iterdir())


def test_a_shelf_can_be_pruned_as_soon_as_it_is_filled_or_its_filling_has_failed(store):
    stored(Counting(), store).embed(many(12))
    assert store.prune() > 0
    with pytest.raises(InputError, match="is not finite"):
        stored(Counting(scale=np.nan), store).embed(many(3))
    assert not list(store.folders()[0].glob("*.writing"))


class Pruned(Counting):
    """What is stored when it is first asked is pruned."""

    times = 1

    def encode_texts(self, texts):
        if self.encoded < self.times * 5:
            for path in self.store.root.glob("*/*.vectors"):
                path.unlink()
        return super().encode_texts(texts)


@pytest.mark.parametrize("times", [1, 100])
def test_what_is_pruned_while_it_is_used_is_encoded_again_or_said(store, times):
    stored(Counting(), store).embed(many(10))
    encoder = Pruned()
    encoder.store, encoder.times = store, times
    if times > 1:
        with pytest.raises(InputError, match="stored vectors are gone again"):
            stored(encoder, store).embed(many(20))
        return
    vectors = stored(encoder, store).embed(many(20))
    assert encoder.encoded == 20
    np.testing.assert_array_equal(vectors, Counting().embed(many(20)))


@pytest.mark.parametrize("kind", [Counting, Tokens])
def test_damage_is_found_counted_and_pruned(store, kind):
    one_batch(kind(), store)
    path = only_file(store)
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


@pytest.mark.parametrize("kind", [Counting, Tokens])
@pytest.mark.parametrize("of", ["a vector", "a key"])
def test_damage_is_refused_when_vectors_are_read(store, kind, of):
    one_batch(kind(), store)
    path = only_file(store)
    content = bytearray(path.read_bytes())
    content[-5 if of == "a vector" else content.index(b"\n") + 3] ^= 1  # a header ends in a new line
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"\.vectors: stored vectors differ from their checksum; delete"):
        stored(kind(), store).embed(many(12))
    path.unlink()
    vectors = stored(kind(), store).embed(many(12))
    assert len(vectors) == 12


def test_a_shortened_file_loses_only_what_it_no_longer_holds(store):
    one_batch(Counting(), store)
    path = only_file(store)
    os.truncate(path, path.stat().st_size - 5 * 16 + 3)
    assert store.verify()["problem"].to_list() == ["5 of 12 items lie beyond the end of the file"]
    encoder = Counting()
    vectors = stored(encoder, store).embed(many(12))
    assert encoder.encoded == 5
    np.testing.assert_array_equal(vectors, Counting().embed(many(12)))


@pytest.mark.parametrize(
    "content", [b"", b"no array", b"\x93NUMPY\x01\x00", npy([1, 2]), npy([1, 2]) + npy([[1.0]])]
)
def test_a_file_that_is_not_one_is_named_and_its_items_are_encoded_again(store, content):
    one_batch(Counting(), store)
    only_file(store).write_bytes(content)
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
    left = store.folders()[0] / ".0123456789ab-000001.vectors.abcdefgh.part"
    left.write_bytes(b"half")
    assert store.prune(damaged=True) == 0
    make_old(left)
    assert store.prune(damaged=True) == 4
    assert not left.exists()


@pytest.mark.parametrize(
    "name", ["notes.txt", "mine.vectors", "0123456789ab-000001.vectors.old", ".hidden", "folder"]
)
def test_what_the_store_did_not_write_is_not_pruned(store, name, caplog):
    stored(Counting(), store).embed(many(3))
    (folder,) = store.folders()
    (folder / name).mkdir() if name == "folder" else (folder / name).write_text("years of work")
    assert store.prune() > 0
    assert sorted(path.name for path in folder.iterdir()) == sorted([name, "encoder.json"])
    assert name in caplog.text
    assert store.contents()["items"].to_list() == [0]


@pytest.mark.parametrize("name", ["clip", "clip.float32", "clip.json"])
@pytest.mark.parametrize("content", ['{"hidden_size": 512}', '{"name": "clip"}', "", "[1]"])
def test_a_folder_of_somebody_elses_encoder_is_not_pruned(store, name, content):
    folder = store.root / name
    folder.mkdir(parents=True)
    for file in ("encoder.json", "model.safetensors"):
        (folder / file).write_text(content)
    store.prune()
    store.prune(damaged=True)
    assert len(list(folder.iterdir())) == 2


def test_nothing_is_pruned_through_a_link(store, tmp_path):
    elsewhere = Store(tmp_path / "elsewhere")
    stored(Counting(), elsewhere).embed(many(3))
    (shelf,) = elsewhere.folders()
    (batch,) = shelf.glob("*.vectors")
    store.root.mkdir()
    (store.root / "linked.float32").symlink_to(shelf)
    assert (store.prune(), store.prune(damaged=True)) == (0, 0)
    mine = store.shelf("mine").folder
    (mine / batch.name).symlink_to(batch)
    store.prune()
    assert (mine / batch.name).is_symlink()
    assert elsewhere.contents()["items"].to_list() == [3]
    whole = Store(tmp_path / "whole")
    whole.root.parent.mkdir()
    whole.root.symlink_to(elsewhere.root)
    with pytest.raises(InputError, match="nothing is removed through a link"):
        whole.prune()


def test_the_name_of_a_shelf_that_was_damaged_is_written_again(store):
    about = store.shelf("x", name="the first").folder / "encoder.json"
    about.write_bytes(b"")
    assert store.contents()["name"].to_list() == ["?"]
    store.shelf("x", name="the first")
    assert store.contents()["name"].to_list() == ["the first"]


def test_a_full_disk_is_said_and_what_was_stored_is_kept(store, monkeypatch):
    synced, sync = [], os.fsync

    def full(handle):
        synced.append(handle)
        if len(synced) > 4:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr("equiview.io.tables.os.fsync", full)
    with pytest.raises(InputError, match=r"cannot be stored .*No space left.* stored before are kept"):
        stored(Counting(), store).embed(many(30))
    monkeypatch.undo()
    encoder = Counting()
    stored(encoder, store).embed(many(30))
    assert encoder.encoded == 15
    assert len(store.verify()) == 0


def test_a_store_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "vectors").write_text("a file where a folder should be")
    with pytest.raises(InputError, match=r"store of vectors cannot be written .* \$EQUIVIEW_CACHE"):
        stored(Counting(), Store(tmp_path)).embed(many(3))


def test_the_store_is_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "mine"))
    assert Store().root == tmp_path / "mine" / "vectors"
