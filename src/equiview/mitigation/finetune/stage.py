"""Training by transformers' Trainer: batches in parts, and a learning rate that falls by steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import StepLR
from transformers import Trainer, TrainerCallback

from equiview.io.progress import Progress
from equiview.mitigation.finetune.cached import cached_step
from equiview.mitigation.finetune.recipes import Recipe
from equiview.mitigation.finetune.settings import FineTuneSettings
from equiview.mitigation.finetune.trainee import Batch, Inputs, Trainee
from equiview.mitigation.training import Watcher, arguments_for, trained

Prepared = tuple[Batch, list[Future[Inputs]]]
"""A batch, and its pictures, prepared in threads while the model works on the batch before."""


def train(
    name: str,
    trainee: Trainee,
    folder: Path,
    recipe: Recipe,
    settings: FineTuneSettings,
    device: torch.device,
    precision: str,
    progress: Progress,
) -> list[dict[str, float]]:
    """Train `trainee` in place and return the loss of each step; checkpoints are kept in `folder`.

    `precision` is that of the passes: fp32, bf16 or fp16.
    """
    arguments = arguments_for(
        folder,
        device,
        settings,
        recipe,
        per_device_train_batch_size=recipe.batch,
        lr_scheduler_type="constant",
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.max_grad_norm,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        dataloader_drop_last=True,  # a batch of few pairs has few counterexamples
    )
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1), "equiview-pictures") as pool:

        def prepared(rows: Sequence[int]) -> Prepared:
            batch = Batch(trainee, rows, settings.forward, device)
            return batch, [pool.submit(trainee.pictures, part) for part in batch.parts]

        trainer = _Trainer(
            trainee,
            recipe,
            model=trainee,
            args=arguments,
            data_collator=prepared,
            train_dataset=list(range(len(trainee.pairs))),
            callbacks=[Watcher(name, progress, settings.save_minutes), _AfterStep(trainee)],
        )
        return trained(trainer, folder)


class _AfterStep(TrainerCallback):  # type: ignore[misc]
    def __init__(self, trainee: Trainee) -> None:
        self.trainee = trainee

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After the parameters have moved."""
        self.trainee.after_step()


class _Trainer(Trainer):  # type: ignore[misc]
    """A trainer that processes each batch in parts."""

    lr_scheduler: Any

    def __init__(self, trainee: Trainee, recipe: Recipe, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.trainee, self.recipe = trainee, recipe

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The learning rate is multiplied by `decay` every `decay_epochs`."""
        if self.lr_scheduler is None:
            epoch = len(self.train_dataset) // self.recipe.batch
            steps = max(1, round(self.recipe.decay_epochs * epoch))
            self.lr_scheduler = StepLR(optimizer or self.optimizer, steps, self.recipe.decay)
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def training_step(self, model: Any, inputs: Prepared, num_items_in_batch: Any = None) -> Tensor:
        """Gradients of a batch, added up part by part; returns its loss."""
        model.train()
        (batch, pictures), backward = inputs, self.accelerator.backward
        batch.pictures = [picture.result() for picture in pictures]
        value, (images, captions) = cached_step(
            lambda place: model("unit_vectors", *batch.part(place)),
            lambda images, captions: self.trainee.loss(images, captions, batch.same),
            range(len(batch.parts)),
            backward,
            batch.device,
        )
        further = self.trainee.further(batch, images, captions, backward, model)
        return value if further is None else value + further

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
        """The next batches; nothing is counted in them."""
        return [batch for _, batch in zip(range(num_batches), epoch_iterator, strict=False)], None

    def floating_point_ops(self, inputs: Any) -> int:
        """Not counted."""
        return 0
