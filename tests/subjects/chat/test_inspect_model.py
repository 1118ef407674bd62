"""Real Inspect against a real service on loopback: replies, faults, limits, secrets."""

import asyncio
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from PIL import Image

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.subjects import load_subject
from equiview.subjects.budget import Budget
from tests.benchmarks.layouts import LAYOUTS
from tests.chat_server import KEY, Fault, at_first, chat_server, environment
from tests.processes import fresh

FACTS = {"en": "Paris", "sw": "Parisi"}


def knows(prompt, pictures, model):
    """A small model of rules: it knows one fact in two languages, and how large a picture is."""
    if pictures:
        return "x".join(map(str, Image.open(io.BytesIO(pictures[0])).size))
    return FACTS.get(prompt.partition(":")[0], "?")


def requests_of(*prompts):
    return [Request(f"q{place}:en", prompt, "en", max_tokens=50) for place, prompt in enumerate(prompts)]


def picture(width, height, kind="PNG"):
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(buffer, kind)
    return buffer.getvalue()


def test_replies_come_with_tokens_and_cost():
    with chat_server(knows) as server:
        model = load_subject(server.subject(options="price_in=2.5,price_out=10"))
        replies = model.ask(requests_of("en: capital of France?", "sw: mji mkuu?", "mi: ?"))
    assert [reply.text for reply in replies] == ["Paris", "Parisi", "?"]
    assert replies[0] == Reply("Paris", "stop", 6, 2, (6 * 2.5 + 2 * 10) / 1e6)
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0.0, 50, "knower")
    assert {asked.key for asked in server.requests} == {KEY}


def test_what_it_is_asked_with_is_sent():
    with chat_server(knows) as server:
        load_subject(server.subject(options="temperature=none,seed=7")).ask(requests_of("en: ?"))
        load_subject(server.subject(options="temperature=0.5")).ask(requests_of("en: ?"))
    first, second = (asked.body for asked in server.requests)
    assert "temperature" not in first
    assert first["seed"] == 7
    assert second["temperature"] == 0.5


def test_pictures_are_sent_as_stored_or_smaller():
    small, large, photo = picture(30, 20), picture(400, 100), picture(200, 300, "JPEG")
    images = Items("image", pl.DataFrame({"id": ["s", "l", "p"], "picture": [small, large, photo]}))
    about = [Request(f"q{row}:en", f"about {row}", "en", image=row) for row in range(3)]
    with chat_server(knows) as server:
        replies = load_subject(server.subject(options="side=200,connections=1")).ask(about, images)
    assert [reply.text for reply in replies] == ["30x20", "200x50", "133x200"]
    sent = {asked.prompt: asked.pictures for asked in server.requests}
    assert sent["about 0"] == [small]
    assert [Image.open(io.BytesIO(sent[f"about {row}"][0])).format for row in (1, 2)] == ["PNG", "JPEG"]


def test_a_picture_that_cannot_be_read_is_named():
    images = Items("image", pl.DataFrame({"id": ["a"], "picture": [b"no picture"]}))
    with chat_server(knows) as server, pytest.raises(InputError, match="picture of 'a' cannot be read"):
        load_subject(server.subject()).ask([Request("q:en", "?", "en", image=0)], images)
    assert not server.requests


@pytest.mark.parametrize("kind", ["busy", "error", "truncated", "malformed", "no choices"])
@pytest.mark.usefixtures("patient")
def test_what_passes_is_asked_again(kind):
    with chat_server(at_first(Fault(kind), knows)) as server:
        replies = load_subject(server.subject()).ask(requests_of("en: a", "sw: b"))
    assert [reply.text for reply in replies] == ["Paris", "Parisi"]
    assert Counter(server.prompts) == {"en: a": 2, "sw: b": 2}


