"""The table of faults. Whoever adds an input adds its rows.

`FILES` names every kind of file that is read; each meets every fault of `faults.py`.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl

from tests.faults.faults import FAULTS
from tests.faults.joins import of_joins
from tests.faults.running import Case
from tests.faults.surfaces import of_surfaces

SMALL = ("--setting", "prevalence.replicates=100")


def audit(subject: str, benchmark: str, *more: str) -> tuple[str, ...]:
    words = ("audit", subject, "--benchmark", benchmark, "--audit", "prevalence", "--out", "out")
    return (*words, *SMALL, *more)


WITHOUT = ("audit", "embeddings:world", "--benchmark", "folder:world", "--out")
VECTORS = audit("embeddings:world", "folder:world")
PHOTOS = audit("pictogram:aligned", "folder:photos", "--no-cache")
CULTURE = ("--benchmark", "folder:culture", "--out", "out")
TRIALS = ("audit", "pictogram:aligned", *CULTURE, "--audit", "association")
READ = "embeddings:data"  # the benchmark is read before any vector

FILES: list[tuple[str, str, tuple[str, ...]]] = [
    ("vectors", "world/images.csv", VECTORS),
    ("vectors", "world/texts.csv", VECTORS),
    ("vectors", "world/images.npy", VECTORS),
    ("vectors", "world/texts.npy", VECTORS),
    ("parquet", "world/images.parquet", VECTORS),
    ("parquet", "world/texts.parquet", VECTORS),
    ("photos", "photos/3.png", PHOTOS),
    ("lists", "lists.txt", audit("run:lists.txt", "run:lists.txt")),
    ("lists", "lists.csv", audit("run:lists.csv", "run:lists.csv")),
    ("lists", "lists.parquet", audit("run:lists.parquet", "run:lists.parquet")),
    ("lists", "items.csv", audit("run:lists.txt", "run:lists.txt,items=items.csv")),
    ("lists", "qrels.txt", audit("run:lists.txt", "run:lists.txt,qrels=qrels.txt")),
    ("lists", "queries.csv", audit("run:lists.txt", "run:lists.txt,queries=queries.csv")),
    ("xm3600", "data/captions.jsonl", audit(READ, "xm3600:data")),
    ("multi30k", "data/data/task1/raw/test_2016_flickr.de.gz", audit(READ, "multi30k:data")),
    ("multi30k", "data/data/task1/image_splits/test_2016_flickr.txt", audit(READ, "multi30k:data")),
    ("flickr30k", "data/dataset_flickr30k.json", audit(READ, "flickr30k:data")),
    ("coco", "data/dataset_coco.json", audit(READ, "coco:data,split=test")),
    ("coco", "data/annotations/captions_val2014.json", audit(READ, "coco:data,split=val2014")),
    ("coco", "data/annotations/instances_val2014.json", audit(READ, "coco:data,split=val2014")),
    ("xtd", "data/XTD10/test_image_names.txt", audit(READ, "xtd:data")),
    ("xtd", "data/XTD10/test_1kcaptions_es.txt", audit(READ, "xtd:data")),
    ("xflickrco", "data/annotations/de/test.jsonl", audit(READ, "xflickrco:data")),
    ("fairface", "data/fairface_label_val.csv", audit(READ, "fairface:data")),
    ("geode", "data/index.csv", audit(READ, "geode:data")),
    ("geode-names", "names.csv", audit(READ, "geode:data,names=names.csv")),
    ("dollarstreet", "data/dataset_dollarstreet/images_v2.csv", audit(READ, "dollarstreet:data")),
    ("culture", "culture/images.csv", TRIALS),
    ("culture", "culture/texts.csv", TRIALS),
    ("phase", "data/phase_gcc_val_regions_20221101.json", audit(READ, "phase:data")),
    ("coco-people", "data/images_val2014.csv", audit(READ, "coco-people:data")),
    ("vqav2", "data/v2_OpenEnded_mscoco_val2014_questions.json", audit(READ, "vqav2:data")),
    ("vqav2", "data/v2_mscoco_val2014_annotations.json", audit(READ, "vqav2:data")),
    ("removals", "removed/removals.parquet", audit(READ, "removals:removed,of=folder:world")),
    ("removals", "removed/captions.parquet", audit(READ, "removals:removed,of=folder:world")),
]


RUN_FILES = (
    "manifest.json",
    "estimates.parquet",
    "verdicts.json",
    "observations/prevalence.rankings.parquet",
)
"""Files of a run that commands after the audit read."""


def spoiled(path: str, fault: str, folder: Path) -> None:
    FAULTS[fault](folder / path)


def of_files() -> Iterator[Case]:
    for place, path, words in FILES:
        for fault in FAULTS:
            yield Case(f"{place} {Path(path).name}: {fault}", place, partial(spoiled, path, fault), words)


def nothing(_: Path) -> None:
    """Spoil nothing: what is typed is wrong by itself."""


def of_words() -> Iterator[Case]:
    """What is typed wrong."""
    run = ("out",)
    for name, words, said in (
        ("no such command", ("audti",), "No such command"),
        ("no such option", ("report", "out", "--jsno"), "No such option"),
        ("an option without a value", ("audit", "embeddings:world", "--out"), "requires an argument"),
        ("no subject", ("audit",), "Missing argument"),
        ("no benchmark", ("audit", "embeddings:world", "--out", "out", "--audit", "parity"), "--benchmark"),
        ("a surplus argument", ("list", "models", "more"), "unexpected extra argument"),
        ("no such subject", audit("embedings:world", "folder:world"), "did you mean"),
        ("no such benchmark", audit("embeddings:world", "foldr:world"), "did you mean"),
        ("an empty subject", audit("", "folder:world"), "no subject is named ''"),
        ("an empty benchmark", audit("embeddings:world", ""), "no benchmark is named ''"),
        ("a subject without its folder", audit("embeddings:", "folder:world"), "needs a folder"),
        ("a benchmark without its folder", audit("embeddings:world", "folder:"), "needs a folder"),
        (
            "a subject's folder that is none",
            audit("embeddings:nowhere", "folder:world"),
            "nowhere: no such folder",
        ),
        ("a benchmark's folder that is none", audit("embeddings:world", "folder:nowhere"), "nowhere"),
        ("a folder that is a file", audit("embeddings:world/images.npy", "folder:world"), "no such folder"),
        ("a name that is not UTF-8", audit("embeddings:caf\udce9", "folder:world"), "is not UTF-8"),
        ("a name that is too long", audit("embeddings:" + "x" * 5000, "folder:world"), ""),
        ("a release without its folder", audit("embeddings:world", "coco"), "needs a folder"),
        ("a release's option that is none", audit("embeddings:world", "coco:world,spilt=val"), "no option"),
        ("a model without a checkpoint", audit("hf:", "folder:world"), "hf:ID_OR_PATH"),
        ("a class without its module", audit("no.such:Model", "folder:world"), "no.such"),
        ("a run's file that is none", audit("run:nowhere.txt", "folder:world"), "no such file"),
        ("a run without its file", audit("run:", "folder:world"), "needs a file"),
        ("a run's depth that is none", audit("run:world/texts.csv,depth=0", "folder:world"), "depth is '0'"),
        ("a service without a model", audit("openai:", "folder:world"), "needs the name of a model"),
        ("a service's address that is none", audit("openai:m,url=ftp://x", "folder:world"), "url is"),
        ("a service's rate that is none", audit("openai:m,rate=-1", "folder:world"), "rate is '-1'"),
        ("a database without its place", audit("qdrant:", "folder:world"), "PLACE is missing"),
        (
            "a database that is not there",
            audit("qdrant:nowhere,collection=c,queries=world", "folder:world"),
            "",
        ),
        ("an audit that is none", (*VECTORS, "--audit", "prevalance"), "did you mean 'prevalence'"),
        ("an audit of what is not there", (*WITHOUT, "elsewhere", "--audit", "association"), ""),
        ("a negative seed", (*VECTORS, "--seed", "-5"), "--seed"),
        ("a seed that is no number", (*VECTORS, "--seed", "x"), "--seed"),
        ("--on-error otherwise", (*VECTORS, "--on-error", "skpi"), "did you mean 'skip'"),
        ("a cache's action that is none", ("cache", "purge"), "did you mean 'prune'"),
        ("days that are negative", ("cache", "prune", "--unused-days", "-1"), "--unused-days"),
        ("a list that is none", ("list", "modles"), "did you mean 'models'"),
        ("a comparison of one run", ("compare", *run, "--out", "both"), "at least two"),
        ("a comparison with itself", ("compare", *run, *run, "--out", "both"), ""),
        ("a format that is none", ("export", *run, "--format", "cvs"), "did you mean 'csv'"),
        ("a table that is none", ("export", *run, "--table", "table-99"), "no table is named"),
        ("several runs as a card", ("export", "out", "other", "--format", "factsheet"), "of one run"),
        ("a metric that is none", ("export", *run, "--metric", "RR@1"), "no metric of"),
        ("a table and a metric", ("export", *run, "--table", "table-1", "--metric", "R"), "rows of its own"),
        ("a tracker that is none", ("track", *run, "--to", "mlfow"), "did you mean 'mlflow'"),
        ("a schema that is none", ("schema", "manifets"), "did you mean 'manifest'"),
        ("settings of an audit that is none", ("settings", "prevalance"), "did you mean 'prevalence'"),
        ("a gate without a condition", ("check", *run), "at least one condition"),
        ("a condition that is none", ("check", *run, "--fail-if", "prevalence"), "at its end"),
        ("a gate without its baseline", ("check", *run, "--fail-if", "worse"), "as baseline"),
        ("a gate over itself", ("check", *run, "--fail-if", "worse", "--baseline", "out"), "baseline itself"),
        ("--unclear otherwise", ("check", *run, "--require", "a=fair", "--unclear", "x"), "is named 'x'"),
        ("a file of systems that is none", ("run", "nowhere.toml"), "no such file"),
    ):
        yield Case(f"words: {name}", "finished", nothing, words, said=said)
    for name, words, code, said in (
        ("nothing", (), 0, "Usage"),
        ("--help", ("--help",), 0, "Usage"),
        ("a command's help", ("audit", "--help"), 0, "--benchmark"),
        ("--version", ("--version",), 0, "0"),
    ):
        yield Case(f"words: {name}", "vectors", nothing, words, code, said)


SETTINGS = {
    "seed=-5": "seed",
    "seed=1e400": "seed",
    "replicates=0": "replicates",
    "replicates=99": "replicates",
    "replicates=": "replicates",
    "replicates=nan": "replicates",
    "replicates=many": "replicates",
    "replicates=null": "replicates",
    "replicates=[100]": "replicates",
    "replicates={": "replicates",
    "eps=0": "eps",
    "eps=nan": "eps",
    "eps=inf": "eps",
    "tolerance=1": "tolerance",
    "tolerance=-0.1": "tolerance",
    "by=": "by",
    "by=nowhere": "nowhere",
    "cutoffs=0": "cutoffs",
    "cutoffs=-1,5": "cutoffs",
    "cutoffs=[]": "cutoffs",
    "cutoffs=1.5": "cutoffs",
    "cutoffs=a,b": "cutoffs",
    "judged_at=[]": "judged_at",
    "depth=0": "depth",
    "depth=x": "depth",
    "prior=other": "prior",
    "piror=pool": "piror",
    "=": "",
    "replicates=" + "[" * 100_000: "replicates",
    "replicates=" + "9" * 5000: "replicates",
}


def of_settings() -> Iterator[Case]:
    """What is set wrong."""
    for text, said in SETTINGS.items():
        words = (*VECTORS[:-2], "--setting", f"prevalence.{text}")
        yield Case(f"setting {text[:40]}", "vectors", nothing, words, said=said)
    for text in ("prior=pool", "prevalence", "", "prevalence.", ".prior=pool", "parity.seed=1"):
        yield Case(f"setting {text!r} as it stands", "vectors", nothing, (*VECTORS, "--setting", text))


COMPARED = ("compare", "out", "other", "--out", "both")
REPORTED = (
    "estimates.parquet",
    "verdicts.json",
    "report.html",
    "figures/prevalence.01-exposure-by-depth.json",
)


def of_runs() -> Iterator[Case]:
    """Damaged runs, in the hands of the commands that read runs."""
    for fault in FAULTS:
        for command in ("report", "figures", "export", "advise"):
            spoil = partial(spoiled, "out/manifest.json", fault)
            yield Case(f"{command}, manifest.json: {fault}", "finished", spoil, (command, "out"), said="out")
        for file in ("items", "rankings"):
            spoil = partial(spoiled, f"out/observations/prevalence.{file}.parquet", fault)
            yield Case(f"compare, {file}.parquet: {fault}", "finished", spoil, COMPARED, said=file)
            yield Case(f"audit again, {file}.parquet: {fault}", "finished", spoil, VECTORS, *REPEATED[fault])
        for file in REPORTED:
            # What follows from the observations is made again; a folder of that name is nobody's to remove.
            spoil = partial(spoiled, f"out/{file}", fault)
            yield Case(f"report, {file}: {fault}", "finished", spoil, ("report", "out"), *REPEATED[fault])
        spoil = partial(spoiled, "out/timings.json", fault)
        yield Case(f"report, timings.json: {fault}", "finished", spoil, ("report", "out"), *REPEATED[fault])
        spoil = partial(spoiled, "out/figures/prevalence.01-exposure-by-depth.json", fault)
        yield Case(f"figures, figure: {fault}", "finished", spoil, ("figures", "out"), said="prevalence.01")


REPEATED: dict[str, tuple[int, str, bool]] = dict.fromkeys(FAULTS, (0, "", True)) | {
    "a folder": (1, "is a", False)
}
"""What comes of making a spoiled file again: exit code, words, and whether the numbers are the same."""


def of_stored_vectors() -> Iterator[Case]:
    """A damaged cache: what it lost is computed again."""
    words = audit("pictogram:aligned", "folder:photos")
    for fault in FAULTS:
        if fault != "a folder":
            spoil = partial(spoiled, "shelf/000000000000-000000.vectors", fault)
            yield Case(f"cache, vectors: {fault}", "stored", spoil, words, 0, same=True)
        spoil = partial(spoiled, "shelf/encoder.json", fault)
        yield Case(f"cache list, encoder.json: {fault}", "stored", spoil, ("cache",), 0)
    for name in OUTS:
        spoil = partial(placed, name, "cache")
        yield Case(f"cache is {name}", "photos", spoil, words, said="cache")


MODEL = """
import numpy as np

