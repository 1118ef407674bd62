"""Trainees of the encoders that equiview loads: dual encoders of transformers, BLIP, and VSE++."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from equiview.errors import InputError
from equiview.io.tables import write_bytes
from equiview.mitigation.finetune.losses import contrastive, sigmoid, triplet
from equiview.mitigation.finetune.pairs import Mixture
from equiview.mitigation.finetune.recipes import BlipRecipe, Recipe, VseppRecipe
from equiview.mitigation.finetune.trainee import Batch, Inputs, Trainee
from equiview.mitigation.folder import save_checkpoint
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.torch_encoder import TorchEncoder, readable
from equiview.subjects.encoders.vsepp import VsePlusPlus

MOST_SCALE = math.log(100)
"""CLIP's logit scale is never more than 100 (Radford et al. 2021, section 2.5)."""


class EncoderTrainee(Trainee):
    """A trainee that prepares pictures and captions as its subject does."""

    def __init__(self, subject: TorchEncoder, pairs: Mixture, recipe: Recipe, *_: object) -> None:
        super().__init__(pairs)
        self.subject = subject
        subject.load()
        self.model: nn.Module = self.modules_of(subject).requires_grad_(True)
        freeze(self.model, recipe.frozen)

    def modules_of(self, subject: Any) -> nn.Module:
        """The subject's layers."""
        return subject.model

    def pictures(self, rows: Sequence[int]) -> Inputs:
        """The subject's own preprocessing."""
        return self.subject.picture_inputs([self.pairs.picture(row) for row in rows])

    def captions(self, rows: Sequence[int]) -> Inputs:
        """The subject's own tokens."""
        texts = readable([self.pairs.texts[row] for row in rows])
        return self.subject.padded(self.subject.tokens(texts))

    def vectors(self, pictures: Inputs, captions: Inputs) -> tuple[Tensor, Tensor]:
        """The subject's own vectors."""
        return self.subject.image_vectors(pictures), self.subject.text_vectors(captions)

    def save(self, folder: Path) -> None:
        """A checkpoint of transformers: the weights as they are now, all else as it was."""
        save_checkpoint(self.subject.checkpoint, self.model, folder)


class Dual(EncoderTrainee):
    """CLIP, SigLIP and whatever else has a learnt scale: SigLIP's loss where there is a bias, else CLIP's."""

    def __init__(self, subject: HuggingFace, pairs: Mixture, recipe: Recipe, *_: object) -> None:
        super().__init__(subject, pairs, recipe)
        if not hasattr(self.model, "logit_scale"):
            raise InputError(
                f"{subject.name}: {type(self.model).__name__} has no logit_scale, so which loss it was "
                "trained with is not known here"
            )

    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        """The loss that the model was trained with."""
        scores = images @ captions.T * self.model.logit_scale.exp()
        if hasattr(self.model, "logit_bias"):
            return sigmoid(scores + self.model.logit_bias, same)
        return contrastive(scores, same)

    def after_step(self) -> None:
        """Keep CLIP's scale at 100 or below."""
        if not hasattr(self.model, "logit_bias"):
            with torch.no_grad():
                self.model.logit_scale.clamp_(max=MOST_SCALE)


