"""Runs, inputs and vectors on object stores: the same bytes, nothing half done to be seen, nothing lost."""

from __future__ import annotations

import os
from pathlib import Path

import fsspec
import numpy as np
import pytest

import equiview as ev
from equiview import api
from equiview.data import shared
from equiview.data.manifest import Manifest
from equiview.data.requests import Reply
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.io.remote import Mirror, local, named
from equiview.io.stages import is_whole
from equiview.store import Answers, AnswerStore, Copies, StoredEncoder
from equiview.store.answers import _name_of
from tests.conftest import write_world
from tests.processes import COMMAND, fresh
from tests.store.counting import Counting, many
from tests.stores import BUCKET, PLACE, SCHEME, Faulty, Killed, forget_stores, keys_counting, served, work

FEW = {"prevalence": {"replicates": 100}}


@pytest.fixture(scope="module")
def server():
    with served() as environment:
        yield environment


@pytest.fixture
def bucket(server, monkeypatch):
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    forget_stores()
    yield fsspec.filesystem(SCHEME)
    forget_stores()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Be on a machine of that name: its cache is its own."""

    def be(name: str) -> Path:
        monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / name))
        return tmp_path / name

    Faulty.reset()
    be("first")
    return be


def content_of(folder: Path) -> dict[str, bytes]:
    """All that a run holds, but for clock times and locks."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name not in {".lock", "timings.json"}}


def at_store(fs, root: str) -> dict[str, bytes]:
    found = {path.removeprefix(root).lstrip("/"): fs.cat_file(path) for path in fs.find(root)}
    return {name: content for name, content in found.items() if name != "timings.json"}


# ------------------------------------------------------------------------------- at a store on loopback


def test_a_run_at_a_url_is_a_run_here_to_the_byte_and_is_compared_elsewhere(bucket, machine, tmp_path):
    bucket.put(str(write_world(tmp_path / "world")), "bucket/", recursive=True)
    asked = (f"embeddings:{BUCKET}/world", f"folder:{BUCKET}/world", ["prevalence"])
    run = api.audit(*asked, Path(f"{BUCKET}/runs/a"), settings=FEW)
    assert named(run.folder) == f"{BUCKET}/runs/a"
    here = api.audit(*asked, tmp_path / "a", settings=FEW)
    assert at_store(bucket, "bucket/runs/a") == content_of(here.folder)
    machine("second")
    assert content_of(ev.open(f"{BUCKET}/runs/a").folder) == content_of(here.folder)
    api.audit(*asked, Path(f"{BUCKET}/runs/b"), name="again", settings=FEW)
    api.write_comparison([shared.opened(f"{BUCKET}/runs/{name}") for name in "ab"], Path(f"{BUCKET}/c"))
    assert sorted(at_store(bucket, "bucket/c")) == ["comparison.parquet", "report.html"]
    with pytest.raises(InputError, match="holds a run, whose page would be overwritten"):
        api.write_comparison([run, here], Path(f"{BUCKET}/runs/a"))


def test_of_two_machines_one_writes_to_a_real_store(bucket, machine, tmp_path):
    place = Path(f"{BUCKET}/two")
    with shared.shared(place):
        machine("second")
        with pytest.raises(InputError, match="is writing to it since"):
            work("a", place=place)
    work("a", place=place)
    assert at_store(bucket, "bucket/two") == finished(tmp_path / "here", "a")


def test_after_a_kill_at_a_real_store_the_machine_goes_on_and_another_is_refused(bucket, machine, tmp_path):
    place = Path(f"{BUCKET}/killed")
    killed = (
        "import os; from tests.stores import Path, Run, work\n"
        "whole = Run.stage\n"
        "def stage(run, name, produce):\n"
        "    if name == 'measure': os.kill(os.getpid(), 9)\n"
        "    return whole(run, name, produce)\n"
        f"Run.stage = stage; work('a', 'b', place=Path({str(place)!r}))"
    )
    assert fresh(killed, [], environment=dict(os.environ)).returncode == -9
    assert sorted(at_store(bucket, "bucket/killed")) == [
        ".writing", "manifest.json", "observations/a/x", "observations/b/x",
    ]  # fmt: skip
    machine("second")
    with pytest.raises(InputError, match="is writing to it since"):
        work("a", "b", place=place)
    machine("first")
    work("a", "b", place=place)
    assert at_store(bucket, "bucket/killed") == finished(tmp_path / "here", "a", "b")


