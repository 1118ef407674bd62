"""Good inputs of every kind, small: each place is a folder that a case copies and spoils."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
from PIL import Image

from equiview.api import audit, make, write_comparison, write_figures
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from tests.benchmarks.layouts import LAYOUTS
from tests.benchmarks.test_hub import write_captions
from tests.benchmarks.test_own_trials import write_culture
from tests.benchmarks.test_removals import write_removals
from tests.benchmarks.test_xcm import release as write_release
from tests.build.removal.world import DOG, PERSON, coco
from tests.build.world import landmarks as write_landmarks
from tests.build.xcm.world import CONCEPTS
from tests.build.xcm.world import concepts as write_concepts
from tests.build.xcm.world import folder as write_shown
from tests.chat_server import chat_server
from tests.conftest import write_world
from tests.review.reviews import RIGHT, judge, opened, reviewers
from tests.review.reviews import write as write_review

LANGUAGES = ("en", "sw")
IMAGES = 12
QUICK = {"knowledge": {"replicates": 100}}


def vectors(place: Path) -> None:
    """`world`: stored vectors with their tables as CSV."""
    write_world(place / "world", images=IMAGES)


def parquet(place: Path) -> None:
    """`world`: stored vectors with their tables as Parquet."""
    vectors(place)
    for name in ("images", "texts"):
        pl.read_csv(place / "world" / f"{name}.csv").write_parquet(place / "world" / f"{name}.parquet")
        (place / "world" / f"{name}.csv").unlink()


def photos(place: Path) -> None:
    """`photos`: pictures of one colour each, with captions in two languages."""
    world = place / "photos"
    world.mkdir()
    for row in range(IMAGES):
        Image.new("RGB", (8, 8), (20 * row, 90, 255 - 20 * row)).save(world / f"{row}.png")
    names = {"id": [f"i{row}" for row in range(IMAGES)], "path": [f"{row}.png" for row in range(IMAGES)]}
    pl.DataFrame(names).write_csv(world / "images.csv")
    texts = [
        (f"i{row}-{code}", f"caption {row} {code}", code, f"i{row}")
        for row in range(IMAGES)
        for code in LANGUAGES
    ]
    columns = ["id", "text", "language", "image_id"]
    pl.DataFrame(texts, schema=columns, orient="row").write_csv(world / "texts.csv")


def lists(place: Path) -> None:
    """`lists.txt`, `lists.csv` and `lists.parquet`: one finished run, and the files next to it."""
    items = [(f"i{row}-{code}", code) for row in range(IMAGES) for code in LANGUAGES]
    rows = [
        (f"i{query}", rank, name, 1.0 - rank / 100)
        for query in range(IMAGES)
        for rank, (name, _) in enumerate((*items[2 * query :], *items[: 2 * query]), start=1)
    ]
    table = pl.DataFrame(rows, schema=["query_id", "rank", "item_id", "score"], orient="row")
    table.write_csv(place / "lists.csv")
    table.write_parquet(place / "lists.parquet")
    lines = (f"{query} Q0 {item} {rank} {score} tag\n" for query, rank, item, score in rows)
    (place / "lists.txt").write_text("".join(lines))
    pl.DataFrame(items, schema=["item_id", "language"], orient="row").write_csv(place / "items.csv")
    pl.DataFrame({"query_id": [f"i{row}" for row in range(IMAGES)]}).write_csv(place / "queries.csv")
    judged = (f"{name.partition('-')[0]} 0 {name} 1\n" for name, _ in items)
    (place / "qrels.txt").write_text("".join(judged))


def finished(place: Path) -> None:
    """`out`: a run of `vectors` from beginning to end; `other`: another, of the same items; `compared`."""
    vectors(place)
    write_world(place / "other-world", images=IMAGES, skew=3)
    settings = {"prevalence": {"replicates": 100}}
    for world, out in (("world", "out"), ("other-world", "other")):
        audit(f"embeddings:{world}", "folder:world", ["prevalence"], Path(out), settings=settings)
    write_figures(Run.open(Path("out")))
    write_comparison([Run.open(Path("out")), Run.open(Path("other"))], Path("compared"))
    Path("audit.toml").write_text(
        'subjects = ["embeddings:world"]\n[[benchmarks]]\nuse = "folder:world"\naudits = ["prevalence"]\n'
    )


def stored(place: Path) -> None:
    """`photos` whose vectors are in the cache."""
    photos(place)
    settings = {"prevalence": {"replicates": 100}}
    audit("pictogram:aligned", "folder:photos", ["prevalence"], Path("first"), settings=settings)
    shelf = min(Path("cache/vectors").iterdir())  # of pictures or of texts
    for number, path in enumerate(sorted(shelf.glob("*.vectors"))):  # a name that a table can hold
        path.rename(path.with_name(f"000000000000-{number:06d}.vectors"))
    Path("shelf").symlink_to(shelf)


def removals(place: Path) -> None:
    """`world` and `removed`: what was made of the first of its images."""
    vectors(place)
    write_removals(place / "removed", "folder:world")


def release(place: Path) -> None:
    """`data`: trials as they are published."""
    write_release(place / "data")


def hub(place: Path) -> None:
    """`data`: captions in the layout of the Hugging Face hub."""
    write_captions(place / "data")


def quiz(place: Path) -> None:
    """`data`: questions as they are published; `answers.csv`: an answer to each."""
    LAYOUTS["knowrecall"](place / "data")
    questions = load_benchmark(f"knowrecall:{place / 'data'}").tables["questions"]
    answers = questions.select("question_id", "language", answer=pl.lit("A"))
    answers.write_csv(place / "answers.csv")


def log(place: Path) -> None:
    """`data` with `log.eval`: what a model was asked of it."""
    quiz(place)
    with chat_server(lambda prompt, pictures, model: "A") as server:
        subject = server.subject("knower", f"logs={place / 'logs'}")
        audit(subject, f"knowrecall:{place / 'data'}", ["knowledge"], Path("asked"), settings=QUICK)
    (path,) = (place / "logs").glob("*.eval")
    path.rename(place / "log.eval")


def asked(place: Path) -> None:
    """`asked`: a review of which one item is judged."""
    with opened(write_review(place / "asked")) as review:
        judge(review, reviewers(review)[0], 1, RIGHT)


def landmarks(place: Path) -> None:
    """`places`: what makers of quizzes read."""
    write_landmarks(place / "places")


def shown(place: Path) -> None:
    """`shown` and `shown.parquet`: images of concepts in countries; with concepts, labels and decisions."""
    write_shown(place / "shown")
    write_concepts(place / "concepts.csv")
    files = sorted(path.relative_to(place) for path in (place / "shown").rglob("*.png"))
    listed = {"path": [str(path) for path in files]}
    pl.DataFrame(listed | {"concepts": [";".join(CONCEPTS.values())] * len(files)}).write_csv(
        place / "labelled.csv"
    )
    searched = {"concept": [path.parts[1] for path in files], "country": [path.parts[2] for path in files]}
    pl.DataFrame(listed | searched).write_parquet(place / "shown.parquet")
    (place / "said.csv").write_text("item,question,value\njapan-0-1-eng,concept,yes\n")


def trained(place: Path) -> None:
    """`tuned`: an embedded encoder with an adapter, trained on `photos`."""
    photos(place)
    recipe = {"adapter": {"batch": 8, "steps": 1, "hidden": 4}, "forward": 8}
    given = {"subject": "pictogram:english", "data": "folder:photos", "recipe": recipe, "device": "cpu"}
    make("finetune", given, Path("tuned"))


def distilled(place: Path) -> None:
    """`taught`: an embedded encoder with a student of its texts; `w.en` and `w.de`, which taught it."""
    photos(place)
    for code in ("en", "de"):
        (place / f"w.{code}").write_text("".join(f"word {row} {code}\n" for row in range(IMAGES)))
    given = {"subject": "pictogram:english", "student": "ngrams", "parallel": ("en=w.en,de=w.de",)}
    make("distill", given | {"device": "cpu", "recipe": {"ngrams": {"batch": 8, "steps": 1}}}, Path("taught"))


def mitigated(place: Path) -> None:
    """`world`: stored vectors; `corrected` and `ordered`: what was made of their encoder."""
    write_world(place / "world", images=60)
    given = {"subject": "embeddings:world", "benchmark": "folder:world"}
    make("center", given, Path("corrected"))
    make("fair-topk", {"subject": "embeddings:world"}, Path("ordered"))


def people(place: Path) -> None:
    """`world`: images of people whose gender is known; `words.toml`: prompts that name it."""
    write_world(place / "world", images=60)
    table = pl.read_csv(place / "world" / "images.csv").with_row_index("row")
    gender = pl.when(pl.col("row") % 2 == 0).then(pl.lit("woman")).otherwise(pl.lit("man"))
    table.select("id", gender=gender).write_csv(place / "world" / "images.csv")
    (place / "words.toml").write_text(
        'attribute = "gender"\n[values]\nwoman = ["woman"]\nman = ["man"]\n'
        '[[prompts]]\nlanguage = "en"\nparaphrase = "bare"\nchecked = "no"\n'
        '[prompts.text]\nwoman = "a woman"\nman = "a man"\n'
    )


def begun(place: Path) -> None:
    """`made`: pictures without an object and their records; the tables are not written."""
    coco(place / "data", {1: [DOG, PERSON]})
    make("removal", {"benchmark": "coco:data", "fill": "mean"}, Path("made"))
    Path("made/removals.parquet").unlink()


def geode_names(place: Path) -> None:
    """`data`: a copy of GeoDE; `names.csv`: names of its objects in a language of none of its countries."""
    LAYOUTS["geode"](place / "data")
    (place / "names.csv").write_text("concept,language,text\ndog,sw,mbwa\nstove,sw,jiko\n")


def culture(place: Path) -> None:
    """`culture`: images of concepts and countries without pictures, and names of the concepts."""
    write_culture(place / "culture")


def captioned(place: Path) -> None:
    """`photos`, with captions in two languages, one more is wanted; `said.csv` of a review."""
    photos(place)
    (place / "said.csv").write_text("item,question,value\ni0-fr-1,fluency,no\n")


PLACES: dict[str, Callable[[Path], None]] = {
    "vectors": vectors,
    "parquet": parquet,
    "photos": photos,
    "lists": lists,
    "finished": finished,
    "stored": stored,
    "removals": removals,
    "release": release,
    "hub": hub,
    "quiz": quiz,
    "log": log,
    "asked": asked,
    "landmarks": landmarks,
    "shown": shown,
    "trained": trained,
    "begun": begun,
    "mitigated": mitigated,
    "people": people,
    "distilled": distilled,
    "geode-names": geode_names,
    "culture": culture,
    "captioned": captioned,
} | {name: (lambda place, layout=layout: layout(place / "data")) for name, layout in LAYOUTS.items()}
