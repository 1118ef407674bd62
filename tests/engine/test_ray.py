"""Runs on a real cluster on loopback: the same bytes as here, whoever dies; one cluster for all tests."""

import importlib
import random
import re

import numpy as np
import pytest
from labs.kills import outcome

from equiview import api, board
from equiview.auditfile import read_audit_file
from equiview.data.vectors import TokenVectors
from equiview.engine import opened, using
from equiview.engine.cluster import RayEngine, check_alike
from equiview.errors import InputError
from equiview.search import Targets, per_block, ranked_within, sharded, top_k, topk
from equiview.stats import bootstrap, bootstrap_means, matched, matched_floor
from tests.conftest import LANGUAGES, add_pictures, write_world
from tests.engine.loopback import STORE, loopback

parity = importlib.import_module("equiview.audits.parity.observe")
AUDITS = ("prevalence", "individual")
SETTINGS = {"prevalence": {"replicates": 200}, "individual": {"replicates": 200}}


@pytest.fixture(scope="module")
def cluster():
    with loopback(machines=2, cores=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = write_world(tmp_path_factory.mktemp("engine") / "world", images=30)
    add_pictures(folder)
    return folder


@pytest.fixture(autouse=True)
def share_everything(monkeypatch):
    monkeypatch.setattr(bootstrap, "SHARED_FROM", 0)
    monkeypatch.setattr(matched, "SHARED_FROM", 0)
    monkeypatch.setattr(sharded, "SHARED_FROM", 0)
    monkeypatch.setattr(parity, "SHARED_FROM", 0)


def audit(data, out, monkeypatch, model="Small", **options):
    monkeypatch.setenv("EQUIVIEW_CACHE", f"{out}-cache")
    return api.audit(
        f"tests.engine.encoders:{model}:skewed", f"folder:{data}", AUDITS, out, settings=SETTINGS, **options
    )


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        out = tmp_path_factory.mktemp("engine") / "local"
        audit(data, out, patch)
        return outcome(out)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_run_is_the_same_with_any_number_of_workers(
    cluster, data, expected, tmp_path, monkeypatch, workers
):
    cluster.engine.rest()
    with RayEngine(cluster.cluster.address, workers=workers) as engine:
        said = []
        audit(data, tmp_path / "run", monkeypatch, engine=engine, progress=lambda *told: said.append(told))
        assert len(engine.pool.seats) == workers
    assert outcome(tmp_path / "run") == expected
    assert ("encoding texts", 30 * len(LANGUAGES), 30 * len(LANGUAGES)) in said
    assert ("ranking", 30, 30) in said


def test_parity_matches_by_workers_as_here(cluster, data, tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    asked, matched_by_workers = (f"embeddings:{data}", f"folder:{data}", ["parity"]), []
    engine = cluster.engine
    given = engine.map

    def seen(work, *parts, **named):
        matched_by_workers.append(work is parity._matched)
        return given(work, *parts, **named)

    monkeypatch.setattr(engine, "map", seen)
    for name, where in (("here", "local"), ("there", engine)):
        api.audit(*asked, tmp_path / name, settings={"parity": {"replicates": 200}}, engine=where)
    assert any(matched_by_workers)
    assert outcome(tmp_path / "there") == outcome(tmp_path / "here")


def test_a_maker_and_an_audit_file_have_their_encoding_done_by_workers(
    cluster, data, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(board, "opened", lambda name: opened(cluster.engine if name == "ray" else name))
    encoded = []
    given = cluster.engine.map
    monkeypatch.setattr(
        cluster.engine,
        "map",
        lambda work, *parts, **named: encoded.append(work) or given(work, *parts, **named),
    )
    subject, made = "tests.engine.encoders:Small:skewed", []
    for name, where in (("here", "local"), ("there", cluster.engine)):
        monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / f"{name}-cache"))
        asked = {"subject": subject, "benchmark": f"folder:{data}"}
        api.make("center", asked, tmp_path / name / "center", engine=where)
        made.append(outcome(tmp_path / name / "center"))
        assert bool(encoded) == (name == "there")
    assert made[0] == made[1]
    encoded.clear()
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "board-cache"))
    (tmp_path / "audit.toml").write_text(
        f"""engine = "ray"
        subjects = ["{subject}"]
        [[benchmarks]]
        use = "folder:{data}"
        audits = ["prevalence", "individual"]
        [settings.prevalence]
        replicates = 200
        [settings.individual]
        replicates = 200
        """
    )
    (run,) = board.run_board(read_audit_file(tmp_path / "audit.toml"), tmp_path).runs
    assert encoded
    assert outcome(run.folder).items() <= expected.items()


