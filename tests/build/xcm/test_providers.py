"""Where images come from: folders, tables, Wikimedia Commons, and a provider of somebody else's."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

from equiview.build.xcm.collect import collect, units
from equiview.build.xcm.fetch import Web
from equiview.build.xcm.providers import PROVIDERS, Found, Provider, Query, load_provider
from equiview.build.xcm.settings import XcmSettings
from equiview.errors import InputError
from equiview.io.progress import silent
from tests.build.xcm.web import Answer, host
from tests.build.xcm.world import WORDS, folder, picture

PIZZA = Query("pizza Japan", "pizza", "Japan", "en", "eng")
NAMED = pl.DataFrame(
    {"concept_id": [0], "concept": ["pizza"], "name_de": ["Pizza"], "name_ja": ["ピザ"], "name_sw": ["piza"]}
)


def web(**options: Any) -> Web:
    return Web("me@example.org", 0, loopback=True, **options)


def settings(**changes: Any) -> XcmSettings:
    return XcmSettings.of(WORDS | {"images": "given", "concepts": "concepts.csv"} | changes)


def test_a_folder_is_searched_in_english_in_the_order_of_names(tmp_path: Path) -> None:
    folder(tmp_path / "photos")
    (tmp_path / "photos" / "pizza" / "Japan" / "0.png").write_bytes(b"first")
    provider = load_provider(f"folder:{tmp_path / 'photos'}", web())
    assert [found.url for found in provider.search(PIZZA, 5)] == ["pizza/Japan/0.png", "pizza/Japan/1.png"]
    assert len(provider.search(PIZZA, 1)) == 1
    assert provider.content(provider.search(PIZZA, 1)[0]) == b"first"
    before = provider.fingerprint(silent)
    (tmp_path / "photos" / "pizza" / "Japan" / "0.png").write_bytes(b"other")
    assert provider.fingerprint(silent) != before
    (tmp_path / "photos" / "pizza" / "Atlantis").mkdir()
    with pytest.raises(InputError, match="'Atlantis' is no country that is known"):
        load_provider(f"folder:{tmp_path / 'photos'}", web())


def test_a_table_names_files_and_addresses_with_their_origin(tmp_path: Path) -> None:
    (tmp_path / "here.png").write_bytes(picture("1f355", "Japan"))
    with host(lambda path, _: Answer(picture("1f697", "Japan"), headers={"Content-Type": "image/png"})) as at:
        rows = {
            "concept": ["pizza"] * 2,
            "country": ["Japan"] * 2,
            "path": ["here.png", None],
            "url": [None, f"{at.url}/there.png"],
            "query": [None, "nav"],
            "licence": ["CC0", None],
        }
        pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
        provider = load_provider(f"table:{tmp_path / 'images.csv'}", web())
        (unit,) = (unit for unit in units(NAMED, settings()) if unit.name == "japan-0")
        table = collect(tmp_path / "out", [unit], provider, settings(), silent)
    assert table.select("item_id", "text", "licence", "reason").rows() == [
        ("japan-0-1-eng", "pizza Japan", "CC0", None),
        ("japan-0-1-nav", "ピザ 日本", "", None),
    ]
    assert (tmp_path / "out" / table["file"][1]).read_bytes() == picture("1f697", "Japan")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("pizza,Japan,,", "row 1: needs a url or a path"),
        ("pizza,Japon,,a.png", "row 1: no country 'Japon' is known"),
        ("pizza,Japan,,../a.png", "lies outside the folder"),
        (",Japan,,a.png", "column 'concept'"),
    ],
)
def test_a_row_that_is_wrong_is_named(row: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "images.csv").write_text(f"concept,country,url,path\n{row}\n")
    with pytest.raises(InputError, match=said):
        load_provider(f"table:{tmp_path / 'images.csv'}", web())


def shard(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


ABOUT = {"concept": "pizza", "country": "Japan", "licence": "CC0", "width": 64}


def test_shards_hold_images_beside_their_origin_and_are_read_in_order(tmp_path: Path) -> None:
    about = json.dumps(ABOUT).encode()
    shard(tmp_path / "1.tar", {"x/b.jpg": b"third", "x/b.json": about})
    there = json.dumps(ABOUT | {"url": "https://example.org/d.png"}).encode()
    first = {"a.json": about, "a.cls": b"7", "a.PNG": b"first", "d.json": there}
    shard(tmp_path / "0.tar", first)
    provider = load_provider(f"webdataset:{tmp_path}", web())
    found = provider.search(PIZZA, 9)
    assert [entry.url for entry in found] == ["0.tar/a.png", "https://example.org/d.png", "1.tar/x/b.jpg"]
    assert {entry.licence for entry in found} == {"CC0"}
    assert [provider.content(entry) for entry in (found[0], found[2])] == [b"first", b"third"]
    before = provider.fingerprint(silent)
    assert load_provider(f"webdataset:{tmp_path}", web()).fingerprint(silent) == before
    shard(tmp_path / "0.tar", first | {"a.PNG": b"other"})
    assert load_provider(f"webdataset:{tmp_path}", web()).fingerprint(silent) != before


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.png": b""}, r"0\.tar, a\.json: is not there"),
        ({"a.json": b"{"}, r"0\.tar, a\.json: is not JSON"),
        ({"a.json": b"[]"}, "is no object"),
        ({"a.json": b"{}"}, "column 'concept'"),
        ({"a.json": json.dumps(ABOUT).encode()}, "needs a url or a path"),
        ({"a.json": json.dumps(ABOUT | {"country": 1}).encode()}, "country is 1; expected a text"),
        ({"a.json": json.dumps(ABOUT | {"country": "Japon"}).encode(), "a.png": b""}, "no country 'Japon'"),
        ({"a.json": json.dumps(ABOUT).encode(), "a.png": b"", "a.jpg": b""}, "stands beside 2 images"),
        ({"a.json": b" " * 1_000_001}, "at most 1,000,000 are read"),
        ({"readme": b""}, "holds no sample"),
    ],
)
def test_a_sample_that_is_wrong_is_named(files: dict[str, bytes], said: str, tmp_path: Path) -> None:
    shard(tmp_path / "0.tar", files)
    with pytest.raises(InputError, match=said):
        load_provider(f"webdataset:{tmp_path}", web())


def first_of(place: Path) -> bytes:
    provider = load_provider(f"webdataset:{place}", web())
    return provider.content(provider.search(PIZZA, 1)[0])


def test_what_is_no_shard_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no \.tar file"):
        load_provider(f"webdataset:{tmp_path}", web())
    shard(tmp_path / "0.tar", {"a.json": json.dumps(ABOUT).encode(), "a.png": bytes(2_000)})
    whole = (tmp_path / "0.tar").read_bytes()
    for content in (b"no tar", gzip.compress(whole)):
        (tmp_path / "0.tar").write_bytes(content)
        with pytest.raises(InputError, match="is no tar file"):
            load_provider(f"webdataset:{tmp_path}", web())
    (tmp_path / "0.tar").write_bytes(whole[:2_000])
    with pytest.raises(InputError, match="cut off"):
        first_of(tmp_path)


COMMONS = {
    "batchcomplete": True,
    "query": {
        "pages": [
            {
                "pageid": 2,
                "title": "File:Second.jpg",
                "index": 2,
                "imageinfo": [{"url": "HERE/second.jpg", "mime": "image/jpeg"}],
            },
            {
                "pageid": 9,
                "title": "File:First pizza.jpg",
                "index": 1,
                "imageinfo": [
                    {
                        "thumburl": "HERE/thumb/first.jpg",
                        "url": "HERE/first.jpg",
                        "descriptionurl": "https://commons.wikimedia.org/wiki/File:First_pizza.jpg",
                        "extmetadata": {
                            "Artist": {"value": '<a href="//x">Ann &amp; Lee</a>'},
                            "LicenseShortName": {"value": "CC BY-SA 4.0"},
                            "LicenseUrl": {"value": "https://creativecommons.org/licenses/by-sa/4.0"},
                        },
                    }
                ],
            },
            {"pageid": 3, "title": "File:Gone.jpg", "index": 3},
        ]
    },
}
"""What the API answers, as documented, with the fields that are asked for."""


def test_commons_is_asked_once_a_search_and_says_author_and_licence() -> None:
    with host(lambda path, _: Answer(json.dumps(COMMONS).encode())) as at:
        provider = load_provider(f"commons:url={at.url}/w/api.php", web())
        first, second = provider.search(Query("ピザ 日本", "pizza", "Japan", "ja", "nav"), 7)
        (asked,) = at.asked
    words = {name: value for name, (value,) in parse_qs(urlsplit(asked).query).items()}
    assert urlsplit(asked).path == "/w/api.php"
    assert (words["gsrsearch"], words["gsrlimit"], words["gsrnamespace"]) == (
        "ピザ 日本 filetype:bitmap",
        "7",
        "6",
    )
    assert first == Found(
        "HERE/thumb/first.jpg",
        title="First pizza.jpg",
        page="https://commons.wikimedia.org/wiki/File:First_pizza.jpg",
        author="Ann & Lee",
        licence="CC BY-SA 4.0",
        licence_url="https://creativecommons.org/licenses/by-sa/4.0",
    )
    assert second.url == "HERE/second.jpg"


def test_a_search_that_finds_nothing_and_one_that_is_refused() -> None:
    answers = iter([{"batchcomplete": True}, {"error": {"info": "too many"}}, []])
    with host(lambda path, _: Answer(json.dumps(next(answers)).encode())) as at:
        provider = load_provider(f"commons:url={at.url}/api", web())
        assert provider.search(PIZZA, 3) == []
        with pytest.raises(InputError, match=r"refused the search 'pizza Japan' \(too many\)"):
            provider.search(PIZZA, 3)
        with pytest.raises(InputError, match="no JSON object"):
            provider.search(PIZZA, 3)


def test_licences_that_are_not_wanted_are_not_fetched(tmp_path: Path) -> None:
    found = [
        Found("a", licence="CC BY-NC 4.0"),
        Found("b"),
        Found("c", licence="CC0"),
        Found("c", licence="cc0"),
    ]

    class Mine(Provider):
        def search(self, query: Query, count: int) -> Sequence[Found]:
            return found if query.kind == "eng" else found[2:3]

        def content(self, found: Found) -> bytes:
            assert found.url == "c"
            return picture("1f355", "Japan")

    chosen = settings(licences=("CC0", "CC BY-SA"))
    wanted = units(NAMED, chosen)
    assert [len(unit.queries) for unit in wanted] == [2, 2, 2]
    table = collect(tmp_path, wanted[:1], Mine("", web()), chosen, silent)
    assert table["reason"].to_list() == [
        "its licence is none of those kept",
        "its licence is none of those kept",
        None,
        "the other search found it already",
        "the other search found it already",
    ]


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (lambda: ["a"], "gave 'a'; expected Found, whose fields are texts"),
        (
            lambda: [Found("a", licence=None)],
            r"gave Found\(url=.*; expected Found",
        ),
        (lambda: 1 / 0, "failed with ZeroDivisionError: division by zero"),
    ],
)
def test_a_provider_that_breaks_is_named_and_what_was_found_before_is_kept(
    gives: Any, said: str, tmp_path: Path
) -> None:
    asked: list[str] = []

    class Mine(Provider):
        broken = True

        def search(self, query: Query, count: int) -> Sequence[Found]:
            asked.append(query.text)
            return gives() if self.broken and query.text == "pizza Kenya" else [Found(query.text)]

        def content(self, found: Found) -> bytes:
            if found.url == "pizza Japan":
                raise ValueError("no luck")
            return "text" if found.url == "pizza Germany" else picture("1f355", "Japan")  # type: ignore

    chosen = settings(fetch={"parallel": 1})
    provider = Mine("", web())
    with pytest.raises(InputError, match=f"Mine: the search 'pizza Kenya' {said}"):
        collect(tmp_path, units(NAMED, chosen), provider, chosen, silent)
    provider.broken = False
    table = collect(tmp_path, units(NAMED, chosen), provider, chosen, silent)
    assert table["reason"].to_list() == ["it cannot be read", None] * 2 + [None] * 2
    assert "gave str, expected bytes" in table["detail"][0]
    assert "failed with ValueError: no luck (test_providers.py" in table["detail"][2]
    native = ["Pizza Deutschland", "ピザ 日本", "piza Kenya"]
    assert sorted(asked) == sorted(["pizza Germany", "pizza Japan", *["pizza Kenya"] * 2, *native])


def test_where_both_searches_are_the_same_words_there_is_one() -> None:
    chosen = settings(countries=("USA", "UK", "Japan"))
    assert [[query.kind for query in unit.queries] for unit in units(NAMED, chosen)] == [
        ["eng"],
        ["eng"],
        ["eng", "nav"],
    ]


def test_every_provider_says_what_it_is() -> None:
    for entry in PROVIDERS.all().values():
        assert entry.about
        assert all(use.partition(":")[0] == entry.name for use in entry.usage)
