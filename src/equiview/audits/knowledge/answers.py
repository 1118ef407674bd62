"""Answers as arrays: which questions were answered correctly in which language."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.base import View
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.data.observations import Observations
from equiview.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ENGLISH = "en"


class Answered(View[KnowledgeSettings]):
    """Questions by languages. `correct` and `rules` are `(n_questions, n_languages)`.

    `region` holds for each question the column of its local language, -1 where none was asked in. `chance` is
    1 / number of options. `image` says which questions are about the same image. InputError where a question
    is not there in every language.
    """

    def __init__(self, observations: Observations, settings: KnowledgeSettings) -> None:
        super().__init__(observations, settings)
        answers = observations["answers"]
        questions = answers.unique("question_id", keep="first", maintain_order=True)
        languages = sorted(answers["language"].unique())
        if len(languages) < 2:
            raise InputError("table 'answers': knowledge compares languages, but there is one alone")
        shape = (len(questions), len(languages))
        order = pl.Enum(questions["question_id"])
        rows = answers.sort(pl.col("question_id").cast(order), "language")
        if len(rows) != shape[0] * shape[1] or rows["language"].to_list() != languages * shape[0]:
            raise InputError("table 'answers': a question is not answered once in every language")
        correct = (rows["chosen"] == rows["truth"]).fill_null(False)
        place = {language: at for at, language in enumerate(languages)}
        self.question_ids, self.languages = questions["question_id"], languages
        self.correct: Floats = correct.to_numpy().reshape(shape).astype(np.float64)
        self.rules: NDArray[np.str_] = rows["rule"].to_numpy().reshape(shape).astype(np.str_)
        self.region = np.asarray([place.get(region, -1) for region in questions["region"]], dtype=np.int64)
        self.chance: Floats = 1 / questions["options"].list.len().to_numpy().astype(np.float64)
        self.image: Integers = questions["image_id"].rank("dense").to_numpy().astype(np.int64) - 1

    @property
    def regions(self) -> Integers:
        """Columns of the languages that are local to some question."""
        return np.unique(self.region[self.region >= 0])

    @property
    def english(self) -> int:
        """The column of English, -1 where it was not asked in."""
        return self.languages.index(ENGLISH) if ENGLISH in self.languages else -1

    @property
    def local(self) -> Floats:
        """Whether each question is answered correctly in its local language, nan where it has none."""
        rows = np.arange(len(self.region))
        return np.where(self.region >= 0, self.correct[rows, self.region], np.nan)

    @property
    def foreign(self) -> Floats:
        """GLO of each question: correct in languages that are neither English nor local, nan without region.

        Weighted so that the mean over questions is the flat mean over pairs of region and language, however
        many questions a region has.
        """
        neither = np.ones(self.correct.shape, dtype=bool)
        neither[:, self.english] &= self.english < 0
        has_region = self.region >= 0
        neither[has_region, self.region[has_region]] = False
        cells = sum(int(neither[self.region == region][0].sum()) for region in self.regions)
        if not cells:
            return np.full(len(self.region), np.nan)
        return self._by_region((self.correct * neither).sum(axis=1) / cells)

    @property
    def local_advantage(self) -> Floats:
        """Correct in the local language less in other local languages, nan for English and without region.

        All regions count alike, and "other" languages are those local to some question, so that what a
        language is good or bad at everywhere cancels. nan throughout with fewer than two such languages.
        """
        columns = np.setdiff1d(self.regions, [self.english])
        counted = np.isin(self.region, columns)
        if len(columns) < 2:
            return np.full(len(self.region), np.nan)
        right = self.correct[:, columns].sum(axis=1)
        own = np.where(counted, self.local, 0.0)
        difference = np.where(counted, own - (right - own) / (len(columns) - 1), np.nan)
        return self._by_region(difference / len(columns))

    def _by_region(self, values: Floats) -> Floats:
        """Values whose mean over their questions is the sum of their means over each region."""
        counted = (self.region >= 0) & ~np.isnan(values)
        sizes = np.bincount(self.region[counted], minlength=len(self.languages))
        weighted = np.full(len(values), np.nan)
        weighted[counted] = values[counted] * counted.sum() / sizes[self.region[counted]]
        return weighted

    @cached_property
    def shifts(self) -> Floats:
        """Correct in each language less in the others on average, `(n_questions, n_languages)`."""
        others = self.correct.sum(axis=1, keepdims=True) - self.correct
        return np.asarray(self.correct - others / (len(self.languages) - 1))

    def pairs(self) -> list[tuple[int, int]]:
        """Columns of every two languages."""
        return list(combinations(range(len(self.languages)), 2))