class Model:
    def encode_images(self, images):
        return np.asarray([np.asarray(image).mean((0, 1)) for image in images])
    def encode_texts(self, texts):
        return np.asarray([[len(text), 1 + ord(text[8]), 1 + ord(text[-1])] for text in texts])

class Odd(Model):
"""
ODD: dict[str, tuple[str, str]] = {
    "raises": ("def encode_texts(self, texts): raise ValueError('no luck')", "ValueError: no luck (odd_"),
    "raises over lines": ("def encode_texts(self, texts): raise ValueError('no\\nluck')", "no luck"),
    "raises for pictures": ("def encode_images(self, images): return images[0].nothing", "AttributeError"),
    "asserts": ("def encode_texts(self, texts): assert not texts", "AssertionError"),
    "exits": ("def encode_texts(self, texts): raise SystemExit(7)", "SystemExit"),
    "runs out of memory": (
        "def encode_texts(self, texts): return np.zeros((2**44, 512))",
        "not enough memory",
    ),
    "recurses": ("def encode_texts(self, texts): return self.encode_texts(texts)", "RecursionError"),
    "returns None": ("def encode_texts(self, texts): return None", "shape ()"),
    "returns strings": (
        "def encode_texts(self, texts): return [['a'] for _ in texts]",
        "not an array of numbers",
    ),
    "returns a string": ("def encode_texts(self, texts): return 'vectors'", "not an array of numbers"),
    "returns ragged rows": (
        "def encode_texts(self, texts): return [[1.0] * n for n, _ in enumerate(texts)]",
        "not an array",
    ),
    "returns a dict": ("def encode_texts(self, texts): return {'a': 1}", "dict"),
    "returns a generator": ("def encode_texts(self, texts): return ([1, 2, 3] for _ in texts)", "generator"),
    "returns a coroutine": ("async def encode_texts(self, texts): return np.ones((1, 3))", "is async"),
    "returns too few": ("def encode_texts(self, texts): return np.ones((1, 3))", "expected (24, width)"),
    "returns one dimension": (
        "def encode_texts(self, texts): return np.ones(len(texts))",
        "expected (24, width)",
    ),
    "returns three dimensions": (
        "def encode_texts(self, texts): return np.ones((len(texts), 2, 3))",
        "expected",
    ),
    "returns no width": ("def encode_texts(self, texts): return np.ones((len(texts), 0))", ""),
    "returns another width": ("def encode_texts(self, texts): return np.ones((len(texts), 5))", "5"),
    "returns nan": (
        "def encode_texts(self, texts): return np.full((len(texts), 3), np.nan)",
        "is not finite",
    ),
    "returns zeros": ("def encode_texts(self, texts): return np.zeros((len(texts), 3))", "is all zero"),
    "returns objects": (
        "def encode_texts(self, texts): return np.asarray([[object()] * 3] * len(texts))",
        "not an array",
    ),
    "returns complex numbers": (
        "def encode_texts(self, texts): return np.full((len(texts), 3), 1j)",
        "complex",
    ),
    "cannot be created": ("def __init__(self): raise OSError('no weights')", "cannot be created"),
    "wants an argument": ("def __init__(self, size): pass", "cannot be created"),
    "has no method": ("encode_texts = None", "needs a method"),
    "has another similarity": ("similarity = 'cos'", "similarity is 'cos'"),
    "has batches of none": ("text_batch = 0", "text_batch is 0"),
    "has batches of a word": ("image_batch = 'many'", "image_batch is 'many'"),
    "says several vectors and gives one": ("similarity = 'maxsim'", ""),
}


def written(name: str, body: str, folder: Path) -> None:
    (folder / f"{name}.py").write_text(f"{MODEL}    {body}\n")


def of_own_models() -> Iterator[Case]:
    """A user's own code that fails."""
    for number, (name, (body, said)) in enumerate(ODD.items()):
        module = f"odd_{number}"
        words = audit(f"{module}:Odd", "folder:photos", "--no-cache")
        yield Case(f"a model that {name}", "photos", partial(written, module, body), words, said=said)
    for name, content, said in (
        ("is not Python", "class Odd(", "SyntaxError"),
        ("raises when imported", "1 / 0", "ZeroDivisionError"),
        ("has no class", "", "has no class 'Odd'"),
        ("holds no class under the name", "Odd = 3", "has no class 'Odd'"),
        ("is not UTF-8", "x = 'caf\udce9'", "cannot be imported"),
    ):
        module = "module_" + name.replace(" ", "_").replace("-", "_")
        content_of = partial(module_written, f"{module}.py", content)
        words = audit(f"{module}:Odd", "folder:photos", "--no-cache")
        yield Case(f"a module that {name}", "photos", content_of, words, said=said)


