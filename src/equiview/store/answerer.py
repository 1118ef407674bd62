"""A model that answers with a store: what is kept is looked up, and only what is missing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.store.answers import Answers
from equiview.store.encoder import stored
from equiview.subjects import Answerer
from equiview.subjects.base import of_inner


class StoredAnswerer(Answerer):
    """`inner` with a store. Requests that ask the same of the same picture are one request.

    Each reply is kept as it comes, so whatever was answered before an error or a kill is not asked again.
    """

    inner: Answerer
    name, fingerprint, about, parent = map(of_inner, ("name", "fingerprint", "about", "parent"))
    versions, looks, price, budget = map(of_inner, ("versions", "looks", "price", "budget"))
    sampled = of_inner("sampled")

    def __init__(self, inner: Answerer, answers: Answers | None = None) -> None:
        super().__init__(inner.argument)
        self.inner = inner
        self.encoder = inner.encoder
        self.answers = answers or Answers(inner.fingerprint, name=inner.name)

    def kept(self, requests: Sequence[Request], images: Items | None) -> int:
        """How many of these requests need not be asked."""
        keys = _keys(requests, images)
        with self.answers.opened() as answers:
            known = answers.get(keys)
        return sum(key in known for key in keys)

    def missing(self, requests: Sequence[Request], images: Items | None) -> list[Request]:
        """Those of the requests that would be asked, each once."""
        first = dict(zip(reversed(_keys(requests, images)), reversed(requests), strict=True))
        with self.answers.opened() as answers:
            known = answers.get(first)
        return [request for key, request in reversed(first.items()) if key not in known]

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield what is kept, then what the inner model replies to the rest."""
        places: dict[str, list[int]] = {}
        for place, key in enumerate(_keys(requests, images)):
            places.setdefault(key, []).append(place)
        with self.answers.opened() as answers:
            known = answers.get(places)
            for key, reply in known.items():
                for place in places[key]:
                    yield place, reply
            missing = [key for key in places if key not in known]
            asked = [requests[places[key][0]] for key in missing]
            for number, reply in self._asked(asked, images, progress):
                answers.put(missing[number], reply)
                for place in places[missing[number]]:
                    yield place, reply

    def _asked(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        try:
            yield from self.inner.checked(requests, images, progress) if requests else ()
        except InputError as error:
            raise InputError(
                f"{error}; every answer that came is kept: the same command asks only for the rest"
            ) from None


def stored_answers(answerer: Answerer, answers: Answers | None = None) -> Answerer:
    """`answerer` with a store, or as it is where a store would be wrong.

    A model without its own `fingerprint` may change unnoticed, so its answers are not kept, and a notice says
    so; finished answers are in a file already. For an encoder that chooses, its vectors are kept instead, and
    for one that is joined to a language model both are (`Answerer.encoder`).
    """
    if answerer.encoder is not None:
        answerer.encoder = stored(answerer.encoder)
    if answerer.follows or answerer.looks_up or isinstance(answerer, StoredAnswerer):
        return answerer
    if not answerer.declares_fingerprint:
        notice(
            f"{answerer.name}: its class declares no `fingerprint`, so its answers are not kept and every "
            "run asks again; declare the name of the model and a revision to keep them"
        )
        return answerer
    return StoredAnswerer(answerer, answers)


def _keys(requests: Sequence[Request], images: Items | None) -> list[str]:
    """The key of each request; InputError for a picture that cannot be read."""
    if any(request.image is not None for request in requests) and images is None:
        raise InputError("requests have pictures, but no images were given")
    pictures = images.hash_pictures() if images is not None else []
    keys = []
    for request in requests:
        picture = b"" if request.image is None else pictures[request.image]
        if isinstance(picture, InputError):
            raise picture
        keys.append(request.key(picture))
    return keys