REFUSED = {
    "s3": [
        ({}, "s3://elsewhere/a", "there is no such place .*bucket does not exist"),
        ({"AWS_SECRET_ACCESS_KEY": "", "AWS_ACCESS_KEY_ID": ""}, "s3://bucket/a", "locate credentials"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}, "s3://bucket/a", "connect"),
        ({}, "gs://bucket/a", r"pip install 'equiview\[gcs\]'"),
    ],
    "gs": [
        ({}, "gs://elsewhere/a", "there is no such place"),
        ({"STORAGE_EMULATOR_HOST": "http://127.0.0.1:9"}, "gs://bucket/a", "Connect call failed"),
    ],
    "az": [({}, "az://elsewhere/a", "there is no such place|holds no run")],
}


@pytest.mark.parametrize(
    ("changed", "place", "said"),
    [
        ({}, f"{BUCKET}/nothing", "holds no run"),
        ({}, "stone://bucket/a", "Protocol not known: stone"),
        *REFUSED[SCHEME],
    ],
)  # fmt: skip
def test_what_a_store_refuses_is_said_in_a_line(bucket, machine, monkeypatch, changed, place, said):
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    forget_stores()
    for use in (shared.opened, lambda place: local(f"{place}/images.csv")):
        with pytest.raises(InputError, match=said if use is shared.opened else ".") as caught:
            use(place)
        assert "\n" not in str(caught.value)


def test_what_marks_a_folder_is_no_file(bucket, machine):
    for name, content in {"": b"", "images.csv": b"id\na\n", "empty/": b""}.items():
        if SCHEME == "s3":
            bucket.call_s3("put_object", Bucket="bucket", Key=f"made/by/hand/{name}", Body=content)
        elif name.rstrip("/") == name != "" or (name and SCHEME == "gs"):  # adlfs takes the slash away
            bucket.pipe_file(f"bucket/made/by/hand/{name}", content)
    copy = local(f"{BUCKET}/made/by/hand")
    assert [path.name for path in copy.iterdir()] == ["images.csv"]


