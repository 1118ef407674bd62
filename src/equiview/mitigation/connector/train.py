"""Train a connector in two stages, into a folder that is then a subject (docs/mitigation/connector.md)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equiview.data.seeds import short_seed_for
from equiview.data.vectors import one_each
from equiview.errors import InputError
from equiview.io.files import read_json
from equiview.io.progress import Progress, silent
from equiview.io.tables import write_bytes
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.make import make
from equiview.making.work import Work
from equiview.mitigation.connector import CONNECTOR
from equiview.mitigation.connector.examples import Examples, load_captions, load_questions
from equiview.mitigation.connector.settings import ConnectorMaking, ConnectorSettings
from equiview.mitigation.folder import encoder_input, save_losses, versions_with, whole_path
from equiview.store import Store, stored
from equiview.subjects import Encoder
from equiview.subjects.chat.connector import WEIGHTS, Connection
from equiview.subjects.chat.soft_tokens import LanguageModel, Row, new_connector
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import state_of
from equiview.subjects.encoders.torch_encoder import chosen_device, chosen_dtype
from equiview.subjects.load import load_encoder
from equiview.subjects.trained import hash_of

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
    device: str = "",
    store: Store | None = None,
    progress: Progress = silent,
) -> Path:
    """Train a connector between `encoder` and a causal language model, both frozen; returns the folder.

    `language_model` is a checkpoint of transformers by id or path. Images are encoded once: their vectors
    come from the store. A training that was stopped goes on from its last checkpoint and ends in the same
    weights. InputError for no examples, for a folder that holds another training, and while another process
    writes to it.
    """
    chosen = ConnectorMaking(
        encoder=encoder.name,
        language_model=language_model,
        recipe=settings or ConnectorSettings(),
        device=device,
    )
    job = Training(chosen, encoder, {"captions": captions, "questions": questions}, store)
    return make(CONNECTOR, chosen, out, progress, job=job).folder


class Training(Job):
    """A connector to train. `examples` are by stage, in the order of stages."""

    def __init__(
        self,
        settings: ConnectorMaking,
        encoder: Encoder,
        examples: Mapping[str, Examples | None],
        store: Store | None = None,
    ) -> None:
        self.recipe, self.encoder, self.store = settings.recipe, encoder, store
        self.examples = {name: given for name in STAGES if (given := examples[name])}
        if not self.examples:
            raise InputError("a connector learns from captions, questions or both; give at least one")
        self.versions = versions_with(encoder)
        self.device = chosen_device(settings.device, "connector", "hf")
        self.checkpoint = Checkpoint.find(settings.language_model, "connector")

    @classmethod
    def named(cls, settings: ConnectorMaking) -> Training:
        """The training of these settings, with encoder and examples loaded by name."""
        recipe, captions, questions = settings.recipe, settings.captions, settings.questions
        examples = {
            "captions": load_captions(captions, recipe.caption_prompt) if captions else None,
            "questions": load_questions(questions, recipe.question_prompt) if questions else None,
        }
        return cls(settings, load_encoder(settings.encoder), examples)

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """Both models, and the examples of each stage."""
        checkpoint = self.checkpoint
        return {
            "encoder": encoder_input(self.encoder),
            "language model": Input(name=whole_path(checkpoint.name), fingerprint=checkpoint.fingerprint),
            **{name: Input.of(examples) for name, examples in self.examples.items()},
        }

    def plan(self) -> list[Task]:
        """Images to encode, and examples and steps of each stage."""
        tasks = []
        for name, examples in self.examples.items():
            stage = self.recipe.stages[name].planned(name, len(examples))
            tasks += [Task(name, len(examples), "examples"), stage]
        images = sum(len(examples.images) for examples in self.examples.values())
        return [Task("encode", images, "images"), *tasks]

    def make(self, work: Work) -> Outcome:
        """Train the stages in order, then write the subject's files."""
        for name in self.examples:
            work.stage(name, partial(self._learn, work, name))
            shutil.rmtree(work.folder / KEPT / name, ignore_errors=True)
        work.stage("connector", partial(self._join, work))
        return Outcome()

    @cached_property
    def model(self) -> LanguageModel:
        """The language model, loaded."""
        recipe = self.recipe
        dtype = chosen_dtype(PRECISIONS[recipe.precision], self.device, "bfloat16", "connector", "hf")
        return LanguageModel.load(self.checkpoint, self.device, dtype, recipe.template, recipe.tokens)

    def _learn(self, work: Work, name: str, part: Path) -> None:
        """Train one stage from the weights of the previous one; write its weights and losses."""
        import torch
        from safetensors.torch import save_file

        from equiview.mitigation.connector.stage import train_stage

        data = self._encoded(self.examples[name], work.progress)
        with torch.random.fork_rng():
            torch.manual_seed(short_seed_for(self.recipe.seed, "connector"))
            connector = new_connector(data.vectors.shape[1], self.model.hidden, self.recipe.tokens)
        names = list(self.examples)
        if before := names[: names.index(name)]:
            connector.load_state_dict(state_of(work.folder / KEPT / f"{before[-1]}.safetensors"))
        log = train_stage(
            name, connector, self.model, data, work.folder / KEPT / name, self.recipe, work.progress
        )
        (part / KEPT).mkdir()
        write_bytes(json.dumps(log).encode(), part / KEPT / f"{name}.json")
        state = {key: value.cpu() for key, value in connector.state_dict().items()}
        save_file(state, part / KEPT / f"{name}.safetensors")

    def _join(self, work: Work, part: Path) -> None:
        """Write the last weights, all losses with their figure, and the subject's card."""
        kept, made_of = work.folder / KEPT, work.card.inputs
        last = kept / f"{list(self.examples)[-1]}.safetensors"
        shutil.copyfile(last, part / WEIGHTS)
        losses = {name: read_json(kept / f"{name}.json") for name in self.examples}
        save_losses(part, losses, "nats a token of the answers")
        Connection(
            encoder=made_of["encoder"],
            width=state_of(last)["0.weight"].shape[1],
            language_model=made_of["language model"],
            data={name: made_of[name] for name in self.examples},
            settings=self.recipe.model_dump(mode="json"),
            versions=work.card.versions,
            stages={name: hash_of(kept / f"{name}.safetensors") for name in self.examples},
        ).save(part, of=part)

    def _encoded(self, examples: Examples, progress: Progress) -> Data:
        from equiview.mitigation.connector.stage import Data

        vectors = one_each(stored(self.encoder, self.store).embed(examples.images, progress))
        vectors = vectors.astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        limit = min(self.recipe.max_length, self.model.longest)
        return Data(vectors, examples.table["image"].to_numpy(), Rows(examples, self.model, limit))


@dataclass(frozen=True)
class Rows(Sequence[Row]):
    """Examples as token ids, tokenized when needed, of at most `limit` tokens.

    InputError for an example with a prompt of that length or more.
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
