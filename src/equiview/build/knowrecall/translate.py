"""The last step: each question translated, translated back, and compared."""

from __future__ import annotations

from collections.abc import Sequence

from equiview.build.knowrecall import prompts
from equiview.build.knowrecall.candidates import OPTIONS, Candidate, Wording, read_question
from equiview.build.knowrecall.rules import plain
from equiview.build.spoken import language_fault
from equiview.build.step import Step, fault_in
from equiview.data.requests import Request
from equiview.subjects.chat.spoken import Detector
from equiview.text.replies import json_in

SAME = {
    "same_question": (True, "the question means something else"),
    "same_options": (True, "an option means something else"),
}
Job = tuple[Candidate, str]


Translations = dict[tuple[str, str], Wording]
"""Wordings by candidate and language."""


def translate(
    forth: Step,
    back: Step,
    compare: Step,
    candidates: Sequence[Candidate],
    languages: Sequence[str],
    attempts: int,
) -> Translations:
    """The wordings that pass every check; a rejected one is requested again, with the complaint.

    Each must be readable, have four distinct options with the answer in its place, be in the language (where
    lingua knows it), and mean the same after a translation back.
    """
    complaints: dict[Job, str] = {
        (candidate, language): "" for candidate in candidates for language in languages if language != "en"
    }
    done: Translations = {}
    detector = Detector(languages)
    for attempt in range(attempts):
        worded = _asked(forth, complaints, attempt, detector)
        returned = _returned(back, worded, attempt)
        for job, problem in _differences(compare, worded, returned, attempt).items():
            candidate, language = job
            if problem:
                complaints[job] = problem
            else:
                done[candidate.id, language] = worded[job]
                del complaints[job]
    return done


def _asked(step: Step, complaints: dict[Job, str], attempt: int, detector: Detector) -> dict[Job, Wording]:
    """The wordings that can be read and are in their language; `complaints` is updated for the others."""
    jobs = list(complaints)
    requests = [
        Request(
            f"{candidate.id}:{language}:translate-{attempt}",
            prompts.translate(candidate, language, complaints[candidate, language]),
            language,
        )
        for candidate, language in jobs
    ]
    worded = {}
    for job, reply in zip(jobs, step.ask(requests), strict=True):
        wording = _wording(reply)
        problem = "the translation cannot be read" if wording is None else _fault(*job, wording, detector)
        if wording is not None and not problem:
            worded[job] = wording
            continue
        complaints[job] = problem
        step.note(job[0].id, problem, reply, language=job[1])
    return worded


def _returned(step: Step, worded: dict[Job, Wording], attempt: int) -> dict[Job, Wording | None]:
    requests = [
        Request(
            f"{candidate.id}:{language}:back-{attempt}",
            prompts.translate_back(*wording, language),
            "en",
        )
        for (candidate, language), wording in worded.items()
    ]
    return dict(zip(worded, map(_wording, step.ask(requests)), strict=True))


def _differences(
    step: Step, worded: dict[Job, Wording], returned: dict[Job, Wording | None], attempt: int
) -> dict[Job, str]:
    """The problem of each wording after its translation back; empty for a good one."""
    unread = "the translation back cannot be read"
    problems = {job: unread for job, wording in returned.items() if wording is None}
    unclear = {job: wording for job, wording in returned.items() if wording is not None}
    requests = [
        Request(
            f"{candidate.id}:{language}:same-{attempt}",
            prompts.same_meaning(candidate, wording.question, wording.options),
            "en",
            max_tokens=128,
        )
        for (candidate, language), wording in unclear.items()
    ]
    for job, reply in zip(unclear, step.ask(requests), strict=True):
        problems[job] = fault_in(reply, SAME, "comparison")
    for (candidate, language), problem in problems.items():
        text = worded[candidate, language].question
        step.note(candidate.id, problem, text, language=language)
    return problems


def _wording(reply: str) -> Wording | None:
    read = read_question(json_in(reply))
    return read if read and read.question and len(read.options) == OPTIONS else None


def _fault(candidate: Candidate, language: str, wording: Wording, detector: Detector) -> str:
    """The first visible fault of a wording; empty for a good one."""
    if len({plain(option) for option in wording.options}) < OPTIONS:
        return "two of its options are the same"
    if plain(wording.answer) != plain(wording.options[candidate.truth]):
        return "the answer is not the option in its place"
    originals = (candidate.question, *candidate.options)
    texts = dict(zip((wording.question, *wording.options), originals, strict=True))
    return language_fault("question", texts, language, detector)
