"""Train a connector: both stages into one folder, which is then a subject.

connector.json            of what it was made, its settings, and how far training is
connector.safetensors     the connector's weights
loss.json                 the loss of every step of each stage
figures/loss.json         its curve
.stages/                  weights after each stage, and checkpoints while training
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equiview.data.run import check_folder
from equiview.data.seeds import seed_for
from equiview.data.vectors import one_each
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.files import read_json
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.io.tables import atomic, checksum, write_bytes
from equiview.mitigation.connector.examples import Examples
from equiview.mitigation.connector.settings import ConnectorSettings
from equiview.mitigation.folder import begun, in_full, save_card, save_losses, versions_with
from equiview.store import Store, stored
from equiview.subjects import Encoder
from equiview.subjects.chat.connector import WEIGHTS, Connection
from equiview.subjects.chat.soft_tokens import LanguageModel, Row, new_connector
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.torch_encoder import chosen_device, chosen_dtype
from equiview.subjects.trained import Part

if TYPE_CHECKING:
    from equiview.mitigation.connector.stage import Data

STAGES = ("captions", "questions")
KEPT = ".stages"
PRECISIONS = {"auto": None, "fp32": "float32", "bf16": "bfloat16"}


def train_connector(
    encoder: Encoder,
    language_model: str,
    out: Path,
    *,
    captions: Examples | None = None,
    questions: Examples | None = None,
    settings: ConnectorSettings | None = None,
    device: str | None = None,
    store: Store | None = None,
    progress: Progress = silent,
) -> Path:
    """Train a connector between `encoder` and a causal language model, both frozen; returns the folder.

    `language_model` is a checkpoint of transformers by id or path. Images are encoded once: their vectors
    come from the store. A training that was stopped goes on from its last checkpoint and ends in the same
    weights. InputError for no examples, for a folder that holds another training, and while another process
    writes to it.
    """
    settings = settings or ConnectorSettings.of()
    check_folder(out)
    given = {
        name: examples
        for name, examples in zip(STAGES, (captions, questions), strict=True)
        if examples is not None
    }
    if not given:
        raise InputError("a connector learns from captions, questions or both; give at least one")
    require("transformers", "train")
    require("accelerate", "train")
    chosen = chosen_device(device, "connector", "hf")
    checkpoint = Checkpoint.find(language_model, "connector")
    dtype = chosen_dtype(PRECISIONS[settings.precision], chosen, "bfloat16", "connector", "hf")
    model = LanguageModel.load(checkpoint, chosen, dtype, settings.template, settings.tokens)
    with locked(out):
        inputs = {
            name: _data(stored(encoder, store), examples, model, settings, progress)
            for name, examples in given.items()
        }
        width = next(iter(inputs.values())).vectors.shape[1]
        started = Connection(
            encoder=Part.of(encoder),
            width=width,
            language_model=Part.of(checkpoint, in_full(language_model)),
            data={name: Part.of(part) for name, part in given.items()},
            settings=settings.model_dump(mode="json"),
            versions=versions_with(encoder),
        )
        return _train(out, begun(out, started), model, inputs, settings, progress)


def _data(
    encoder: Encoder,
    examples: Examples,
    model: LanguageModel,
    settings: ConnectorSettings,
    progress: Progress,
) -> Data:
    from equiview.mitigation.connector.stage import Data

    vectors = one_each(encoder.embed(examples.images, progress)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    limit = min(settings.max_length, model.longest)
    return Data(vectors, examples.table["image"].to_numpy(), Rows(examples, model, limit))


@dataclass(frozen=True)
class Rows(Sequence[Row]):
    """Examples as token ids, made when they are asked for, of at most `limit` tokens.

    InputError for an example whose prompt alone is as long.
    """

    examples: Examples
    model: LanguageModel
    limit: int

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, place: Any) -> Any:
        """One example."""
        prompt, answer = self.examples.table["prompt"][place], self.examples.table["answer"][place]
        row = self.model.row(prompt, answer)
        if all(label < 0 for label in row["labels"][: self.limit]):
            raise InputError(
                f"{self.examples.name}, example {place + 1}: its prompt alone is longer than {self.limit} "
                "tokens, so that nothing of the answer could be learnt"
            )
        return {name: values[: self.limit] for name, values in row.items()}


def _train(
    out: Path,
    connection: Connection,
    model: LanguageModel,
    inputs: Mapping[str, Data],
    settings: ConnectorSettings,
    progress: Progress,
) -> Path:
    if connection.is_done(out):
        return out
    import torch
    from safetensors.torch import load_file, save_file

    from equiview.mitigation.connector.stage import train_stage

    with torch.random.fork_rng():
        torch.manual_seed(seed_for(settings.seed, "connector"))
        connector = new_connector(connection.width, model.hidden, settings.tokens)
    for name, data in inputs.items():
        kept, losses = out / KEPT / f"{name}.safetensors", out / KEPT / f"{name}.json"
        done = connection.stages.get(name)
        if done is None or not kept.is_file() or checksum(kept) != done or not losses.is_file():
            log = train_stage(name, connector, model, data, out / KEPT / name, settings, progress)
            write_bytes(json.dumps(log).encode(), losses)
            with atomic(kept) as part:
                save_file({key: value.cpu() for key, value in connector.state_dict().items()}, part)
            connection = connection.model_copy(update={"stages": connection.stages | {name: checksum(kept)}})
            save_card(out, connection)
        shutil.rmtree(out / KEPT / name, ignore_errors=True)
        connector.load_state_dict(load_file(kept))
    return _finished(out, connection, list(inputs))


def _finished(out: Path, connection: Connection, names: list[str]) -> Path:
    """Write the losses, their figure, and last the weights and that all is done."""
    losses = {name: read_json(out / KEPT / f"{name}.json") for name in names}
    save_losses(out, losses, "nats a token of the answers")
    with atomic(out / WEIGHTS) as part:
        shutil.copyfile(out / KEPT / f"{names[-1]}.safetensors", part)
    save_card(out, connection.model_copy(update={"weights": checksum(out / WEIGHTS)}))
    return out
