"""Train the image tower: `python labs/image_training.py`. A run that was stopped goes on where it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from drawings import training_drawings, training_flags
from examples import GENDERLESS, MONOCHROME, Examples
from image_tower import WIDTHS, SeeingTower, encode, on_white, train_image_tower
from people import people, training_others, training_people
from sources import WORK, fetch

EPOCHS, SEED = 24, 0


def image_tower() -> tuple[SeeingTower, list[dict[str, float]]]:
    """The trained image tower and its log; trains it when it is not kept."""
    path = WORK / "image-tower.pt"
    if not path.is_file():
        fetch()
        examples = Examples(training_drawings(), training_people(), training_others(), training_flags())
        tower, log = train_image_tower(
            examples,
            epochs=EPOCHS,
            seed=SEED,
            checkpoint=WORK / "image-tower-checkpoint.pt",
        )
        tower.leave_out(who_is_shown(tower))
        torch.save({"tower": tower, "log": log}, path)
    stored = torch.load(path, weights_only=False)
    return stored["tower"].eval(), stored["log"]


def who_is_shown(tower: SeeingTower) -> Tensor:
    """How what is drawn differs by gender and by skin within the roles that the tower learnt, `(7, 96)`.

    A role is one concept, whoever shows it; on the whole it is seen a bit otherwise in women than in men.
    """
    drawn = training_people()
    rows = np.flatnonzero(~np.isin(drawn.style, (MONOCHROME, GENDERLESS)))
    of = [people()[person] for person in drawn.person[rows]]
    vectors = encode(tower, on_white(drawn.pixels[rows]))[:, : WIDTHS["concept"]]
    directions = []
    vectors = vectors - means(vectors, [person.role for person in of])
    for shown in ([person.gender for person in of], [person.skin for person in of]):
        by_value = torch.unique(means(vectors, shown), dim=0)
        directions.append((by_value - by_value.mean(0))[1:])
    return torch.cat(directions)


def means(vectors: Tensor, labels: Sequence[object]) -> Tensor:
    """For each vector the mean of those that share its label, `(n, width)`."""
    order = {label: row for row, label in enumerate(dict.fromkeys(labels))}
    rows = torch.tensor([order[label] for label in labels])
    sums = torch.zeros(len(order), vectors.shape[1]).index_add_(0, rows, vectors)
    return (sums / torch.bincount(rows)[:, None])[rows]


if __name__ == "__main__":
    torch.set_num_threads(1)  # where others compute as well, two threads wait for each other
    image_tower()
