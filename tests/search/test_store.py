"""The embedding store: what is stored is found, what is damaged is named, what is pruned is gone."""

import io
import os
import time

import numpy as np
import polars as pl
import pytest
from PIL import Image

from equiview.benchmarks import Benchmark, same_image
from equiview.data.items import Items
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.search.cached import Cached, cached, readable_part
from equiview.search.store import Store, cache_folder, keys_of
from equiview.subjects import Encoder
from equiview.subjects.embeddings import Embeddings
from tests.conftest import write_world


class Counting(Encoder):
    """An encoder that counts what it was asked to encode."""

    image_batch = 4
    text_batch = 5

    def __init__(self, argument="", scale=1.0):
        super().__init__(argument)
        self.scale = scale
        self.encoded = 0

    @property
    def fingerprint(self):
        return f"counting{self.argument}"

    def encode_images(self, images):
        self.encoded += len(images)
        return self.scale * np.array([[*image.getpixel((0, 0)), 1.0] for image in images])

    def encode_texts(self, texts):
        self.encoded += len(texts)
        return self.scale * np.array([[len(text), ord(text[-1]), 1 / len(text), 1.0] for text in texts])


class Tokens(Counting):
    similarity = "maxsim"

    @property
    def fingerprint(self):
        return "tokens"

    def encode_texts(self, texts):
        self.encoded += len(texts)
        return [[[ord(letter), 1.0] for letter in text] for text in texts]


def texts(*strings):
    ids = [f"t{row}" for row in range(len(strings))]
    return Items(
        "text", pl.DataFrame({"id": ids, "text": strings}).with_columns(language=pl.lit("en")), "texts"
    )


def many(count):
    return texts(*(f"text {row} " + "x" * (row % 7) for row in range(count)))


def picture(colour):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2), colour).save(buffer, "PNG")
    return buffer.getvalue()


def images(*pictures):
    table = pl.DataFrame({"id": [f"i{row}" for row in range(len(pictures))], "picture": pictures})
    return Items("image", table, "images")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_a_second_audit_encodes_nothing_and_sees_the_same_vectors(store):
    items = many(23)
    first, second = Counting(), Counting()
    made = Cached(first, store).embed(items)
    found = Cached(second, store).embed(items)
    assert (first.encoded, second.encoded) == (23, 0)
    np.testing.assert_array_equal(made, found)
    np.testing.assert_array_equal(made, Counting().embed(items))


def test_only_what_is_missing_is_encoded_whatever_the_order_and_the_ids(store):
    Cached(Counting(), store).embed(texts("a", "b", "c"))
    encoder = Counting()
    vectors = Cached(encoder, store).embed(texts("d", "c", "e", "a", "d"))
    assert encoder.encoded == 2
    np.testing.assert_array_equal(vectors, Counting().embed(texts("d", "c", "e", "a", "d")))


def test_pictures_are_known_by_content_not_by_place(store, tmp_path):
    colours = [picture(colour) for colour in ("red", "lime", "blue")]
    Cached(Counting(), store).embed(images(*colours))
    paths = [tmp_path / f"{row}.png" for row in range(3)]
    for path, content in zip(paths, colours, strict=True):
        path.write_bytes(content)
    filed = Items("image", pl.DataFrame({"id": ["x", "y"], "path": [str(paths[2]), str(paths[0])]}))
    encoder = Counting()
    assert Cached(encoder, store).embed(filed)[:, :3].tolist() == [[0, 0, 255], [255, 0, 0]]
    assert encoder.encoded == 0


def test_a_text_is_not_an_image_and_encoders_do_not_share(store):
    assert set(keys_of(texts("a"))).isdisjoint(keys_of(images(b"a")))
    Cached(Counting("one"), store).embed(many(3))
    other = Counting("two")
    Cached(other, store).embed(many(3))
    assert other.encoded == 3


def test_half_precision_rounds_alike_the_first_and_the_second_time(store):
    items = many(9)
    made = Cached(Counting(scale=1 / 3), store, precision="float16").embed(items)
    found = Cached(Counting(), store, precision="float16").embed(items)
    np.testing.assert_array_equal(made, found)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, made.astype(np.float16))
    assert Cached(Counting(), store).fingerprint == "counting"
    assert Cached(Counting(), store, precision="float16").fingerprint == "counting-float16"
    with pytest.raises(InputError, match="too large for float16"):
        Cached(Counting("large", scale=1e6), store, precision="float16").embed(items)


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_one_vector_a_token_is_stored_too(store, precision):
    items = texts("abc", "a", "abcdefg", "bc", "abc", "xyz", "u")
    made = Cached(Tokens(), store, precision=precision).embed(items)
    encoder = Tokens()
    found = Cached(encoder, store, precision=precision).embed(items.take([6, 0, 2]))
    assert encoder.encoded == 0
    assert isinstance(found, TokenVectors)
    assert found.values.dtype == precision
    assert found.lengths.tolist() == [1, 3, 7]
    np.testing.assert_array_equal(found[1], made[0])