class Blip(EncoderTrainee):
    """BLIP: a contrastive loss, and a matching loss over hard negatives (Li et al. 2022, section 3.2).

    There is no momentum encoder and no queue, which checkpoints of transformers do not hold; negatives are of
    the batch.
    """

    def __init__(self, subject: HuggingFace, pairs: Mixture, recipe: BlipRecipe, *_: object) -> None:
        super().__init__(subject, pairs, recipe)
        self.temperature = recipe.temperature

    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        """The contrastive loss."""
        return contrastive(images @ captions.T / self.temperature, same)

    def further(
        self, batch: Batch, images: Tensor, captions: Tensor, backward: Callable[[Tensor], None], call: Any
    ) -> Tensor | None:
        """The matching loss: each pair, its caption with a wrong image, its image with a wrong caption.

        Wrong ones are drawn, alike ones more often, as softmax of their scores. A batch in which everything
        belongs together has none.
        """
        wrong = ~batch.same
        if not wrong.any(dim=0).all() or not wrong.any(dim=1).all():
            return None
        scores = (images @ captions.T / self.temperature).masked_fill(batch.same, -torch.inf)
        captions_at = torch.multinomial(scores.softmax(dim=1), 1)[:, 0].tolist()
        images_at = torch.multinomial(scores.T.softmax(dim=1), 1)[:, 0].tolist()
        pixels = torch.cat([part["pixel_values"] for part in batch.pictures])
        total, start = torch.zeros((), device=batch.device), 0
        for part in batch.parts:
            places = range(start, start := start + len(part))
            wanted = [*places, *(images_at[place] for place in places)]
            rows = [*part, *(batch.rows[captions_at[place]] for place in places)]
            pictures = batch.placed({"pixel_values": pixels[wanted]})
            logits = call("matches", pictures, batch.placed(self.captions(rows)))
            truth = torch.arange(3, device=batch.device).repeat_interleave(len(part)).eq(0).long()
            value = functional.cross_entropy(logits.float(), truth, reduction="sum") / (3 * len(batch.rows))
            backward(value)
            total += value.detach()
        return total

    def matches(self, pictures: Inputs, captions: Inputs) -> Tensor:
        """Logits of not matching and matching `(3 n, 2)`: pairs, wrong images, wrong captions.

        `pictures` and `captions` hold those of the n pairs, then the n wrong ones.
        """
        model: Any = self.model
        states = model.vision_model(pixel_values=pictures["pixel_values"]).last_hidden_state
        own, wrong = states.chunk(2)
        texts = {name: value.chunk(2) for name, value in captions.items()}
        shown = torch.cat([own, wrong, own])
        output = model.text_encoder(
            **{name: torch.cat([first, first, second]) for name, (first, second) in texts.items()},
            encoder_hidden_states=shown,
            encoder_attention_mask=torch.ones(shown.shape[:2], dtype=torch.long, device=shown.device),
        )
        logits: Tensor = model.itm_head(output.last_hidden_state[:, 0])
        return logits


class Vsepp(EncoderTrainee):
    """VSE++: the triplet loss with the hardest negatives of the batch."""

    def __init__(self, subject: VsePlusPlus, pairs: Mixture, recipe: VseppRecipe, *_: object) -> None:
        super().__init__(subject, pairs, recipe)
        self.margin = recipe.margin

    def modules_of(self, subject: Any) -> nn.Module:
        """The layers under the names they have in the checkpoint: `cnn.features`, `fc`, `rnn` and so on."""
        root = nn.Module()
        for name, layers in subject.model.items():
            *above, last = name.split(".")
            place = root
            for step in above:
                if not hasattr(place, step):
                    setattr(place, step, nn.Module())
                place = getattr(place, step)
            setattr(place, last, layers)
        return root

    def loss(self, images: Tensor, captions: Tensor, same: Tensor) -> Tensor:
        """The triplet loss."""
        return triplet(images @ captions.T, same, self.margin)

    def save(self, folder: Path) -> None:
        """A checkpoint as VSE++'s own code writes it, and its vocabulary as JSON."""
        subject = self.subject
        assert isinstance(subject, VsePlusPlus)
        state = {name: value.cpu() for name, value in self.model.state_dict().items()}
        sides: list[dict[str, Tensor]] = [{}, {}]
        for name, value in state.items():
            sides[name.startswith(("embed.", "rnn."))][name] = value
        buffer = io.BytesIO()
        torch.save({"model": sides, "opt": dict(subject.state[2])}, buffer)
        write_bytes(buffer.getvalue(), folder / "model_best.pth.tar")
        words = json.dumps({"word2idx": subject.vocabulary}, ensure_ascii=False)
        write_bytes(words.encode(), folder / "vocab.json")


def freeze(model: nn.Module, prefixes: Sequence[str]) -> None:
    """Freeze parameters by name prefix; InputError for a prefix that matches none."""
    names = [name for name, _ in model.named_parameters()]
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in names):
            parts = ", ".join(dict.fromkeys(name.split(".")[0] for name in names))
            raise InputError(f"setting 'frozen': no parameter begins with {prefix!r}; they begin: {parts}")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(tuple(prefixes)))
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError("setting 'frozen': nothing is left to learn")