@pytest.mark.parametrize("what", ["encoding images", "encoding texts", "ranking"])
def test_a_worker_killed_at_some_point_of_the_work_loses_nothing(
    cluster, data, expected, tmp_path, monkeypatch, what
):
    dice = random.Random(what)
    at, killed = dice.randrange(1, 20), []

    def progress(label, done, total):
        if label == what and done >= at and not killed and cluster.kill_worker(dice, cluster.engine):
            killed.append(done)

    audit(data, tmp_path / "run", monkeypatch, engine=cluster.engine, progress=progress)
    assert killed
    assert outcome(tmp_path / "run") == expected


def test_a_machine_killed_while_texts_are_encoded_loses_nothing(
    cluster, data, expected, tmp_path, monkeypatch, capfd
):
    killed = []

    def progress(label, done, total):
        if label == "encoding texts" and done >= 24 and not killed:
            killed.append(cluster.kill_machine(random.Random(3)))

    audit(data, tmp_path / "run", monkeypatch, engine=cluster.engine, progress=progress)
    assert killed
    assert outcome(tmp_path / "run") == expected
    assert "raylet" not in capfd.readouterr().out


def test_errors_of_workers_are_the_errors_of_this_process(cluster, data, tmp_path, monkeypatch):
    said = []
    for engine in ("local", cluster.engine):
        with pytest.raises(InputError) as error:
            audit(data, tmp_path / f"run{len(said)}", monkeypatch, "Refusing", engine=engine)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "holds a number that is refused" in said[0]


def test_a_key_is_in_no_log_of_the_cluster(cluster, data, tmp_path, monkeypatch):
    key = "sk-3141592653589793"
    subject, benchmark = f"tests.engine.encoders:Keyed:api_key={key}", f"folder:{data}"
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="the service refused api_key="):
        api.audit(subject, benchmark, AUDITS, tmp_path / "run", engine=cluster.engine)
    logs = [path for path in cluster.logs.rglob("*") if path.is_file()]
    assert logs
    assert not [path.name for path in logs if key.encode() in path.read_bytes()]


def test_a_picture_that_cannot_be_read_is_named_by_its_row_and_file(cluster, tmp_path, monkeypatch):
    folder = write_world(tmp_path / "world", images=10)
    add_pictures(folder)
    (folder / "i7.png").write_bytes(b"no picture")
    said, left = [], []
    for name, engine in (("a", "local"), ("b", cluster.engine)):
        with pytest.raises(InputError) as error:
            audit(folder, tmp_path / name, monkeypatch, engine=engine)
        said.append(str(error.value))
        audit(folder, tmp_path / f"{name}-skipped", monkeypatch, engine=engine, on_error="skip")
        left.append(outcome(tmp_path / f"{name}-skipped"))
    assert said[0] == said[1]
    assert re.search(r"row 8: picture of 'i7' cannot be read", said[0])
    assert left[0] == left[1]


def test_a_model_that_ends_its_worker_each_time_is_an_error(cluster, data, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="3 workers of the Ray cluster died at the same part"):
        audit(data, tmp_path / "run", monkeypatch, "Dying", engine=cluster.engine)


