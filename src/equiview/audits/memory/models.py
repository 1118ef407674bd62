"""The models that an audit of memory needs beside its subject: translators and scorers, loaded here alone."""

from __future__ import annotations

from equiview.audits.memory.settings import AS_IT_IS, MemorySettings
from equiview.errors import InputError
from equiview.store import StoredAnswerer, stored, stored_answers
from equiview.subjects import Answerer, Encoder, Subject, load_subject


def translators_of(subject: Answerer, settings: MemorySettings) -> dict[str, Answerer | None]:
    """The translators by place, first and second; None stands for leaving descriptions as they are.

    What they ask is paid from the subject's budget. InputError where none is named, or what is named cannot
    translate.
    """
    if not settings.translator:
        raise InputError(
            "setting 'translator' is empty, but descriptions in other languages than English are scored in "
            "translation; name a model, such as chat:openai/gpt-4o, or 'none' to score them as they are"
        )
    names = {"first": settings.translator, "second": settings.second_translator}
    return {
        place: None if name == AS_IT_IS else _translator(name, subject)
        for place, name in names.items()
        if name
    }


def _translator(name: str, subject: Answerer) -> Answerer:
    translator = load_subject(name)
    if not isinstance(translator, Answerer):
        raise InputError(f"translator {name!r} is {translator.kind}; it must be {Answerer.kind}")
    kept = stored_answers(translator) if is_kept(subject) else translator
    kept.budget = subject.budget
    return kept


def scorers_of(subject: Subject, settings: MemorySettings) -> dict[str, Encoder]:
    """The scorers by place, first and second; their vectors are kept where the subject's answers are."""
    names = {"first": settings.scorer, "second": settings.second_scorer}
    scorers = {}
    for place, name in names.items():
        if not name:
            continue
        scorer = load_subject(name)
        if not isinstance(scorer, Encoder):
            raise InputError(f"scorer {name!r} is {scorer.kind}; it must be {Encoder.kind}")
        scorers[place] = stored(scorer, name=name) if is_kept(subject) else scorer
    return scorers


def is_kept(subject: Subject) -> bool:
    """Whether the subject stands in front of a store, or looks answers up; then others are kept too."""
    return isinstance(subject, StoredAnswerer) or (isinstance(subject, Answerer) and subject.looks_up)
