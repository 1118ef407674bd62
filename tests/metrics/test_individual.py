import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import fairness_ratio, gap_bound, gap_ratio, similarity_gap, text_distance

numbers = st.floats(-1e3, 1e3, allow_subnormal=False)
triples = arrays(np.float64, st.tuples(st.just(3), st.integers(1, 6), st.integers(1, 5)), elements=numbers)


def whole(vectors: np.ndarray) -> bool:
    """No vector is so short that its direction is a matter of rounding."""
    return bool((np.linalg.norm(vectors, axis=-1) > 1e-3).all())


@given(triples)
def test_no_pair_ever_exceeds_the_chord(vectors: np.ndarray) -> None:
    assume(whole(vectors))
    gap, chord = similarity_gap(*vectors), text_distance(*vectors[1:], unit=True)
    assert (gap <= chord).all()


@given(triples, st.floats(1e-12, 1e-6))
def test_captions_that_nearly_agree_keep_the_bound_too(vectors: np.ndarray, near: float) -> None:
    assume(whole(vectors))
    image, text, direction = vectors
    other = text + near * direction
    assume(whole(other))
    assert (similarity_gap(image, text, other) <= text_distance(text, other, unit=True)).all()


@given(triples)
def test_single_precision_is_no_way_around_the_bound(vectors: np.ndarray) -> None:
    single = vectors.astype(np.float32)
    assume(whole(single))
    assert (similarity_gap(*single) <= text_distance(*single[1:], unit=True)).all()


@given(triples)
def test_the_gap_is_that_of_the_cosines(vectors: np.ndarray) -> None:
    assume(whole(vectors))
    image, text, other = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    plain = np.abs((image * text).sum(axis=1) - (image * other).sum(axis=1))
    np.testing.assert_allclose(similarity_gap(*vectors), plain, atol=1e-12)


@given(triples, st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_length_of_vectors_does_not_matter_to_the_gap(
    vectors: np.ndarray, scale: float, other: float
) -> None:
    assume(whole(vectors))
    scaled = (scale * vectors[0], other * vectors[1], scale * vectors[2])
    np.testing.assert_allclose(similarity_gap(*scaled), similarity_gap(*vectors), atol=1e-9)


@given(triples)
def test_which_caption_comes_first_does_not_matter(vectors: np.ndarray) -> None:
    assume(whole(vectors))
    image, text, other = vectors
    np.testing.assert_array_equal(similarity_gap(image, text, other), similarity_gap(image, other, text))


@given(triples)
def test_the_ratio_is_bounded_by_the_mean_length_at_any_distance(vectors: np.ndarray) -> None:
    _, text, other = vectors
    assume(whole(vectors))
    apart = np.linalg.norm(text - other, axis=1) > 1e-3
    limit = 2 / (np.linalg.norm(text, axis=1) + np.linalg.norm(other, axis=1))
    if apart.any():
        assert (fairness_ratio(*vectors[:, apart]) <= limit[apart] * (1 + 1e-9)).all()


@given(triples)
def test_the_closed_form_holds_within_the_ball(vectors: np.ndarray) -> None:
    assume(whole(vectors))
    image, text, other = vectors
    length, apart = np.linalg.norm(text, axis=1), np.linalg.norm(other - text, axis=1)
    # What lies outside the ball around t is drawn to within it.
    share = np.minimum(1, 0.99 * length / np.maximum(apart, 1e-300))
    other = text + (other - text) * share[:, None]
    rho = np.linalg.norm(other - text, axis=1)
    bound = gap_bound(rho, length)
    assert (text_distance(text, other, unit=True) <= bound * (1 + 1e-9) + 1e-12).all()
    assert (similarity_gap(image, text, other) <= bound * (1 + 1e-9) + 1e-12).all()


def test_the_closed_form_is_reached() -> None:
    # t' = (4, 0) + a vector of length 3 at a right angle to t' itself: the ball's widest angle.
    text, other = np.array([[5.0, 0.0]]), np.array([[3.2, 2.4]])
    rho = text_distance(text, other)
    assert rho.tolist() == pytest.approx([3.0])
    along = other / 4 - text / 5
    assert similarity_gap(along, text, other) == pytest.approx(gap_bound(rho, [5.0]))


def test_the_closed_form_is_the_simple_slope_when_small() -> None:
    assert gap_bound([1e-9], [2.0]) == pytest.approx(0.5e-9, rel=1e-12)
    assert gap_bound([0.5], [0.5]) == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
def test_vectors_of_any_size_have_the_gap_of_ordinary_ones(scale: float) -> None:
    image, text, other = np.random.default_rng(0).normal(size=(3, 5, 4))
    expected = similarity_gap(image, text, other)
    np.testing.assert_allclose(similarity_gap(image * scale, text * scale, other), expected, rtol=1e-9)
    np.testing.assert_allclose(
        text_distance(text * scale, other, unit=True), text_distance(text, other, unit=True)
    )


@pytest.mark.parametrize("tiny", [1e-155, 8e-232, 5e-324])
def test_captions_closer_than_squares_can_tell_keep_the_bound(tiny: float) -> None:
    image, text, other = np.ones((1, 3)), np.array([[0.0, 1.0, 1.0]]), np.array([[tiny, 1.0, 1.0]])
    assert 0 <= similarity_gap(image, text, other)[0] <= text_distance(text, other, unit=True)[0]
    assert text_distance(text, other).tolist() == [tiny]


def test_vectors_said_to_be_of_length_1_that_are_not_cannot_break_the_bound() -> None:
    one, other = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    with pytest.raises(ArithmeticError, match="exceeds the chord"):
        similarity_gap(5 * one, one, other, normalised=True)


def test_the_same_vector_twice_has_no_gap_and_no_ratio() -> None:
    image, text = np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])
    assert similarity_gap(image, text, text).tolist() == [0.0]
    with pytest.raises(UndefinedMetricError, match="0 / 0"):
        fairness_ratio(image, text, text)
    gap, distance = similarity_gap(image, text, text), text_distance(text, text)
    assert np.isnan(gap_ratio(gap, distance)).tolist() == [True]


