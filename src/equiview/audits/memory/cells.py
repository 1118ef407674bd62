"""Scores as a table: a landmark a row, a language a column, for one translator and one scorer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.estimating import mean_known
from equiview.data.observations import Observations

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
NEAR = 1.1
"""Lengths are alike up to this ratio."""
SLACK = 1e-9


@dataclass(frozen=True)
class Cells:
    """What was observed of each landmark in each language, nan where there is no score.

    `by_prompt`, `others` and `words` are `(n_prompts, n_landmarks, n_languages)`: the score, the mean score
    with other landmarks' pictures, and the length of the English text. `regions` names the language of each
    landmark's region; `asked` is true where something was asked, `(n_landmarks, n_languages)`.
    """

    landmarks: tuple[str, ...]
    regions: tuple[str, ...]
    languages: tuple[str, ...]
    by_prompt: Floats
    others: Floats
    words: Floats
    asked: Mask

    @classmethod
    def of(cls, observations: Observations, translator: str = "first", scorer: str = "first") -> Cells:
        """Those of a translator and a scorer."""
        landmarks = observations["landmarks"]
        ids, regions = landmarks["landmark_id"].to_list(), landmarks["region"].to_list()
        languages = observations["descriptions"]["language"].unique(maintain_order=True).to_list()
        rows = observations["scores"].filter(translator=translator, scorer=scorer)
        prompt = rows["prompt"].to_numpy()
        landmark = rows["landmark_id"].cast(pl.Enum(ids)).to_physical().to_numpy()
        language = rows["language"].cast(pl.Enum(languages)).to_physical().to_numpy()
        tables = np.full((3, int(prompt.max()) + 1, len(ids), len(languages)), np.nan)
        for table, name in zip(tables, ("score", "other", "words"), strict=True):
            table[prompt, landmark, language] = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        asked = np.zeros((len(ids), len(languages)), dtype=np.bool_)
        asked[landmark, language] = True
        scores, others, words = tables
        return cls(tuple(ids), tuple(regions), tuple(languages), scores, others, words, asked)

    @cached_property
    def scores(self) -> Floats:
        """The mean over prompts, `(n_landmarks, n_languages)`; nan where no prompt has a score."""
        return mean_known(self.by_prompt, axis=0)

    @cached_property
    def floors(self) -> Floats:
        """The mean score with other landmarks' pictures, alike."""
        return mean_known(self.others, axis=0)

    @property
    def local(self) -> Mask:
        """True for the language of the landmark's region, `(n_landmarks, n_languages)`."""
        return np.asarray(np.array(self.regions)[:, None] == np.array(self.languages)[None, :])

    @property
    def settings(self) -> dict[str, Mask]:
        """Which cells are asked in English (EN), in the local language (LOC) and in neither (GLO)."""
        english = np.broadcast_to(np.array(self.languages) == "en", self.local.shape)
        return {"EN": english, "LOC": self.local, "GLO": ~english & ~self.local}

    def column(self, cells: Floats, where: Mask | None = None) -> Floats:
        """A column of values: `cells` flat, nan where `where` is false."""
        return (cells if where is None else np.where(where, cells, np.nan)).ravel()


def shifts_of(scores: Floats) -> Floats:
    """Each score less the mean of the landmark's scores in other languages; nan without any other score.

    >>> shifts_of(np.array([[0.8, 0.5, 0.6], [0.7, np.nan, np.nan]])).round(3).tolist()
    [[0.25, -0.2, -0.05], [nan, nan, nan]]
    """
    n_others = (~np.isnan(scores)).sum(axis=1, keepdims=True) - 1
    others = np.nansum(scores, axis=1, keepdims=True) - np.nan_to_num(scores)
    return np.asarray(scores - others / np.where(n_others > 0, n_others, np.nan))


def matched_shifts(scores: Floats, words: Floats) -> tuple[Floats, Floats]:
    """Each score less the mean of the scores in other languages with a text about as long.

    `scores` and `words` are `(n_prompts, n_landmarks, n_languages)`; texts of one landmark and one prompt are
    compared whose lengths differ by at most a tenth. Returns (the mean over prompts, the share of the scored
    prompts that have such a text), each `(n_landmarks, n_languages)`, nan where there is nothing.

    Of 10, 11 and 30 words the first two are about as long:

    >>> shifts, share = matched_shifts(np.array([[[0.8, 0.5, 0.9]]]), np.array([[[10.0, 11.0, 30.0]]]))
    >>> shifts.round(3).tolist(), share.tolist()
    ([[0.3, -0.3, nan]], [[1.0, 1.0, 0.0]])
    """
    n_languages = scores.shape[2]
    total, count = np.zeros_like(scores), np.zeros_like(scores)
    exists = ~np.isnan(scores) & (words > 0)
    for one in range(n_languages):
        for other in range(n_languages):
            if one == other:
                continue
            longer = np.maximum(words[..., one], words[..., other])
            alike = longer <= NEAR * np.minimum(words[..., one], words[..., other]) * (1 + SLACK)
            both = alike & exists[..., one] & exists[..., other]
            total[..., one] += np.where(both, scores[..., other], 0.0)
            count[..., one] += both
    matched = count > 0
    shifts = np.where(matched, scores - total / np.where(matched, count, 1), np.nan)
    share = np.where(np.isnan(scores), np.nan, matched)
    return mean_known(shifts, axis=0), mean_known(share, axis=0)
