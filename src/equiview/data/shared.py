"""Runs, and other results, at a URL of an object store: worked on in a copy here, sent when they are whole.

While a run is worked on, its place is held by this machine (`Mirror.held`). Each stage is sent when it is
done, so that another machine goes on from there if this one is lost. A manifest is sent after the files that
it names, and before any of them is written again a manifest without their stages: whoever reads finds a run
that is whole, or one that says what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from equiview.data.manifest import Manifest
from equiview.data.run import OBSERVE, Run
from equiview.errors import InputError
from equiview.io.files import content_of
from equiview.io.notices import notice
from equiview.io.refusals import refused
from equiview.io.remote import Mirror, url_of

MANIFEST = "manifest.json"
Stages: TypeAlias = dict[str, dict[str, str]]


@contextmanager
def shared(place: Path) -> Iterator[tuple[Path, Callable[[], object] | None]]:
    """The folder in which to write what is to stand at `place`: itself, or of a URL its copy.

    With it what sends, of a copy, the stages that are done (for `Run.after_stages`). A run that is at the
    URL, or a part of one, is in the copy, unless the copy holds all that and more. At the end, however that
    comes, what is whole is sent. InputError while another machine or process writes there, for what the store
    refuses, and where run and copy each observed what the other did not.
    """
    if not (url := url_of(place)):
        yield place, None
        return
    mirror = Mirror(url)
    with mirror.alone(wait=0), mirror.held():
        _take(mirror)
        try:
            yield mirror.copy, lambda: _try_to_send(mirror)
        except BaseException:
            _try_to_send(mirror)
            raise
        _send(mirror)


def opened(place: str | Path) -> Run:
    """The run at a path or a URL, for reading; InputError where there is none."""
    if not (url := url_of(place)):
        return Run.open(Path(place).expanduser())
    mirror = Mirror(url)
    with mirror.alone():
        if not _take(mirror):
            raise InputError(f"{url}: holds no run (no {MANIFEST})")
    return Run.open(mirror.copy)


def _take(mirror: Mirror) -> bool:
    """Bring the copy to the run at the store, but for stages that only the copy has; False: there is none."""
    theirs = _manifest(mirror, mirror.read(MANIFEST))
    if theirs is None:
        return False
    ours = _manifest(mirror, _content(mirror))
    if ours is None or not _goes_on(ours.stages, theirs.stages, mirror):
        mirror.fetch(last=MANIFEST)
        return True
    ours_of = _files(ours.stages)
    mirror.fetch([name for name, held in _files(theirs.stages).items() if ours_of.get(name) == held])
    return True


def _goes_on(ours: Stages, theirs: Stages, mirror: Mirror) -> bool:
    """Whether ours are theirs and more; InputError where each observed what the other did not."""
    of_ours, of_theirs = _observed(ours), _observed(theirs)
    if of_ours.items() <= of_theirs.items() and of_ours != of_theirs:
        return False
    if not of_theirs.items() <= of_ours.items():
        raise InputError(
            f"{mirror.url}: the run there and its copy in {mirror.copy.parent} have each observed what the "
            "other has not; choose another place, or delete that copy to go on from the run there"
        )
    return of_ours != of_theirs or theirs.items() <= ours.items()


def _try_to_send(mirror: Mirror) -> None:
    """Send what is whole; a store that refuses is no reason to stop, since it is sent again at the end."""
    try:
        _send(mirror)
    except InputError as error:
        notice(f"not sent now: {error}")


def _send(mirror: Mirror) -> None:
    """Bring the store to what the copy holds, the manifest last."""
    mirror.check_held()
    changed = mirror.changed(mirror.there())
    ours, theirs = _manifest(mirror, _content(mirror)), _manifest(mirror, mirror.read(MANIFEST))
    if ours is not None and theirs is not None:
        _withdraw(mirror, theirs, _files(ours.stages))
    mirror.send([name for name in changed if name != MANIFEST])
    if ours is not None and ours != theirs:
        mirror.send([MANIFEST])


def _withdraw(mirror: Mirror, theirs: Manifest, files: Mapping[str, str]) -> None:
    """Let the store have no stage whose files are others now, and no file that is gone."""
    stages = {stage: held for stage, held in theirs.stages.items() if held.items() <= files.items()}
    if stages != theirs.stages:
        mirror.put(MANIFEST, theirs.model_copy(update={"stages": stages}).content)
        mirror.remove(_files(theirs.stages).keys() - files.keys())


def _manifest(mirror: Mirror, content: bytes | None) -> Manifest | None:
    """The manifest that this is; InputError for a damaged one."""
    if content is None:
        return None
    with refused(lambda first: f"{mirror.url}/{MANIFEST}: damaged or of another version ({first})"):
        return Manifest.model_validate_json(content)


def _content(mirror: Mirror) -> bytes | None:
    """The manifest of the copy, if it has one."""
    path = mirror.copy / MANIFEST
    return content_of(path) if path.is_file() else None


def _observed(stages: Stages) -> Stages:
    return {stage: files for stage, files in stages.items() if stage.startswith(OBSERVE)}


def _files(stages: Stages) -> dict[str, str]:
    """The files of all stages with their checksums."""
    return {name: content for files in stages.values() for name, content in files.items()}
