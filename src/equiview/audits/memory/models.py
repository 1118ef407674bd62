"""The models that an audit of memory needs beside its subject: translators and scorers."""

from __future__ import annotations

from typing import TypeVar

from equiview.audits.memory.settings import AS_IT_IS, MemorySettings
from equiview.errors import InputError
from equiview.store import StoredAnswerer, stored, stored_answers
from equiview.subjects import Answerer, Encoder, Subject, load_subject

Sub = TypeVar("Sub", bound=Subject)


def translators_of(subject: Answerer, settings: MemorySettings) -> dict[str, Answerer | None]:
    """The translators by place, first and second; None leaves descriptions as they are.

    Their requests count towards the subject's budget. InputError where no translator is set, or a model
    cannot translate.
    """
    if not settings.translator:
        raise InputError(
            "setting 'translator' is empty, but descriptions in other languages than English are scored in "
            "translation; name a model, such as chat:openai/gpt-4o, or 'none' to score them as they are"
        )
    translators: dict[str, Answerer | None] = {}
    for place, name in (("first", settings.translator), ("second", settings.second_translator)):
        if name == AS_IT_IS:
            translators[place] = None
        elif name:
            translator = _loaded(name, Answerer, "translator")
            translators[place] = kept = stored_answers(translator) if is_kept(subject) else translator
            kept.budget = subject.budget
    return translators


def scorers_of(subject: Subject, settings: MemorySettings) -> dict[str, Encoder]:
    """The scorers by place, first and second; their vectors are kept where the subject's answers are."""
    scorers = {}
    for place, name in (("first", settings.scorer), ("second", settings.second_scorer)):
        if name:
            scorer = _loaded(name, Encoder, "scorer")
            scorers[place] = stored(scorer, name=name) if is_kept(subject) else scorer
    return scorers


def _loaded(name: str, kind: type[Sub], role: str) -> Sub:
    model = load_subject(name)
    if not isinstance(model, kind):
        raise InputError(f"{role} {name!r} is {model.kind}; it must be {kind.kind}")
    return model


def is_kept(subject: Subject) -> bool:
    """Whether the subject's answers are stored or looked up; then those of other models are stored too."""
    return isinstance(subject, StoredAnswerer) or (isinstance(subject, Answerer) and subject.looks_up)
