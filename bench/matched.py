"""Time of matched permutations at the size of Crossmodal-3600.

    python bench/matched.py [--images 3600] [--depth 100] [--captions 1]

Lists are random, each image's own captions in their upper half; `captions` are of each image in each of 36
languages. Captions are weighed at ranks 1, 10 and 99, then come the floors of LBKL and DLBKL at six cutoffs.
"""

from __future__ import annotations

import argparse
import resource
import time
from functools import partial

import numpy as np

from equiview.metrics import divergences_at
from equiview.stats import matched_floor, rank_weights

LANGUAGES = 36


def main() -> None:
    """Print seconds of each part and the highest memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (("images", 3600), ("depth", 100), ("captions", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    size = LANGUAGES * options.captions
    clusters = np.repeat(np.arange(options.images), size)
    groups = np.tile(np.arange(size) % LANGUAGES, options.images)
    ranked = rng.integers(len(groups), size=(options.images, options.depth))
    half = min(options.depth // 2, size)
    first = np.arange(options.images)[:, None] * size
    ranked[:, :half] = first + rng.random((options.images, size)).argsort()[:, :half]
    start = time.perf_counter()
    rank_weights(ranked, len(groups), [1, 10, 99])
    weighed = time.perf_counter()
    cutoffs = (1, 5, 10, 25, 50, 99)
    for n_groups, draws in ((2, 200), (LANGUAGES, 50)):
        metrics = [partial(divergences_at, n_groups=n_groups, discount=d) for d in (None, "log2")]
        matched_floor(metrics, ranked, clusters, groups % n_groups, cutoffs, draws=draws, seed=0)
    floors = time.perf_counter()
    print(
        f"{options.images:,} images x {options.depth} ranks, {len(groups):,} captions\n"
        f"weights of captions   {weighed - start:6.2f} s\n"
        f"floors at 6 k         {floors - weighed:6.2f} s (tiers 200 draws, languages 50)\n"
        f"highest memory        {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:6.0f} MiB"
    )


if __name__ == "__main__":
    main()
