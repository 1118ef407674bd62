"""`python labs/xcm_web.py`: `equiview build xcm` on a web of which all is known.

A host on loopback answers as Wikimedia Commons' API does. Its images are the concepts of
`pictograms-culture` by eight artists and styles, each in a pose of its own with the flag of a country; it
plants repeated images, images of another concept or country, images of two concepts, and files that are no
usable images. Three people who err judge what the rules leave. What each step keeps and rejects is compared
with the truth, in labs/results/xcm_web.csv and in the tables of docs/building-xcm.md.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import polars as pl
from PIL import Image, ImageEnhance

from curves import write_rows
from equiview import api
from equiview.benchmarks.pictograms import english_names, flags
from equiview.benchmarks.pictograms_culture import pictograms_culture, spoken_names
from equiview.build.xcm.concepts import judged
from equiview.build.xcm.duplicates import cosines, least_of, perceptual_hash, repeats, rows_by
from equiview.build.xcm.labels import Sight, chosen_threshold, read_labelled
from equiview.build.xcm.similar import items_of
from equiview.build.xcm.steps import read_step
from equiview.data.countries import countries
from equiview.data.seeds import seed_for
from equiview.io.pictures import encoded
from equiview.io.progress import silent
from equiview.io.tables import write_bytes
from equiview.review import export_review
from equiview.review.opening import open_review
from equiview.review.votes import record
from equiview.stats import wilson_interval
from equiview.store import stored
from equiview.subjects.load import load_encoder
from sources import TRAINING_STYLES, fetch, noto

SIDE = 192
ARTISTS = {"noto": noto, **TRAINING_STYLES}
BROKEN = ("page", "cut off", "gone", "small", "pixels", "private", "forbidden", "large", "svg")
BUSY = "busy"
"""Not broken: it comes at the second try."""
CHANCES = {"repeated": 0.5, "other concept": 0.3, "other country": 0.25, "two concepts": 0.3, "broken": 0.35}
"""How often each is planted in a concept and country."""
ERRS, JUDGE_ERRS = 0.05, 0.02
"""How often one person, and the adjudicator, answers a question wrongly."""
LABELLED = 400
ENCODER, RECALL = "pictogram:aligned", 0.9
QUESTIONS = ("duplicate", "concept", "country", "harmful")


@dataclass(frozen=True)
class Shown:
    """What an address shows: concepts, country, artist; what it repeats; what is wrong with its file."""

    concepts: tuple[str, ...]
    country: str
    artist: str
    repeats: str = ""
    wrong: str = ""


@dataclass
class World:
    """All addresses with what they show, and the addresses that each search finds."""

    seed: int
    concepts: Sequence[str]
    shown: dict[str, Shown] = field(default_factory=dict)
    found: dict[str, list[str]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)

    def add(self, shown: Shown) -> str:
        """A new address of an image."""
        folder = "private" if shown.wrong == "forbidden" else "images"
        path = f"/{folder}/{len(self.shown)}.{'jpg' if shown.repeats else 'png'}"
        self.shown[path] = shown
        return path


@cache
def codes() -> dict[str, str]:
    return {name: code for code, name in english_names().items()}


@cache
def drawing(artist: str, concept: str) -> Image.Image | None:
    drawn = ARTISTS[artist](codes()[concept], SIDE)
    return None if drawn is None else drawn.convert("RGBA")


@cache
def flag(country: str) -> Image.Image:
    code = dict(countries().select("country", "code").iter_rows())[country]
    (picture,) = flags().filter(country=code)["picture"]
    drawn = Image.open(io.BytesIO(picture)).convert("RGBA")
    return drawn.crop(drawn.getchannel("A").getbbox()).resize((60, 40))


def planted(concepts: Sequence[str], seed: int) -> World:
    """The web: for each concept and country what its two searches find."""
    world = World(seed, concepts)
    spoken = {(c, lang): text for c, lang, text in spoken_names().iter_rows()}
    for concept in concepts:
        artists = [name for name in ARTISTS if drawing(name, concept) is not None]
        for row in countries().iter_rows(named=True):
            country = row["country"]
            dice = random.Random(seed_for(seed, f"{concept} {country}"))
            drawn = dice.sample(artists, min(7, len(artists)))
            others = [name for name in concepts if name != concept]
            plain = [world.add(Shown((concept,), country, artist)) for artist in drawn]
            extra = []
            if dice.random() < CHANCES["repeated"]:
                extra.append(world.add(Shown((concept,), country, drawn[0], repeats=plain[0])))
            if dice.random() < CHANCES["other concept"]:
                extra.append(world.add(Shown((dice.choice(others),), country, "noto")))
            if dice.random() < CHANCES["other country"]:
                other = dice.choice([name for name in countries()["country"] if name != country])
                extra.append(world.add(Shown((concept,), other, drawn[-1])))
            if dice.random() < CHANCES["two concepts"]:
                extra.append(world.add(Shown((concept, dice.choice(others)), country, drawn[-2])))
            if dice.random() < CHANCES["broken"]:
                wrong = dice.choice((*BROKEN, BUSY))
                extra.append(world.add(Shown((concept,), country, drawn[1], wrong=wrong)))
            dice.shuffle(extra)
            native = concept if row["language"] == "en" else spoken[codes()[concept], row["language"]]
            half = len(plain) // 2
            english = f"{concept} {country}"
            world.found[english] = [*plain[: half + 1], *extra[::2]]
            in_native = [*plain[half:], *extra[1::2]]
            known = world.found.setdefault(f"{native} {row['native_name']}", [])
            known += [path for path in in_native if path not in known]
    return world


def painted(world: World, path: str) -> Image.Image:
    """The image of an address: its drawings in a pose of its own on a ground of its own, and the flag."""
    shown = world.shown[path]
    dice = random.Random(seed_for(world.seed, path))
    low, high = (tuple(dice.randrange(150, 256) for _ in range(3)) for _ in range(2))
    ramp = np.linspace(0, 1, SIDE)[:, None, None]
    if dice.random() < 0.5:
        ramp = ramp.swapaxes(0, 1)
    ground = np.broadcast_to(np.array(low) * (1 - ramp) + np.array(high) * ramp, (SIDE, SIDE, 3))
    picture = Image.fromarray(ground.astype(np.uint8)).convert("RGBA")
    for place, concept in enumerate(shown.concepts):
        drawn = drawing(shown.artist, concept) or drawing("noto", concept)
        assert drawn is not None
        share = dice.uniform(0.75, 1) if len(shown.concepts) == 1 else dice.uniform(0.52, 0.6)
        size = round(SIDE * share)
        turned = drawn.resize((size, size)).rotate(dice.uniform(-10, 10), expand=False)
        room = SIDE - size
        left = dice.randint(0, room) if len(shown.concepts) == 1 else place * room
        picture.alpha_composite(turned, (left, dice.randint(0, room)))
    picture.alpha_composite(flag(shown.country), (SIDE - 62, SIDE - 42))
    return picture.convert("RGB")


def altered(picture: Image.Image, dice: random.Random) -> Image.Image:
    """The same image as somebody else has it: cut by up to 2%, of another size and brightness."""
    cut = [dice.randint(0, 3) for _ in range(4)]
    picture = picture.crop((cut[0], cut[1], SIDE - cut[2], SIDE - cut[3]))
    side = round(SIDE * dice.uniform(0.6, 1.2))
    return ImageEnhance.Brightness(picture.resize((side, side))).enhance(dice.uniform(0.9, 1.1))


@cache
def pixels() -> bytes:
    return encoded(Image.new("1", (30_000, 30_000)), "PNG")


def answer(world: World, path: str) -> tuple[int, str, bytes, dict[str, str]]:
    """Status, kind, body and further headers of an address of an image."""
    shown, kind = world.shown[path], "image/png"
    if shown.repeats:
        dice = random.Random(seed_for(world.seed, f"{path} altered"))
        copy = altered(painted(world, shown.repeats), dice)
        return 200, "image/jpeg", encoded(copy, "JPEG", quality=dice.randint(55, 90)), {}
    content = encoded(painted(world, path), "PNG")
    if shown.wrong == BUSY and path not in world.busy:
        world.busy.add(path)
        return 503, "text/plain", b"", {"Retry-After": "0"}
    special: Mapping[str, Callable[[], tuple[int, str, bytes, dict[str, str]]]] = {
        "page": lambda: (200, "image/png", b"<!doctype html><title>Log in</title>", {}),
        "cut off": lambda: (200, kind, content[: len(content) // 2], {}),
        "gone": lambda: (404, "text/html", b"gone", {}),
        "small": lambda: (200, kind, encoded(painted(world, path).resize((20, 20)), "PNG"), {}),
        "pixels": lambda: (200, kind, pixels(), {}),
        "private": lambda: (302, "text/html", b"", {"Location": "http://169.254.169.254/latest/"}),
        "large": lambda: (200, kind, content + bytes(21_000_000), {}),
        "svg": lambda: (200, "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>", {}),
    }
    return special.get(shown.wrong, lambda: (200, kind, content, {}))()


@contextmanager
def served(world: World) -> Iterator[str]:
    """The address of the web while it runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/w/api.php":
                status, kind, headers = 200, "application/json", {}
                body = json.dumps(searched(world, self.headers["Host"], parse_qs(parts.query))).encode()
            elif parts.path == "/robots.txt":
                status, kind, headers = 200, "text/plain", {}
                body = b"User-agent: *\nDisallow: /private/\n"
            else:
                status, kind, body, headers = answer(world, parts.path)
            self.send_response(status)
            for name, value in ({"Content-Type": kind, "Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # whoever asked has seen enough
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def searched(world: World, host: str, asked: Mapping[str, list[str]]) -> dict[str, object]:
    """What the API answers to a search."""
    words = asked["gsrsearch"][0].removesuffix(" filetype:bitmap")
    paths = world.found.get(words, [])[: int(asked["gsrlimit"][0])]
    facts = {"Artist": {"value": "a <b>lab</b>"}, "LicenseShortName": {"value": "CC0"}}
    pages = [
        {
            "title": f"File:{path.rpartition('/')[2]}",
            "index": rank,
            "imageinfo": [{"url": f"http://{host}{path}", "extmetadata": facts}],
        }
        for rank, path in enumerate(paths, start=1)
    ]
    return {"query": {"pages": pages}}


def write_inputs(folder: Path, world: World) -> None:
    """The table of concepts, and images whose concepts are listed."""
    spoken = {(c, lang): text for c, lang, text in spoken_names().iter_rows()}
    languages = [lang for lang in countries()["language"].unique(maintain_order=True) if lang != "en"]
    rows = [
        {"concept": name} | {f"name_{lang}": spoken[codes()[name], lang] for lang in languages}
        for name in world.concepts
    ]
    pl.DataFrame(rows).write_csv(folder / "concepts.csv")
    labelled = World(world.seed + 1, world.concepts)
    listed = []
    dice = random.Random(world.seed)
    for number in range(LABELLED):
        shown = tuple(dice.sample(list(world.concepts), 1 + number % 2))
        artists = [name for name in ARTISTS if drawing(name, shown[0]) is not None]
        path = labelled.add(Shown(shown, dice.choice(list(countries()["country"])), dice.choice(artists)))
        write_bytes(encoded(painted(labelled, path), "PNG"), folder / "labelled" / f"{number}.png")
        listed.append({"path": f"{number}.png", "concepts": ";".join(shown)})
    pl.DataFrame(listed).write_csv(folder / "labelled" / "labelled.csv")


def judge(review_folder: Path, world: World, out: Path, seed: int) -> Path:
    """Three people and an adjudicator judge all items, each wrong now and then; returns the decisions."""
    table = read_step(out, "labels")
    place = {row["item_id"]: row for row in table.iter_rows(named=True)}
    path_of = {name: urlsplit(row["url"]).path for name, row in place.items()}
    dice = random.Random(seed)
    review = open_review(review_folder, 3)
    try:
        people = sorted(review.people.values(), key=lambda person: person.pseudonym)
        for number, item in review.items.items():
            row, shown = place[item.id], world.shown[path_of[item.id]]
            beside = {path_of[name] for name in row["near"] if name in path_of}
            same = {shown.repeats} | {
                path for path in beside if world.shown[path].repeats == path_of[item.id]
            }
            truth = {
                "duplicate": "yes" if same & beside else "no",
                "concept": "yes" if row["concept"] in shown.concepts else "no",
                "country": "yes" if row["country"] == shown.country else "no",
                "harmful": "no",
            }
            said = []
            for person in (person for person in people if person.role == "reviewer"):
                answers = {name: erring(truth[name], ERRS, dice) for name in QUESTIONS}
                said.append(answers)
                vote(review, person, number, answers)
            open_questions = [name for name in QUESTIONS if len({answers[name] for answers in said}) > 1]
            if open_questions:
                (ruler,) = (person for person in people if person.role == "adjudicator")
                rulings = {name: erring(truth[name], JUDGE_ERRS, dice) for name in open_questions}
                vote(review, ruler, number, rulings)
    finally:
        review.database.close()
    return export_review(review_folder, out.parent / "judged.csv")[1]


def vote(review: object, person: object, number: int, answers: dict[str, str]) -> None:
    record(review.database, review.settings, person, vote=uuid.uuid4().hex, item=number, answers=answers)


def erring(truth: str, chance: float, dice: random.Random) -> str:
    return {"yes": "no", "no": "yes"}[truth] if dice.random() < chance else truth


def measured(step: str, what: str, found: set[str], true: set[str]) -> list[dict[str, object]]:
    """Precision and recall of what was found, with Wilson's intervals and n."""
    right = len(found & true)
    rows = []
    for name, n in (("precision", len(found)), ("recall", len(true))):
        low, high = wilson_interval(right / n, n) if n else (None, None)
        bounds = [None if bound is None else round(float(bound), 4) for bound in (low, high)]
        value = round(right / n, 4) if n else None
        rows.append(dict(zip(COLUMNS, (step, what, name, value, *bounds, n), strict=True)))
    return rows


COLUMNS = ("step", "what", "measure", "value", "low", "high", "n")


def share(step: str, what: str, hits: int, n: int) -> dict[str, object]:
    low, high = wilson_interval(hits / n, n)
    bounds = round(float(low), 4), round(float(high), 4)
    return dict(zip(COLUMNS, (step, what, "share", round(hits / n, 4), *bounds, n), strict=True))


def against_truth(world: World, out: Path) -> list[dict[str, object]]:
    """Every step against the truth."""
    rows: list[dict[str, object]] = []
    tables = {name: read_step(out, name) for name in ("images", "duplicates", "labels", "people")}
    path_of = {
        name: urlsplit(url).path for name, url in tables["images"].select("item_id", "url").iter_rows()
    }
    shown_of = {name: world.shown[path] for name, path in path_of.items()}

    def dropped(step: str, reason: str = "") -> set[str]:
        table = tables[step].drop_nulls("reason")
        return set(table.filter(pl.col("reason").str.contains(reason, literal=True))["item_id"])

    again = dropped("images", "the other search found it already")
    broken = {name for name in path_of if shown_of[name].wrong in BROKEN}
    rows += measured("images", "unusable files", dropped("images") - again, broken - again)

    came = tables["duplicates"]
    names = {path_of[name]: name for name in came["item_id"]}
    clusters = {name: shown_of[name].repeats or path_of[name] for name in came["item_id"]}
    first: dict[str, str] = {}
    repeated: set[str] = set()
    for name in came["item_id"]:  # in the order in which they are kept
        if first.setdefault(clusters[name], name) != name:
            repeated.add(name)
    assert len(names) == len(came)
    rows += measured("duplicates", "repeated images", dropped("duplicates"), repeated)
    for how, reason in (("hash", "hash"), ("encoder", "encoder")):
        rows += measured(
            "duplicates", f"repeated images, by the {how}", dropped("duplicates", reason), repeated
        )

    seen = {
        f"{name} {concept}"
        for name, labels in tables["labels"].select("item_id", "labels").iter_rows()
        for concept in labels
    }
    truth = {
        f"{name} {concept}" for name in tables["labels"]["item_id"] for concept in shown_of[name].concepts
    }
    rows += measured("labels", "concepts shown", seen, truth)
    asked_for = dict(tables["labels"].select("item_id", "concept").iter_rows())
    country = dict(tables["labels"].select("item_id", "country").iter_rows())
    astray = {name for name in asked_for if asked_for[name] not in shown_of[name].concepts}
    rows += measured("labels", "images of another concept", dropped("labels"), astray)

    left = set(tables["people"]["item_id"])
    abroad = {name for name in left if country[name] != shown_of[name].country}
    rows += measured("people", "images of another country", dropped("people", "country"), abroad)
    rows += measured("people", "images of another concept", dropped("people", "concept"), astray & left)
    wrong = abroad | (astray & left) | (repeated & left)
    rows += measured("people", "images with any fault", dropped("people"), wrong)
    return [*rows, *of_triplets(out, shown_of, "triplets")]


def of_concepts(concepts: Sequence[str]) -> list[dict[str, object]]:
    """Concepts that are listed again as a plural or with an article, at several thresholds."""
    again = [f"{name}s" if place % 2 else f"the {name}" for place, name in enumerate(concepts)]
    table = pl.DataFrame({"concept": [*concepts, *again]})
    found = []
    for least in (0.92, 0.8, 0.7, 0.6, 0.5):
        left = judged(table, stored(load_encoder(ENCODER)), least, silent).drop_nulls("reason")
        right = {
            name for name, said in left.select("item_id", "detail").iter_rows() if repeats_it(name, said)
        }
        wrong = {f"{name} wrongly" for name in left["item_id"] if name not in right}
        found += measured("concepts", f"listed again, {least}", right | wrong, set(again))
    return found


def repeats_it(name: str, said: str) -> bool:
    """Whether a concept was found to say what the one says that it was made of."""
    first = said.rpartition(" (")[0]
    return name in (f"{first}s", f"the {first}")


def of_thresholds(world: World, out: Path) -> list[dict[str, object]]:
    """Repeated images by the hash alone and by the encoder alone, at several thresholds."""
    table = read_step(out, "duplicates")
    paths = [urlsplit(url).path for url in table["url"]]
    clusters = [world.shown[path].repeats or path for path in paths]
    images = items_of(out, table)
    hashes = np.stack([perceptual_hash(image) for image in images.pictures()])
    vectors = cosines(stored(load_encoder(ENCODER)), images)
    groups = rows_by(table["concept_id"].to_list())
    first: dict[object, int] = {}
    repeated = {str(row) for rows in groups for row in rows if first.setdefault(clusters[row], row) != row}
    measures = [(f"hash, {bits} bits", hashes, least_of(bits)) for bits in (0, 2, 4, 6, 8)]
    measures += [(f"encoder, {least}", vectors, least) for least in (0.9, 0.95, 0.97, 0.98, 0.99)]
    found = []
    for what, compared, least in measures:
        hit = {str(row) for rows in groups for row in rows[repeats(compared[rows], least) >= 0]}
        found += measured("thresholds", what, hit, repeated)
    return found


def of_labels(world: World, place: Path) -> list[dict[str, object]]:
    """Labels of the images that the threshold was not chosen on, of whole images and with their parts."""
    images, listed = read_labelled(place / "labelled" / "labelled.csv")
    found = []
    for what, parts in (("whole images", False), ("whole images and parts", True)):
        sight = Sight(stored(load_encoder(ENCODER)), "{}", parts)
        table = chosen_threshold(images, listed, world.concepts, sight, RECALL, silent).table
        for row in table.iter_rows(named=True):
            values = (row["measure"], *(round(row[name], 4) for name in ("value", "low", "high")), row["n"])
            found.append(dict(zip(COLUMNS, ("labelled", what, *values), strict=True)))
    return found


def of_triplets(out: Path, shown_of: Mapping[str, Shown], step: str) -> list[dict[str, object]]:
    """How many triplets are as they should be."""
    trials = pl.read_parquet(out / "benchmark" / "test-00000-of-00001.parquet")
    faults = {"all three as they should be": 0, "no candidate shows too much": 0}
    for row in trials.iter_rows(named=True):
        said, told, other = (
            shown_of[row[f"{name}_candidate_image_id"]]
            for name in ("semantically_relevant", "culturally_relevant", "non_relevant")
        )
        concept, country = row["query_concept"], row["query_country"]
        apart = concept not in told.concepts and concept not in other.concepts
        right = (concept in said.concepts, said.country != country, told.country == country)
        faults["no candidate shows too much"] += apart
        faults["all three as they should be"] += apart and all(right) and other.country != country
    return [share(step, what, hits, len(trials)) for what, hits in faults.items()]


def main() -> None:
    """Build with every step and with the rules alone, and compare with the truth."""
    parser = argparse.ArgumentParser(prog="python labs/xcm_web.py", description=__doc__)
    parser.add_argument("--concepts", type=int, default=33, help="of the 100")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for what is built; by default it is removed")
    options = parser.parse_args()
    fetch()
    every = pictograms_culture().images.attribute("concept").unique(maintain_order=True).to_list()
    world = planted(every[:: max(1, len(every) // options.concepts)][: options.concepts], options.seed)
    place = options.keep or Path(tempfile.mkdtemp())
    (place / "labelled").mkdir(parents=True, exist_ok=True)
    write_inputs(place, world)
    with served(world) as url:
        given = {
            "images": f"commons:url={url}/w/api.php",
            "concepts": place / "concepts.csv",
            "text_encoder": ENCODER,
            "encoder": ENCODER,
            "smallest": 64,
            "title": "pictograms on loopback",
            "licence": "see the drawings",
            "fetch": {"contact": "labs/xcm_web.py", "rate": 0, "loopback": True},
        }
        labelled = {
            "labeller": ENCODER,
            "label_prompt": "{}",
            "label_parts": True,
            "label_recall": RECALL,
            "labelled": place / "labelled" / "labelled.csv",
        }
        api.make("xcm", given | labelled, place / "made")
        decisions = judge(place / "made" / "review", world, place / "made", options.seed)
        made = api.make("xcm", given | labelled | {"decisions": decisions}, place / "made")
        rows = of_concepts(world.concepts) + against_truth(world, place / "made")
        rows += of_thresholds(world, place / "made") + of_labels(world, place)
        rules = {"labeller": "none", "people": 0}
        api.make("xcm", given | rules, place / "rules")
        shown = {
            name: world.shown[urlsplit(found).path]
            for name, found in read_step(place / "rules", "images").select("item_id", "url").iter_rows()
        }
        rows += of_triplets(place / "rules", shown, "triplets without labels and people")
    for table in made.outcome.tables.values():
        print(table)
    print(pl.read_csv(place / "judged.agreement.csv"))
    write_rows("xcm_web", rows)
    with pl.Config(tbl_rows=-1, fmt_str_lengths=60, tbl_width_chars=140):
        print(pl.DataFrame(rows))
    if options.keep is None:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
