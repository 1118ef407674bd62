"""The part that is fitted on and the part that judges share no image, text or concept."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.mitigation.split import parts


def benchmark(pairs, n_images, concepts=None):
    columns = {"id": [f"i{row}" for row in range(n_images)]}
    images = pl.DataFrame(columns | ({"concept": concepts} if concepts else {}))
    n_texts = max((text for _, text in pairs), default=0) + 1
    texts = pl.DataFrame({"id": [f"t{row}" for row in range(n_texts)], "text": "a", "language": "en"})
    rows = list(zip(*pairs, strict=True)) or [[], []]
    relevance = Relevance.from_pairs(*rows, n_queries=n_images, n_items=n_texts)
    return Benchmark("b", Items("image", images), Items("text", texts), relevance)


@given(
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 39)), min_size=1, max_size=40),
    st.lists(st.sampled_from("abcdefghijkl"), min_size=30, max_size=30),
    st.integers(0, 5),
)
def test_nothing_is_in_both_parts(pairs, concepts, seed):
    whole = benchmark(pairs, 30, concepts)
    try:
        fit, kept = parts(whole, 0.5, ["concept"], seed)
    except InputError:
        return
    assert sorted([*fit, *kept]) == list(range(30))
    for shared in (concepts, None):
        values = [{shared[row] for row in part} if shared else set() for part in (fit, kept)]
        assert not values[0] & values[1]
    texts = [{text for image, text in pairs if image in set(part.tolist())} for part in (fit, kept)]
    assert not texts[0] & texts[1]


def test_about_the_share_is_fitted_on_and_a_seed_draws_another_part():
    whole = benchmark([(row, row) for row in range(200)], 200)
    fit, kept = parts(whole, 0.25)
    assert (len(fit), len(kept)) == (50, 150)
    assert parts(whole, 0.25)[0].tolist() == fit.tolist()
    assert parts(whole, 0.25, seed=1)[0].tolist() != fit.tolist()


def test_where_all_hang_together_there_are_no_parts():
    whole = benchmark([(row, 0) for row in range(10)], 10)
    with pytest.raises(InputError, match="10 of its 10 images share texts or a value of nothing else"):
        parts(whole, 0.5)
    whole = benchmark([(row, row) for row in range(4)], 4, ["hat"] * 4)
    with pytest.raises(InputError, match="a value of concept; set --apart or --share"):
        parts(whole, 0.5, ["concept"])


def test_people_without_captions_are_split_too():
    images = pl.DataFrame(
        {"id": [f"i{row}" for row in range(40)], "role": [f"r{row % 8}" for row in range(40)]}
    )
    fit, kept = parts(Benchmark("b", Items("image", images)), 0.5, ["role"])
    assert sorted([*fit, *kept]) == list(range(40))
    assert not {row % 8 for row in fit} & {row % 8 for row in kept}
    assert len(fit) == 20