def test_vectors_in_stored_order_are_mapped_not_copied(store):
    items = images(*map(picture, ("red", "lime", "blue")))
    vectors = Cached(Counting(), store).embed(items)
    assert not vectors.flags.owndata
    assert not vectors.flags.writeable


def test_shards_roll_over(store):
    shelf = store.shelf("x")
    with shelf.writer() as writer:
        writer.shard_bytes = 40
        for key in "abcdef":
            writer.append([key], np.full((1, 4), ord(key), dtype=np.float32))
    shelf.refresh()
    assert len(shelf.shards) == 2
    assert shelf.get(list("fab"))[:, 0].tolist() == [102, 97, 98]


def test_an_error_keeps_what_was_encoded_before_it(store):
    class Breaks(Counting):
        def encode_texts(self, texts):
            if self.encoded >= 10:
                raise RuntimeError("out of memory")
            return super().encode_texts(texts)

    with pytest.raises(RuntimeError):
        Cached(Breaks(), store).embed(many(20))
    encoder = Counting()
    Cached(encoder, store).embed(many(20))
    assert encoder.encoded == 10


def test_vectors_that_are_not_numbers_are_never_stored(store):
    with pytest.raises(InputError, match=r"'t2' \(row 3\) is not finite"):
        Cached(Counting(scale=np.nan), store).embed(texts("a", "bbbbb", "ccccccc"))
    assert store.contents()["items"].sum() == 0


def test_unreadable_pictures_stop_or_are_reported_by_row_and_reason(store, tmp_path):
    good = [picture(colour) for colour in ("red", "lime", "blue", "white", "black")]
    items = images(good[0], b"broken", *good[1:], b"broken")
    with pytest.raises(InputError, match="images, row 2: picture of 'i1' cannot be read"):
        Cached(Counting(), store).embed(items)
    encoder = Counting()
    bad = Cached(encoder, store).fill(items)
    assert bad.select("row", "id").rows() == [(1, "i1"), (6, "i6")]
    assert "cannot be read" in bad["reason"][0]
    again = Counting()
    Cached(again, store).embed(items.take([0, 2, 3, 4, 5]))
    assert again.encoded == 0
    absent = Items("image", pl.DataFrame({"id": ["a"], "path": [str(tmp_path / "gone.png")]}), "images")
    assert "gone.png" in Cached(Counting(), store).fill(absent)["reason"][0]


def test_progress_counts_what_was_there_already(store):
    Cached(Counting(), store).embed(many(10))
    told = []
    Cached(Counting(), store).embed(many(20), lambda *what: told.append(what))
    assert told == [("encoding texts", 15, 20), ("encoding texts", 20, 20)]


def test_contents_verify_and_prune(store):
    Cached(Counting("one"), store, name="the first").embed(many(12))
    Cached(Tokens(), store).embed(texts("abc", "d"))
    contents = store.contents()
    assert contents.select("encoder", "name", "items", "vectors").rows() == [
        ("countingone", "the first", 12, 12),
        ("tokens", "Tokens", 2, 4),
    ]
    assert len(store.verify()) == 0
    assert store.prune("tok") > 0
    assert store.contents()["encoder"].to_list() == ["countingone"]
    assert store.prune(unused_days=1) == 0
    about = store.folders()[0] / "encoder.json"
    os.utime(about, (time.time() - 200_000,) * 2)
    assert store.prune(unused_days=1) > 0
    assert len(store.contents()) == 0


def test_damage_is_found_counted_and_pruned(store):
    Cached(Counting(), store).embed(many(12))
    (shard,) = store.folders()[0].glob("*.bin")
    content = bytearray(shard.read_bytes())
    content[5] ^= 1
    shard.write_bytes(content)
    found = store.verify()
    assert found.select("problem", "items").rows() == [("1 of 12 items differ from their checksum", 1)]
    assert store.prune(damaged=True) > 0
    assert len(store.verify()) == 0
    encoder = Counting()
    Cached(encoder, store).embed(many(12))
    assert encoder.encoded == 12


