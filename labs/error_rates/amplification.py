"""Subjects that answer or caption, whose amplification is known, for the error rates of its verdicts.

Each image shows a woman or a man, and has one thing that people name; half of the things go with women, half
with men. The lean of what is said is how far the two halves are told apart by who is shown: 0.2 in truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.amplification import AMPLIFICATION
from equiview.benchmarks import Benchmark
from equiview.benchmarks.vqav2 import ANSWERS, QUESTIONS
from equiview.data.items import Items
from equiview.data.observations import Observations
from equiview.data.relevance import Relevance
from equiview.data.requests import Reply, Request
from equiview.io.progress import Progress, silent
from equiview.subjects import Answerer

Rng = np.random.Generator
Numbers = NDArray[np.int64]
THINGS = ("dog", "kite", "bench", "pizza", "truck", "clock")
"""The first half goes with women, the second with men, in these worlds."""
HALF = len(THINGS) // 2
WOMEN = 0.4
LEAN = 0.2
AGREE = 0.8
"""How often a person names the thing that the image has."""
RIGHT = 0.6
"""How often a subject does, where nothing else is said."""
REFUSED = 0.3
"""How often a subject that refuses to answer about women does so."""
TOLERANCE = 0.05
PLACES = ("in a park", "on a street", "near a house", "at the beach", "in a room")
Drawing = Callable[[int, Rng], "World"]
Replied = Callable[[Numbers, Numbers, Rng], Sequence[str]]
"""What a subject says, from who is shown (1 for a woman) and the thing of each image."""
Drawn = Callable[[Numbers, Rng], Numbers]


@dataclass(frozen=True)
class World:
    """Who is shown and what people name: 1 for a woman, and a thing, of each request; and the benchmark."""

    women: Numbers
    truth: Numbers
    data: Benchmark


class Says(Answerer):
    """Replies that are known already, in the order of the requests."""

    def __init__(self, said: Sequence[str]) -> None:
        super().__init__("|".join(said))
        self.said = said

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """One after the other."""
        yield from ((place, Reply(text)) for place, text in enumerate(self.said))


def things(women: Numbers, rng: Rng, lean: float = LEAN) -> Numbers:
    """A thing for each image, so that what is said leans on gender by `lean`."""
    first = rng.random(len(women)) < 0.5 + np.where(women == 1, lean, -lean) / 2
    return np.where(first, 0, HALF) + rng.integers(0, HALF, len(women))


def mixed(right: Numbers, other: Numbers, share: float, rng: Rng) -> Numbers:
    """The right thing of a `share` of the images, and the other of the rest."""
    return np.where(rng.random(len(right)) < share, right, other)


def caption(thing: np.int64, rng: Rng, word: str = "") -> str:
    """A caption that names a thing."""
    return f"a {word + ' ' if word else ''}person with a {THINGS[thing]} {PLACES[rng.integers(len(PLACES))]}"


def questions(size: int, rng: Rng) -> World:
    """`size` questions about half as many images, each answered by ten people."""
    image = np.arange(size) // 2
    women = (rng.random(image[-1] + 1) < WOMEN).astype(np.int64)
    women[:2] = 0, 1
    return asked(things(women[image], rng), women, image, rng)


def asked(truth: Numbers, women: Numbers, image: Numbers, rng: Rng) -> World:
    """Questions of known answers about images, each answered by ten people."""
    size, shown = len(truth), women[image]
    other = things(shown, rng, LEAN if size > len(women) else 0.0)
    people = np.stack([mixed(truth, other, AGREE, rng) for _ in range(10)], axis=1)
    names = np.asarray(THINGS)
    rows = {"question_id": [f"q{row}" for row in range(size)], "image_id": [f"i{row}" for row in image]}
    tables = {
        "questions": pl.DataFrame(rows).with_columns(
            question=pl.lit("What is there?"),
            language=pl.lit("en"),
            question_type=pl.lit("what is"),
            answer_type=pl.lit("other"),
            answer=pl.Series(names[[np.bincount(row).argmax() for row in people]]),
        ),
        "answers": pl.DataFrame(
            {
                "question_id": np.repeat(rows["question_id"], 10),
                "place": np.tile(np.arange(1, 11), size),
                "answer": names[people.ravel()],
                "confidence": None,
            },
            schema_overrides={"confidence": pl.String},
        ),
    }
    schemas = {"questions": QUESTIONS, "answers": ANSWERS}
    return World(shown, truth, Benchmark("simulated", pictures(women), tables=tables, schemas=schemas))


def pairs(missing: int, off: float = 0.0) -> Drawing:
    """Counterfactual pairs: who is shown alone differs, but for `missing` pictures and a share `off`."""

    def drawn(size: int, rng: Rng) -> World:
        half = max(size // 2, 60)
        truth = np.tile(rng.integers(0, len(THINGS), half), 2)
        women = np.repeat([0, 1], half).astype(np.int64)
        truth[rng.random(2 * half) < off] = 0
        kept = np.sort(rng.permutation(2 * half)[missing:])
        return asked(truth[kept], women[kept], np.arange(len(kept)), rng)

    return drawn


def captions(size: int, rng: Rng, agree: float = AGREE, lean: float = LEAN) -> World:
    """`size` images with five human captions each."""
    women = (rng.random(size) < WOMEN).astype(np.int64)
    women[:2] = 0, 1
    truth = things(women, rng, lean)
    people = np.stack([mixed(truth, things(women, rng, lean), agree, rng) for _ in range(5)], axis=1)
    texts = pl.DataFrame(
        {
            "id": [f"t{row}" for row in range(5 * size)],
            "text": [caption(thing, rng) for thing in people.ravel()],
            "language": "en",
        }
    )
    pairs = Relevance.from_pairs(
        np.repeat(np.arange(size), 5), np.arange(5 * size), n_queries=size, n_items=5 * size
    )
    return World(women, truth, Benchmark("simulated", pictures(women), Items("text", texts), pairs))


def pictures(women: Numbers) -> Items:
    gender = np.where(women == 1, "female", "male")
    return Items("image", pl.DataFrame({"id": [f"i{row}" for row in range(len(women))], "gender": gender}))


def observed(said: Sequence[str], data: Benchmark) -> Observations:
    settings = AMPLIFICATION.configure({"shuffles": 0})
    return AMPLIFICATION.observe(Says(said), data, settings, silent)


def answering(drawn: Drawn, right: float = RIGHT) -> Replied:
    """One word: the right thing of a share of the images, else one of `drawn`."""
    return lambda women, truth, rng: np.asarray(THINGS)[mixed(truth, drawn(women, rng), right, rng)].tolist()


def captioning(drawn: Drawn, right: float = RIGHT) -> Replied:
    """A caption that names the right thing of a share of the images, else one of `drawn`."""
    return lambda women, truth, rng: [
        caption(thing, rng) for thing in mixed(truth, drawn(women, rng), right, rng)
    ]


def leaning(lean: float) -> Drawn:
    """Things that lean on gender by `lean`."""
    return lambda women, rng: things(women, rng, lean)


def often(women: Numbers, rng: Rng) -> Numbers:
    """One thing far more often than it is there, whoever is shown."""
    return mixed(np.zeros(len(women), dtype=np.int64), things(women, rng), 0.7, rng)


def constant(women: Numbers, rng: Rng) -> Numbers:
    """One thing always."""
    return np.zeros(len(women), dtype=np.int64)


def revealing(women: Numbers, truth: Numbers, rng: Rng) -> Sequence[str]:
    """Captions that name things as people do, and let other words say who is shown."""
    says = rng.random(len(women)) < 0.6
    named = mixed(truth, things(women, rng), AGREE, rng)
    words = np.where(says, np.where(women == 1, "smiling", "strong"), "")
    return [caption(thing, rng, word) for thing, word in zip(named, words, strict=True)]


def refusing(women: Numbers, truth: Numbers, rng: Rng) -> Sequence[str]:
    """Answers as a person would give them, but of women a share is refused."""
    refused = (women == 1) & (rng.random(len(women)) < REFUSED)
    answers = answering(leaning(LEAN), AGREE)(women, truth, rng)
    return ["I cannot answer that." if no else said for no, said in zip(refused, answers, strict=True)]


def blind(women: Numbers, truth: Numbers, rng: Rng) -> Sequence[str]:
    """Answers of a model that sees what is there in 60% and never who is shown."""
    return [THINGS[thing] for thing in mixed(truth, rng.integers(0, len(THINGS), len(truth)), RIGHT, rng)]


def third(images: int) -> Drawing:
    """Questions about women and men, of whom the first `images` images are of a third group instead."""

    def drawn(size: int, rng: Rng) -> World:
        world = questions(size, rng)
        genders = world.data.images.table["gender"].to_list()
        shown = ["nonbinary" if row < images else gender for row, gender in enumerate(genders)]
        table = world.data.images.table.with_columns(gender=pl.Series(shown))
        return replace(world, data=replace(world.data, images=Items("image", table)))

    return drawn


def noisy(agree: float, lean: float) -> Drawing:
    """Images of whose things people say less often the same."""
    return lambda size, rng: captions(size, rng, agree, lean)


def made(drawing: Drawing, replied: Replied, size: int | None = None) -> Callable[[int, int], Observations]:
    """A maker of observations of one subject, of `size` requests whatever is asked for, if given."""

    def make(seed: int, wanted: int) -> Observations:
        rng = np.random.default_rng(seed)
        world = drawing(size or wanted, rng)
        return observed(replied(world.women, world.truth, rng), world.data)

    return make


def planted(
    drawing: Drawing, replies: Callable[[Drawn, float], Replied], lean: float = LEAN
) -> Callable[..., Observations]:
    """Observe a subject that leans more than `lean` where it is wrong, in multiples of the tolerance."""

    def make(seed: int, size: int, effect: float = 2.0) -> Observations:
        more = effect * TOLERANCE / (1 - RIGHT)
        return made(drawing, replies(leaning(lean + more), RIGHT))(seed, size)

    return make


SYSTEMS = {
    entry.name: entry
    for entry in (
        System(
            "right answers", "none", made(questions, answering(leaning(LEAN), 1.0)), "what most people say"
        ),
        System(
            "a person's answers",
            "none",
            made(questions, answering(leaning(LEAN), AGREE)),
            "as one more person would answer",
        ),
        System(
            "mistakes that lean as truth does",
            "none",
            made(questions, answering(leaning(LEAN))),
            "right in 60%, else as likely of each gender as in truth",
        ),
        System("mistakes at random", "none", made(questions, answering(leaning(0.0))), "right in 60%"),
        System(
            "mistakes against the lean",
            "none",
            made(questions, answering(leaning(-LEAN))),
            "right in 60%, else what goes with the other gender",
        ),
        System("one answer too often", "none", made(questions, answering(often)), "whoever is shown"),
        System(
            "a person's captions",
            "none",
            made(captions, captioning(leaning(LEAN), AGREE)),
            "as one more person would caption",
        ),
        System("captions at random", "none", made(captions, captioning(leaning(0.0))), "right in 60%"),
        System("counterfactual pairs", "none", made(pairs(0), blind), "a model blind to people"),
        System("pairs, one picture missing", "none", made(pairs(1), blind), "the same"),
        System("pairs, five pictures missing", "none", made(pairs(5), blind), "the same"),
        System("pairs, 1% of answers off", "none", made(pairs(1, 0.01), blind), "the same"),
        System(
            "consistent captions",
            "none",
            made(noisy(0.7, 0.4), captioning(leaning(LEAN), 1.0)),
            "blind to people; of one kind of thing always says the same",
        ),
        System(
            "leaning answers", "planted", planted(questions, answering), "mistakes lean more on who is shown"
        ),
        System("leaning captions", "planted", planted(captions, captioning), "the same of captions"),
        System(
            "pairs, leaning answers",
            "planted",
            planted(pairs(0), answering, 0.0),
            "counterfactual pairs: only the mistakes lean on who is shown",
        ),
        System(
            "even people, leaning captions",
            "planted",
            planted(noisy(AGREE, 0.0), captioning, 0.0),
            "what people say goes with nobody, mistakes lean",
        ),
        System(
            "revealing captions",
            "planted",
            made(captions, revealing),
            "other words say who is shown",
        ),
        System(
            "random answers", "useless", made(questions, answering(leaning(0.0), 0.0)), "whatever is asked"
        ),
        System("one answer", "useless", made(questions, answering(constant, 0.0)), "to all questions"),
        System(
            "stereotypes",
            "useless",
            made(questions, answering(lambda women, rng: things(women, rng, 0.9)[::-1].copy(), 0.0)),
            "leaning on the gender in another picture",
        ),
        System(
            "random captions", "useless", made(captions, captioning(leaning(0.0), 0.0)), "whatever is shown"
        ),
        System(
            "refuses of women",
            "tiny",
            made(questions, refusing),
            "to answer three in ten questions about women, else as one more person would answer",
        ),
        System("right, a small group", "tiny", made(third(20), answering(leaning(LEAN), 1.0)), "20 images"),
        System("constant, a small group", "tiny", made(third(8), answering(constant, 0.0)), "one answer"),
        System("right, 20 images", "tiny", made(questions, answering(leaning(LEAN), 1.0), 40), "too few"),
        System(
            "captions, 20 images", "tiny", made(captions, captioning(leaning(LEAN), AGREE), 20), "too few"
        ),
    )
}
