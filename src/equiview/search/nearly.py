"""Tokens compared in a cheaper way than exactly: by products of 8 bits, or by float32 on an accelerator.

On a processor each token is a multiple of whole numbers from -127 to 127 and a rest. The product of two
tokens is then that of the whole numbers, which a processor with instructions for it (VNNI) finds four times
as fast as one of float32, within |q| |rest of d| + |rest of q| (|d| + |rest of d|) (Cauchy and Schwarz). On
an accelerator there is no rest, and products differ by what float32 rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equiview.data.vectors import TokenVectors
from equiview.search.halves import as_float32
from equiview.search.maxsim import raise_to, spans
from equiview.search.products import LARGE, rounding

if TYPE_CHECKING:
    import torch

Floats: TypeAlias = NDArray[np.floating[Any]]
Doubles: TypeAlias = NDArray[np.float64]
ROWS, COLUMNS = 512, 2048
"""Tokens of a tile of 8-bit products: 4 MiB."""
SIDE = 2**13
"""Tokens of a tile on an accelerator, each way: 0.25 GiB."""
LARGEST, TINY = 1e15, 1e-18
"""Longer tokens are left to the exact way; shorter ones, whose squares are not kept, count as that long."""


class UndecidedError(Exception):
    """Not for a way that is not exact: too much is too near, too large, or not a number."""


@dataclass(frozen=True)
class Tokens:
    """Tokens `(n, width)` of items, as a way compares them; lengths of tokens and of their rests, from above.

    Products are to be multiplied by the `steps` of their items, `(n_items,)`.
    """

    numbers: torch.Tensor
    offsets: NDArray[np.int64]
    steps: Floats
    lengths: Doubles
    rests: Doubles

    def longest(self, lengths: Doubles) -> Doubles:
        """The largest of each item's, `(n_items,)`."""
        return np.maximum.reduceat(lengths, self.offsets[:-1])


class Way(Protocol):
    """A way to compare tokens nearly."""

    @property
    def threads(self) -> int:
        """How many threads may use it at the same time."""

    def made(self, vectors: TokenVectors) -> Tokens:
        """Tokens as they are compared; `UndecidedError` where some are no numbers, or too large."""

    def against(self, asked: Tokens) -> Callable[[Tokens], Floats]:
        """What gives MaxSim of queries with items, `(n_queries, n_items)`; each thread has its own."""


class EightBits:
    """By whole numbers of 8 bits, on the processor."""

    threads = 2**31

    def made(self, vectors: TokenVectors) -> Tokens:
        """Round tokens to whole steps, of a length for each item."""
        import torch

        tokens, offsets = vectors.values, vectors.offsets
        if vectors.width == 1:  # torch takes a column for a row, and multiplies what is not there
            raise UndecidedError
        numbers = torch.empty(tokens.shape, dtype=torch.int8)
        largest, lengths, rests = torch.empty(3, len(tokens))
        parts = [slice(at, min(at + LARGE, len(tokens))) for at in range(0, len(tokens), LARGE)]
        for part in parts:
            here = tensor(tokens[part])
            torch.amax(here.abs(), dim=1, out=largest[part])
            torch.linalg.vector_norm(here, dim=1, out=lengths[part])
        above = _above(lengths, vectors.width)
        most = np.maximum.reduceat(largest.numpy(), offsets[:-1])
        steps = np.where(most > TINY, most / np.float32(127), np.float32(1))
        of_tokens = torch.from_numpy(np.repeat(steps, vectors.lengths)[:, None])
        for part in parts:
            here = tensor(tokens[part])
            near = torch.round(here / of_tokens[part])
            numbers[part] = near
            torch.linalg.vector_norm(here - near * of_tokens[part], dim=1, out=rests[part])
        return Tokens(numbers, offsets, steps, above, _above(rests, vectors.width) + 2.0**-22 * above)

    def against(self, asked: Tokens) -> Callable[[Tokens], Floats]:
        """Tile by tile, each looked at while it lies in a cache."""
        import torch

        n_asked, ends = len(asked.numbers), asked.offsets[:-1]
        steps = np.repeat(asked.steps, np.diff(asked.offsets))
        room = torch.empty(ROWS * COLUMNS, dtype=torch.int32)

        def scores(items: Tokens) -> Floats:
            best = np.empty((len(items.steps), n_asked), dtype=np.int32)
            for at in range(0, len(items.numbers), ROWS):
                part, within = items.numbers[at : at + ROWS], spans(items.offsets, at, ROWS)
                for start in range(0, n_asked, COLUMNS):
                    some = asked.numbers[start : start + COLUMNS]
                    out = room[: len(part) * len(some)].view(len(part), len(some))
                    near = whole_product(part, some, out).numpy()
                    raise_to(best[:, start : start + len(some)], near, within)
            sums = np.add.reduceat(best * steps, ends, axis=1)
            return np.asarray((sums * items.steps[:, None]).T)

        return scores


