"""Products of whole numbers are exact, whether in single precision or, where that falls short, in double."""

import numpy as np
import pytest

from equiview.stats._check import ExactProduct


@pytest.mark.parametrize("rows", [3, 5000])
@pytest.mark.parametrize("unit", [1, 2**40])
@pytest.mark.parametrize("most", [1, 2**12, 2**14, 2**33])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16])
def test_a_product_is_that_of_whole_numbers(rows: int, unit: int, most: int, dtype: type) -> None:
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    counts = rng.integers(limits.min, limits.max, (rows, 6), dtype=dtype, endpoint=True)
    counts[0] = limits.max
    whole = rng.integers(0, most, (6, 3), endpoint=True) * np.array([1, -1, 0])
    whole[:, 0] = most - np.arange(6) % 2  # odd numbers, so that no larger unit divides a column
    unit = min(unit, 2**52 // (most * 6 * 2**16))  # totals that a float64 holds
    product = ExactProduct((whole * max(unit, 1)).astype(np.float64))(counts)
    assert product.dtype == np.float64
    assert product.astype(np.int64).tolist() == (counts.astype(np.int64) @ (whole * max(unit, 1))).tolist()
