from __future__ import annotations

import base64
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equiview import api, planning
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.store import StoredEncoder
from equiview.subjects import load_subject
from equiview.subjects.budget import Budget
from equiview.subjects.encoders.service import TRIES, Clock, EmbeddingService
from tests.conftest import add_pictures, write_world
from tests.subjects.encoders import tiny


class Service(ThreadingHTTPServer):
    """An embedding service: a text's vector says how long it is, an image's what its mean colour is."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.troubles: list[tuple[int, dict[str, str], bytes]] = []
        self.before_answer: Callable[[list[Any]], object] = lambda _: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers.get("Authorization"))
        if self.server.troubles:
            self.answer(*self.server.troubles.pop(0))
            return
        rows = [{"index": place, "embedding": vector(one)} for place, one in enumerate(body["input"])]
        self.server.before_answer(body["input"])
        answer = {"data": rows[::-1], "usage": {"total_tokens": 10 * len(rows)}}
        self.answer(200, {}, json.dumps(answer).encode())

    def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def vector(one: Any) -> list[float]:
    if isinstance(one, str):
        return [len(one), 1, 2]
    kind, _, content = one["image"].rpartition(";base64,")
    assert kind in {"data:image/png", ""}
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))
    return [float(mean) for mean in pixels.mean((0, 1))]


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


NOON = 1_780_315_200.0
"""Seconds since 1970."""


class Waits(Clock):
    """A clock that moves only when it is slept on."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        super().__init__(now=lambda: sum(self.slept), wall=lambda: NOON, sleep=self.slept.append)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def subject(service: Service, waits: Waits, given: str = "") -> EmbeddingService:
    made = EmbeddingService(f"some-model,url={service.url}{given}", waits)
    made.client  # noqa: B018 - the connection is opened before the test and closed by it
    return made


def test_texts_and_images_come_back_in_order(service: Service, waits: Waits) -> None:
    asked = subject(service, waits, ",batch=2")
    with asked.client:
        assert asked.encode_texts(["abc", "", "ab"]).tolist() == [[3, 1, 2], [1, 1, 2], [2, 1, 2]]
        images = tiny.pictures()
        expected = [np.asarray(image).mean((0, 1)) for image in images]
        np.testing.assert_allclose(asked.encode_images(images), expected, rtol=1e-5)
    sizes = [len(body["input"]) for body in service.asked]
    assert (sorted(sizes[:2]), sorted(sizes[2:])) == ([1, 2], [1, 2, 2])
    assert service.asked[0]["model"] == "some-model"
    assert waits.slept == []


def test_pictures_go_eight_at_a_time(service: Service, waits: Waits) -> None:
    asked = subject(service, waits)
    with asked.client:
        asked.encode_images([Image.new("RGB", (1, 1))] * 19)
        asked.encode_texts(["a"] * 19)
    assert sorted(len(body["input"]) for body in service.asked) == [3, 8, 8, 19]


def test_several_requests_run_at_once_and_vectors_keep_their_order(service: Service, waits: Waits) -> None:
    """The first request is answered last, when the two others are, so that all three must be on their way."""
    others_answered = threading.Semaphore(0)

    def hold(texts: list[str]) -> None:
        if texts == ["a"]:
            assert others_answered.acquire(timeout=600)
            assert others_answered.acquire(timeout=600)
        else:
            others_answered.release()

    service.before_answer = hold
    asked = subject(service, waits, ",batch=1,parallel=3")
    with asked.client:
        assert asked.encode_texts(["a", "bb", "ccc"])[:, 0].tolist() == [1, 2, 3]


def test_no_more_requests_run_at_once_than_allowed(service: Service, waits: Waits) -> None:
    asked = subject(service, waits, ",batch=1,parallel=1")
    with asked.client:
        asked.encode_texts(["a", "bb", "ccc"])
    assert [body["input"] for body in service.asked] == [["a"], ["bb"], ["ccc"]]