@pytest.mark.parametrize("kind", ["busy", "error", "malformed", "no choices", "tool"])
@pytest.mark.parametrize("retries", [0, 1])
@pytest.mark.usefixtures("patient")
def test_a_request_is_asked_no_oftener_than_said(kind, retries):
    with (
        chat_server(lambda *_: Fault(kind)) as server,
        pytest.raises(InputError, match="1 of 1 requests failed"),
    ):
        load_subject(server.subject(options=f"retries={retries}")).ask(requests_of("?"))
    assert len(server.prompts) == (1 if kind == "tool" else retries + 1)


@pytest.mark.parametrize("kind", ["tool", "malformed", "no choices"])
@pytest.mark.usefixtures("patient")
def test_answers_that_cannot_be_used_are_paid_for(kind):
    with chat_server(lambda *_: Fault(kind)) as server:
        subject = load_subject(server.subject(options="connections=1,retries=0,price_in=1000000,price_out=0"))
        subject.budget = Budget(limit=10.0)  # a dollar a letter, at the most
        with pytest.raises(InputError, match=r"stopped, \$.* of at most \$10 are spent"):
            subject.ask(requests_of(*("four" for _ in range(30))))
    assert len(server.prompts) <= 10


def test_half_a_letter_and_a_repeated_key_are_replaced_before_anything_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    noticed = []
    monkeypatch.setattr("equiview.subjects.chat.task.notice", noticed.append)

    def reply(prompt, pictures, model):
        return Fault("half a letter", "well ") if prompt == "half" else f"your key is {KEY}, password=dog"

    with chat_server(reply) as server:
        first, second = load_subject(server.subject()).ask(requests_of("half", "key"))
    assert first.text == "well \ufffd"
    assert second.text == "your key is ***, password=dog"
    said = "the reply holds a key or half of a letter, which is replaced"
    assert sorted(noticed) == [f"q0:en: {said}", f"q1:en: {said}"]
    for path in (tmp_path / "logs").rglob("*"):
        if path.is_file():
            with zipfile.ZipFile(path) as log:
                assert not any(KEY.encode() in log.read(name) for name in log.namelist())


@pytest.mark.usefixtures("patient")
def test_silence_is_waited_for_no_longer_than_said():
    with chat_server(at_first(Fault("silence"), knows)) as server:
        assert load_subject(server.subject(options="timeout=1")).ask(requests_of("en: a"))[0].text == "Paris"


@pytest.mark.parametrize(
    ("kind", "stopped"), [("length", "length"), ("filtered", "refused"), ("refusal", "refused")]
)
def test_why_a_reply_ended_is_told(kind, stopped):
    with chat_server(lambda *_: Fault(kind, "part of it")) as server:
        (reply,) = load_subject(server.subject()).ask(requests_of("?"))
    assert (reply.text, reply.stopped) == ("part of it", stopped)
    assert reply.output_tokens == 3


FOR_GOOD = {
    "busy": "429 - too many requests",
    "error": "500 - something broke",
    "bad request": "400 - the picture is too large",
    "no such model": "404 - no model is named knower",
    "wrong key": r"401 - wrong key: \*\*\*",
    "truncated": "JSONDecodeError",
    "malformed": "JSONDecodeError: Expecting value",
    "no choices": "IndexError",
    "silence": "AttemptTimeoutError",
}


@pytest.mark.parametrize("kind", FOR_GOOD)
@pytest.mark.usefixtures("patient")
def test_what_fails_for_good_is_named_and_counted_and_the_rest_is_kept(kind, tmp_path):
    def reply(prompt, pictures, model):
        return Fault(kind) if prompt == "bad" else knows(prompt, pictures, model)

    asked = requests_of("en: a", "bad", "sw: b")
    given = {}
    with chat_server(reply) as server:
        timeout = 1 if kind == "silence" else 600  # on a busy machine an answer takes longer than a second
        model = load_subject(server.subject(options=f"retries=1,timeout={timeout},logs={tmp_path}"))
        with pytest.raises(InputError, match=rf"1 of 3 requests failed.*'q1:en'.*{FOR_GOOD[kind]}") as error:
            given.update(model.replies(asked, None, silent))
    assert {place: reply.text for place, reply in given.items()} == {0: "Paris", 2: "Parisi"}
    assert KEY not in str(error.value)
    assert KEY not in _log_text(tmp_path)


