"""No secret that stands in an address or an option is printed or kept: everything is searched for it."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

from equiview.audits import AUDITS
from equiview.io.secrets import redacted
from tests.conftest import write_world
from tests.faults.places import photos
from tests.faults.running import typed

PASSWORD, KEY, TOKEN = "correct-horse", "sk-battery-staple", "environment-secret"
SECRETS = (PASSWORD, KEY, TOKEN)


class Service(BaseHTTPRequestHandler):
    """An embedding service that refuses, and repeats in its answer whatever it was sent."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = f"wrong key {self.headers['Authorization']} for {self.path}"
        said = json.dumps({"error": {"message": message}})
        self.send_response(401)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    for name in ("EQUIVIEW_API_KEY", "QDRANT_API_KEY", "MILVUS_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, TOKEN)
    photos(tmp_path)
    write_world(tmp_path / "world")
    return tmp_path


def everything_in(folder: Path) -> Iterator[str]:
    """The text of every file, of compressed tables and parts of pages as well."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        yield str(path)
        yield path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            yield str(pl.read_parquet(path).to_dicts())
        for part in re.findall(rb"[A-Za-z0-9+/=]{80,}", path.read_bytes() if path.suffix == ".html" else b""):
            content = base64.b64decode(part)
            yield gzip.decompress(content).decode("utf-8", "replace") if content[:2] == b"\x1f\x8b" else ""


ADDRESSES = (
    f"openai:m,url=http://me:{PASSWORD}@127.0.0.1:PORT/v1",
    f"openai:m,url=http://127.0.0.1:PORT/v1?api_key={KEY}",
    f"openai:m,url=http://127.0.0.1:PORT/v1?access_token={KEY}&x=1",
    f"openai:m,url=https://{KEY}@127.0.0.1:1/v1,rate=x",
    "openai:m,url=http://127.0.0.1:PORT/v1",
    f"openai:m,api_key={KEY},url=http://127.0.0.1:PORT/v1",
    f"qdrant:http://me:{PASSWORD}@127.0.0.1:1,collection=c,queries=world",
    f"qdrant:http://127.0.0.1:1?api_key={KEY},collection=c,queries=world",
    f"qdrant:nowhere,collection=c,queries=world,api_key={KEY}",
    f"pgvector:postgresql://me:{PASSWORD}@127.0.0.1:1/db,table=t,queries=world",
    f"pgvector:host=127.0.0.1 port=1 password={PASSWORD},table=t,queries=world",
    f"pgvector:postgresql://127.0.0.1:1/db?password={PASSWORD},table=t,queries=world",
    f"milvus:http://me:{PASSWORD}@127.0.0.1:1,collection=c,queries=world",
    f"lancedb:s3://me:{PASSWORD}@bucket/db,table=t,queries=world,token={KEY}",
    f"embeddings:nowhere,token={KEY}",
)


@pytest.mark.filterwarnings("ignore")  # of clients' own threads, which nobody answers
@pytest.mark.parametrize("subject", ADDRESSES)
def test_nothing_that_is_printed_or_kept_holds_a_secret(here: Path, port: int, subject: str) -> None:
    subject = subject.replace("PORT", str(port))
    code, output, errors = typed(
        ("audit", subject, "--benchmark", "folder:photos", "--audit", "prevalence", "--out", "out")
    )
    assert code == 1, errors
    assert errors.startswith("equiview: ")
    for text in (output, errors, *everything_in(here)):
        assert not [secret for secret in SECRETS if secret in text]


def test_a_finished_run_keeps_no_secret_of_its_subjects_name(here: Path) -> None:
    (here / f"world,token={KEY}").symlink_to("world")
    words = ("audit", f"embeddings:world,token={KEY}", "--benchmark", "folder:world", "--audit", "prevalence")
    code, output, errors = typed((*words, "--out", "out", "--json"))
    assert code == 0, errors
    assert "embeddings:world,token=***" in (here / "out" / "manifest.json").read_text()
    for text in (output, errors, *everything_in(here / "out")):
        assert KEY not in text


def test_the_defect_of_an_audit_keeps_no_secret(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    entry = AUDITS.all()["prevalence"]

    def measure(observations: object, settings: object) -> None:
        raise ZeroDivisionError(f"http://me:{PASSWORD}@host refused Bearer {TOKEN}")

    broken = replace(entry.value, name="broken", measure=measure)
    monkeypatch.setitem(AUDITS.entries, "broken", replace(entry, name="broken", load=lambda: broken))
    words = ("audit", "embeddings:world", "--benchmark", "folder:world", "--audit", "broken")
    for more in ((), ("--audit", "prevalence")):
        code, output, errors = typed((*words, *more, "--out", f"out{len(more)}"))
        assert code == 2
        assert "Traceback" in errors
        for text in (output, errors, *everything_in(here / f"out{len(more)}")):
            lines = [line for line in text.splitlines() if "raise ZeroDivisionError(f" not in line]
            assert not [secret for secret in (PASSWORD, TOKEN) if secret in "\n".join(lines)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://host/v1", "http://host/v1"),
        ("http://me:p@ss@host/v1", "http://***@host/v1"),
        ("openai:m,url=http://host,rate=3,revision=a@b", "openai:m,url=http://host,rate=3,revision=a@b"),
        ("hf:org/name,revision=main,batch=4", "hf:org/name,revision=main,batch=4"),
        ("X-Api-Key=abc; api-key = 'a b'", "X-Api-Key=***; api-key = ***"),
        ("Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer ***"),
        ("column 'monkey=3' and keys=4", "column 'monkey=3' and keys=4"),
    ],
)
def test_redacting_hides_secrets_and_nothing_else(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_values_of_the_environment_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", TOKEN)
    monkeypatch.setenv("SHORT_KEY", "abc")
    assert redacted(f"refused {TOKEN}, abc") == "refused ***, abc"
    assert os.environ["SOME_API_KEY"] == TOKEN