def test_a_picture_can_be_sent_without_its_head(service: Service, waits: Waits) -> None:
    asked = subject(service, waits, ",image=base64")
    with asked.client:
        vectors = asked.encode_images([Image.new("RGB", (2, 2), (1, 2, 3))])
    assert vectors.tolist() == [[1, 2, 3]]
    assert not service.asked[0]["input"][0]["image"].startswith("data:")


def test_a_task_is_sent_and_pictures_are_passages(service: Service, waits: Waits) -> None:
    for given in ("", ",task=text-matching", ",task=retrieval.query"):
        asked = subject(service, waits, given)
        with asked.client:
            asked.encode_texts(["a"])
            asked.encode_images(tiny.pictures()[:1])
    tasks = [body.get("task") for body in service.asked]
    assert tasks == [None, None, "text-matching", "text-matching", "retrieval.query", "retrieval.passage"]


def test_a_large_picture_is_sent_smaller(service: Service, waits: Waits) -> None:
    asked = subject(service, waits)
    with asked.client:
        asked.encode_images([Image.new("RGB", (3000, 100), "red")])
    content = service.asked[0]["input"][0]["image"].partition(";base64,")[2]
    assert Image.open(io.BytesIO(base64.b64decode(content))).size == (1024, 34)


def test_a_busy_service_is_asked_again_after_longer_and_longer(
    service: Service, waits: Waits, caplog: pytest.LogCaptureFixture
) -> None:
    service.troubles = [
        (429, {"Retry-After": "7"}, b"{}"),
        (503, {}, b"busy"),
        (500, {"Retry-After": "soon"}, b""),
    ]
    asked = subject(service, waits)
    with asked.client:
        assert asked.encode_texts(["abc"]).tolist() == [[3, 1, 2]]
    assert waits.slept == [7, 2, 4]
    said = [record.getMessage() for record in caplog.records if record.name.startswith("equiview")]
    assert said[0] == f"{service.url}: no answer (429: {{}}); asking again in 7 s, try 2 of 6"
    assert len(said) == 3


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        (formatdate(NOON + 30, usegmt=True), 30),
        (formatdate(NOON - 30, usegmt=True), 1),
        (formatdate(NOON + 3600, usegmt=True), 60),
        ("3600", 60),
        ("2.5", 2.5),
        ("-5", 1),
        ("nan", 1),
        ("Thu, 99 Foo 2026", 1),
    ],
)
def test_a_service_says_until_when_it_is_busy(
    service: Service, waits: Waits, header: str, waited: float
) -> None:
    service.troubles = [(503, {"Retry-After": header}, b"busy")]
    asked = subject(service, waits)
    with asked.client:
        asked.encode_texts(["abc"])
    assert waits.slept == [waited]


