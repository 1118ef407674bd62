"""Letters say exactly which systems are told apart."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from equiview.stats import letters_of


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.sampled_from(
    list(combinations(range(n), 2)) or [(0, 0)])))))  # fmt: skip
def test_two_systems_share_a_letter_exactly_if_they_are_not_told_apart(
    given_: tuple[int, set[tuple[int, int]]],
) -> None:
    n, apart = given_[0], {pair for pair in given_[1] if pair[0] != pair[1]}
    letters = letters_of(n, sorted(apart))
    for a, b in combinations(range(n), 2):
        assert bool(set(letters[a]) & set(letters[b])) is ((a, b) not in apart)


def test_neighbours_that_are_alike_in_a_chain_need_a_letter_for_each_link() -> None:
    assert letters_of(4, [(0, 2), (0, 3), (1, 3)]) == ["a", "ab", "bc", "c"]