def _log_text(folder):
    from inspect_ai.log import read_eval_log

    (path,) = folder.glob("*.eval")
    return read_eval_log(str(path)).model_dump_json()


@pytest.mark.usefixtures("patient")
def test_after_many_failures_and_no_answer_nothing_more_is_asked():
    with chat_server(lambda *_: Fault("wrong key")) as server:
        model = load_subject(server.subject(options="connections=2"))
        with pytest.raises(InputError, match=r"\d\d of 400 requests failed and nothing more was asked"):
            model.ask(requests_of(*map(str, range(400))))
    assert len(server.requests) < 40


def test_a_budget_stops_it_and_what_came_is_given():
    given = []
    with chat_server(lambda *_: "four letters by four") as server:
        model = load_subject(server.subject(options="connections=1,price_in=0,price_out=1000000"))
        model.budget = Budget(limit=20)  # an answer is 6 tokens, a dollar each
        with pytest.raises(
            InputError, match=r"\$24\.0000 of at most \$20 are spent; 4 of 50 requests are ans"
        ):
            given.extend(model.replies(requests_of(*map(str, range(50))), None, silent))
        assert len(given) == len(server.requests) == 4
        assert model.budget.spent == 24
        # Whoever shares it asks nothing more.
        other = load_subject(server.subject("other", "price_in=0,price_out=1"))
        other.budget = model.budget
        with pytest.raises(InputError, match="0 of 1 requests are answered"):
            other.ask(requests_of("?"))
        assert len(server.requests) == 4


def test_a_budget_without_prices_is_refused_before_anything_is_asked():
    with chat_server(knows) as server:
        model = load_subject(server.subject())
        model.budget = Budget(limit=1)
        with pytest.raises(InputError, match="are not known; give price_in= and price_out="):
            model.ask(requests_of("?"))
    assert not server.requests
    assert load_subject("chat:equiview-hf/some/folder").price == (0.0, 0.0)


def test_it_works_in_a_running_event_loop_and_in_threads():
    async def asked(model):
        return model.ask(requests_of("en: a"))

    with chat_server(knows) as server:
        assert asyncio.run(asked(load_subject(server.subject())))[0].text == "Paris"
        texts = []
        threads = [
            threading.Thread(
                target=lambda: texts.append(load_subject(server.subject()).ask(requests_of("sw: a"))[0].text)
            )
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == ["Parisi", "Parisi"]


def test_concurrency_is_as_asked():
    with chat_server(knows) as server:
        server.delay = 0.02
        load_subject(server.subject(options="connections=3")).ask(requests_of(*map(str, range(12))))
        assert 1 < server.at_once <= 3


def test_the_log_of_inspect_holds_every_sample_and_no_picture(tmp_path, monkeypatch):
    from inspect_ai.log import read_eval_log

    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    content = picture(64, 64)
    images = Items("image", pl.DataFrame({"id": ["a"], "picture": [content]}))
    with chat_server(knows) as server:
        asked = [Request("q0:en", "what?", "en", image=0), Request("q1:sw", "sw: nini?", "sw")]
        load_subject(server.subject()).ask(asked, images)
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(path))
    assert {sample.id: sample.output.completion for sample in log.samples} == {
        "q0:en": "64x64",
        "q1:sw": "Parisi",
    }
    assert "base64," not in log.model_dump_json()
    assert KEY not in log.model_dump_json()


