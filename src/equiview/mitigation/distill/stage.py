"""Teaching by transformers' Trainer: batches of texts with the vectors that they should have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import Trainer

from equiview.io.progress import Progress
from equiview.mitigation.distill.parallel import Parallel
from equiview.mitigation.distill.settings import DistillSettings
from equiview.mitigation.distill.students import Student
from equiview.mitigation.training import Watcher, arguments_for, in_passes, trained


def teach(
    kind: str,
    student: Student,
    data: Parallel,
    said: NDArray[np.float32],
    folder: Path,
    settings: DistillSettings,
    device: torch.device,
    precision: str,
    progress: Progress,
) -> list[dict[str, float]]:
    """Train `student` in place and return the loss of each step; checkpoints are kept in `folder`.

    `said` `(n_sources, width)` are the teacher's unit vectors.
    """
    stage = settings.recipes[kind]
    forward = min(stage.batch, settings.forward) if kind in settings.stages else stage.batch
    arguments = arguments_for(
        folder,
        device,
        settings,
        stage,
        **in_passes(settings, stage.batch, forward),
        bf16=precision == "bf16",
        fp16=precision == "fp16",
    )

    def collate(rows: Sequence[int]) -> dict[str, Any]:
        targets = np.asarray(data.partners[list(rows)] @ said, dtype=np.float32)
        return student.inputs(rows) | {
            "targets": torch.from_numpy(targets),
            "labels": torch.tensor(list(rows)),
        }

    trainer = Trainer(
        model=student,
        args=arguments,
        data_collator=collate,
        train_dataset=list(range(len(data))),
        callbacks=[Watcher(data.name, progress, settings.save_minutes)],
    )
    return trained(trainer, folder)
