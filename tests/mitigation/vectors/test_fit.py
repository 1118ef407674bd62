"""What each method does to vectors whose faults are known."""

from __future__ import annotations

import numpy as np
import pytest

from equiview.errors import InputError
from equiview.mitigation.vectors.fit import CUTOFFS, METHODS, _first
from equiview.subjects.correction import Correction
from tests.mitigation.vectors.worlds import (
    CODES,
    again,
    by_language,
    corrected,
    exposure,
    fitted,
    scores,
    world,
)


@pytest.fixture(scope="module")
def apart():
    return world(apart=0.8)


def means(data, texts):
    return np.stack([texts[data.language == row].mean(axis=0) for row in range(len(CODES))])


@pytest.mark.parametrize("name", ["center", "whiten", "leace"])
def test_languages_have_one_mean(apart, name):
    before = np.ptp(means(apart, apart.texts), axis=0).max()
    _, texts = corrected(fitted(name, apart, cosine=False), apart)
    assert before > 0.1
    assert np.ptp(means(apart, texts), axis=0).max() < 1e-5


def test_whitened_languages_have_nearly_one_covariance():
    data = world(images=2_000, noise=(0.2, 0.6, 1.0, 1.5))
    spread = [np.trace(np.cov(data.texts[data.language == row].T)) for row in range(len(CODES))]
    _, texts = corrected(fitted("whiten", data, cosine=False), data)
    covariances = [np.cov(texts[data.language == row].T) for row in range(len(CODES))]
    assert np.ptp(spread) < 0.1  # they are unit vectors: of one size, not of one shape
    shape = np.mean(covariances, axis=0)
    for covariance in covariances:
        assert np.abs(covariance - shape).max() < 0.1 * np.trace(shape) / len(shape)


def test_a_projection_that_is_done_twice_is_done_once(apart):
    once = fitted("leace", apart, cosine=False)
    twice = fitted("leace", again(apart, once), cosine=False)
    np.testing.assert_allclose(corrected(once, again(apart, once))[1], corrected(once, apart)[1], atol=1e-5)
    np.testing.assert_allclose(corrected(twice, again(apart, once))[1], corrected(once, apart)[1], atol=1e-5)


def test_leace_takes_no_more_than_it_must(apart):
    """Of all that make the means equal it moves texts least: less than taking the directions away does."""
    _, texts = corrected(fitted("leace", apart, cosine=False), apart)
    basis = np.linalg.svd(means(apart, apart.texts) - apart.texts.mean(axis=0))[2][: len(CODES) - 1]
    plain = apart.texts - (apart.texts - apart.texts.mean(axis=0)) @ basis.T @ basis

    assert ((texts - apart.texts) ** 2).sum() < ((plain - apart.texts) ** 2).sum()


def test_standardized_scores_have_one_mean_and_spread():
    data = world(noise=(0.2, 0.6, 1.0, 1.5))
    found = by_language(data, scores(fitted("standardize", data), data))
    assert np.ptp(found.mean(axis=(1, 2))) < 1e-4
    assert np.ptp(found.std(axis=(1, 2))) < 1e-4


def test_normalized_scores_have_one_mean_and_typical_best():
    data = world(noise=(0.2, 0.6, 1.0, 1.5))
    before = np.median(by_language(data, scores(Correction.none(CODES, 24), data)).max(axis=2), axis=1)
    found = by_language(data, scores(fitted("normalize", data), data))
    assert np.ptp(before) > 0.1
    assert np.ptp(np.median(found.max(axis=2), axis=1)) < 1e-4
    assert np.ptp(found.mean(axis=(1, 2))) < 1e-4


def test_csls_orders_as_its_formula_does():
    data = world(images=30)
    plain = scores(Correction.none(CODES, 24), data)
    of_texts = -np.sort(-plain.T, axis=1)[:, :10].mean(axis=1)
    of_images = -np.sort(-plain, axis=1)[:, :10].mean(axis=1)
    published = 2 * plain - of_texts[None, :] - of_images[:, None]  # Conneau et al. (2018), eq. 3
    found = scores(fitted("csls", data), data)
    np.testing.assert_array_equal(np.argsort(-found, axis=1), np.argsort(-published, axis=1))


