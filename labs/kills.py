"""`python -m labs.kills`: real processes, killed at random moments, end with the bytes of one that was not.

Each kill is of a fresh run, at a moment drawn from the seed over all the time that an undisturbed one takes;
then the same command is run to its end. What that leaves must be the same to the byte, clock times aside and
hidden files included, and so must what the store holds of each item.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from PIL import Image
from tests.benchmarks.layouts import LAYOUTS
from tests.conftest import write_world
from tests.processes import COMMAND, SAID, start

from equiview.io.tables import checksum

CLOCK = "timings.json"
SMALL_DEMO = (
    "import sys; from pathlib import Path; from equiview import demo;"
    "of = ('embeddings:world', 'embeddings:other');"
    "demo.DEMO, demo.TRIED = (demo.Part('folder:world', ('prevalence',), of),), None;"
    "demo.demo(Path(sys.argv[1]))"
)
"""The demo over small data: its embedded encoders take a minute."""


@dataclass(frozen=True)
class Case:
    """What is killed: Python and its arguments, run in the folder of the data, and what is there before.

    `prepare` is called for each run with the data and the output; `needs` once, with the data.
    """

    command: Callable[[Path], tuple[str, list[str]]]
    prepare: Callable[[Path, Path], object] = lambda data, out: None
    needs: Callable[[Path], object] = lambda data: None


def _equiview(*arguments: str) -> tuple[str, list[str]]:
    return COMMAND, list(arguments)


def _observed(data: Path, out: Path) -> None:
    """A run that has observed and has nothing else, not even in its manifest."""
    shutil.copytree(data / "observed", out)


MODELS = """
from equiview.data.requests import Reply
from equiview.subjects import Answerer
from tests.build.pools import Speaker
from tests.build.world import GOOD, SECOND, THIRD, World

class Knower(World):
    fingerprint = "knower"
    def __init__(self, argument=""):
        super().__init__([GOOD, SECOND, THIRD])

class Translator(Answerer):
    fingerprint = "translator"
    def replies(self, requests, images, progress):
        speaker = Speaker()
        for place, request in enumerate(requests):
            yield place, Reply(speaker(request.prompt))

class Guesser(Answerer):
    fingerprint = "guesser"
    def replies(self, requests, images, progress):
        for place, request in enumerate(requests):
            yield place, Reply("ABCD"[place % 4])
