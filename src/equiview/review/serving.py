"""Starting a review: the links, then the server, until it is stopped."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from equiview.errors import InputError
from equiview.extras import require
from equiview.io.lock import locked
from equiview.review.layout import read_settings
from equiview.review.opening import Review, open_review

EVERYWHERE = ("0.0.0.0", "::", "")


def serve_review(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    people: int | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the review in `folder` until the process is stopped; `say` prints its links first.

    Port 0 is any free port. InputError for invalid files, a port in use, and while another process serves the
    same folder.
    """
    for library in ("fastapi", "uvicorn", "krippendorff"):
        require(library, "review")
    import uvicorn

    from equiview.review.server import make_app

    read_settings(folder)
    with locked(folder):
        review = open_review(folder, people)
        try:
            with _listening(host, port) as listener:
                for line in _greeting(review, host, listener.getsockname()[1]):
                    say(line)
                config = uvicorn.Config(
                    make_app(review),
                    log_level="warning",
                    access_log=False,  # it would hold the links
                    server_header=False,
                    timeout_graceful_shutdown=5,
                )
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            review.database.close()


def _greeting(review: Review, host: str, port: int) -> list[str]:
    """The title, the counts, and each person's link."""
    name = socket.getfqdn() if host in EVERYWHERE else host
    address = f"[{name}]" if ":" in name else name
    reviewers = sum(person.role == "reviewer" for person in review.people.values())
    said = {
        f"{person.pseudonym} ({person.name})" if person.name else person.pseudonym: (
            f"http://{address}:{port}/{person.pseudonym}/in/{review.tokens[person.pseudonym]}"
        )
        for person in review.people.values()
    }
    width = max(map(len, said))
    return [
        f"{review.settings.title}: {len(review.items)} items, {review.settings.people_per_item} people each, "
        f"{reviewers} reviewers",
        "Each link is one person's secret:",
        *(f"  {who:<{width}}  {link}" for who, link in said.items()),
        "Stop with Ctrl-C; the same command continues, with the same links.",
    ]


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        number = error.errno or 0  # below 0 for a host without an address
        reason = (os.strerror(number) if number > 0 else error.strerror or str(error)).lower()
        raise InputError(
            f"cannot listen at {host}, port {port} ({reason}); choose another with --port or --host"
        ) from None