def test_logs_are_in_the_cache_folder_unless_said_otherwise(tmp_path):
    with chat_server(knows) as server:
        load_subject(server.subject()).ask(requests_of("en: a"))
        load_subject(server.subject(options=f"logs={tmp_path / 'mine'}")).ask(requests_of("en: a"))
    assert len(list((tmp_path / "cache" / "logs").glob("*.eval"))) == 1
    assert len(list((tmp_path / "mine").glob("*.eval"))) == 1


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai-api/loop/m", "LOOP_BASE_URL"),
        ("openai-api/my-loop/m", "MY_LOOP_BASE_URL"),
        ("openai/gpt-4o", "OPENAI_BASE_URL"),
        ("openai/azure/gpt-4o", "AZURE_OPENAI_BASE_URL"),
        ("grok/m", "XAI_BASE_URL"),
        ("vllm/m", "VLLM_BASE_URL"),
        ("anthropic/m", "INSPECT_EVAL_MODEL_BASE_URL"),
    ],
)
def test_another_server_behind_the_same_name_is_another_model(model, variable, monkeypatch):
    before = load_subject(f"chat:{model}").fingerprint
    monkeypatch.setenv("UNRELATED_BASE_URL", "http://other")
    assert load_subject(f"chat:{model}").fingerprint == before
    monkeypatch.setenv(variable, "http://localhost:1/v1")
    first = load_subject(f"chat:{model}").fingerprint
    monkeypatch.setenv(variable, "http://localhost:2/v1")
    assert len({before, first, load_subject(f"chat:{model}").fingerprint}) == 3
    given = f"chat:{model},url=http://localhost:3/v1"
    asked = load_subject(given).fingerprint
    monkeypatch.delenv(variable)
    assert load_subject(given).fingerprint == asked


@pytest.mark.parametrize(
    "option",
    ["seed=1.5", "connections=1.9", "seed=-1", "retries=1e3", "timeout=0", "side=15", "seed=9" + "0" * 19],
)
def test_what_is_counted_is_a_whole_number(option):
    name = option.partition("=")[0]
    with pytest.raises(InputError, match=f"chat: {name} is .*expected a whole number from"):
        load_subject(f"chat:mockllm/model,{option}")


def test_seeds_beyond_what_a_float_holds_are_told_apart():
    first, second = (load_subject(f"chat:mockllm/model,seed={2**53 + more}") for more in (0, 1))
    assert (first.seed, second.seed) == (2**53, 2**53 + 1)
    assert first.fingerprint != second.fingerprint


def test_the_fingerprint_is_of_what_can_change_an_answer():
    name = "chat:openai-api/loopback/m,url=http://127.0.0.1:1/v1"
    same = ["", ",retries=1", ",connections=2,timeout=5", ",logs=x", ",price_in=1,price_out=1"]
    other = [",revision=2", ",seed=1", ",temperature=1", ",temperature=none", ",side=64"]
    assert len({load_subject(name + options).fingerprint for options in same}) == 1
    assert len({load_subject(name + options).fingerprint for options in ["", *other]}) == 6
    assert load_subject(name.replace("/m,", "/n,")).fingerprint != load_subject(name).fingerprint
    assert load_subject(name).declares_fingerprint


WRONG = {
    "chat:": "needs a model as Inspect names it",
    "chat:gpt-4o": "needs a model as Inspect names it",
    "chat:openai/m,colour=red": "no option 'colour'",
    "chat:openai/m,temperature=warm": "temperature is 'warm'; expected a number from 0",
    "chat:openai/m,connections=0": "connections is '0'; expected a whole number from 1",
    "chat:openai/m,price_in=1": "give both price_in and price_out",
    "chat:openai/m,url=host": "url is not a plain address",
    "chat:openai/m,url=https://me:sesame@host/v1": "url is not a plain address",
    "chat:openai/m,url=https://host/v1?api_key=sesame": "url is not a plain address",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_is_said_in_one_line_and_without_its_secret(name):
    with pytest.raises(InputError, match=WRONG[name]) as error:
        load_subject(name)
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize("name", [f"chat:openai/{KEY}", f"chat:openai-api/loop/m,url=http://host/{KEY}/v1"])
def test_a_key_in_a_name_or_an_address_is_refused(name, monkeypatch):
    monkeypatch.setenv("LOOP_API_KEY", KEY)
    with pytest.raises(InputError, match="holds the value of a key in the environment") as error:
        load_subject(name)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("model", "message"),
    [("no-such-provider/m", "no-such-provider"), ("openai-api/nokey/m", "NOKEY_API_KEY")],
)
def test_a_provider_that_cannot_be_opened_is_said(model, message):
    with pytest.raises(InputError, match=message) as error:
        load_subject(f"chat:{model},url=http://127.0.0.1:1/v1").ask(requests_of("?"))
    assert "\n" not in str(error.value)
    assert "[bold]" not in str(error.value)


