"""Readers of what makers, models and people left behind: records, logs, replies, reviews, trained encoders.

Each has a small valid copy, as the readers of data have (`labs.fuzz.readers`).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from labs.fuzz.trial import Reader
from tests.build.removal.world import DOG, PERSON, coco, remover, source_of
from tests.build.world import landmarks
from tests.chat_server import Asked, Fault, chat_server, completion
from tests.mitigation.finetune.worlds import world
from tests.review.reviews import RIGHT, judge, opened, reviewers
from tests.review.reviews import write as write_review

from equiview import api
from equiview.audits.amplification.captions import group_by_words, read_words, tokens
from equiview.audits.amplification.vqa import plain_answer
from equiview.audits.knowledge.ask import parsed
from equiview.audits.knowledge.reading import read_answer
from equiview.audits.memory.prompts import load_prompts
from equiview.audits.memory.reading import refuses, translation_of
from equiview.benchmarks.neutral import read_neutral_prompts
from equiview.build.knowrecall.candidates import read_question
from equiview.build.landmarks import read_landmarks
from equiview.build.removal.images import counted
from equiview.data.requests import Reply, Request
from equiview.io.files import content_of
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import silent
from equiview.making.card import Card
from equiview.mitigation.connector.examples import load_questions
from equiview.review.layout import read_items, read_settings
from equiview.subjects import Answerer, load_subject
from equiview.subjects.finetuned import FineTuned
from equiview.text.replies import json_in
from equiview.text.things import read_things

REQUESTS = [Request(f"q{place}:en", f"question {place}", "en") for place in range(3)]
ENDS = (".csv", ".parquet", ".json", ".jsonl")
OPTIONS = ("the Eiffel Tower", "a dog", "a hat", "none of these")
REPLY = 'Let me see.\n```json\n{"question": "?", "options": ["a", "b", "c", "d"], "answer": "B",}\n```'


def answers(name: str) -> Callable[[Path], None]:
    """A file of answers in the format that the ending says."""

    def write(place: Path) -> None:
        place.mkdir()
        rows = [
            {"question_id": f"q{row}", "language": code, "answer": f"B, {row}"}
            for row in range(3)
            for code in ("en", "fr")
        ]
        table = pl.DataFrame(rows)
        writes: dict[str, Callable[[Path], object]] = {
            ".csv": table.write_csv,
            ".parquet": table.write_parquet,
            ".json": lambda path: path.write_text(json.dumps(rows)),
            ".jsonl": lambda path: path.write_text("".join(f"{json.dumps(row)}\n" for row in rows)),
        }
        writes[Path(name).suffix](place / name)

    return write


def read_answers(name: str) -> Callable[[Path], str]:
    def read(place: Path) -> str:
        subject = load_subject(f"answers:{place / name}")
        assert isinstance(subject, Answerer)
        replies = [(name, reply.text, reply.stopped) for name, reply in subject.known.items()]
        return fingerprint(*replies, subject.about)

    return read


def write_log(place: Path) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    with chat_server(lambda prompt, pictures, model: f"{model}: {prompt}") as server:
        subject = load_subject(server.subject("a", f"logs={place / 'logs'}"))
        assert isinstance(subject, Answerer)
        subject.ask(REQUESTS)
    (path,) = (place / "logs").glob("*.eval")
    write_eval_log(read_eval_log(str(path)), str(place / "log.json"))
    path.rename(place / "log.eval")
    shutil.rmtree(place / "logs")


def read_log(name: str) -> Callable[[Path], str]:
    def read(place: Path) -> str:
        subject = load_subject(f"inspect-log:{place / name}")
        assert isinstance(subject, Answerer)
        return fingerprint(*((name, reply.text) for name, reply in subject.known.items()), subject.about)

    return read


def read_reply(place: Path) -> str:
    """All that is ever read out of a model's words; nothing of it is refused."""
    text = content_of(place / "reply.txt").decode("utf-8", "replace")
    reply = Reply(text)
    return fingerprint(
        *(json_in(text), read_question(json_in(text)), read_answer(text, OPTIONS), refuses(text, "en")),
        *(translation_of(reply), plain_answer(text), tokens(text), tokens(text, "zh")),
        group_by_words([text], {"female": frozenset({"woman"}), "male": frozenset({"man"})}),
    )


def write_body(place: Path) -> None:
    place.mkdir()
    body = completion(Asked(REQUESTS[0].prompt, [], "knower", {}, ""), "B, as said")
    (place / "body.json").write_text(json.dumps(body))


def read_body(place: Path) -> str:
    """What is made of a service's answer whose body this is."""
    body = content_of(place / "body.json").decode("latin-1")
    with chat_server(lambda prompt, pictures, model: Fault("raw", body)) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about one another
        replies = load_subject(server.subject(options="retries=0")).ask(REQUESTS[:1])
    return fingerprint(*((reply.text, reply.stopped) for reply in replies))


def write_reply(place: Path) -> None:
    place.mkdir()
    (place / "reply.txt").write_text(REPLY)


def write_record(place: Path) -> None:
    name = coco(place.with_name("pictures"), {1: [DOG, PERSON]})
    remover(name, place).remove(source_of(name))


def read_record(place: Path) -> str:
    made = remover(f"coco:{place.with_name('pictures')}", place)
    record = made.record("1")
    return fingerprint(json.dumps(record), counted([record] if record else []))


def read_review(place: Path) -> str:
    settings, items = read_settings(place), read_items(place)
    return fingerprint(
        settings.model_dump_json(), *(item.model_dump_json(exclude={"picture"}) for item in items)
    )


def lines(place: Path) -> None:
    write_review(place)
    items = pl.read_parquet(place / "items.parquet").to_dicts()
    (place / "items.parquet").unlink()
    (place / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))