def test_a_service_that_never_answers_is_given_up(waits: Waits, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        asked = EmbeddingService(f"some-model,url={url},timeout=0.05", waits)
        with asked.client, pytest.raises(InputError, match=r"no answer after 6 tries \(silent for 0.05 s\)"):
            asked.encode_texts(["abc"])
    said = [record.getMessage() for record in caplog.records if record.name.startswith("equiview")]
    assert said[0] == f"{url}: no answer (silent for 0.05 s); asking again in 1 s, try 2 of 6"
    assert len(said) == TRIES - 1


def test_a_service_that_stays_busy_is_given_up(service: Service, waits: Waits) -> None:
    service.troubles = [(503, {}, b"busy")] * TRIES
    asked = subject(service, waits)
    with (
        asked.client,
        pytest.raises(InputError, match=r"no answer after 6 tries \(503: busy\); run again to go on"),
    ):
        asked.encode_texts(["abc"])
    assert waits.slept == [1, 2, 4, 8, 16]


def test_a_refusal_is_said_at_once(service: Service, waits: Waits) -> None:
    service.troubles = [(401, {}, json.dumps({"error": {"message": "wrong\nkey"}}).encode())]
    asked = subject(service, waits)
    with asked.client, pytest.raises(InputError, match=r"refused model 'some-model' \(401: wrong key\)"):
        asked.encode_texts(["abc"])
    assert waits.slept == []


def test_nobody_there_is_an_input_error(waits: Waits) -> None:
    with Service() as server:
        url = server.url
    asked = EmbeddingService(f"some-model,url={url}", waits)
    with asked.client, pytest.raises(InputError, match=r"no answer after 6 tries \(ConnectError"):
        asked.encode_texts(["abc"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"data": [{"index": 1, "embedding": [1]}]}', "without one embedding for each of 1 inputs"),
        (b'{"data": [{"index": 0, "embedding": "no"}]}', "without one embedding"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [2]}]}', "without one emb"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}', "without one emb"),
        (b'{"data": [{"index": 0, "embedding": [[1]]}]}', "without one embedding"),
        (b'{"embeddings": {"float": [[1, 2]]}}', "such as Cohere's and Voyage's, are reached as mteb:NAME"),
        (b"<html>", "not a JSON object"),
        (b"[]", "not a JSON object"),
    ],
)
def test_an_answer_of_another_shape_is_an_input_error(
    service: Service, waits: Waits, content: bytes, said: str
) -> None:
    service.troubles = [(200, {}, content)]
    asked = subject(service, waits)
    with asked.client, pytest.raises(InputError, match=said):
        asked.encode_texts(["abc"])


@pytest.mark.parametrize("later", [b"[1, 2]", b"[1, 2, 3, 4]"])
def test_another_width_in_a_later_answer_is_refused(service: Service, waits: Waits, later: bytes) -> None:
    asked = subject(service, waits)
    with asked.client:
        asked.encode_texts(["abc"])
        service.troubles = [(200, {}, b'{"data": [{"index": 0, "embedding": ' + later + b"}]}")]
        with pytest.raises(InputError, match=r"answered with vectors \d wide after some 3 wide"):
            asked.encode_images(tiny.pictures()[:1])


def test_requests_keep_to_the_rate(service: Service, waits: Waits) -> None:
    asked = subject(service, waits, ",rate=30,batch=1")
    with asked.client:
        asked.encode_texts(["a", "b", "c"])
    assert waits.slept == [2, 2]


