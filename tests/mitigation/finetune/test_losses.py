"""Losses on batches small enough to work out by hand."""

import math

import pytest
import torch

from equiview.mitigation.finetune.losses import contrastive, sigmoid, triplet

OWN = torch.eye(2, dtype=torch.bool)
SCORES = torch.tensor([[2.0, 1.0], [0.0, 3.0]])


def log_share(own: float, other: float) -> float:
    return math.log(math.exp(own) / (math.exp(own) + math.exp(other)))


def test_contrastive_is_the_mean_of_both_directions():
    rows = (log_share(2, 1) + log_share(3, 0)) / 2
    columns = (log_share(2, 0) + log_share(3, 1)) / 2
    assert float(contrastive(SCORES, OWN)) == pytest.approx(-(rows + columns) / 2)


def test_sigmoid_asks_each_pair():
    answers = [1 / (1 + math.exp(-value)) for value in (2, -1, -0.0, 3)]
    assert float(sigmoid(SCORES, OWN)) == pytest.approx(-sum(map(math.log, answers)) / 2)


def test_triplet_takes_the_hardest_wrong_one():
    scores = torch.tensor([[0.9, 0.8, 0.2], [0.1, 0.5, 0.6], [0.3, 0.0, 0.7]])
    own = torch.eye(3, dtype=torch.bool)
    captions = 0.1 + 0.3 + 0.0  # .2 + .8 - .9, .2 + .6 - .5, and none for the third image
    images = 0.0 + 0.5 + 0.1  # none, .2 + .8 - .5, .2 + .6 - .7
    assert float(triplet(scores, own, 0.2)) == pytest.approx(captions + images)


def test_what_belongs_together_is_no_counterexample():
    alike = torch.ones(2, 2, dtype=torch.bool)
    assert float(contrastive(SCORES, alike)) == 0
    assert float(triplet(SCORES, alike, 0.2)) == 0
    own = [-math.log(1 / (1 + math.exp(-value))) for value in (2, 3)]
    assert float(sigmoid(SCORES, alike)) == pytest.approx(sum(own) / 2)