def module_written(name: str, content: str, folder: Path) -> None:
    (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))


OUTS: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: path.write_text("years of work"),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/full"),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a looping link": lambda path: path.symlink_to(path.name),
}


def placed(kind: str, name: str, folder: Path) -> None:
    OUTS[kind](folder / name)


def limited(size: int, _: Path) -> None:
    """No file may grow beyond so many bytes: writing fails as on a full disk, for root too."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def no_room(folder: Path) -> None:
    (folder / "out" / "report.html").unlink()
    limited(100, folder)


def of_places_to_write() -> Iterator[Case]:
    """An `--out` that cannot be written."""
    for name in OUTS:
        yield Case(f"audit, --out is {name}", "vectors", partial(placed, name, "out"), VECTORS, said="out")
        spoil = partial(placed, name, "both")
        yield Case(f"compare, --out is {name}", "finished", spoil, COMPARED, said="both")
    for name, out in (
        ("too long", "x" * 300),
        ("in a file", "world/images.csv/out"),
        ("on a device", "/dev/null/out"),
        ("in a folder that takes no files", "/proc/out"),
        ("a folder of something else", "world"),
        ("longer than any path", "/".join(["x" * 200] * 30)),
    ):
        words = (*WITHOUT, out, "--audit", "prevalence", *SMALL)
        yield Case(f"audit, --out is {name}", "vectors", nothing, words, said=out[:40])
    for size in (0, 100, 3000, 10_000, 100_000):
        yield Case(f"audit, files of {size} bytes at most", "vectors", partial(limited, size), VECTORS,
                   said="file too large" if size else "out")  # fmt: skip
    yield Case("report, no room", "finished", no_room, ("report", "out"), said="out/")
    yield Case("compare, no room", "finished", no_room, COMPARED, said="both/")
    yield Case("figures, no room", "finished", partial(limited, 100), ("figures", "out"), said="out/figures/")
    yield Case("compare, --out is a run", "finished", nothing, ("compare", "out", "other", "--out", "out"),
               said="holds a run")  # fmt: skip
    yield Case("demo, --out is a run", "finished", nothing, ("demo", "--out", "out"), said="holds a run")


def renamed(old: str, new: str, folder: Path) -> None:
    """Call a language otherwise."""
    path = folder / "world" / "texts.csv"
    texts = pl.read_csv(path)
    texts.with_columns(pl.col("language").replace(old, new)).write_csv(path)


def one_language(folder: Path) -> None:
    path = folder / "world" / "texts.csv"
    pl.read_csv(path).with_columns(language=pl.lit("en")).write_csv(path)


CODES = (
    "x, language=en",
    "a,b",
    "<b>sw</b>",
    "[bold]sw[/]",
    "sw=1",
    "'",
    '"',
    "{}",
    "%s",
    "../..",
    "\\",
    "ٱلْعَرَبِيَّة",
    "💬",
)


def of_languages() -> Iterator[Case]:
    """Odd names of languages, in each audit: named as they are, and no number changes for it."""
    for name in ("prevalence", "parity", "individual"):
        words = ("audit", "embeddings:world", "--benchmark", "folder:world", "--audit", name, "--out", "out")
        words += ("--setting", f"{name}.replicates=100")
        by = ("--setting", "prevalence.by=language") if name == "prevalence" else ()
        for code in CODES:
            spoil = partial(renamed, "sw", code)
            yield Case(
                f"{name}, a language called {code}",
                "vectors",
                spoil,
                (*words, *by),
                0,
                said="out/report.html",
            )
        code, said = (0, "Unclear") if name == "prevalence" else (1, "compar")
        yield Case(f"{name}, one language only", "vectors", one_language, (*words, *by), code, said)


def with_region(region: str, folder: Path) -> None:
    """Say of every landmark of a quiz that it stands there."""
    for path in (folder / "data" / "data").glob("*.parquet"):
        table = pl.read_parquet(path)
        table.with_columns(domestic_language_code=pl.lit(region)).write_parquet(path)


def of_names() -> Iterator[Case]:
    """Languages that are missing, spelled twice, or no languages."""
    for code in ("-", "nan", "None", "n/a", "SW ", "\u00a0sw"):
        yield Case(
            f"a language called {code!r}", "vectors", partial(renamed, "sw", code), VECTORS, said="'language'"
        )
    words = audit(READ, "knowrecall:data")
    for region in ("France", "JP", "CA", "FRA", "nan", "-", "", "🙂"):
        said = f"region {region!r}"
        yield Case(f"a region called {region!r}", "quiz", partial(with_region, region), words, said=said)


def with_people(values: tuple[str, ...], prompt: str, folder: Path) -> None:
    """Images of people of these genders in turn, and a file of one neutral prompt."""
    path = folder / "world" / "images.csv"
    images = pl.read_csv(path)
    genders = [values[row % len(values)] for row in range(len(images))]
    images.with_columns(gender=pl.Series(genders)).write_csv(path)
    (folder / "prompts.csv").write_text(f"prompt_id,language,text,concept\none,en,{prompt},one\n", "utf-8")


def of_several() -> Iterator[Case]:
    """Several audits of which one cannot be observed, all that apply, and a folder with other settings."""
    bare = ("audit", "embeddings:world", "--benchmark", "folder:world", "--out", "out", "--audit")
    wrong = partial(with_people, ("woman", "man", "n/a"), "a judge")
    said = "audit 'social' could not be observed (the same command tries it again): "
    yield Case("one of two audits fails", "vectors", wrong, (*bare, "social,prevalence", *SMALL), said=said)
    lists = ("audit", "run:lists.txt", "--benchmark", "run:lists.txt", "--out", "out", "--audit", "all")
    for name, place, words in (("vectors", "vectors", (*bare, "all")), ("lists", "lists", lists)):
        yield Case(f"all of {name}", place, nothing, (*words, *SMALL), 0, said="out/report.html")
    said = "no audit could be observed: association: "
    yield Case("no audit can be observed", "vectors", nothing, (*bare, "association,social"), said=said)


def of_people() -> Iterator[Case]:
    """Galleries in which groups cannot be compared, and prompts that are not neutral."""
    words = ("audit", "embeddings:world", "--benchmark", "folder:world", "--audit", "social", "--out", "out")
    words += ("--setting", 'social.prompts=["prompts.csv"]')
    yield Case(
        "images without people", "vectors", nothing, words, 1, "images have none of gender, skin, age, race"
    )
    both = ("woman", "man")
    for name, values, prompt, said in (
        ("people of one gender", ("woman",), "a judge", "attribute 'gender' of the images has 'woman' only"),
        ("people of no known gender", ("unsure",), "a judge", "has no known value only"),
        (
            "labels that differ by case",
            ("woman", "man", "Woman"),
            "a judge",
            "in two ways: 'Woman' (4, first in row",
        ),
        (
            "labels that differ by nothing seen",
            ("man", "ma\u200dn"),
            "a judge",
            "spells one label in two ways",
        ),
        (
            "a label for a missing value",
            ("woman", "man", "n/a"),
            "a judge",
            "'n/a' (4) looks like a missing value",
        ),
        ("a prompt that names gender", both, "a woman judge", "names gender by the word 'woman'"),
        ("a prompt that was not encoded", both, "a judge", "has no vector for text 'one' of neutral prompts"),
    ):
        yield Case(name, "vectors", partial(with_people, values, prompt), words, 1, said)


def with_boxes(scale: float, folder: Path) -> None:
    """Boxes of another scale than the pictures."""
    path = folder / "data" / "annotations" / "instances_val2014.json"
    content = json.loads(path.read_text())
    for entry in content["annotations"]:
        entry["bbox"] = [scale * edge for edge in entry["bbox"]]
    path.write_text(json.dumps(content))


def of_boxes() -> Iterator[Case]:
    """Boxes that are not of the pictures, and a folder of the user's own files."""
    words = ("build", "removal", "coco:data", "--fill", "mean", "--out")
    yield Case(
        "boxes of shares", "begun", partial(with_boxes, 0.01), (*words, "new"), said="boxes contradict"
    )
    yield Case("boxes of larger pictures", "begun", partial(with_boxes, 2), (*words, "new"), said="reach to")
    yield Case("removal, --out is of something else", "begun", nothing, (*words, "data"), said="not empty")


CASES: list[Case] = [
    *of_boxes(),
    *of_files(),
    *of_words(),
    *of_settings(),
    *of_runs(),
    *of_stored_vectors(),
    *of_own_models(),
    *of_places_to_write(),
    *of_languages(),
    *of_names(),
    *of_people(),
    *of_several(),
    *of_joins(partial(audit, READ)),
    *of_surfaces(),
]
