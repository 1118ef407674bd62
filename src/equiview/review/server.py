"""The web application, with its access control.

Every request needs a secret; without it the reply is 404 without content. A link's token becomes a cookie at
the first visit and leaves the address. Endpoints are plain functions: FastAPI runs them in threads, so that
database work never blocks other requests.
"""

from __future__ import annotations

import hmac
import logging
import sqlite3
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as AnyHTTPException

from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.hashes import hash_bytes
from equiview.io.pictures import picture_kind
from equiview.review import export, pages
from equiview.review.agreement import Agreement, agreement
from equiview.review.opening import Review
from equiview.review.people import Person, csrf_of
from equiview.review.votes import all_opinions, next_dispute, opinions_on, record

LARGEST_BODY = 64 * 1024
COOKIE_DAYS = 30
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
    "Cache-Control": "no-store",
}
KEPT = {"Cache-Control": "private, max-age=600"}
"""Pictures may be kept by the person's own browser for ten minutes."""
router = APIRouter()


def make_app(review: Review) -> FastAPI:
    """The application that serves one review."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.review = review

    @lru_cache(maxsize=1)
    def agreement_until(newest: int | None) -> list[Agreement]:
        opinions = all_opinions(review.database.connection)
        return agreement(list(opinions.values()), review.settings)

    app.state.agreement_until = agreement_until  # computed again only when there are new votes
    app.include_router(router)
    app.add_middleware(SafeHeaders)
    app.add_exception_handler(AnyHTTPException, _empty)
    app.add_exception_handler(RequestValidationError, _empty)
    app.add_exception_handler(sqlite3.Error, _unsaved)
    return app


class SafeHeaders:
    """Adds the headers that every reply has, unless it has its own."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Pass a request on."""

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


@dataclass(frozen=True)
class Visitor:
    """A person with a valid cookie."""

    review: Review
    person: Person
    token: str


def _visitor(request: Request, who: str) -> Visitor:
    review: Review = request.app.state.review
    token = request.cookies.get(_cookie(review), "")
    person = review.people.get(who)
    if person is None or not person.has(token):
        raise HTTPException(404)
    return Visitor(review, person, token)


Known = Annotated[Visitor, Depends(_visitor)]
Number = Annotated[int, PathParameter(ge=1, lt=2**62)]
"""An item's number, as the database can hold it."""


class Submission(BaseModel):
    """A judgement as a page sends it."""

    vote: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    item: Annotated[int, Field(ge=1, lt=2**62)]
    answers: dict[str, str]
    shown: str | None = None
    """What the page showed, as `Review.shown` says it."""


async def _submission(request: Request, visitor: Known) -> Submission:
    """The judgement in a request from a page of ours; 403, 413 or 422 for anything else."""
    origin = f"{request.url.scheme}://{request.headers.get('host', '')}"
    csrf = request.headers.get("x-csrf-token", "")
    if request.headers.get("origin") != origin or not hmac.compare_digest(
        csrf.encode("utf-8", "surrogateescape"), csrf_of(visitor.token).encode()
    ):
        raise HTTPException(403)
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415)
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_BODY:
            raise HTTPException(413)
    try:
        return Submission.model_validate_json(content)
    except ValidationError:
        raise HTTPException(422) from None


