"""Stored vectors: what they are known by, and files that hold more or other than one array."""

import numpy as np
import pytest

from equiview.benchmarks.folder import read_images
from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.conftest import write_world


def test_stored_vectors_are_known_by_arrays_and_ids(tmp_path):
    before = load_subject(f"embeddings:{write_world(tmp_path / 'a')}").fingerprint
    other = write_world(tmp_path / "b")
    assert load_subject(f"embeddings:{other}").fingerprint == before
    (other / "notes.txt").write_text("not read")
    assert load_subject(f"embeddings:{other}").fingerprint == before
    lines = (other / "images.csv").read_text().splitlines()
    (other / "images.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    assert load_subject(f"embeddings:{other}").fingerprint != before


def append(path):
    path.write_bytes(path.read_bytes() + b"more")


def save_several(path):
    with path.open("wb") as stream:
        np.savez(stream, a=np.ones((40, 8)))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (append, "images.npy: has 4 bytes after its 320 numbers"),
        (save_several, "images.npy: is not a .npy file"),
    ],
)
def test_a_file_of_more_than_one_array_is_refused(world, damage, message):
    damage(world / "images.npy")
    with pytest.raises(InputError, match=message):
        load_subject(f"embeddings:{world}").embed(read_images(world))
