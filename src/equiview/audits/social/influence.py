"""What each image adds to MaxSkew: lists share images, so that systems differ by who else was photographed.

To first order, as by von Mises: MaxSkew of a list is ln(share shown / share of the set) of one group. An
image of that group in the list raises the share shown, any other in the list lowers it, and so for the set.
"""

from __future__ import annotations

import numpy as np

from equiview.audits.social.groups import Grouping
from equiview.audits.social.tops import Floats, Lists, largest_skew, shown


def skew_of_images(lists: Lists, grouping: Grouping) -> Floats:
    """By how much mean MaxSkew would rise if all images were as this one, `(n_images, n_cutoffs)`.

    0 on average, and for images whose group is not known.
    """
    shares = shown(lists, grouping, grouping.of_image[None])[0]
    skew = largest_skew(shares, grouping.shares)
    with np.errstate(invalid="ignore"):
        over = np.nan_to_num(shares / grouping.shares)
    most = over.argmax(axis=-1)  # (n_prompts, n_cutoffs)
    listed = ~np.isnan(skew)
    counted = listed & (np.nan_to_num(skew) > 0)
    asked = np.maximum(listed.sum(axis=0), 1)
    n_groups, known = len(grouping.names), grouping.of_image >= 0
    own = np.where(known, np.minimum(grouping.of_image, n_groups), n_groups)
    holds = lists.count(known[:, None].astype(np.float32))[..., 0].astype(np.float64)
    added = np.zeros((lists.n_images, len(lists.cutoffs)))
    for place in range(len(lists.cutoffs)):
        here = np.flatnonzero(counted[:, place])
        group, size = most[here, place], holds[here, place]
        change = np.tile(-1 / size[:, None], (1, n_groups + 1))
        change[np.arange(len(here)), group] += 1 / (size * shares[here, place, group])
        rows = np.zeros((len(lists.prompts), len(lists.cutoffs), n_groups + 1))
        rows[here, : place + 1] = change[:, None]
        in_lists = lists.bands.T @ rows.reshape(-1, n_groups + 1)
        of_set = np.bincount(group, minlength=n_groups + 1) / np.append(grouping.counts[:n_groups], 1)
        total = in_lists[np.arange(len(own)), own] - of_set[own] + len(here) / known.sum()
        added[:, place] = np.where(known, total / asked[place], 0.0)
    return added * len(added)