@pytest.mark.skipif(SCHEME != "s3", reason="the simulators of other stores let everybody in")
def test_whom_a_store_does_not_let_in_is_told_in_a_line(bucket, machine, monkeypatch):
    import boto3

    iam = boto3.client("iam", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    iam.create_user(UserName="somebody")
    key = iam.create_access_key(UserName="somebody")["AccessKey"]
    right = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    cases = (
        ({}, "The AWS Access Key Id you provided does not exist"),
        (right | {"AWS_SECRET_ACCESS_KEY": "wrong"}, "The request signature we calculated does not match"),
        (right, "Access Denied"),
        (right | {"AWS_SESSION_TOKEN": "expired"}, "The provided token is malformed or otherwise invalid"),
    )
    uses = ((shared.opened, "read"), (local, "read"), (lambda place: work("a", place=place), "written"))
    with keys_counting():
        for given, said in cases:
            for name, value in given.items():
                monkeypatch.setenv(name, value)
            forget_stores()
            for use, what in uses:
                with pytest.raises(InputError) as caught:
                    use(Path("s3://bucket/a"))
                assert "\n" not in str(caught.value)
                assert str(caught.value).startswith(f"s3://bucket/a: cannot be {what} ({said}")
                assert "check the address, the credentials (AWS_ACCESS_KEY_ID, " in str(caught.value)
        done = fresh(COMMAND, ["report", "s3://bucket/a"], environment=os.environ | {"PATH": ""})
        assert done.returncode == 1
        assert done.stderr.startswith("equiview: s3://bucket/a: cannot be written (The provided token")
        assert done.stderr.count("\n") == 1


def test_what_is_written_to_a_folder_alone_says_so(machine):
    with pytest.raises(InputError, match="s3://bucket/made: this is written to a folder of this machine"):
        api.make(
            "center", {"subject": "pictogram:skewed", "benchmark": "pictograms"}, Path("s3://bucket/made")
        )


# --------------------------------------------------------------------------- who writes, and what is seen


def seen(scratch: Path) -> Manifest | None:
    """The manifest at the store; every file that it names must be there as it says."""
    content = at_store(Faulty(), "/runs/a")
    for name, held in content.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_bytes(held)
    if "manifest.json" not in content:
        return None
    found = Manifest.model_validate_json(content["manifest.json"])
    for stage, files in found.stages.items():
        assert files.keys() <= content.keys()
        assert is_whole(scratch, files), f"{stage} is not what the manifest says"
    return found


def finished(place: Path, *audits: str) -> dict[str, bytes]:
    work(*audits, place=place)
    return content_of(place)


def test_a_kill_at_any_write_leaves_what_is_whole_and_another_machine_goes_on(machine, tmp_path):
    wanted = finished(tmp_path / "here", "a", "b")
    work("a")
    n_first = len(Faulty.writes)
    work("a", "b")
    total = len(Faulty.writes)
    assert at_store(Faulty(), "/runs/a") == wanted
    assert total > n_first + 8
    for at in range(total):
        Faulty.reset()
        machine(f"killed-{at}")
        Faulty.at = at
        with pytest.raises(Killed):
            [work(*audits) for audits in ("a", "ab")]
        Faulty.at = -1
        before = seen(tmp_path / f"seen-{at}")
        machine(f"other-{at}")
        if Faulty().exists("/runs/a/.writing"):
            with pytest.raises(
                InputError, match=r"is writing to it since .* delete faulty://runs/a/.writing"
            ):
                work("a", "b")
            Faulty().rm_file("/runs/a/.writing")
        done = len(Faulty.writes)
        work("a", "b")
        assert at_store(Faulty(), "/runs/a") == wanted
        sent = Faulty.writes[done:]
        for stage in before.stages if before else ():
            if stage.startswith("observe."):  # taken up, not sent again
                assert not [path for path in sent if stage.replace(".", "ations/") in path]


def test_the_machine_that_was_killed_takes_its_own_place_up_again(machine, tmp_path):
    Faulty.at = 6
    with pytest.raises(Killed):
        work("a", "b")
    Faulty.at = -1
    assert Faulty().exists("/runs/a/.writing")
    work("a", "b")
    assert at_store(Faulty(), "/runs/a") == finished(tmp_path / "here", "a", "b")


def test_of_two_machines_one_writes(machine):
    with shared.shared(PLACE):
        machine("second")
        with pytest.raises(InputError, match="is writing to it since"):
            work("a")
    assert at_store(Faulty(), "/runs/a") == {}


def test_a_machine_whose_place_was_given_to_another_writes_no_more(machine):
    theirs = {}

    def write() -> None:
        with shared.shared(PLACE) as (folder, _):
            folder.mkdir()
            (folder / "report.html").write_text("mine")
            Faulty().rm_file("/runs/a/.writing")
            machine("second")
            work("a")
            theirs.update(Faulty.store)

    with pytest.raises(InputError, match="was removed while this run was writing; what was done is kept in"):
        write()
    assert Faulty.store == theirs


def test_a_lost_connection_costs_the_run_nothing(machine, tmp_path, caplog):
    Faulty.at, Faulty.fault = 3, PermissionError("Forbidden")
    with pytest.raises(
        InputError, match=r"cannot be written \(Forbidden\); check the address, the credentials"
    ) as caught:
        work("a", "b")
    assert "not sent now: faulty://runs/a: cannot be written (Forbidden)" in caplog.text
    copy = Mirror("faulty://runs/a").copy
    assert f"what is done is kept in {copy.parent}" in str(caught.value)
    stages = Run.open(copy).manifest.stages
    assert list(stages) == ["observe.a", "observe.b", "measure", "report"]
    before = (copy / "reported" / "x").stat().st_ino
    Faulty.at = -1
    work("a", "b")
    assert (copy / "reported" / "x").stat().st_ino == before, "nothing is done again"
    assert at_store(Faulty(), "/runs/a") == finished(tmp_path / "here", "a", "b")


def test_what_two_machines_each_observed_is_not_mixed(machine):
    Faulty.at, Faulty.fault = 1, OSError("gone")
    with pytest.raises(InputError, match="gone"):
        work("a")
    Faulty.reset()
    machine("second")
    work("b")
    machine("first")
    held = dict(Faulty.store)
    with pytest.raises(InputError, match="have each observed what the other has not; choose another place"):
        work("a", "b")
    with pytest.raises(InputError, match="have each observed"):
        shared.opened(PLACE)
    assert Faulty.store == held


def test_a_file_that_was_lost_or_changed_at_the_store_is_sent_again(machine):
    work("a")
    Faulty().rm_file("/runs/a/measured/x")
    Faulty().pipe_file("/runs/a/reported/x", b"other")
    work("a")
    assert at_store(Faulty(), "/runs/a")["measured/x"] == b"ax"
    assert at_store(Faulty(), "/runs/a")["reported/x"] == b"ax"


def test_copies_are_listed_and_what_is_not_sent_is_never_pruned(machine, tmp_path, caplog):
    here = machine("first")
    Faulty.at, Faulty.fault = 4, OSError("gone")
    with pytest.raises(InputError, match="gone"):
        work("a")
    Faulty.at = -1
    fs = Faulty()
    for path in write_world(tmp_path / "world", images=3).iterdir():
        fs.put_file(str(path), f"/data/world/{path.name}")
    copy = local("faulty://data/world")
    local("faulty://data/world/images.csv")
    sizes = {path.name: path.stat().st_size for path in copy.iterdir()}
    listed = {row["url"]: row for row in Copies().contents().to_dicts()}
    assert {url: (row["files"], row["not_sent"]) for url, row in listed.items()} == {
        "faulty://data/world": (4, 0),
        "faulty://data/world/images.csv": (1, 0),
        "faulty://runs/a": (6, 5),
    }
    assert listed["faulty://data/world"]["megabytes"] == sum(sizes.values()) / 1e6
    assert Copies().prune(unused_days=1) == 0
    assert Copies().prune("faulty://data/world/i") == sizes["images.csv"]
    assert Copies().prune("faulty://data") == sum(sizes.values())
    run = Mirror("faulty://runs/a").copy
    before = content_of(run)
    assert Copies().prune() == 0
    assert "faulty://runs/a: is kept, since 5 of its files may be nowhere else" in caplog.text
    assert content_of(run) == before
    work("a")
    assert Copies().contents().select("url", "not_sent").rows() == [("faulty://runs/a", 0)]
    at = (run / "measured" / "x").stat()
    (run / "measured" / "x").write_text("AX")  # as a disk that forgets would
    os.utime(run / "measured" / "x", ns=(at.st_atime_ns, at.st_mtime_ns))
    assert Copies().verify()["problem"].str.contains("was changed after the run wrote it").to_list() == [True]
    assert Copies().prune(damaged=True) > 0
    assert sorted(path.name for path in here.glob("remote/*/[!.]*")) == ["owner"]
    work("a")
    assert at_store(Faulty(), "/runs/a") == finished(tmp_path / "here", "a")


# ------------------------------------------------------------------------------------ inputs and vectors


def test_inputs_are_fetched_once_and_again_when_they_change(machine, tmp_path):
    fs = Faulty()
    for path in write_world(tmp_path / "world", images=3).iterdir():
        fs.put_file(str(path), f"/data/world/{path.name}")
    fs.pipe_file("/data/world/.hidden", b"not ours")
    copy = local("faulty://data/world")
    assert sorted(path.name for path in copy.iterdir()) == [
        "images.csv",
        "images.npy",
        "texts.csv",
        "texts.npy",
    ]
    assert len(Faulty.reads) == 4
    assert local("faulty://data/world/") == copy
    assert len(Faulty.reads) == 4
    fs.pipe_file("/data/world/images.csv", b"id\ni0\n")
    (copy / "texts.csv").write_text("damaged here")
    fs.rm_file("/data/world/texts.npy")
    local("faulty://data/world")
    assert Faulty.reads[4:] == ["/data/world/images.csv", "/data/world/texts.csv"]
    assert (copy / "images.csv").read_bytes() == b"id\ni0\n"
    assert (copy / "texts.csv").read_bytes() == fs.cat_file("/data/world/texts.csv")
    assert not (copy / "texts.npy").exists()
    one = local("faulty://data/world/images.csv")
    assert one.name == "images.csv"
    assert one.read_bytes() == b"id\ni0\n"
    with pytest.raises(InputError, match="faulty://data/nothing: no such file or folder"):
        local("faulty://data/nothing")


def test_a_name_that_leads_out_of_the_copy_is_refused(machine, monkeypatch):
    listed = {"/data/world/x\\..\\..\\outside": {"type": "file", "size": 1}}
    monkeypatch.setattr(Faulty, "find", lambda self, root, detail: listed)
    with pytest.raises(InputError, match="lies outside the folder"):
        local("faulty://data/world")


def test_machines_share_the_vectors_that_one_of_them_computed(machine, monkeypatch):
    monkeypatch.setenv("EQUIVIEW_STORE", "faulty://store/")
    items = many(20)
    first = Counting()
    vectors = StoredEncoder(first).embed(items)
    machine("second")
    second = Counting()
    np.testing.assert_array_equal(StoredEncoder(second).embed(items), vectors)
    assert (first.encoded, second.encoded) == (20, 0)
    read = len(Faulty.reads)
    StoredEncoder(second).embed(items)
    assert len(Faulty.reads) == read
    machine("third")
    third = Counting()
    np.testing.assert_array_equal(StoredEncoder(third).embed(many(5)), vectors[:5])
    assert third.encoded == 0
    assert 1 <= len(Faulty.reads) - read < read, "only the files that hold what is missed"


def test_machines_share_vectors_at_a_real_store(bucket, machine, monkeypatch):
    monkeypatch.setenv("EQUIVIEW_STORE", f"{BUCKET}/vectors")
    vectors = StoredEncoder(Counting()).embed(many(20))
    machine("second")
    second = Counting()
    np.testing.assert_array_equal(StoredEncoder(second).embed(many(20)), vectors)
    assert second.encoded == 0


def test_vectors_that_could_not_be_shared_are_sent_with_the_next_ones(machine, monkeypatch, caplog):
    monkeypatch.setenv("EQUIVIEW_STORE", "faulty://store")
    Faulty.at, Faulty.fault = 1, OSError("network is unreachable")
    encoder = Counting()
    StoredEncoder(encoder).embed(many(20))
    assert "cannot be written (network is unreachable)" in caplog.text
    Faulty.at = -1
    StoredEncoder(encoder).embed(many(30))
    machine("second")
    other = Counting()
    StoredEncoder(other).embed(many(30))
    assert other.encoded == 0


def answered(*keys: str) -> dict[str, str]:
    """What the machine has of these answers, those that it lacks being paid for now."""
    with Answers("f00d", name="chat:one").opened() as answers:
        for key in set(keys) - set(answers.get(keys)):
            answers.put(key, Reply(f"{key} paid by {os.environ['EQUIVIEW_CACHE'][-6:]}"))
        return {key: reply.text for key, reply in answers.get(keys).items()}


@pytest.mark.parametrize("url", ["faulty://store", f"{BUCKET}/shared"])
def test_machines_pay_once_for_an_answer(bucket, machine, monkeypatch, url):
    answered("a")  # before anything was shared
    monkeypatch.setenv("EQUIVIEW_STORE", url)
    answered("a", "b")
    machine("second")
    assert answered("a", "b", "c") == {
        "a": "a paid by /first",
        "b": "b paid by /first",
        "c": "c paid by second",
    }
    machine("first")
    assert answered("c") == {"c": "c paid by second"}
    AnswerStore().prune()
    assert answered("a", "c") == {"a": "a paid by /first", "c": "c paid by second"}


def test_a_paid_answer_is_lost_by_no_refusal_and_no_kill(machine, monkeypatch, caplog):
    monkeypatch.setenv("EQUIVIEW_STORE", "faulty://store")
    Faulty.at, Faulty.fault = 0, OSError("network is unreachable")
    answered("a")
    assert "answers are not shared now: faulty://store/answers/f00d: cannot be written" in caplog.text
    Faulty.fault = Killed()
    with pytest.raises(Killed):
        answered("a", "b")
    Faulty.at = -1
    assert answered("a", "b") == {"a": "a paid by /first", "b": "b paid by /first"}
    machine("second")
    assert answered("a", "b") == {"a": "a paid by /first", "b": "b paid by /first"}
    for name in Faulty().find("/store"):
        Faulty().pipe_file(name, b'[["a", "{}"]]')
    Faulty().pipe_file("/store/answers/f00d/" + _name_of(b"5"), b"5")
    machine("third")
    assert answered("a") == {"a": "a paid by /third"}
    assert caplog.text.count("is not what was written; delete it") == 3


def test_answers_are_sent_a_few_hundred_at_a_time(machine, monkeypatch):
    monkeypatch.setenv("EQUIVIEW_STORE", "faulty://store")
    with Answers("f00d").opened() as answers:
        for number in range(300):
            answers.put(str(number), Reply("B"))
        assert len(Faulty.writes) == 1
    assert len(Faulty.writes) == 2


def test_a_shared_store_is_a_url(monkeypatch):
    monkeypatch.setenv("EQUIVIEW_STORE", "somewhere")
    with pytest.raises(InputError, match=r"EQUIVIEW_STORE is 'somewhere'; expected a URL"):
        StoredEncoder(Counting())