def test_the_key_is_sent_and_said_nowhere(
    service: Service, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIVIEW_API_KEY", "hush")
    asked = subject(service, waits)
    with asked.client:
        asked.encode_texts(["a"])
    assert service.keys == ["Bearer hush"]
    assert "hush" not in str(vars(asked))


@pytest.fixture
def pictured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark of 40 images and 160 texts, and an empty store."""
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    folder = write_world(tmp_path / "world", skew=0.0)
    add_pictures(folder)
    return f"folder:{folder}"


def test_a_dry_run_says_requests_tokens_and_dollars_and_what_is_kept(service: Service, pictured: str) -> None:
    name = f"openai:m,url={service.url},price_in=1000"
    items = load_benchmark(pictured)
    assert items.texts is not None
    distinct = len(set(items.texts.texts))
    asked = planning.plan(name, items, ["prevalence", "parity"])
    pictures, texts, shared = asked.rows(named=True)
    assert (pictures["audit"], pictures["purpose"], pictures["kept"]) == ("parity", "vectors of images", 0)
    assert (pictures["requests"], pictures["pictures"], pictures["input_tokens"]) == (5, 40, 40 * 800)
    assert pictures["dollars"] == 40 * 800 * 1000 / 1e6
    assert (texts["requests"], texts["kept"]) == (-(-distinct // 64), 160 - distinct)
    assert texts["dollars"] == pytest.approx(texts["input_tokens"] / 1000)
    assert (shared["audit"], shared["purpose"], shared["dollars"]) == (
        "prevalence",
        "takes the same vectors",
        None,
    )
    assert planning.plan(f"openai:m,url={service.url}", items, ["parity"])["dollars"].to_list() == [
        None,
        None,
    ]
    assert not service.asked
    embedding = EmbeddingService(f"m,url={service.url}")
    with embedding.client:
        StoredEncoder(embedding).embed(items.images.take(np.arange(30)))
    pictures = planning.plan(name, items, ["parity"]).row(0, named=True)
    assert (pictures["kept"], pictures["requests"], pictures["pictures"]) == (30, 2, 10)


def test_a_limit_of_costs_stops_keeps_and_goes_on(service: Service, pictured: str, tmp_path: Path) -> None:
    """An input is 10 tokens, as the service says, and a cent; four requests of eight pictures go at once."""
    name = f"openai:m,url={service.url},price_in=1000"
    few = {"prevalence": {"replicates": 100}}
    with pytest.raises(InputError) as stopped:
        api.audit(name, pictured, ["prevalence"], tmp_path / "run", settings=few, max_cost=0.3)
    said = (
        "stopped, $0.3200 of at most $0.3 are spent; vectors that came are kept: the same command asks only"
    )
    assert str(stopped.value) == f"{name}: {said} for the rest"
    assert len(service.asked) == 4
    run = api.audit(name, pictured, ["prevalence"], tmp_path / "run", settings=few, max_cost=100)
    assert [verdict.audit for verdict in run.verdicts] == ["prevalence"]
    sent = [json.dumps(one) for body in service.asked for one in body["input"]]
    assert len(sent) == len(set(sent))
    unpriced = f"openai:m,url={service.url},revision=2"
    with pytest.raises(InputError, match="a limit of costs needs prices, and its own are not known; give"):
        api.audit(unpriced, pictured, ["prevalence"], tmp_path / "other", settings=few, max_cost=1)


def test_without_a_count_of_tokens_each_letter_is_one(service: Service, waits: Waits) -> None:
    asked = subject(service, waits, ",price_in=1000000")
    asked.budget = Budget()
    answer = json.dumps({"data": [{"index": 0, "embedding": [1, 2]}]}).encode()
    service.troubles = [(200, {}, answer)]
    with asked.client:
        asked.encode_texts(["four"])
    assert asked.budget.spent == 4


def test_the_fingerprint_is_of_address_model_and_revision() -> None:
    names = [
        "openai:a",
        "openai:b",
        "openai:a,url=http://127.0.0.1/v1",
        "openai:a,revision=2026-05",
        "openai:a,task=text-matching",
        "openai:a,rate=3",
    ]
    assert len({load_subject(name).fingerprint for name in names}) == 5


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai:", "needs the name of a model"),
        ("openai:a,url=ftp://x", r"expected http\(s\)://"),
        ("openai:a,url=http://host:port/v1", r"expected http\(s\)://"),
        ("openai:a,url=https://api.cohere.com/v2", "api.cohere.com does not speak .*say mteb:Cohere/"),
        ("openai:a,url=https://api.voyageai.com/v1", "say mteb:voyageai/voyage-multimodal-3"),
        ("openai:a,image=jpeg", "image is 'jpeg'; expected uri or base64"),
        ("openai:a,timeout=never", "timeout is 'never'; expected a number from 0"),
        ("openai:a,rate=often", "rate is 'often'; expected a number from 0"),
        ("openai:a,parallel=many", "parallel is 'many'; expected a number from 0"),
        ("openai:a,price_in=free", "price_in is 'free'; expected a number from 0"),
        ("openai:a,key=secret", "has no option 'key'"),
    ],
)
def test_a_wrong_argument_is_an_input_error(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_subject(name)


def test_half_a_surrogate_pair_is_refused(service: Service, waits: Waits) -> None:
    asked = subject(service, waits)
    with asked.client, pytest.raises(InputError, match="unpaired surrogate"):
        asked.encode_texts(["a \ud83d"])