"""
TUNING = "forward = 4\nsave_every = 2\n[adapter]\nbatch = 4\nsteps = 12\nhidden = 4\n"
TEACHING = "save_every = 2\n[ngrams]\nbatch = 8\nsteps = 12\n"
JOINING = """
tokens = 2
template = "{image}{prompt} ="
caption_prompt = "see"
question_prompt = "{question}"
forward = 4
save_every = 2
precision = "fp32"
captions = { batch = 8, learning_rate = 1e-2, steps = 6 }
questions = { batch = 4, learning_rate = 1e-3, steps = 4 }
"""


def _models(data: Path) -> None:
    (data / "models.py").write_text(MODELS)


def _quiz(data: Path) -> None:
    _models(data)
    LAYOUTS["knowrecall"](data / "quiz")


def _places(data: Path) -> None:
    from tests.build.world import landmarks

    _models(data)
    landmarks(data / "places")


def _words(data: Path) -> None:
    from tests.mitigation.distill.worlds import files

    files(data / "words")
    (data / "teaching.toml").write_text(TEACHING)


def _pool(data: Path) -> None:
    from tests.build.pools import pool

    _models(data)
    pool(data / "pool")


def _shown(data: Path) -> None:
    from tests.build.xcm.world import concepts, folder

    folder(data / "shown")
    concepts(data / "shown.csv")


def _objects(data: Path) -> None:
    from tests.build.removal.world import DOG, PERSON, coco

    coco(data / "objects", {image: [DOG, PERSON] for image in range(1, 41)})


def _pairs(data: Path) -> None:
    from tests.mitigation.finetune.worlds import world

    world(data / "pairs")
    (data / "tuning.toml").write_text(TUNING)


def _judged(data: Path) -> None:
    from tests.review import reviews

    with reviews.opened(reviews.write(data / "review", items=300)) as review:
        for person in reviews.reviewers(review):
            for item in range(1, 301):
                reviews.judge(review, person, item, reviews.RIGHT if item % 7 else reviews.WRONG)


def _joined(data: Path) -> None:
    from tests.mitigation.connector import models

    models.world(data / "colours")
    models.language_model(data / "speaker")
    (data / "joining.toml").write_text(JOINING)


CASES = {
    "observe": Case(
        lambda out: _equiview("audit", "embeddings:world", "--benchmark", "folder:world", "--no-cache",
                              "--audit", "prevalence", "--audit", "individual", "--out", str(out))
    ),
    "store": Case(
        lambda out: _equiview("audit", "pictogram:skewed", "--benchmark", "folder:pictures",
                              "--audit", "prevalence", "--out", str(out))
    ),
    "report": Case(lambda out: _equiview("report", str(out)), _observed),
    "demo": Case(lambda out: (SMALL_DEMO, [str(out)])),
    "ask": Case(
        lambda out: _equiview("audit", "models:Guesser", "--benchmark", "knowrecall:quiz",
                              "--audit", "knowledge", "--out", str(out)),
        needs=_quiz,
    ),
    "removal": Case(
        lambda out: _equiview("build", "removal", "coco:objects", "--fill", "mean", "--out", str(out)),
        needs=_objects,
    ),
    "knowrecall": Case(
        lambda out: _equiview("build", "knowrecall", "places", "--writer", "models:Knower",
                              "--languages", "en,fr,ja", "--reviewed", "2", "--out", str(out)),
        needs=_places,
    ),
    "visrecall": Case(
        lambda out: _equiview("build", "visrecall", "places", "--languages", "en,fr,ja", "--fewest", "1",
                              "--out", str(out)),
        needs=_places,
    ),
    "xm3600": Case(
        lambda out: _equiview("build", "xm3600", "pool/in", "--translator", "models:Translator",
                              "--languages", "en,fr,de", "--out", str(out)),
        needs=_pool,
    ),
    "xcm": Case(
        lambda out: _equiview("build", "xcm", "--images", "folder:shown", "--concepts", "shown.csv",
                              "--labeller", "none", "--text-encoder", "none",
                              "--encoder", "pictogram:aligned", "--countries", "Germany,Japan,Kenya",
                              "--smallest", "64", "--bits", "2",
                              "--title", "killed", "--out", str(out)),
        needs=_shown,
    ),
    "review": Case(
        lambda out: _equiview("review", "review", "--export", str(out / "judgements.csv")), needs=_judged
    ),
    "finetune": Case(
        lambda out: _equiview("train", "finetune", "pictogram:english", "--data", "folder:pairs",
                              "--config", "tuning.toml", "--device", "cpu", "--out", str(out)),
        needs=_pairs,
    ),
    "distill": Case(
        lambda out: _equiview("mitigate", "distill", "pictogram:english", "--student", "ngrams",
                              "--parallel", "en=words/w.en,de=words/w.de", "--config", "teaching.toml",
                              "--device", "cpu", "--out", str(out)),
        needs=_words,
    ),
    "connector": Case(
        lambda out: _equiview("train", "connector", "--encoder", "embeddings:colours",
                              "--language-model", "speaker", "--captions", "folder:colours",
                              "--questions", "colours/questions.jsonl", "--config", "joining.toml",
                              "--device", "cpu", "--out", str(out)),
        needs=_joined,
    ),
    "embedded-demo": Case(lambda out: _equiview("demo", "--out", str(out))),
}  # fmt: skip
SHARES = {"observe": 50, "store": 40, "report": 35, "demo": 35, "ask": 20, "removal": 25, "knowrecall": 10,
          "visrecall": 15, "xm3600": 10, "xcm": 15, "review": 15, "finetune": 10, "distill": 10,
          "connector": 10}  # fmt: skip
"""How many kills of each, of 300."""


def write_data(data: Path) -> None:
    """What the cases read: two worlds of vectors, a few pictures with captions, a run that has observed."""
    write_world(data / "world", images=60, width=8)
    write_world(data / "other", images=60, width=8, skew=0.0)
    for kind in ("images.csv", "texts.csv"):
        shutil.copy(data / "world" / kind, data / "other" / kind)
    pictures = data / "pictures"
    pictures.mkdir()
    dice = random.Random(0)
    images, texts = ["id,path"], ["id,text,language,image_id"]
    for number in range(24):
        Image.frombytes("RGB", (32, 32), dice.randbytes(32 * 32 * 3)).save(pictures / f"{number}.png")
        images.append(f"{number},{number}.png")
        texts += [f"{number}-{code},{word} {number},{code},{number}" for code, word in WORDS.items()]
    (pictures / "images.csv").write_text("\n".join(images))
    (pictures / "texts.csv").write_text("\n".join(texts))
    run(CASES["observe"], data, data / "observed")
    _forget_all_but_observations(data / "observed")


WORDS = {"en": "hat", "de": "Hut", "sw": "kofia", "fr": "chapeau"}


def _forget_all_but_observations(run_folder: Path) -> None:
    import json

    path = run_folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    stages = manifest["stages"]
    manifest["stages"] = {name: files for name, files in stages.items() if name.startswith("observe.")}
    path.write_bytes(json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n")
    for name, files in stages.items():
        if not name.startswith("observe."):
            for file in files:
                (run_folder / file).unlink()


def process(case: Case, data: Path, out: Path) -> BaseProcess:
    """Start the command with a store of its own beside `out`, where what it says is kept too."""
    place = _beside(out, "said")
    place.mkdir(exist_ok=True)
    environment = os.environ | {"EQUIVIEW_CACHE": str(_beside(out, "cache"))}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return start(*case.command(out), place, folder=data, environment=environment)


def run(case: Case, data: Path, out: Path) -> None:
    """Run the command to its end; RuntimeError with what it said if it fails."""
    started = process(case, data, out)
    started.join()
    if started.exitcode:
        raise RuntimeError(f"{out}: {(_beside(out, 'said') / SAID[1]).read_text('utf-8', 'replace')[-2000:]}")


def _beside(out: Path, what: str) -> Path:
    return out.with_name(f"{out.name}-{what}")


def outcome(out: Path) -> dict[str, str]:
    """Checksums of all that a run leaves, hidden files too, and what the store holds."""
    left = {
        path.relative_to(out).as_posix(): checksum(path)
        for path in out.rglob("*")
        if path.is_file() and path.name != CLOCK
    }
    return left | {f"store {place}": content for place, content in enumerate(_stored(out))}


def _stored(out: Path) -> list[str]:
    """What the store holds, item by item, in whichever files: a killed process stored some of it before."""
    from equiview.store import files

    cache = _beside(out, "cache")
    vectors = [files.read(path) for path in sorted(cache.rglob("*.vectors"))]
    return sorted({f"{bytes(item['key']).hex()} {item['crc']}" for file in vectors for item in file.items})


def kill(case: Case, data: Path, out: Path, after: float) -> bool:
    """Start the command, kill it after so many seconds, run it to its end; whether it was still running."""
    case.prepare(data, out)
    started = process(case, data, out)
    started.join(after)
    started.kill()
    started.join()
    run(case, data, out)
    return started.exitcode == -signal.SIGKILL


def kills(name: str, data: Path, folder: Path, wanted: int, seed: int = 0) -> Iterator[float]:
    """Kill a case until `wanted` kills were in time; yields when each was, as a part of an undisturbed run.

    AssertionError names what differs after one.
    """
    case = CASES[name]
    case.needs(data)
    case.prepare(data, folder / "whole")
    began = time.monotonic()
    run(case, data, folder / "whole")
    seconds = time.monotonic() - began
    expected = outcome(folder / "whole")
    dice = random.Random(f"{seed} {name}")
    done = number = 0
    while done < wanted:
        out, part = folder / f"killed-{number}", dice.random()
        killed = kill(case, data, out, part * seconds)
        left = outcome(out)
        differs = sorted(file for file in left | expected if left.get(file) != expected.get(file))
        assert not differs, f"{name}, killed at {part:.3f} of {seconds:.1f} s: {differs[:5]} differ"
        for place in (out, _beside(out, "cache"), _beside(out, "said")):
            shutil.rmtree(place, ignore_errors=True)
        number += 1
        if killed:
            done += 1
            yield part


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, kill, and print what was killed when."""
    parser = argparse.ArgumentParser(prog="python -m labs.kills", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; by default all but the last")
    parser.add_argument("--kills", type=int, default=300, help="how many, of all cases together")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args(arguments)
    names = options.cases or list(SHARES)
    total = sum(SHARES.get(name, 1) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        write_data(data)
        for name in names:
            wanted = max(1, round(options.kills * SHARES.get(name, 1) / total))
            place = Path(folder) / name
            place.mkdir()
            parts = list(kills(name, data, place, wanted, options.seed))
            tenths = [sum(int(part * 10) == tenth for part in parts) for tenth in range(10)]
            print(f"{name:14} {len(parts):4} kills, by tenth of a run: {tenths}; all ended alike", flush=True)


if __name__ == "__main__":
    main()