def votes(place: Path) -> None:
    with opened(write_review(place)) as review:
        for person in reviewers(review)[:2]:
            judge(review, person, 1, RIGHT)


def read_votes(place: Path) -> str:
    """Of a copy: a review that is opened writes to its database."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "review"
        shutil.copytree(place, copy)
        with opened(copy) as review, review.database.transaction() as connection:
            rows = connection.execute("SELECT item, person, answers FROM votes ORDER BY number").fetchall()
            return fingerprint(*map(tuple, rows), *review.people)


def tuned(place: Path) -> None:
    recipe = {"adapter": {"batch": 8, "steps": 1, "hidden": 4}, "forward": 8}
    data = f"folder:{world(place.with_name('pairs'))}"
    given = {"subject": "pictogram:english", "data": data, "recipe": recipe, "device": "cpu"}
    api.make("finetune", given, place)


def read_tuned(place: Path) -> str:
    subject = load_subject(f"finetuned:{place}")
    assert isinstance(subject, FineTuned)
    return fingerprint(subject.fingerprint, subject.about, subject.encode_texts(["a cat"]).tobytes())


def trained_on(place: Path, watcher: Any = None, save_every: int = 2) -> str:
    """A training of a line by four steps, of which the first two may be in a checkpoint."""
    import torch
    from transformers import Trainer

    from equiview.mitigation.finetune.recipes import Recipe
    from equiview.mitigation.finetune.settings import FineTuneSettings
    from equiview.mitigation.training import Watcher, arguments_for, trained

    class Line(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x: Any, y: Any) -> Any:
            said = self.layer(x)
            return {"loss": ((said - y) ** 2).mean(), "said": said}

    model, settings, recipe = Line(), FineTuneSettings(save_every=save_every), Recipe(batch=2, steps=4)
    device, more = torch.device("cpu"), {"per_device_train_batch_size": 2}
    arguments = arguments_for(place, device, settings, recipe, **more)
    rows = [{"x": torch.ones(2), "y": torch.ones(1)}] * 8
    watcher = watcher or Watcher("a line", silent, settings.save_minutes)
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[watcher])
    return fingerprint(trained(trainer, place), model.layer.weight.tolist())


def write_checkpoint(place: Path) -> None:
    trained_on(place)
    shutil.rmtree(place / "checkpoint-4")


def read_checkpoint(place: Path) -> str:
    """Of a copy, which is trained to its end: always with the same result."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "training"
        shutil.copytree(place, copy)
        result = trained_on(copy)
        shutil.rmtree(copy)
        assert result == trained_on(copy)
        return result


def text(name: str, content: str) -> Callable[[Path], None]:
    """A folder of one file of text."""

    def write(place: Path) -> None:
        place.mkdir()
        (place / name).write_text(content)

    return write


def of(read: Callable[[Path], Any], name: str = "") -> Callable[[Path], str]:
    """A digest of what a function makes of a file, or of the folder."""
    return lambda place: fingerprint(repr(read(place / name)))


WORDS = 'attribute = "gender"\n[en]\nfemale = ["woman"]\nmale = ["man"]\n[fr]\nfemale = ["femme"]\n'
THINGS = 'language = "en"\nalone = ["orange"]\n[classes]\ndog = ["dog", "puppy"]\nhat = ["hat"]\n'
NEUTRAL = '[templates]\nen = ["{person}", "a photo of {person}"]\n[concepts.kind]\nen = "a kind person"\n'
ASKED = '[direct]\nen = "{question} Choose one of: {options}"\nfr = "{question} Choisis: {options}"\n'
LOOKS = '[[prompts]]\nlanguage = "en"\ntext = ["What does {landmark_name} look like?"]\n'
QUESTIONS = '{"image": "a.png", "question": "What is it?", "answer": "a dog"}\n'

LEFT: dict[str, Reader] = {
    **{f"answers{end}": Reader(answers(f"answers{end}"), read_answers(f"answers{end}")) for end in ENDS},
    "log.json": Reader(write_log, read_log("log.json"), ("log.json",), ours=True),
    "log.eval": Reader(write_log, read_log("log.eval"), ("log.eval",), ours=True),
    "body": Reader(write_body, read_body, ours=True),
    "reply": Reader(write_reply, read_reply, ours=True),
    "removal-record": Reader(write_record, read_record, ours=True),
    "review": Reader(write_review, read_review, ours=True),
    "review-lines": Reader(lines, read_review, ours=True),
    "review-votes": Reader(votes, read_votes, ("review.sqlite", "links.json"), ours=True),
    "finetuned": Reader(tuned, read_tuned, ("finetune.json", "model/*"), ours=True),
    "checkpoint": Reader(write_checkpoint, read_checkpoint, ("checkpoint-2/*",), ours=True),
    "card": Reader(tuned, of(Card.read), ("maker.json",), ours=True),
    "landmarks": Reader(landmarks, of(read_landmarks)),
    "words": Reader(text("words.toml", WORDS), of(read_words, "words.toml")),
    "things": Reader(text("things.toml", THINGS), of(lambda path: vars(read_things(path)), "things.toml")),
    "neutral": Reader(
        text("neutral.toml", NEUTRAL), of(lambda path: read_neutral_prompts(path).rows(), "neutral.toml")
    ),
    "asked": Reader(
        text("asked.toml", ASKED), of(lambda path: parsed(content_of(path), "asked"), "asked.toml")
    ),
    "looks": Reader(
        text("looks.toml", LOOKS), of(lambda path: load_prompts(str(path)).by_language, "looks.toml")
    ),
    "questions": Reader(
        text("questions.jsonl", QUESTIONS),
        of(lambda path: load_questions(str(path)).table.rows(), "questions.jsonl"),
    ),
}
