"""Numbers of a page: each is the float that its decimal number in six digits reads as."""

import math

import numpy as np
import polars as pl
import pytest

from equiview.report.embed import bounded, columns

rng = np.random.default_rng(0)
KINDS = {
    "of all sizes": rng.standard_normal(20_000) * 10.0 ** rng.integers(-30, 30, 20_000),
    "halves of the last digit": (rng.integers(0, 2 * 10**6, 20_000) + 0.5)
    / 10.0 ** rng.integers(0, 12, 20_000),
    "powers of ten": 10.0 ** np.arange(-320, 308),
    "just below powers of ten": np.nextafter(10.0 ** np.arange(-300, 300), 0),
    "the smallest and the largest": np.array([0.0, -0.0, 5e-324, 1.7e308, -1e23, 999_999.5, 9_999_995]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_that_python_writes(kind: str) -> None:
    expected = np.array([float(f"{value:.6g}") for value in KINDS[kind]])
    assert bounded(KINDS[kind]).tobytes() == expected.tobytes()


def test_what_is_no_number_has_a_word() -> None:
    table = pl.DataFrame({"value": [0.1234567, None, math.nan, math.inf, -math.inf], "n": [1, None, 3, 4, 5]})
    shown = columns(table)["values"]
    assert shown == [[0.123457, None, None, "∞", "−∞"], [1, None, 3, 4, 5]]