@given(triples)
def test_the_ratio_follows_from_gap_and_distance(vectors: np.ndarray) -> None:
    assume(whole(vectors))
    image, text, other = vectors
    apart = np.linalg.norm(text - other, axis=1) > 1e-3
    assume(apart.any())
    gap, distance = similarity_gap(image, text, other), text_distance(text, other)
    np.testing.assert_array_equal(gap_ratio(gap, distance)[apart], fairness_ratio(*vectors[:, apart]))


@pytest.mark.parametrize(
    ("gaps", "distances", "words"),
    [
        ([0.1], [-0.1], "not negative"),
        ([0.0, 0.1], [0.5, 0.0], "pair 1 has a gap of 0.1 without any distance"),
        ([0.1], [0.1, 0.2], r"must be \(n_pairs,\)"),
    ],
)
def test_gaps_and_distances_that_cannot_be_are_named(gaps, distances, words) -> None:
    with pytest.raises(MetricInputError, match=words):
        gap_ratio(gaps, distances)


@pytest.mark.parametrize(
    ("distance", "length", "words"),
    [([2.0], [1.0], "from 0 to the length 1; got 2"), ([-1.0], [1.0], "got -1"), ([0.0], [0.0], "length 0")],
)
def test_a_bound_outside_its_range_is_an_error(distance, length, words) -> None:
    with pytest.raises(MetricInputError, match=words):
        gap_bound(distance, length)


def test_shapes_that_differ_and_vectors_of_zeros_are_named() -> None:
    ones = np.ones((2, 3))
    with pytest.raises(MetricInputError, match="must have one shape"):
        similarity_gap(ones, ones, ones[:, :2])
    with pytest.raises(UndefinedMetricError, match="texts: the vector of pair 1 is all zero"):
        similarity_gap(ones, [[1, 1, 1], [0, 0, 0]], ones)
