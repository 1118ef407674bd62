"""Captions translated by a model, and compared with their originals by another."""

from __future__ import annotations

import json
from collections.abc import Sequence

from equiview.build.spoken import language_fault
from equiview.build.step import Step, fault_in
from equiview.build.xm3600.captions import Missing
from equiview.data.languages import language_name
from equiview.data.requests import Request
from equiview.subjects.chat.spoken import Detector
from equiview.text.replies import json_in

SAME = {
    "same_meaning": (True, "it means something else than the original"),
    "natural": (True, "it does not read as a caption in the language"),
}


def translate(forth: Step, compare: Step, wanted: Sequence[Missing], attempts: int) -> dict[str, str]:
    """The translations that pass, by id; a rejected one is asked for again, with the complaint.

    Each must be read, be in the language (where lingua knows it) and mean what the original does.
    """
    complaints = dict.fromkeys(wanted, "")
    detector = Detector({missing.language for missing in wanted} | {m.original.language for m in wanted})
    done: dict[str, str] = {}
    for attempt in range(attempts):
        requests = [request(missing, complaint, attempt) for missing, complaint in complaints.items()]
        worded: dict[Missing, str] = {}
        for missing, reply in zip(list(complaints), forth.ask(requests), strict=True):
            text = _caption(reply)
            problem = _fault(missing, text, detector)
            if problem:
                complaints[missing] = problem
                forth.note(missing.id, problem, reply, language=missing.language)
            else:
                worded[missing] = text
        checks = [comparison(missing, text, attempt) for missing, text in worded.items()]
        for (missing, text), reply in zip(worded.items(), compare.ask(checks), strict=True):
            problem = fault_in(reply, SAME, "comparison")
            if compare.note(missing.id, problem, text, language=missing.language):
                done[missing.id] = text
                del complaints[missing]
            else:
                complaints[missing] = problem
    return done


def request(missing: Missing, complaint: str = "", attempt: int = 0) -> Request:
    """Ask for a caption in another language; `complaint` says what was wrong with an earlier attempt."""
    original = missing.original
    again = f"\n\nAn earlier translation was rejected: {complaint}. Avoid that." if complaint else ""
    prompt = f"""Translate this caption of a picture from {language_name(original.language)} into \
{language_name(missing.language)}. Say neither more nor less than it does, in the words that somebody who \
grew up with the language would choose for the picture.

{json.dumps({"caption": original.text}, ensure_ascii=False)}

Reply with JSON alone, of the same form.{again}"""
    return Request(f"{missing.id}:translate-{attempt}", prompt, missing.language)


def comparison(missing: Missing, text: str, attempt: int = 0) -> Request:
    """Ask whether a translation says what its original says, and reads well."""
    original = missing.original
    texts = {language_name(original.language): original.text, language_name(missing.language): text}
    prompt = f"""A caption of a picture, and its translation:

{json.dumps(texts, ensure_ascii=False)}

Does the translation mean the same, and does it read as somebody who grew up with its language would write? \
Reply with JSON alone: {{"same_meaning": true or false, "natural": true or false}}"""
    return Request(f"{missing.id}:compare-{attempt}", prompt, "en", max_tokens=128)


def _caption(reply: str) -> str:
    """The caption of a reply on one line; "" where there is none."""
    content = json_in(reply)
    caption = content.get("caption") if isinstance(content, dict) else None
    return " ".join(caption.split()) if isinstance(caption, str) else ""


def _fault(missing: Missing, text: str, detector: Detector) -> str:
    if not text:
        return "the translation cannot be read"
    return language_fault("caption", {text: missing.original.text}, missing.language, detector)