@router.get("/{who}/in/{token}")
def enter(request: Request, who: str, token: str) -> Response:
    """Store the token of a link as a cookie, then show the page without it.

    The page redirects by script: after a link on another site, such as a mail, a browser sends no cookie of
    SameSite=Strict with a redirect of status 303.
    """
    review: Review = request.app.state.review
    person = review.people.get(who)
    if person is None or not person.has(token):
        raise HTTPException(404)
    response = HTMLResponse(pages.entering(review, person))
    response.set_cookie(
        _cookie(review),
        token,
        max_age=COOKIE_DAYS * 24 * 3600,
        path=f"/{who}/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.get("/{who}/")
def front(request: Request, visitor: Known) -> Response:
    """The next item, the next dispute, or the coordinator's overview, by the person's role."""
    review, person = visitor.review, visitor.person
    if person.role == "coordinator":
        newest = review.database.connection.execute("SELECT MAX(number) FROM votes").fetchone()[0]
        found = request.app.state.agreement_until(newest)
        return HTMLResponse(pages.coordinator_page(review, person, found))
    if person.role == "adjudicator":
        number = next_dispute(review.database.connection)
    else:
        number = review.assignment.next_item(person)
    if number is None:
        return HTMLResponse(pages.end_page(review, person))
    return HTMLResponse(pages.item_page(review, person, number, csrf_of(visitor.token)))


@router.get("/{who}/item/{number}")
def judged_item(visitor: Known, number: Number) -> Response:
    """An item that the person judged before, to change the answers."""
    review, person = visitor.review, visitor.person
    authors = {opinion.author for opinion in opinions_on(review.database.connection, number)}
    if person.pseudonym not in authors:
        raise HTTPException(404)
    return HTMLResponse(pages.item_page(review, person, number, csrf_of(visitor.token)))


@router.get("/{who}/picture/{number}")
def picture(visitor: Known, number: Number) -> Response:
    """The picture of an item, as it was when the review was opened."""
    item = visitor.review.items.get(number)
    if item is None or not isinstance(item.picture, Path):
        raise HTTPException(404)
    try:
        content = content_of(item.picture)
    except InputError:
        raise HTTPException(404) from None
    if hash_bytes(content).hex() != visitor.review.keys[item.id].partition(":")[2]:
        raise HTTPException(404)
    return Response(content, media_type=f"image/{picture_kind(content[:12])}", headers=KEPT)


@router.get("/{who}/static/{name}")
def static(visitor: Known, name: str) -> Response:
    """A style sheet, a script or the icon."""
    if name not in pages.ASSETS:
        raise HTTPException(404)
    return Response(pages.asset(name), media_type=pages.ASSETS[name])


@router.get("/{who}/export/{name}")
def download(visitor: Known, name: str) -> Response:
    """A table of the export, for the coordinator."""
    table, _, kind = name.partition(".")
    if visitor.person.role != "coordinator" or table not in export.TABLES or kind not in export.KINDS:
        raise HTTPException(404)
    review = visitor.review
    with review.database.snapshot() as connection:
        tables = export.export_tables(connection, review.settings, review.keys)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(
        export.as_bytes(tables[table], kind), media_type="application/octet-stream", headers=headers
    )


@router.post("/{who}/votes")
def vote(visitor: Known, submission: Annotated[Submission, Depends(_submission)]) -> Response:
    """Keep a judgement; the reply is sent when it is on disk."""
    review, person = visitor.review, visitor.person
    try:
        if submission.shown not in (None, review.shown(submission.item)):
            raise InputError("the item has changed since this page was loaded; load the page again")
        record(review.database, review.settings, person, **submission.model_dump(exclude={"shown"}))
    except InputError as error:
        return JSONResponse({"problem": str(error)}, status_code=409)
    review.assignment.release(person, submission.item)
    return JSONResponse({"saved": submission.vote})


def _cookie(review: Review) -> str:
    """Its own name for each review: cookies are shared by all servers on a host."""
    return f"review-{review.name}"


def _empty(_: Request, error: Exception) -> Response:
    """A status without content, which reveals nothing; 404 for requests that cannot be parsed."""
    return Response(status_code=error.status_code if isinstance(error, AnyHTTPException) else 404)


def _unsaved(_: Request, error: Exception) -> Response:
    """503 where the database cannot be used now, as on a full disk; the page sends its judgement again."""
    logging.getLogger("uvicorn.error").error("not saved, pages try again: %s; is the disk full?", error)
    return JSONResponse({"problem": "not saved"}, status_code=503)
