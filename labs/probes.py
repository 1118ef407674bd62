"""What can be read from the image tower's vectors of the held-out artist's drawings: linear probes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GroupKFold, KFold

from concepts import concepts
from drawings import SIDE, training_drawings
from encoded import ShippedTower, bank, held_out_persons
from examples import MONOCHROME
from image_tower import encode, on_white
from people import GENDERS, NO_GENDER, NO_SKIN, SKINS, people, roles
from scenes import Pieces, pieces, scenes, things
from sources import TRAINING_STYLES, noto

GENDER, SKIN, ROLE = 0, 1, 2
"""Columns of labels."""
Vectors = NDArray[np.float32]
N_SCENES = 4_000, 1_000
"""Scenes by the training artists that a probe is fitted on, and by the held-out one that it is tried on."""


def probes(*, seed: int = 0) -> dict[str, float]:
    """Accuracies of gender, skin and role, and mean average precision of the things in a scene.

    `within`: fitted on half of the roles as the held-out artist draws them, tried on the other half, both
    ways. `across`: fitted on the training artists, tried on the held-out one. Skin is one of five tones.
    """
    trained, shown, labels = bank(), held_out_persons(), _labels()
    theirs = labels[trained.person]
    results = {}
    for name, column, below in (
        ("gender", GENDER, NO_GENDER),
        ("woman_or_man", GENDER, GENDERS.index("person")),
        ("skin", SKIN, NO_SKIN),
    ):
        known, taught = labels[:, column] < below, theirs[:, column] < below
        y = labels[:, column]
        for way, folds in (("folds", KFold(5, shuffle=True, random_state=seed)), ("within", GroupKFold(8))):
            by_role = {"groups": labels[known, ROLE]} if way == "within" else {}
            splits = folds.split(shown[known], y[known], **by_role)
            scores = [
                _accuracy(shown[known][a], y[known][a], shown[known][b], y[known][b]) for a, b in splits
            ]
            results[f"{name}_{way}"] = float(np.mean(scores))
        results[f"{name}_across"] = _accuracy(
            trained.people.numpy()[taught], theirs[taught, column], shown[known], y[known]
        )
    results["role_across"] = _accuracy(trained.people.numpy(), theirs[:, ROLE], shown, labels[:, ROLE])
    results["scene_mean_average_precision"], results["scene_chance"] = _scenes(seed)
    return {name: round(value, 4) for name, value in results.items()}


def _labels() -> NDArray[np.int64]:
    """Gender, skin and role of each of `people()`, `(n, 3)`."""
    order = {role: row for row, role in enumerate(roles())}
    return np.array(
        [
            (GENDERS.index(p.gender), SKINS.index(p.skin) if p.skin else NO_SKIN, order[p.role])
            for p in people()
        ]
    )


def _accuracy(x: Vectors, y: NDArray[np.int64], new: Vectors, true: NDArray[np.int64]) -> float:
    model = LogisticRegression(C=100, max_iter=2000).fit(x, y)
    return float((model.predict(new) == true).mean())


def _scenes(seed: int) -> tuple[float, float]:
    """Mean over things of the average precision with which a ridge regression finds the scenes they are in.

    And what chance would have: a thing's share of the scenes.
    """
    rng, tower = np.random.default_rng(seed), ShippedTower()
    drawings = training_drawings()
    styles = [style for style in range(len(TRAINING_STYLES)) if style != MONOCHROME]
    taught = scenes(pieces(drawings.pixels, drawings.concept, drawings.style), N_SCENES[0], rng, styles)
    tried = scenes(_held_out_pieces(), N_SCENES[1], rng, [0])
    (x, y), (new, true) = (
        (encode(tower, on_white(pixels)).numpy(), _present(shown)) for pixels, shown in (taught, tried)
    )
    scores = Ridge(alpha=0.1).fit(x, y).predict(new)
    found = [average_precision_score(t, s) for t, s in zip(true.T, scores.T, strict=True)]
    return float(np.mean(found)), float(true.mean())


def _held_out_pieces() -> Pieces:
    shown = [noto(concepts()[row], SIDE) for row in things()]
    pixels = np.stack([np.asarray(drawing) for drawing in shown])
    return pieces(pixels, np.array(things()), np.zeros(len(pixels), dtype=np.int64))


def _present(shown: NDArray[np.int64]) -> NDArray[np.float64]:
    """Which thing is in which scene, `(n_scenes, n_things)`."""
    return np.stack([(shown == thing).any(axis=1) for thing in things()], axis=1).astype(np.float64)
