"""`inspect-log:FILE`: a finished log of Inspect AI, or a folder of logs of one model.

A sample's id is the id of the request, as the tasks of equiview and `chat:MODEL` write them. Samples that
failed or were not asked have no answer; where several logs answer a sample, the latest answer counts.
A sample whose prompt does not hold the question and its options is refused. Options: `model=`, where a folder
holds logs of several models; `prompts=other` takes samples with other prompts, such as translated ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from equiview.data.arguments import split_argument
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.files import is_file, readable
from equiview.io.notices import notice
from equiview.io.progress import Progress
from equiview.io.secrets import redacted
from equiview.subjects.chat.finished import FinishedAnswers
from equiview.subjects.chat.task import EXTRA, reply_of

ENDS = (".eval", ".json")
UNUSED = {"events", "store", "messages", "scores"}


class InspectLog(FinishedAnswers):
    """Finished logs of Inspect AI."""

    packages = ("inspect-ai",)

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        name, options = split_argument(argument, "inspect-log", ["model", "prompts"])
        if not name:
            raise InputError("subject 'inspect-log' needs a file or a folder: inspect-log:FILE")
        self.path = Path(name).expanduser()
        self.model = options.get("model", "")
        if options.get("prompts", "same") not in {"same", "other"}:
            raise InputError(f"inspect-log: prompts is {options['prompts']!r}; expected same or other")
        self.other_words = options.get("prompts") == "other"

    @property
    def about(self) -> str:
        """The file, and what it is a log of."""
        tasks = ", ".join(dict.fromkeys(header.eval.task for _, header in self._headers))
        unfinished = sorted({header.status for _, header in self._headers} - {"success"})
        state = f", not finished ({', '.join(unfinished)})" if unfinished else ""
        return redacted(f"{self.path}: log of {self._headers[0][1].eval.model}, task {tasks}{state}")

    @property
    def sampled(self) -> bool | None:
        """Whether the model was asked at a temperature above 0; None where a log does not say."""
        asked = [header.eval.model_generate_config.temperature for _, header in self._headers]
        return None if None in asked else any(asked)

    @property
    def files(self) -> Sequence[Path]:
        """The logs, the earliest first."""
        return [path for path, _ in self._headers]

    @cached_property
    def _headers(self) -> list[tuple[Path, Any]]:
        """Each log of the model with its header, the earliest first."""
        paths = [self.path] if is_file(self.path) else _logs_in(self.path)
        headers = [(path, _header(path)) for path in paths]
        models = sorted({header.eval.model for _, header in headers})
        chosen = [(path, header) for path, header in headers if self.model in {"", header.eval.model}]
        if not chosen:
            raise InputError(f"{self.path}: no log of {self.model!r}; its models are {', '.join(models)}")
        if not self.model and len(models) > 1:
            raise InputError(
                f"{self.path}: holds logs of {len(models)} models ({', '.join(models)}); choose one with "
                f"inspect-log:{self.path},model=NAME"
            )
        return sorted(chosen, key=lambda entry: (entry[1].eval.created, entry[0].name))

    def read(self) -> Mapping[str, Reply]:
        """The reply of each sample that has one."""
        return {name: reply for name, (reply, _) in self._samples.items()}

    @cached_property
    def _samples(self) -> dict[str, tuple[Reply, str]]:
        """The reply to each sample, and its prompt."""
        samples: dict[str, tuple[Reply, str]] = {}
        answered: dict[str, str] = {}  # times of answers; a log's own time is in whole seconds
        for path in self.files:
            repeated = 0
            for sample in _samples_of(path):
                name, when = str(sample.id), sample.completed_at or ""
                if sample.epoch > 1:
                    repeated += 1
                elif sample.error is None and sample.output.choices and when >= answered.get(name, ""):
                    samples[name] = (reply_of(sample.output), _asked(sample.input))
                    answered[name] = when
            if repeated:
                notice(f"{path}: samples were asked in several epochs; only the first of each is read")
        return samples

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield what is known; InputError at the end if anything is missing."""
        asked = {name: prompt for name, (_, prompt) in self._samples.items()}
        others = [request for request in requests if asked.get(request.id, request.prompt) != request.prompt]
        strangers = [request for request in others if not _is_of(asked[request.id], request)]
        if strangers and not self.other_words:
            raise InputError(
                f"{self.about}: {len(strangers)} of {len(requests)} samples were asked something else than "
                f"the audit asks, the first of them {strangers[0].id!r}; if they answer its questions, "
                "add prompts=other"
            )
        if others:
            notice(
                f"{self.about}: {len(others)} of {len(requests)} samples were asked in other words than the "
                f"audit would use with these settings, the first of them {others[0].id!r}"
            )
        yield from super().replies(requests, images, progress)


def _logs_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        readable(folder)  # says what it is
    logs = sorted(path for path in folder.rglob("*") if path.suffix in ENDS and is_file(path))
    if not logs:
        raise InputError(f"{folder}: holds no log of Inspect ({' or '.join(ENDS)})")
    return logs


def _header(path: Path) -> Any:
    if path.suffix not in ENDS:
        raise InputError(f"{path}: is not a log of Inspect; they end in {' or '.join(ENDS)}")
    with _reading(path) as library:
        return library.read_eval_log(str(path), header_only=True)


def _samples_of(path: Path) -> Iterator[Any]:
    with _reading(path) as library:
        yield from library.read_eval_log_samples(
            str(path), all_samples_required=False, resolve_attachments="core", exclude_fields=UNUSED
        )


@contextmanager
def _reading(path: Path) -> Iterator[Any]:
    """Inspect's module for logs; whatever it raises for a damaged file becomes an InputError."""
    try:
        yield require("inspect_ai.log", EXTRA)
    except Exception as error:
        text = " ".join(str(error).split())[:160]
        raise InputError(
            f"{path}: cannot be read as a log of Inspect ({type(error).__name__}: {text})"
        ) from None


def _is_of(asked: str, request: Request) -> bool:
    """Whether a prompt holds the question of a request and all of its options, in whatever other words."""
    return bool(request.question) and all(part in asked for part in (request.question, *request.options))


def _asked(given: str | list[Any]) -> str:
    """The text of a sample's input; a damaged one has none."""
    if isinstance(given, str):
        return given
    return str(given[-1].text) if given else ""
