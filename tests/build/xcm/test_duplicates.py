"""Repetitions: the hash is ImageHash's, the first of those alike is kept, and memory does not grow."""

from __future__ import annotations

import tracemalloc

import imagehash
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance

from equiview.build.xcm.duplicates import least_of, perceptual_hash, repeats, rows_by
from equiview.build.xcm.similar import nearest_before
from tests.build.xcm.world import CONCEPTS, picture


def noise(seed: int, side: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((side, side + 5), Image.Resampling.BICUBIC)


@pytest.mark.parametrize("seed", range(12))
def test_the_hash_is_that_of_imagehash(seed: int) -> None:
    image = noise(seed, 40 + 17 * seed)
    theirs = imagehash.phash(image).hash
    assert ((perceptual_hash(image) == 1) == theirs.ravel()).all()


def test_a_small_change_of_a_picture_changes_few_bits() -> None:
    image = noise(1, 300)
    same = [
        image.resize((120, 122)),
        ImageEnhance.Brightness(image).enhance(1.1),
        image.crop((3, 3, 298, 302)),
    ]
    hashes = np.stack([perceptual_hash(entry) for entry in [image, *same, noise(2, 300)]])
    assert repeats(hashes, least_of(6)).tolist() == [-1, 0, 0, 0, -1]


def slow(vectors: np.ndarray, least: float) -> list[int]:
    """The same, one pair at a time."""
    kept: list[int] = []
    found = []
    for row, vector in enumerate(vectors):
        first = next((other for other in kept if vector @ vectors[other] >= least), -1)
        found.append(first)
        if first < 0:
            kept.append(row)
    return found


@given(st.integers(0, 40), st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_blocks_change_nothing(count: int, seed: int, block: int) -> None:
    signs = np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), (count, 6))
    assert repeats(signs, 4, block).tolist() == slow(signs.astype(int), 4)


def test_memory_is_that_of_two_blocks() -> None:
    signs = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.int8), (20_000, 64))
    signs[10_000:] = signs[:10_000]
    tracemalloc.start()
    found = repeats(signs, 64, block=512)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found[10_000:] == np.arange(10_000)).all()
    assert peak < 5_000_000  # all pairs would be 400 million


def test_people_see_the_most_similar_ones_before() -> None:
    turns = np.radians([0, 90, 10, 80, 45])
    vectors = np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
    assert nearest_before(vectors, 1) == [[], [0], [0], [1], [2]]


def test_groups_keep_their_order() -> None:
    assert [rows.tolist() for rows in rows_by("abca")] == [[0, 3], [1], [2]]


def test_drawings_of_different_things_differ() -> None:
    from equiview.io.pictures import decoded

    hashes = np.stack([perceptual_hash(decoded(picture(code, "Japan"))) for code in CONCEPTS])
    assert (repeats(hashes, least_of(6)) == -1).all()
