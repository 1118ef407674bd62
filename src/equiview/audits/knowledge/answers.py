"""Answers as arrays: which questions were answered correctly in which language."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.base import View
from equiview.audits.knowledge.guessing import Letters
from equiview.audits.knowledge.reading import RULES
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.data.observations import Observations
from equiview.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ENGLISH = "en"
REPEAT, SAMPLED = "repeat", "sampled"
"""Further columns of `answers`: how often it was asked before in the language; whether it is sampled."""


class Answered(View[KnowledgeSettings]):
    """Questions by languages. `correct`, `rules` and `known` are `(n_questions, n_languages)`.

    `unanswered`, alike, says which replies are no answer in any reading: empty, or refused by the service.

    `answers` are the rows of the first time that each question was asked, `letters` what was chosen then, and
    `known` right answers net of what the same letters give by luck. `repeats` are the answers to the same
    questions asked several times in one language, None where that was not done; `sampled` says whether asking
    again could give another answer, None where that is not known.

    `region` holds for each question the column of its local language, -1 where none was asked in. `chance` is
    1 / number of options. `image` says which questions are about the same image. InputError where a question
    is not there in every language.
    """

    def __init__(self, observations: Observations, settings: KnowledgeSettings) -> None:
        super().__init__(observations, settings)
        every = observations["answers"]
        again = pl.col(REPEAT) > 0 if REPEAT in every.columns else pl.lit(False)
        self.answers = answers = every.filter(~again)
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
        silent = (rows["text"].str.strip_chars() == "") | (rows["stopped"] == "refused")
        self.unanswered: NDArray[np.bool_] = silent.to_numpy().reshape(shape) & (self.rules == RULES[-1])
        self.region = np.asarray([place.get(region, -1) for region in questions["region"]], dtype=np.int64)
        self.chance: Floats = 1 / questions["options"].list.len().to_numpy().astype(np.float64)
        self.image: Integers = questions["image_id"].rank("dense").to_numpy().astype(np.int64) - 1
        self.options: Integers = questions["options"].list.len().to_numpy().astype(np.int64)
        self.truth: Integers = questions["truth"].to_numpy().astype(np.int64)
        chosen = rows["chosen"].fill_null(-1).to_numpy().astype(np.int64).reshape(shape)
        self.letters = Letters(chosen, self.truth, self.options)
        self.sampled = _sampled(answers)
        self.repeats = self._repeats(every, every.filter(again), order)

    def _repeats(self, every: pl.DataFrame, again: pl.DataFrame, order: pl.Enum) -> Letters | None:
        """The answers in the language that was asked in several times, a column for each time."""
        if not len(again):
            return None
        language, times = again["language"][0], 1 + int(again[REPEAT].max())  # type: ignore[arg-type]
        rows = every.filter(language=language).sort(pl.col("question_id").cast(order), REPEAT)
        if len(rows) != times * len(order.categories) or again["language"].n_unique() > 1:
            raise InputError(
                f"table 'answers': not every question is answered {times} times in {language}, the language "
                "of its repeats, and once in every other"
            )
        chosen = rows["chosen"].fill_null(-1).to_numpy().astype(np.int64).reshape(-1, times)
        return Letters(chosen, self.truth, self.options)

    @property
    def known(self) -> Floats:
        """Right answers net of luck: see `Letters.net`."""
        return self.letters.net

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
        """Known in the local language less in other local languages, nan for English and without region.

        All regions count alike, and "other" languages are those local to some question, so that what a
        language is good or bad at everywhere cancels. nan throughout with fewer than two such languages.
        """
        columns = np.setdiff1d(self.regions, [self.english])
        counted = np.isin(self.region, columns)
        if len(columns) < 2:
            return np.full(len(self.region), np.nan)
        right = self.known[:, columns].sum(axis=1)
        own = np.where(counted, self.known[np.arange(len(counted)), self.region], 0.0)
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
        """Known in each language less in the others on average, `(n_questions, n_languages)`."""
        others = self.known.sum(axis=1, keepdims=True) - self.known
        return np.asarray(self.known - others / (len(self.languages) - 1))

    def pairs(self) -> list[tuple[int, int]]:
        """Columns of every two languages."""
        return list(combinations(range(len(self.languages)), 2))


def _sampled(answers: pl.DataFrame) -> bool | None:
    """Whether answers are sampled, None where that is not said of all of them."""
    if SAMPLED not in answers.columns or answers[SAMPLED].null_count():
        return None
    return bool(answers[SAMPLED].any())