TRACED = """
import logging, sys
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects import load_subject

root = logging.getLogger()
before = (root.level, root.handlers[:], sys.excepthook)
try:
    load_subject(sys.argv[1]).ask([Request("q0:en", "?", "en", max_tokens=50)])
except InputError as error:
    assert "wrong key" in str(error)
assert (root.level, root.handlers, sys.excepthook) == before
from inspect_ai._util.trace import inspect_trace_file
print(inspect_trace_file().read_text())
"""


def test_the_trace_of_inspect_holds_no_key_and_the_root_logger_is_left_alone(tmp_path):
    # Inspect keeps the traces of ten processes alone, so this one has a folder of its own.
    with chat_server(lambda *_: Fault("wrong key")) as server:
        place = os.environ | {"XDG_DATA_HOME": str(tmp_path / "data")}
        done = fresh(TRACED, [server.subject("traced")], environment=place)
    assert not done.returncode, done.stderr
    assert "traced) (error)" in done.stdout
    assert KEY not in done.stdout


def test_a_folder_of_logs_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with chat_server(knows) as server, pytest.raises(OSError, match="file"):
        load_subject(server.subject(options=f"logs={tmp_path / 'file'}")).ask(requests_of("?"))


def test_nothing_is_asked_for_no_request():
    with chat_server(knows) as server:
        assert load_subject(server.subject()).ask([]) == []
    assert not server.requests


def test_ids_must_be_distinct():
    (request,) = requests_of("?")
    with chat_server(knows) as server, pytest.raises(InputError, match="share an id"):
        load_subject(server.subject()).ask([request, replace(request, prompt="!")])


SCRIPT = """
import sys
from equiview.data.requests import Request
from equiview.subjects import load_subject
try:
    load_subject(sys.argv[1]).ask([Request(f"q{n}:en", f"{n}", "en") for n in range(10)])
except KeyboardInterrupt:
    print("stopped", end="")
"""


def test_an_interrupted_process_ends_although_requests_are_under_way(tmp_path):
    def reply(prompt, pictures, model):
        return "first" if prompt == "0" else Fault("silence")

    with chat_server(reply) as server:
        environ = os.environ | environment(server.url) | {"EQUIVIEW_CACHE": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, server.subject(options="connections=2")],
            env=environ, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        server.wait_for(1)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=600)
    assert said == "stopped"


def test_an_interrupted_audit_says_so_and_nothing_else(tmp_path):
    LAYOUTS["knowrecall"](tmp_path / "quiz")
    turns = itertools.count()
    with chat_server(lambda prompt, pictures, model: Fault("silence") if next(turns) else "A") as server:
        environ = os.environ | environment(server.url) | {"EQUIVIEW_CACHE": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, "-m", "equiview", "audit", server.subject(options="connections=2"),
             "--benchmark", f"knowrecall:{tmp_path / 'quiz'}", "--audit", "knowledge",
             "--out", str(tmp_path / "out")],
            env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        server.wait_for(1)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=600)
    assert (process.returncode, said) == (1, "")
    assert errors.splitlines()[-1] == "equiview: stopped; run the same command again to continue where it was"
