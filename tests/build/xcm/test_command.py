"""`equiview build xcm` as it is typed: a chat model over a real service, images of a host on loopback."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import polars as pl

from equiview.benchmarks import load_benchmark
from equiview.build.xcm.duplicates import perceptual_hash
from equiview.io.pictures import decoded
from tests.build.xcm.web import Answer, host
from tests.build.xcm.world import CONCEPTS, COUNTRIES, picture
from tests.chat_server import chat_server
from tests.processes import equiview

SHOWN = {
    (concept, country): picture(code, country) for code, concept in CONCEPTS.items() for country in COUNTRIES
}
HASHES = {key: perceptual_hash(decoded(content)) for key, content in SHOWN.items()}


def commons(path: str, headers: dict[str, str]) -> Answer:
    """What a wiki answers: the drawing of the concept and country of an English search, and nothing else."""
    parts = urlsplit(path)
    if parts.path == "/robots.txt":
        return Answer(b"User-agent: *\nDisallow: /w/\n")
    if parts.path == "/w/api.php":
        words = parse_qs(parts.query)["gsrsearch"][0].removesuffix(" filetype:bitmap")
        found = [key for key in SHOWN if " ".join(key) == words]
        info = {"extmetadata": {"LicenseShortName": {"value": "CC0"}}}
        pages = [
            {
                "title": f"File:{concept}.png",
                "imageinfo": [info | {"url": f"http://{headers['Host']}/{concept}/{country}.png"}],
            }
            for concept, country in found
        ]
        return Answer(json.dumps({"query": {"pages": pages}}).encode())
    concept, country = unquote(parts.path).strip("/").removesuffix(".png").split("/")
    return Answer(SHOWN[concept, country], headers={"Content-Type": "image/png"})


def said(prompt: str, pictures: list[bytes], _: str) -> str:
    """What a model says: the concepts, their names, and what is most like a picture."""
    if prompt.startswith("List"):
        return json.dumps(list(CONCEPTS.values()))
    if prompt.startswith("Translate"):
        return json.dumps({name: f"the {name}" for name in CONCEPTS.values()})
    seen = perceptual_hash(decoded(pictures[0])).astype(int)
    concept, _country = max(HASHES, key=lambda key: int(HASHES[key] @ seen))
    return json.dumps([concept])


def test_a_model_and_a_wiki_are_asked_once_and_the_rest_is_read(tmp_path: Path) -> None:
    with chat_server(said) as server, host(commons) as wiki:
        model = server.subject("seer", "connections=2")
        words = ["build", "xcm", "--images", f"commons:url={wiki.url}/w/api.php", "--writer", model]
        words += ["--labeller", model, "--count", "4", "--countries", ",".join(COUNTRIES), "--people", "0"]
        words += ["--text-encoder", "none", "--encoder", "none", "--smallest", "64", "--rate", "0"]
        words += ["--contact", "me@example.org", "--loopback", "--licences", "cc0"]
        words += ["--out", str(tmp_path / "out")]
        done = equiview(*words, EQUIVIEW_CACHE=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        asked = Counter(urlsplit(path).path for path in wiki.asked)
        assert asked == {"/w/api.php": 24, "/robots.txt": 1} | {
            f"/{concept.replace(' ', '%20')}/{country}.png": 1 for concept, country in SHOWN
        }
        assert Counter(bool(request.pictures) for request in server.requests) == {True: 12, False: 4}
    read = load_benchmark(f"3xcm:{tmp_path / 'out'}")
    assert len(read.tables["trials"]) == 12
    assert "the pizza" in read.need_texts().texts
    released = pl.read_parquet(tmp_path / "out" / "image_metadata" / "*.parquet")
    assert set(released["licence"]) == {"CC0"}
    assert released["url"].str.starts_with(wiki.url).all()
    assert np.array_equal(released["labels"].list.first(), released["concept"])


def test_a_search_that_fails_ends_the_command_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "concepts.csv").write_text("concept,name_ja\nhat,帽子\n")
    words = ["--concepts", "concepts.csv", "--countries", "USA,UK,Japan", "--labeller", "none", "--rate", "0"]
    words += ["--text-encoder", "none", "--encoder", "none", "--people", "0"]
    words += ["--contact", "me", "--out", "out"]
    with host(lambda path, _: Answer(status=404)) as wiki:
        images = ["--images", f"commons:url={wiki.url}/w/api.php"]
        private, missing = (
            equiview("build", "xcm", *images, *words, *more, folder=tmp_path) for more in ([], ["--loopback"])
        )
    assert (private.returncode, missing.returncode) == (1, 1)
    assert "the search failed (its address is not public, 127.0.0.1)" in private.stderr
    assert "the search failed (it could not be fetched, status 404); run again to go on" in missing.stderr
    assert len(missing.stderr.strip().splitlines()) == 1
