"""Gradients in parts are those of the batch at once, for each kind of model."""

import pytest
import torch

from equiview.mitigation.finetune.cached import cached_step
from equiview.mitigation.finetune.encoders import Blip, Dual, Vsepp
from equiview.mitigation.finetune.trainee import Batch
from equiview.subjects import load_subject
from tests.mitigation.finetune import worlds

CPU = torch.device("cpu")
TRAINEES = {"clip": Dual, "siglip": Dual, "blip": Blip, "vsepp": Vsepp}


def trainee_of(kind, folder):
    subject = load_subject(f"{worlds.checkpoint(kind, folder / kind)},device=cpu")
    recipe = worlds.settings().recipes[worlds.KINDS[kind]]
    return TRAINEES[kind](subject, worlds.pairs(folder / "pictures"), recipe)


def step(trainee, forward):
    """The loss, its further part, and gradients of eight pairs, `forward` at a time."""
    trainee.zero_grad(set_to_none=True)
    batch = Batch(trainee, range(3, 11), forward, CPU)
    batch.pictures = [trainee.pictures(part) for part in batch.parts]
    torch.manual_seed(1)
    value, vectors = cached_step(
        lambda place: trainee("unit_vectors", *batch.part(place)),
        lambda images, captions: trainee.loss(images, captions, batch.same),
        range(len(batch.parts)),
        torch.Tensor.backward,
        CPU,
    )
    further = trainee.further(batch, *vectors, torch.Tensor.backward, trainee)
    return value, further, worlds.gradients(trainee)


@pytest.mark.parametrize("kind", list(TRAINEES))
def test_parts_give_the_gradients_of_the_whole(kind, tmp_path):
    trainee = trainee_of(kind, tmp_path).eval()  # dropout draws differently for other parts
    whole, whole_further, expected = step(trainee, 8)
    for forward in (1, 3, 4):
        value, further, gradients = step(trainee, forward)
        torch.testing.assert_close(value, whole)
        torch.testing.assert_close(further, whole_further)
        assert (further is not None) == (kind == "blip")
        assert gradients.keys() == expected.keys()
        for name, gradient in expected.items():
            rounding = 1e-4 * float(gradient.abs().max()) + 1e-7
            torch.testing.assert_close(gradients[name], gradient, rtol=0, atol=rounding, msg=name)
    assert any(gradient.abs().max() > 1e-4 for gradient in expected.values())


def test_the_gradients_are_those_of_the_models_own_loss(tmp_path):
    trainee = trainee_of("clip", tmp_path).eval()
    batch = Batch(trainee, range(4), 4, CPU)  # four captions that differ
    pictures = trainee.pictures(range(4))
    trainee.model(**pictures, **batch.captions[0], return_loss=True).loss.backward()
    expected = worlds.gradients(trainee)
    trainee.zero_grad(set_to_none=True)
    batch.pictures = [pictures]
    cached_step(
        lambda place: trainee("unit_vectors", *batch.part(place)),
        lambda images, captions: trainee.loss(images, captions, batch.same),
        [0],
        torch.Tensor.backward,
        CPU,
    )
    for name, gradient in worlds.gradients(trainee).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-4, atol=1e-6, msg=name)


def test_blip_pairs_are_judged_as_its_own_class_judges_them(tmp_path):
    trainee = trainee_of("blip", tmp_path).eval()
    pictures, captions = trainee.pictures([0, 1]), trainee.captions([0, 1])
    with torch.no_grad():
        logits = trainee.matches(pictures, captions)  # one pair, then one wrong image and caption
        for row, (image, text) in enumerate(((0, 0), (1, 0), (0, 1))):
            theirs = trainee.model(
                pixel_values=pictures["pixel_values"][[image]],
                **{name: value[[text]] for name, value in captions.items()},
            ).itm_score
            torch.testing.assert_close(logits[[row]], theirs)


def test_blip_has_no_matching_loss_where_everything_belongs_together(tmp_path):
    trainee = trainee_of("blip", tmp_path)
    batch = Batch(trainee, [0, 4, 8], 2, CPU)  # one caption, three pictures of it
    batch.pictures = [trainee.pictures(part) for part in batch.parts]
    images, captions = trainee("unit_vectors", *batch.part(0))
    assert trainee.further(batch, images, captions, torch.Tensor.backward, trainee) is None


def test_each_part_is_made_again_from_the_same_random_numbers():
    layer = torch.nn.Linear(4, 4)
    made: list[torch.Tensor] = []

    def encode(part):
        made.append(torch.nn.functional.dropout(layer(part), 0.5))
        return (made[-1],)

    parts = torch.ones(6, 4).split(2)
    torch.manual_seed(0)
    cached_step(encode, lambda vectors: vectors.square().sum(), parts, torch.Tensor.backward, CPU)
    after = torch.rand(1)
    for first, second in zip(made[:3], made[3:], strict=True):
        assert torch.equal(first, second)
    assert not torch.equal(made[0], made[1])
    torch.manual_seed(0)
    for part in parts:
        encode(part)
    assert torch.equal(after, torch.rand(1)), "a step ends where one pass ends"


def test_a_side_without_gradients_may_stay():
    learning, kept = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4).requires_grad_(False)
    parts = torch.arange(16.0).reshape(4, 4).split(2)
    cached_step(
        lambda part: (learning(part), kept(part)),
        lambda left, right: (left * right).sum(),
        parts,
        torch.Tensor.backward,
        CPU,
    )
    assert learning.weight.grad.abs().sum() > 0
    assert kept.weight.grad is None
