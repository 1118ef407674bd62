"""Text towers: bags of hashed n-grams, trained against images that are already encoded and stay as they are.

`train_text_tower` is contrastive (locked-image tuning); `distil` draws the texts of every language onto what
a trained tower makes of their English (as M-CLIP does).
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from concepts import concepts
from corpus import NO_FLAG, Corpus, behind_question, caption, neutral_names, person_names, training_languages
from equiview.benchmarks.pictograms_quiz import ASKED
from equiview.subjects.encoders.pictogram import BUCKETS, padded, text_features

WIDTH, HIDDEN, OUT = 64, 256, 120
SCALE = 20.0
"""Inverse temperature of the contrastive loss."""
PULL = 4.0
"""Weight of the distance of captions of people from their drawings beside the contrastive loss: it puts a
caption at the mean of what it is shown with, where contrast alone is content with what tells roles apart."""


class TextTower(nn.Module):
    """Features `(n, longest)`, padded with 0, to unit vectors `(n, 120)`."""

    def __init__(self, buckets: int = BUCKETS) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(buckets, WIDTH, mode="mean", padding_idx=0)
        nn.init.normal_(self.table.weight, std=0.1)
        with torch.no_grad():
            self.table.weight[0] = 0
        self.norm = nn.LayerNorm(WIDTH)
        self.first = nn.Linear(WIDTH, HIDDEN)
        self.second = nn.Linear(HIDDEN, OUT)

    def forward(self, features: Tensor) -> Tensor:
        x = self.norm(self.table(features))
        return functional.normalize(self.second(functional.relu(self.first(x))), dim=1)


@dataclass(frozen=True)
class Bank:
    """Encoded training drawings.

    `plain` `(n, 120)` are without a flag, of `concept` `(n,)`; `flagged` is `(n_concepts, 16, variants,
    120)`; `people` `(m, 120)` are of `person` `(m,)`.
    """

    plain: Tensor
    concept: NDArray[np.int64]
    flagged: Tensor
    people: Tensor
    person: NDArray[np.int64]

    def draw(self, corpus: Corpus, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        """Some drawing of what each pair shows, with the flag asked for, `(n, 120)`."""
        concept, flag = np.maximum(corpus.concept[rows], 0), corpus.flag[rows]
        variant = rng.integers(self.flagged.shape[2], size=len(rows))
        bearing = self.flagged[concept, np.minimum(flag, NO_FLAG - 1), variant]
        none = torch.from_numpy(flag == NO_FLAG)[:, None]
        drawn = torch.where(none, self.plain[_one_of(self.concept, concept, rng)], bearing)
        role = corpus.role[rows]
        person = np.where(role >= 0, corpus.tie.draw(np.maximum(role, 0), rng), corpus.person[rows])
        shown = np.flatnonzero(person >= 0)
        drawn[shown] = self.people[_one_of(self.person, person[shown], rng)]
        return drawn


def _one_of(
    values: NDArray[np.int64], wanted: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """A row of `values`, at random, that has each value wanted."""
    order = np.argsort(values, kind="stable")
    counts = np.bincount(values)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return order[first[wanted] + (rng.random(len(wanted)) * counts[wanted]).astype(np.int64)]


class Reader:
    """Texts turned into features once; asked for by row number."""

    def __init__(self, texts: list[str], buckets: int = BUCKETS) -> None:
        self.features, self.starts = text_features(texts, buckets)

    def rows(self, rows: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(padded(self.features, self.starts, rows).astype(np.int64))


def train_text_tower(
    corpus: Corpus, bank: Bank, *, seed: int, steps: int = 1000, batch: int = 1024
) -> tuple[TextTower, list[dict[str, float]]]:
    """Pull each caption to its drawing and push it from those of other concepts, and the other way round."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    tower, reader, label = TextTower(), Reader(corpus.texts), corpus.label
    optimiser = torch.optim.Adam(tower.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=steps, pct_start=0.1)
    log, losses, start = [], [], time.time()
    for step, rows in enumerate(_batches(len(corpus.texts), batch, steps, rng)):
        images = bank.draw(corpus, rows, rng)
        vectors = tower(reader.rows(rows))
        scores = SCALE * vectors @ images.T
        concept = torch.from_numpy(label[rows])
        # Another pair of the same concept is no counterexample.
        same = (concept[:, None] == concept[None, :]) & ~torch.eye(batch, dtype=torch.bool)
        scores = scores.masked_fill(same, -1e4)
        target = torch.arange(batch)
        loss = (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2
        people = torch.from_numpy(corpus.concept[rows] < 0)
        if people.any():
            loss = loss + PULL * ((vectors - images)[people] ** 2).sum(1).mean() / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.detach())
        if (step + 1) % 100 == 0:
            log.append({"step": step + 1, "loss": float(torch.stack(losses[-100:]).mean())})
    log[-1]["seconds"] = round(time.time() - start, 1)
    return tower.eval(), log


def distil(
    teacher: TextTower, *, seed: int, steps: int = 800, batch: int = 2048
) -> tuple[TextTower, list[dict[str, float]]]:
    """A copy of `teacher` trained to say of a name in any language what the teacher says of the English."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    texts, english = parallel_names()
    reader, concept = Reader(texts), np.array(english)
    wanted = encode_texts(teacher, texts)
    student = copy.deepcopy(teacher).train()
    optimiser = torch.optim.Adam(student.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=steps, pct_start=0.1)
    log, losses, start = [], [], time.time()
    for step, rows in enumerate(_batches(len(texts), batch, steps, rng)):
        vectors = student(reader.rows(rows))
        loss = ((vectors - wanted[concept[rows]]) ** 2).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.detach())
        if (step + 1) % 100 == 0:
            log.append({"step": step + 1, "loss": float(torch.stack(losses[-100:]).mean())})
    log[-1]["seconds"] = round(time.time() - start, 1)
    return student.eval(), log


def parallel_names() -> tuple[list[str], list[int]]:
    """Names of concepts and of people in every language, and the row of each one's English name among them.

    A role's neutral names stand three times: there are 17 others of a role. Names of concepts stand once more
    behind the quiz's question in its languages.
    """
    texts, keys = [], []
    for code in training_languages():
        concept_names = {row: caption(concept, code, None) for row, concept in enumerate(concepts())}
        named = [("concept", concept_names), ("person", person_names()[code])]
        named += [("role", neutral_names()[code])] * 2
        for kind, names in named:
            texts += names.values()
            keys += [(kind, row) for row in names]
        if code in ASKED:
            texts += [behind_question(name, code) for name in concept_names.values()]
            keys += [("concept", row) for row in concept_names]
    first: dict[tuple[str, int], int] = {}
    for place, key in enumerate(keys):  # English is the first of the languages
        first.setdefault(key, place)
    return texts, [first[key] for key in keys]


def _batches(n: int, size: int, steps: int, rng: np.random.Generator):
    order = rng.permutation(n)
    at = 0
    for _ in range(steps):
        if at + size > n:
            order, at = rng.permutation(n), 0
        yield order[at : at + size]
        at += size


@torch.no_grad()
def encode_texts(tower: TextTower, texts: list[str], batch: int = 1024, buckets: int = BUCKETS) -> Tensor:
    """Unit vectors `(n, 120)`."""
    reader = Reader(texts, buckets)
    return torch.cat(
        [tower(reader.rows(np.arange(s, min(s + batch, len(texts))))) for s in range(0, len(texts), batch)]
    )
