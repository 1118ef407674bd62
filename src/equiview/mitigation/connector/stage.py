"""One stage of training, by transformers' Trainer: batches, checkpoints, going on after a kill, the loss.

Only the connector is the trainer's model. The language model is frozen and stands beside it, so that it is
neither moved, nor saved, nor given gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import Trainer

from equiview.io.progress import Progress
from equiview.mitigation.connector.settings import ConnectorSettings
from equiview.mitigation.training import Watcher, arguments_for, in_passes, trained
from equiview.subjects.chat.soft_tokens import Batch, LanguageModel, Row, soft_tokens


@dataclass(frozen=True)
class Data:
    """Unit vectors of images `(n_images, width)`, the image of each example, and its words as token ids."""

    vectors: NDArray[np.float32]
    image: NDArray[np.int64]
    rows: Sequence[Row]


class Trainee(torch.nn.Module):  # type: ignore[misc]
    """The connector as the trainer sees it: a batch in, its loss out."""

    accepts_loss_kwargs = True  # so that a step made of several forward passes is one step of all of them

    def __init__(self, connector: Any, language_model: LanguageModel) -> None:
        super().__init__()
        self.connector = connector
        self._beside = (language_model,)  # in a tuple it is no part of this module

    def forward(self, vectors: torch.Tensor, num_items_in_batch: Any = None, **batch: Any) -> Batch:
        """The loss over the answers; `num_items_in_batch` is how many tokens a whole step learns."""
        (language_model,) = self._beside
        soft = soft_tokens(self.connector, vectors, language_model.tokens)
        return {"loss": language_model.loss(batch, soft, num_items_in_batch)}


def train_stage(
    name: str,
    connector: Any,
    language_model: LanguageModel,
    data: Data,
    folder: Path,
    settings: ConnectorSettings,
    progress: Progress,
) -> list[dict[str, float]]:
    """Train `connector` in place and return the loss of each step; checkpoints are kept in `folder`."""
    stage = settings.stages[name]
    forward = min(stage.batch, settings.forward)
    arguments = arguments_for(
        folder,
        language_model.device,
        settings,
        stage,
        **in_passes(settings, stage.batch, forward),
        bf16=language_model.model.dtype == torch.bfloat16,
    )

    def collate(places: Sequence[int]) -> Batch:
        batch = language_model.batch([data.rows[place] for place in places])
        return batch | {"vectors": torch.from_numpy(data.vectors[data.image[list(places)]])}

    trainer = Trainer(
        model=Trainee(connector, language_model),
        args=arguments,
        data_collator=collate,
        train_dataset=list(range(len(data.rows))),
        callbacks=[Watcher(name, progress, settings.save_minutes)],
    )
    return trained(trainer, folder)