def test_a_shortened_shard_loses_only_what_it_no_longer_holds(store):
    Cached(Counting(), store).embed(many(12))
    (shard,) = store.folders()[0].glob("*.bin")
    os.truncate(shard, 7 * 16 + 3)
    assert store.verify()["problem"].to_list() == ["5 of 12 items lie beyond the end of the file"]
    encoder = Counting()
    vectors = Cached(encoder, store).embed(many(12))
    assert encoder.encoded == 5
    np.testing.assert_array_equal(vectors, Counting().embed(many(12)))


@pytest.mark.parametrize("torn", [2, 30, 10_000])
def test_a_journal_that_breaks_off_gives_its_whole_lines(store, torn):
    shelf = store.shelf("x")
    writer = shelf.writer()
    for key in "abc":
        writer.append([key], np.full((1, 4), ord(key), dtype=np.float32))
    content = writer.path.read_bytes()
    writer.journal.close()  # as a kill would: no manifest, no lock
    writer.vectors.close()
    writer.path.write_bytes(content[: max(0, len(content) - torn)])
    shelf.refresh()
    stored = sorted(shelf.rows)
    assert stored == ([] if torn > 100 else ["a", "b"])
    assert not list(shelf.folder.glob("*.journal"))
    if stored:
        assert shelf.get(["b", "a"])[:, 0].tolist() == [98, 97]
    else:
        assert not list(shelf.folder.glob("*.bin"))


def test_what_another_process_writes_is_read_but_not_sealed_nor_pruned(store):
    shelf = store.shelf("x")
    with shelf.writer() as writer:
        writer.append(["a"], np.ones((1, 4), dtype=np.float32))
        shelf.refresh()
        assert list(shelf.rows) == ["a"]
        assert writer.path.exists()
        assert store.prune() == 0
        writer.append(["b"], np.ones((1, 4), dtype=np.float32))
    shelf.refresh()
    assert sorted(shelf.rows) == ["a", "b"]


def test_encoders_that_cannot_vouch_for_themselves_are_not_stored(store, tmp_path):
    class Anonymous(Counting):
        fingerprint = Encoder.fingerprint

    kept = cached(Counting(), store)
    assert isinstance(kept, Cached)
    assert kept.about == Counting().about == "An encoder that counts what it was asked to encode."
    anonymous = Anonymous()
    assert cached(anonymous, store) is anonymous
    vectors = Embeddings(str(write_world(tmp_path / "world")))
    assert cached(vectors, store) is vectors


def test_the_store_is_where_the_user_or_the_platform_says(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    assert Store().root == tmp_path / "mine" / "vectors"
    monkeypatch.delenv("EQUIVIEW_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "equiview"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-3:] == ("Library", "Caches", "equiview")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "equiview"


@pytest.mark.parametrize("stored", [True, False])
def test_what_can_be_read_is_audited_and_the_rest_reported(store, stored):
    pictures = images(picture("red"), b"broken", picture("blue"))
    captions = texts("one", "two", "three").table.with_columns(image_id=pl.Series(["i0", "i1", "i2"]))
    captions = Items("text", captions, "texts")
    whole = Benchmark("some", pictures, captions, same_image(pictures, captions))
    subject = Cached(Counting(), store) if stored else Counting()
    part, bad = readable_part(subject, whole)
    assert part.images.ids.to_list() == ["i0", "i2"]
    assert part.texts.texts == ["one", "three"]
    assert bad.select("row", "id").rows() == [(1, "i1")]
    assert len(subject.embed(part.images)) == 2


def test_a_full_disk_is_said_and_what_was_stored_is_kept(store, monkeypatch):
    synced, sync = [], os.fsync

    def full(handle):
        synced.append(handle)
        if len(synced) > 8:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr("equiview.search.shards.os.fsync", full)
    with pytest.raises(InputError, match=r"cannot be stored .*No space left.* stored before are kept"):
        Cached(Counting(), store).embed(many(30))
    monkeypatch.undo()
    encoder = Counting()
    Cached(encoder, store).embed(many(30))
    assert 0 < encoder.encoded < 30
    assert len(store.verify()) == 0


def test_a_store_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "vectors").write_text("a file where a folder should be")
    with pytest.raises(InputError, match=r"embedding store cannot be written .* \$EQUIVIEW_CACHE"):
        Cached(Counting(), Store(tmp_path)).embed(many(3))


def test_vectors_that_vanish_in_half_precision_are_refused(store):
    with pytest.raises(InputError, match="too small for float16"):
        Cached(Counting(scale=1e-12), store, precision="float16").embed(many(3))
