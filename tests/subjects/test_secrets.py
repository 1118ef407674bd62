"""No key and no password reaches the console, a run's files or the store, whoever says it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from equiview.errors import InputError
from equiview.subjects import load_subject
from equiview.subjects.encoders.service import EmbeddingService

KEY = "sk-live-0123456789abcdef"


class Echo(BaseHTTPRequestHandler):
    """A service that repeats the key it was sent: when it refuses, is busy, or gives vectors."""

    tries = 0

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization")
        Echo.tries += 1
        if sent["model"] == "refused":
            self.answer(401, {"error": {"message": f"{'wrong ' * 30} key: {key} is no key"}})
        elif Echo.tries == 1:
            self.answer(503, {"error": f"busy with {key}"}, {"Retry-After": "0"})
        else:
            rows = [{"index": place, "embedding": [place + 1, len(str(one)), 3]}
                    for place, one in enumerate(sent["input"])]  # fmt: skip
            self.answer(200, {"data": rows, "key": key})

    def answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    Echo.tries = 0
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Twelve pictures with captions in two languages."""
    folder = tmp_path / "world"
    folder.mkdir()
    names = [f"p{row}" for row in range(12)]
    for row, name in enumerate(names):
        Image.new("RGB", (8, 8), (20 * row, 0, 0)).save(folder / f"{name}.png")
    pl.DataFrame({"id": names, "path": [f"{name}.png" for name in names]}).write_csv(folder / "images.csv")
    rows = [(f"{name}-{code}", f"{name} in {code}", code, name) for name in names for code in ("en", "sw")]
    columns = ["id", "text", "language", "image_id"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(folder / "texts.csv")
    return folder


def audit(subject: str, world: Path, out: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "equiview", "audit", subject, "--benchmark", f"folder:{world}"]
    secret = {"EQUIVIEW_API_KEY": f" {KEY}\n", "EQUIVIEW_CACHE": str(out.parent / "cache")}
    return subprocess.run(
        [*command, "--audit", "prevalence", "--out", str(out)],
        env=os.environ | secret,
        capture_output=True,
        check=False,
    )


def test_a_run_writes_and_prints_no_key(echo: str, world: Path, tmp_path: Path) -> None:
    done = audit(f"openai:m,url={echo}", world, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert b"asking again" in done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"manifest.json", "report.html", "estimates.parquet"} <= {path.name for path in written}
    assert any("cache" in path.parts for path in written)
    for content in (done.stdout, done.stderr, *(path.read_bytes() for path in written)):
        assert KEY.encode() not in content


def test_a_refusal_that_repeats_the_key_is_printed_without_it(echo: str, world: Path, tmp_path: Path) -> None:
    done = audit(f"openai:refused,url={echo}", world, tmp_path / "run")
    assert done.returncode == 1
    assert b"refused model 'refused' (401: wrong" in done.stderr
    assert KEY[:8].encode() not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hush@host/v1",
        "http://hush@host/v1",
        "http://me:1/hush@host/v1",
        "https://host/v1?api_key=hush",
        "https://host/v1#hush",
        "https://host/hush=hush",
        "http://[hush]/v1",
        "ftp://me:hush@host/v1",
    ],
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="openai: url") as caught:
        load_subject(f"openai:m,url={url}")
    assert "hush" not in str(caught.value)


def test_a_key_that_can_be_none_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("hush hush", "hushé", "hush\nX-Other: hush"):
        monkeypatch.setenv("EQUIVIEW_API_KEY", wrong)
        with pytest.raises(InputError, match="EQUIVIEW_API_KEY holds characters that no key has") as caught:
            EmbeddingService("m").encode_texts(["a"])
        assert not re.search("hush", str(caught.value))
