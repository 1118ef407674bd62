"""Polite and careful fetching: what a program owes to hosts, and what it must not be led to by an address.

Politeness: requests to one host are apart by `rate` or by its robots.txt (RFC 9309), which is obeyed for
images; a search API is there to be asked, so that it is not read for those. Whoever is busy is asked again
after ever longer waits, or after the wait that it names.

Care: only http and https to hosts all of whose addresses are public; the connection goes to an address that
was checked, redirects are checked anew, proxies of the environment are not used. A file has a limit of
bytes, of seconds, and of pixels, which are read from its header before anything is decoded.
"""

from __future__ import annotations

import io
import ipaddress
import socket
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from equiview import __version__
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.again import PASSING, BusyError, Clock, ask_again, retry_after
from equiview.io.files import parse_json
from equiview.io.pictures import LARGE, decoded, picture_kind

EXTRA = "web"
AGENT = "equiview"
MOST_BYTES = 20_000_000
"""Bytes of an image."""
ROBOTS_BYTES = 512_000
"""Bytes of a robots.txt, of which RFC 9309 wants 500 KiB to be read."""
SECONDS, PATIENCE = 30.0, 120.0
"""Seconds without a byte, and seconds of a whole answer."""
TRIES = 4
REDIRECTS = 5
MOVED = frozenset({301, 302, 303, 307, 308})
NAT64 = ipaddress.ip_network("64:ff9b::/96")
NOT_PUBLIC = "its address is not public"
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class NotFetchedError(Exception):
    """Why an image is not there, as (reason, detail): the reason is one of few, for counting."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class Answer:
    """One answer of a host, its body within limits."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Web:
    """Fetches images and answers of search APIs; used by several threads."""

    def __init__(
        self, contact: str = "", rate: float = 1.0, *, loopback: bool = False, clock: Clock | None = None
    ) -> None:
        self.contact, self.rate, self.loopback = contact, rate, loopback
        self.clock = clock or Clock()
        self._next: dict[str, float] = {}
        self._robots: dict[str, Any] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    @property
    def agent(self) -> str:
        """What hosts are told of who asks."""
        about = f" ({self.contact})" if self.contact else ""
        return f"{AGENT}/{__version__}{about}"

    @cached_property
    def client(self) -> Any:
        """The connections; none is kept, so that each is to the host that was checked for it."""
        httpx = require("httpx", EXTRA)
        headers = {"User-Agent": self.agent, "Accept-Encoding": "identity"}
        limits = httpx.Limits(max_keepalive_connections=0)
        return httpx.Client(headers=headers, timeout=SECONDS, limits=limits, trust_env=False)

    def picture(self, url: str) -> bytes:
        """The bytes of an image at an address; NotFetchedError for anything else."""
        answer = self._followed(url, "image/*", MOST_BYTES, obey=True)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind and not kind.startswith("image/") and kind != "application/octet-stream":
            raise NotFetchedError("it is no picture", kind)
        return answer.body

    def json(self, url: str, **parameters: str | int) -> Any:
        """The JSON that a search API answers; InputError where it does not, after several tries."""
        address = f"{url}?{urlencode(parameters)}" if parameters else url
        try:
            answer = self._followed(address, "application/json", MOST_BYTES, obey=False)
        except NotFetchedError as error:
            said = ", ".join(filter(None, (error.reason, error.detail)))
            raise InputError(f"{url}: the search failed ({said}); run again to go on") from None
        return parse_json(answer.body, url)

    def _followed(self, url: str, accept: str, most: int, *, obey: bool) -> Answer:
        for _ in range(REDIRECTS + 1):
            parts = _split(url)
            if obey and not self._allowed(parts, url):
                raise NotFetchedError("robots.txt forbids it", parts.netloc)
            answer = self._asked(parts, accept, most)
            if answer.status not in MOVED:
                if answer.status != 200:
                    raise NotFetchedError("it could not be fetched", f"status {answer.status}")
                return answer
            url = urljoin(url, answer.headers.get("location", ""))
        raise NotFetchedError("it could not be fetched", f"more than {REDIRECTS} redirects")

    def _asked(self, parts: SplitResult, accept: str, most: int) -> Answer:
        """One answer, asked for again while the host is busy."""
        try:
            return ask_again(lambda: self._tried(parts, accept, most), parts.netloc, self.clock, TRIES, EXTRA)
        except BusyError as error:
            raise NotFetchedError("it could not be fetched", str(error)) from None

    def _tried(self, parts: SplitResult, accept: str, most: int) -> Answer:
        httpx = require("httpx", EXTRA)
        host, address = parts.hostname or "", self._address(parts)
        self._wait_for_turn(parts)
        place = f"[{address}]" if address.version == 6 else str(address)
        target = parts._replace(netloc=f"{place}:{parts.port}" if parts.port else place, fragment="")
        headers = {"Host": parts.netloc, "Accept": accept}
        until = self.clock.now() + PATIENCE
        try:
            with self.client.stream(
                "GET", target.geturl(), headers=headers, extensions={"sni_hostname": host}
            ) as answer:
                if answer.status_code in PASSING:
                    wait = retry_after(answer.headers.get("retry-after", "0"), self.clock.wall())
                    raise BusyError(f"status {answer.status_code}", wait)
                body = b"" if answer.status_code in MOVED else self._body(answer, most, until)
                return Answer(answer.status_code, answer.headers, body)
        except httpx.TimeoutException:
            raise BusyError(f"silent for {SECONDS:g} s") from None
        except httpx.TransportError as error:
            raise BusyError(type(error).__name__) from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise NotFetchedError("its address is none", str(error)) from None

    def _body(self, answer: Any, most: int, until: float) -> bytes:
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise NotFetchedError("it is compressed although nobody asked for that")
        stated = answer.headers.get("content-length", "")
        if stated.isdecimal() and int(stated) > most:
            raise NotFetchedError("it is too large", f"{int(stated):,} bytes")
        body = bytearray()
        for part in answer.iter_raw(65_536):
            body += part
            if len(body) > most:
                raise NotFetchedError("it is too large", f"more than {most:,} bytes")
            if self.clock.now() > until:
                raise NotFetchedError("it could not be fetched", f"it took longer than {PATIENCE:g} s")
        return bytes(body)

    def _address(self, parts: SplitResult) -> IPAddress:
        """The address to connect to; NotFetchedError unless all addresses of the host may be reached."""
        host = parts.hostname or ""
        try:
            found = socket.getaddrinfo(host, _port(parts), type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            if getattr(error, "errno", None) == socket.EAI_AGAIN:
                raise BusyError(f"{host} is not known just now") from None
            raise NotFetchedError("it could not be fetched", f"no host {host!r} is known") from None
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        for address in addresses:
            if not is_public(address) and not (self.loopback and address.is_loopback):
                raise NotFetchedError(NOT_PUBLIC, host)
        return addresses[0]

    def _wait_for_turn(self, parts: SplitResult) -> None:
        """Return when the host may be asked: requests to it are apart by its interval."""
        host = parts.netloc
        known = self._robots.get(_origin(parts))
        delay = 0.0 if known is None or isinstance(known, bool) else known.crawl_delay(AGENT) or 0.0
        apart = max(delay, 1 / self.rate if self.rate else 0.0)
        with self._lock:
            now = self.clock.now()
            turn = max(now, self._next.get(host, now))
            self._next[host] = turn + apart
        if turn > now:
            self.clock.sleep(turn - now)

    def _allowed(self, parts: SplitResult, url: str) -> bool:
        """Whether the host's robots.txt lets us fetch an address; it is read once."""
        origin = _origin(parts)
        with self._lock:
            lock = self._locks[origin]
        with lock:
            if origin not in self._robots:
                self._robots[origin] = self._read_robots(origin)
        known = self._robots[origin]
        if known is False:
            raise NotFetchedError("its host's robots.txt cannot be read", parts.netloc)
        return known is True or bool(known.can_fetch(url, AGENT))

    def _read_robots(self, origin: str) -> Any:
        """The rules of a host; True where it has none, False where it cannot say (RFC 9309, 2.3.1)."""
        protego = require("protego", EXTRA)
        try:
            url = f"{origin}/robots.txt"
            for _ in range(REDIRECTS + 1):
                answer = self._asked(_split(url), "text/plain", ROBOTS_BYTES)
                if answer.status not in MOVED:
                    break
                url = urljoin(url, answer.headers.get("location", ""))
            if answer.status == 200:
                return protego.Protego.parse(answer.body.decode("utf-8", "replace"))
            return 400 <= answer.status < 500
        except NotFetchedError as error:
            if error.reason == NOT_PUBLIC:
                raise
            return False


def is_public(address: IPAddress) -> bool:
    """Whether an address is one of the public network, whatever it is written inside of.

    >>> [is_public(ipaddress.ip_address(text)) for text in ("8.8.8.8", "10.0.0.1", "::ffff:10.0.0.1")]
    [True, False, False]
    >>> [is_public(ipaddress.ip_address(text)) for text in ("169.254.169.254", "64:ff9b::a00:1", "::1")]
    [False, False, False]
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast


def usable(content: bytes, smallest: int) -> tuple[str, int, int]:
    """The kind, width and height of a picture that can be decoded; NotFetchedError for any other."""
    import PIL.Image

    kind = picture_kind(content[:12])
    if kind is None:
        raise NotFetchedError("it is no picture", "neither PNG, JPEG, GIF nor WebP")
    try:
        with PIL.Image.open(io.BytesIO(content)) as opened:
            width, height = opened.size
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as error:
        raise NotFetchedError("it has too many pixels", str(error)) from None
    except Exception as error:  # decoders of damaged files raise errors of many types
        raise NotFetchedError("it cannot be read", " ".join(str(error).split())[:200]) from None
    size = f"{width} x {height} pixels"
    if width * height > LARGE:
        raise NotFetchedError("it has too many pixels", size)
    if min(width, height) < smallest:
        raise NotFetchedError("it is too small", size)
    try:
        decoded(content)
    except ValueError as error:
        raise NotFetchedError("it cannot be read", " ".join(str(error).split())[:200]) from None
    return kind, width, height


def _split(url: str) -> SplitResult:
    """The parts of an address; NotFetchedError for one that no host of the web has."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise NotFetchedError("its address is none", str(error)) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotFetchedError("its address is none", "expected http(s)://HOST/...")
    if "@" in parts.netloc:
        raise NotFetchedError("its address is none", "it holds a user or a password")
    try:
        return parts._replace(netloc=parts.netloc.encode("idna").decode())
    except UnicodeError as error:
        raise NotFetchedError("its address is none", str(error)) from None


def _port(parts: SplitResult) -> int:
    return parts.port or {"http": 80, "https": 443}[parts.scheme]


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc}"