def test_a_model_that_is_another_one_on_a_worker_is_an_error(cluster, data, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is another model on a worker than here"):
        audit(data, tmp_path / "run", monkeypatch, "Elsewhere", engine=cluster.engine)


@pytest.fixture(params=["whole", "shards"])
def either(cluster, request, monkeypatch):
    """The engine with room for a gallery, or for a part of a small one."""
    if request.param == "shards":
        monkeypatch.setattr(RayEngine, "room", 9_000)
    return cluster.engine


def vectors_with_ties(rng, count, width=70):
    """Few different vectors, so that many scores tie, some zeros, some of them negative."""
    kinds = rng.integers(-1, 2, (7, width)).astype(np.float32)
    return kinds[rng.integers(0, len(kinds), count)] * rng.choice(np.float32([1, -1, -0.0]), (count, 1))


@pytest.mark.parametrize("k", [1, 7, 60])
def test_the_best_and_ranks_in_groups_are_those_of_this_process(either, k):
    rng = np.random.default_rng(k)
    queries, gallery = vectors_with_ties(rng, 23), vectors_with_ties(rng, 60)
    at = np.argwhere(rng.random((23, 60)) < 0.2)
    targets = Targets(at[:, 0], at[:, 1], rng.integers(0, 3, 60))
    here, ranks = ranked_within(queries, gallery, k, targets)
    with using(either):
        found = top_k(queries, gallery, k)
        there, their = ranked_within(queries, gallery, k, targets)
    for lists in (found, there):
        assert lists.items.tobytes() == here.items.tobytes()
        assert np.array_equal(lists.scores, here.scores)
    assert their.tolist() == ranks.tolist()


def test_the_best_by_tokens_are_those_of_this_process(either):
    rng = np.random.default_rng(0)
    queries, gallery = (
        TokenVectors.of([rng.normal(size=(1 + row % 4, 70)).astype(np.float32) for row in range(count)])
        for count in (9, 40)
    )
    here = topk.top_k(queries, gallery, 5)
    with using(either):
        there = top_k(queries, gallery, 5)
    assert there.items.tobytes() == here.items.tobytes()
    assert there.scores.tobytes() == here.scores.tobytes()


def largest(block, add):
    return block.start, float(block.scores.max()) + add, block.targets.queries + block.start


def test_work_on_blocks_of_scores_is_done_in_order(either):
    rng = np.random.default_rng(0)
    queries, gallery = vectors_with_ties(rng, 23), vectors_with_ties(rng, 60)
    targets = Targets(np.array([3, 3, 22]), np.array([5, 59, 0]), np.zeros(60, dtype=np.int64))
    with using(either):
        found = list(per_block(largest, queries, gallery, 1, targets, 1.0))
    assert [done for done, _ in found][-1] == 23
    assert max(value for _, (_, value, _) in found) == (queries @ gallery.T).max() + 1
    assert np.concatenate([asked for _, (_, _, asked) in found]).tolist() == [3, 3, 22]


def test_a_gallery_of_another_width_is_the_same_error(either):
    with using(either), pytest.raises(InputError, match="queries are 3 wide and the gallery 4"):
        top_k(np.ones((2, 3), np.float32), np.ones((5, 4), np.float32), 1)


@pytest.mark.parametrize("queries", [3, 700, 20_000])
def test_bootstrap_replicates_are_those_of_this_process(cluster, queries):
    values = np.random.default_rng(queries).random((queries, 2))
    here = bootstrap_means(values, replicates=101, seed=4)
    with using(cluster.engine):
        there = bootstrap_means(values, replicates=101, seed=4)
    assert here.tobytes() == there.tobytes()


def test_matched_permutations_are_those_of_this_process(cluster):
    rng = np.random.default_rng(0)
    lists = np.argsort(rng.random((40, 90)), axis=1)[:, :10]
    given = (
        [lambda groups, cutoffs: np.stack([(groups[:, :k] == 1).mean(axis=1) for k in cutoffs])],
        lists,
        np.arange(90) // 3,
        np.arange(90) % 3,
        [1, 10],
    )
    [here] = matched_floor(*given, draws=30, seed=2)
    with using(cluster.engine):
        [there] = matched_floor(*given, draws=30, seed=2)
    for name in ("value", "sd", "p"):
        assert getattr(here, name).tobytes() == getattr(there, name).tobytes()


def test_work_larger_than_the_object_store_passes_through_it(cluster):
    part = 4 * 2**20
    count = 3 * STORE // part
    made = (bytes(part) for _ in range(count))
    assert list(cluster.engine.map(len, made, size=len)) == [part] * count


def test_no_cluster_at_an_address_is_said_at_once(monkeypatch):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with (
        pytest.raises(InputError, match=r"no Ray cluster answers at 127\.0\.0\.1:1 "),
        opened("ray:127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize("address", ["there", "ray://127.0.0.1:10001", "127.0.0.1:port"])
def test_an_address_that_is_none_is_an_error(address, monkeypatch):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(InputError, match="an address is HOST:PORT"), opened(f"ray:{address}"):
        pass


def test_ray_that_is_not_installed_is_an_error(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'equiview\[ray\]'"), opened("ray"):
        pass


def test_another_version_on_a_machine_is_an_error():
    here = {"Python": "3.11.4", "equiview": "1.0", "kernels of BLAS": "openblas SkylakeX"}
    check_alike(here, here, "m")
    for what, other, said in (
        ("Python", "3.12.1", "has Python 3.12.1, this one 3.11.4"),
        ("equiview", "none", "has no equiview; install equiview 1.0 there"),
        ("kernels of BLAS", "openblas Haswell", "set OPENBLAS_CORETYPE=SkylakeX"),
    ):
        with pytest.raises(InputError, match=said):
            check_alike(here, here | {what: other}, "m")