@contextmanager
def _if_it_fits() -> Iterator[None]:
    """`UndecidedError` where a device has too little memory."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError:
        raise UndecidedError from None


class Float32:
    """By float32 on a device of torch, where a tile and the largest products of an item's tokens are held."""

    threads = 1

    def __init__(self, device: str) -> None:
        self.device = device

    @_if_it_fits()
    def made(self, vectors: TokenVectors) -> Tokens:
        """Copy tokens to the device; `UndecidedError` also where they do not fit there."""
        import torch

        numbers = tensor(vectors.values).to(self.device)
        above = _above(torch.linalg.vector_norm(numbers, dim=1).cpu(), vectors.width)
        ones = np.ones(len(vectors), dtype=np.float32)
        return Tokens(numbers, vectors.offsets, ones, above, np.zeros_like(above))

    def against(self, asked: Tokens) -> Callable[[Tokens], Floats]:
        """Tile by tile; no more than the scores comes back."""
        import torch

        def there(counts: Any) -> torch.Tensor:
            return torch.from_numpy(np.asarray(counts, dtype=np.int64)).to(self.device)

        n_asked, of_queries = len(asked.numbers), there(np.diff(asked.offsets))

        @_if_it_fits()
        def scores(items: Tokens) -> Floats:
            best = torch.full((len(items.steps), n_asked), -torch.inf, device=self.device)
            for at in range(0, len(items.numbers), SIDE):
                within = spans(items.offsets, at, SIDE)
                here, counts = slice(within[0][0], within[-1][0] + 1), there([b - a for _, a, b, _ in within])
                for start in range(0, n_asked, SIDE):
                    near = product(items.numbers[at : at + SIDE], asked.numbers[start : start + SIDE])
                    largest = torch.segment_reduce(near, "max", lengths=counts, axis=0)
                    so_far = best[here, start : start + SIDE]
                    torch.maximum(so_far, largest, out=so_far)
            sums = torch.segment_reduce(best.T.contiguous(), "sum", lengths=of_queries, axis=0)
            return np.asarray(sums.cpu().numpy())

        return scores


def _above(lengths: torch.Tensor, width: int) -> Doubles:
    """Lengths `(n,)`, which float32 has rounded, from above."""
    if not bool(lengths.max() < LARGEST):
        raise UndecidedError
    return np.asarray(lengths.double().numpy() * (1 + rounding(width)) + TINY * np.sqrt(width))


def tensor(vectors: Floats) -> torch.Tensor:
    """Vectors in float32; copied where they may not be written, as from a file, of which torch warns."""
    import torch

    return torch.from_numpy(np.require(as_float32(vectors), requirements="W"))


@lru_cache(maxsize=1)
def eight_bits_work() -> bool:
    """Whether torch finds 8-bit products by instructions for them, and rightly."""
    import torch

    vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
    if not (hasattr(torch, "_int_mm") and torch.backends.mkldnn.is_available() and vnni()):
        return False
    rows = np.random.default_rng(0).choice([-127, -126, 3, 127], size=(48, 131)).astype(np.int8)
    rows[:2] = [[127], [-127]]
    there = torch.from_numpy(rows)
    found = whole_product(there, there, torch.empty(48, 48, dtype=torch.int32)).numpy()
    return np.array_equal(found, rows.astype(np.int32) @ rows.T.astype(np.int32))


def whole_product(rows: torch.Tensor, columns: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Products of 8-bit numbers `(n, width)` and `(m, width)`, written to `out` `(n, m)` of 32 bits."""
    import torch

    return torch._int_mm(rows, columns.T, out=out)


def product(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Products in float32 alone, whatever this process allows torch elsewhere."""
    import torch

    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was allowed more by names that this one does not know how to tell
        raise UndecidedError from None
    torch.set_float32_matmul_precision("highest")
    try:
        return rows @ columns.T
    finally:
        torch.set_float32_matmul_precision(before)
