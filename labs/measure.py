"""The few numbers that training is judged by, on the held-out artist's drawings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from concepts import FLAG_OF, concepts, families
from corpus import COUNTRIES_OF, caption
from equiview.data.languages import languages
from equiview.metrics import divergences_at, dlbkl
from equiview.search import top_k
from equiview.stats import chance_floor, matched_floor, rank_weights

CUTOFFS = (1, 5, 10, 25, 50, 99)
TRIAL_CONCEPTS = 400
"""Concepts that are asked for in each country."""
Vectors = NDArray[np.float32]


def names_in(language: str) -> list[str]:
    """The bare name of every concept, in the order of `concepts()`."""
    return [caption(concept, language, None) for concept in concepts()]


def recall_at_10(texts: Vectors, images: Vectors) -> float:
    """Share of concepts whose drawing is among the 10 nearest to its name; row i of both is concept i.

    A drawing that scores just as much as the right one counts as nearer than it.
    """
    scores = texts @ images.T
    correct = np.diag(scores)[:, None]
    return float(((scores >= correct).sum(axis=1) <= 10).mean())


def excess_dlbkl(texts: dict[str, Vectors], images: Vectors) -> dict[int, float]:
    """Mean DLBKL over the pool of all 36 languages' names, less its chance floor, by cutoff.

    `texts` are each language's names `(n_concepts, width)`; images are the queries.
    """
    codes = list(languages()["code"])
    ranked, language, _ = ranked_names(texts, images)
    groups = language[ranked]
    floor = chance_floor(
        lambda drawn: dlbkl(drawn, len(codes)), np.bincount(language), CUTOFFS, draws=20_000, seed=0
    )
    means = {k: float(dlbkl(groups[:, :k], len(codes)).mean()) for k in CUTOFFS}
    return {k: means[k] - float(chance) for k, chance in zip(CUTOFFS, floor.value, strict=True)}


def ranked_names(
    texts: dict[str, Vectors], images: Vectors
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The best names of all languages for each image `(n_images, 99)`, and each name's language and concept.

    Equal scores are ranked in the order of the pool: a fixed shuffle, so that no language comes first.
    """
    codes = list(languages()["code"])
    pool = np.concatenate([texts[code] for code in codes])
    language = np.repeat(np.arange(len(codes)), [len(texts[code]) for code in codes])
    concept = np.concatenate([np.arange(len(texts[code])) for code in codes])
    order = np.random.default_rng(0).permutation(len(pool))
    return order[top_k(images, pool[order], max(CUTOFFS)).items], language, concept


def matched_bias(texts: dict[str, Vectors], images: Vectors) -> tuple[dict[int, float], dict[int, float]]:
    """By cutoff: mean DLBKL less its matched floor, and the low tier's exposure over its expectation."""
    ranked, language, concept = ranked_names(texts, images)
    n_languages = len(languages())
    [floor] = matched_floor(
        [lambda lists, cutoffs: divergences_at(lists, n_languages, cutoffs, discount="log2")],
        ranked,
        concept,
        language,
        CUTOFFS,
        draws=20,
        seed=0,
    )
    low = (languages()["tier"] == "low").to_numpy().astype(np.int64)[language]
    weights = rank_weights(ranked, len(language), CUTOFFS)
    of_low = (np.bincount(concept, weights=low) / np.bincount(concept))[concept]
    excess = {
        k: float(dlbkl(language[ranked[:, :k]], n_languages).mean() - floor.value[place])
        for place, k in enumerate(CUTOFFS)
    }
    ratios = (low @ weights) / (of_low @ weights)
    return excess, dict(zip(CUTOFFS, ratios.tolist(), strict=True))


def trials(n_concepts: int, *, seed: int) -> NDArray[np.int64]:
    """Trials `(n, 6)`: country and concept of the query, then those of the candidates.

    Columns: country f, concept c, the semantic candidate's country, the cultural one's concept, the
    non-relevant one's country and concept. No candidate shares what it must not: other countries do not speak
    the query's language, other concepts are of another family, and the candidates differ among themselves.
    """
    rng = np.random.default_rng(seed)
    family = list(families().values())
    order = list(FLAG_OF)
    speaks = {order.index(c): code for code, all_of in COUNTRIES_OF.items() for c in all_of}
    chosen = rng.permutation(len(concepts()))[:n_concepts]
    rows = []
    for country in range(len(order)):
        others = [c for c in range(len(order)) if speaks[c] != speaks[country]]
        for concept in chosen.tolist():
            semantic, nonrelevant = rng.choice(others, size=2, replace=False).tolist()
            while True:
                cultural, other = rng.choice(chosen, size=2, replace=False).tolist()
                if len({family[concept], family[cultural], family[other]}) == 3:
                    break
            rows.append((country, concept, semantic, cultural, nonrelevant, other))
    return np.array(rows)


def trial_scores(table: NDArray[np.int64], texts: dict[str, Vectors], flagged: Vectors) -> Vectors:
    """Cosines `(n, 3)` of each trial's bare name with its (semantic, cultural, non-relevant) drawing.

    `flagged` is `(n_concepts, 16, width)`; the name is in the language of the query's country.
    """
    order = list(FLAG_OF)
    speaks = {order.index(c): code for code, all_of in COUNTRIES_OF.items() for c in all_of}
    queries = np.stack([texts[speaks[country]][concept] for country, concept in table[:, :2].tolist()])
    _, concept, semantic, cultural, nonrelevant, other = table.T
    country = table[:, 0]
    candidates = np.stack(
        [flagged[concept, semantic], flagged[cultural, country], flagged[other, nonrelevant]], axis=1
    )
    return np.einsum("nw,nkw->nk", queries, candidates)
