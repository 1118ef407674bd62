"""Shared by trainings with transformers' Trainer: progress, complete checkpoints, resuming after a kill."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, TrainerState

from equiview.errors import InputError
from equiview.io.files import content_of, read_json
from equiview.io.progress import Progress
from equiview.io.tables import checksum, write_bytes
from equiview.mitigation.settings import Stage, TrainingSettings
from equiview.subjects.encoders.loading import library_notes_off

WHOLE = "whole"
"""A file that marks a checkpoint as complete: the checksum of each of its files, as JSON."""
STATE = "trainer_state.json"


class Watcher(TrainerCallback):  # type: ignore[misc]
    """Reports progress, marks complete checkpoints, and stops where the loss is NaN or infinite.

    It asks for a checkpoint after `minutes` of work since the last one.
    """

    def __init__(
        self, name: str, progress: Progress, minutes: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self.progress, self.seconds, self.now = name, progress, 60 * minutes, now
        self.saved = now()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Before the first step, or before the first after a stop."""
        self.saved = self.now()
        self._tell(state)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After each pass of a batch that takes several."""
        self._tell(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After each step."""
        self._tell(state)
        if self.now() - self.saved >= self.seconds:
            control.should_save = True

    def _tell(self, state: Any) -> None:
        self.progress(f"training on {self.name}", state.global_step, state.max_steps)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """After each step, with its loss."""
        if not math.isfinite((logs or {}).get("loss", 0.0)):
            raise InputError(
                f"training on {self.name}: the loss is NaN or infinite at step "
                f"{state.global_step}; try a lower learning_rate"
            )

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After a checkpoint was written."""
        self.saved = self.now()
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_bytes(json.dumps(_checksums(folder), indent=1).encode(), folder / WHOLE)


def trained(trainer: Trainer, folder: Path) -> list[dict[str, float]]:
    """Train and return the loss of each step: step, loss, rate.

    Training resumes from the last complete checkpoint in `folder`, with the same result as without a stop.
    InputError when that is damaged, and when the loss is NaN or infinite.
    """
    trainer.remove_callback(PrinterCallback)
    last = _last_whole(folder)
    state = TrainerState.load_from_json(str(last / STATE)) if last else None
    with library_notes_off():  # about file systems and tokenizers
        if state is not None and state.global_step >= state.max_steps:
            # Resumed at its last step, the trainer would do one more where that is amid an epoch.
            trainer._load_from_checkpoint(str(last))
            trainer.state = state
        else:
            trainer.train(resume_from_checkpoint=str(last) if last else None)
    return [
        {"step": entry["step"], "loss": entry["loss"], "rate": entry["learning_rate"]}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]


def arguments_for(
    folder: Path, device: torch.device, settings: TrainingSettings, stage: Stage, **more: Any
) -> TrainingArguments:
    """The trainer's arguments: those shared by all trainings, and `more`.

    InputError for a device that the trainer would not use.
    """
    cpu = device.type == "cpu"
    arguments = TrainingArguments(
        output_dir=str(folder),
        optim="adamw_torch",
        use_cpu=cpu,
        seed=settings.seed,
        data_seed=settings.seed,
        num_train_epochs=stage.epochs,
        max_steps=stage.steps or -1,
        learning_rate=stage.learning_rate,
        logging_steps=1,  # each loss is of one step, also after a stop
        logging_nan_inf_filter=False,
        save_steps=settings.save_every,
        save_total_limit=2,
        remove_unused_columns=False,
        dataloader_pin_memory=not cpu,
        report_to="none",
        disable_tqdm=True,
        **more,
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # a training is on one device
    if (arguments.device.type, arguments.device.index or 0) != (device.type, device.index or 0):
        raise InputError(
            f"training is on {arguments.device} and not on {device}; choose another by CUDA_VISIBLE_DEVICES"
        )
    return arguments


class Scheduled(Protocol):
    """What settings say of a schedule and of the size of a step."""

    @property
    def schedule(self) -> str:
        """How the learning rate goes on: linear, cosine or constant."""

    @property
    def warmup(self) -> float:
        """Steps, or their share, over which it rises."""

    @property
    def weight_decay(self) -> float:
        """Of AdamW."""

    @property
    def max_grad_norm(self) -> float:
        """Gradients are clipped to it; 0: they are not."""


def in_passes(settings: Scheduled, batch: int, forward: int) -> dict[str, Any]:
    """Arguments of a training whose batches go through in passes of `forward`, by the settings' schedule."""
    return {
        "per_device_train_batch_size": forward,
        "gradient_accumulation_steps": batch // forward,
        "lr_scheduler_type": settings.schedule if settings.schedule != "constant" else "constant_with_warmup",
        "warmup_steps": settings.warmup,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "label_names": ["labels"],
    }


def _last_whole(folder: Path) -> Path | None:
    """The last complete checkpoint; incomplete ones are removed. InputError where it was changed since."""
    whole = []
    for path in folder.glob("checkpoint-*"):
        if (path / WHOLE).is_file():
            whole.append(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
    last = max(whole, key=lambda path: int(path.name.split("-")[1]), default=None)
    if last is not None and (not content_of(last / WHOLE) or read_json(last / WHOLE) != _checksums(last)):
        raise InputError(
            f"{last}: is damaged, or of an earlier version; delete this folder, and the same command goes on "
            "from the checkpoint before it, or from the beginning"
        )
    return last


def _checksums(checkpoint: Path) -> dict[str, str]:
    """The checksum of each file of a checkpoint but the mark."""
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != WHOLE)
    return {path.relative_to(checkpoint).as_posix(): checksum(path) for path in files}
