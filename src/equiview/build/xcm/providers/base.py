"""What a provider of images is, and how one is registered under a name.

    @register("museum", usage=("museum:KEY",), about="the museum's own search")
    class Museum(Provider):
        def search(self, query, count):
            answer = self.web.json("https://museum.example/search", q=query.text, size=count)
            return [Found(entry["image"], title=entry["title"], licence="CC0") for entry in answer["hits"]]

What a user types after the colon is `argument`. A package names its class in the entry points
`equiview.providers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equiview.data.registry import Registry
from equiview.io.fingerprint import fingerprint
from equiview.ours import providers as ours

if TYPE_CHECKING:
    from equiview.build.xcm.fetch import Web
    from equiview.io.progress import Progress


@dataclass(frozen=True)
class Query:
    """One search: its words, the concept and country asked for, and the language of the words.

    `kind` is `eng` for the search in English and `nav` for that in the native language, as in 3XCM's ids.
    """

    text: str
    concept: str
    country: str
    language: str
    kind: str


@dataclass(frozen=True)
class Found:
    """One image that a search found: where its file is, and all that is known of its origin.

    `url` is its address, which the provider's `content` fetches, or whatever else that reads. `page` is where
    people see it. `path` is a copy of the file that the provider has.
    """

    url: str
    title: str = ""
    page: str = ""
    author: str = ""
    licence: str = ""
    licence_url: str = ""
    path: str = ""


class Provider(ABC):
    """Where images come from; `web` fetches for it politely, in several threads at a time."""

    source: str = ""
    """Where the images come from, for the card of the benchmark."""

    def __init__(self, argument: str, web: Web) -> None:
        self.argument, self.web = argument, web

    @abstractmethod
    def search(self, query: Query, count: int) -> Sequence[Found]:
        """The first `count` images, the best first; fewer or none where there are no more."""

    def content(self, found: Found) -> bytes:
        """The file of an image; NotFetchedError says why there is none."""
        return self.web.picture(found.url)

    def fingerprint(self, progress: Progress) -> str:
        """A hash of what it is: its class and argument, and of files their content."""
        return fingerprint(type(self).__module__, type(self).__qualname__, self.argument)


PROVIDERS: Registry[type[Provider]] = ours.PROVIDERS
register = PROVIDERS.register


def load_provider(name: str, web: Web) -> Provider:
    """The provider that a user names, as `NAME` or `NAME:ARGUMENT`; InputError for an unknown one."""
    scheme, _, argument = name.partition(":")
    return PROVIDERS.get(scheme)(argument, web)