def test_of_equal_scores_at_the_cut_the_leftmost_are_first():
    scores = np.array([[5.0, 1.0, 3.0, 4.0], [2.0, 7.0, 2.0, 2.0], [-np.inf, -np.inf, 1.0, -np.inf]])
    assert _first(scores, 2).tolist() == [[0, 3], [0, 1], [0, 2]]
    assert _first(scores, 4).tolist() == [[0, 1, 2, 3]] * 3


def test_level_evens_exposure():
    data, other = (world(seed=seed, noise=(0.4, 0.6, 0.8, 1.0)) for seed in (1, 2))
    correction = fitted("level", data)
    plain, found = scores(Correction.none(CODES, 24), other), scores(correction, other)
    before, after = (np.log([exposure(other, each, k) for k in CUTOFFS]) for each in (plain, found))
    assert np.abs(before[0]).max() > 4  # at rank 1
    assert np.abs(after[0]).max() < 1
    assert np.ptp(before.mean(axis=0)) > 1
    assert np.ptp(after.mean(axis=0)) < 0.2  # it evens the cutoffs together


@pytest.mark.parametrize("name", ["center", "whiten", "leace", "inlp", "standardize", "normalize"])
def test_of_no_strength_nothing_is_changed(apart, name):
    correction = fitted(name, apart, strength=0.0)
    images, texts = corrected(correction, apart)
    np.testing.assert_allclose(images[:, :24], apart.images, atol=1e-6)
    np.testing.assert_allclose(texts[:, :24], apart.texts, atol=1e-6)
    assert not correction.adds or np.abs(correction.shifts).max() < 1e-6


@pytest.mark.parametrize("name", METHODS)
def test_where_languages_are_alike_little_is_changed(name):
    """Exposure stays even, and the best text of most images stays: what is fitted is noise alone."""
    data, other = world(seed=3, images=600), world(seed=4, images=600)
    correction = fitted(name, data)
    after = scores(correction, other)
    assert np.abs(np.log(exposure(other, after, 10))).max() < 0.12
    right = other.relevance
    plain = scores(Correction.none(CODES, 24), other)
    hits = [right.mark(np.argsort(-found, axis=1)[:, :1]).mean() for found in (plain, after)]
    assert hits[1] > hits[0] - 0.03


@pytest.mark.parametrize("name", METHODS)
def test_a_database_can_serve_it_in_a_few_lines_of_numpy(tmp_path, apart, name):
    correction = fitted(name, apart)
    correction.save(tmp_path / "correction.npz")
    codes = [CODES[row] for row in apart.language]
    expected = corrected(correction, apart)

    c = np.load(tmp_path / "correction.npz")  # docs/mitigation/vectors.md
    row = np.array([list(c["languages"]).index(code) for code in codes])
    x = apart.texts
    if len(c["maps"]):
        x = np.stack([v @ c["maps"][r if len(c["maps"]) > 1 else 0] for v, r in zip(x, row, strict=True)])
    x = x + c["moves"][row]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    near = np.sort(x @ c["images"].T, axis=1)[:, -int(c["nearest"]) :].mean(axis=1) if c["hub"] else 0
    a, b = c["scales"][row], c["shifts"][row]
    texts = np.column_stack([a[:, None] * x, b - a * c["hub"] * near])
    images = np.column_stack([apart.images, np.ones(len(apart.images))])

    np.testing.assert_allclose(texts[:, : expected[1].shape[1]], expected[1], atol=1e-5)
    np.testing.assert_allclose(images[:, : expected[0].shape[1]], expected[0], atol=1e-6)


def test_languages_that_were_not_fitted_are_treated_as_the_mean_of_those_that_were(apart):
    correction = fitted("normalize", apart)
    assert correction.rows_of(["en", "xx"]).tolist() == [1, 4]
    assert correction.scales[-1] == pytest.approx(correction.scales[:-1].mean())
    assert correction.shifts[-1] == pytest.approx(correction.shifts[:-1].mean(), abs=1e-6)


def test_what_is_written_is_read_again_and_damage_is_refused(tmp_path, apart):
    correction = fitted("level", apart)
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    correction.save(first)
    Correction.read(first).save(second)
    assert first.read_bytes() == second.read_bytes()
    for damaged in (first.read_bytes()[:200], b"", b"PK\x03\x04nothing"):
        second.write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be read as a correction"):
            Correction.read(second)
    held = dict(np.load(first))
    for name, value in (("shifts", np.zeros(2)), ("moves", held["moves"] * np.nan)):
        np.savez(second, **held | {name: value})
        with pytest.raises(InputError, match=f"{name} of shape"):
            Correction.read(second)
