"""`commons`: the search of Wikimedia Commons, whose images have free licences.

`commons:url=API` asks another MediaWiki. Its API is asked for each search once
(https://www.mediawiki.org/wiki/API:Search, https://www.mediawiki.org/wiki/API:Imageinfo); images come
reduced to 1,280 pixels. Wikimedia wants to know whom to write to, so that `--contact` is needed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from equiview.build.xcm.providers.base import Found, Provider, Query
from equiview.data.arguments import split_argument, url_option
from equiview.errors import InputError

if TYPE_CHECKING:
    from equiview.build.xcm.fetch import Web

API = "https://commons.wikimedia.org/w/api.php"
FILES = 6
"""The namespace of files."""
WIDTH = 1280
TAGS = re.compile(r"<[^>]*>")


class Commons(Provider):
    """The search of Wikimedia Commons."""

    source = "https://commons.wikimedia.org"

    def __init__(self, argument: str, web: Web) -> None:
        super().__init__(argument, web)
        _, options = split_argument(f",{argument}" if argument else "", "commons", ("url",))
        self.url = url_option(options, "commons", API)
        if not web.contact:
            raise InputError(
                "commons: Wikimedia wants to know whom to write to when a program asks too much; say "
                "--contact YOUR-ADDRESS"
            )

    def search(self, query: Query, count: int) -> Sequence[Found]:
        """Bitmaps whose page holds the words, in the order of the search."""
        answer = self.web.json(
            self.url,
            action="query",
            format="json",
            formatversion=2,
            generator="search",
            gsrsearch=f"{query.text} filetype:bitmap",
            gsrnamespace=FILES,
            gsrlimit=count,
            prop="imageinfo",
            iiprop="url|mime|extmetadata",
            iiurlwidth=WIDTH,
            iiextmetadatafilter="Artist|LicenseShortName|LicenseUrl",
        )
        if not isinstance(answer, dict) or "error" in answer:
            said = answer.get("error", {}).get("info", "") if isinstance(answer, dict) else ""
            raise InputError(f"{self.url}: refused the search {query.text!r} ({said or 'no JSON object'})")
        pages = sorted(answer.get("query", {}).get("pages", ()), key=lambda page: page.get("index", 0))
        return [_found(page) for page in pages if page.get("imageinfo")]


def _found(page: Mapping[str, Any]) -> Found:
    info = page["imageinfo"][0]
    more = {name: str(entry.get("value", "")) for name, entry in info.get("extmetadata", {}).items()}
    return Found(
        url=info.get("thumburl") or info["url"],
        title=str(page.get("title", "")).removeprefix("File:"),
        page=info.get("descriptionurl", ""),
        author=plain(more.get("Artist", "")),
        licence=plain(more.get("LicenseShortName", "")),
        licence_url=more.get("LicenseUrl", ""),
    )


def plain(words: str) -> str:
    r"""Words of a page without its tags.

    >>> plain('<a href="//x">Ann &amp; Lee</a>\n')
    'Ann & Lee'
    """
    return " ".join(html.unescape(TAGS.sub(" ", words)).split())
