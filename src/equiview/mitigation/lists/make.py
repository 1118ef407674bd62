"""Write the rule by which a system's lists are put in order, as a subject."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.io.tables import write_bytes
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.mitigation.folder import encoder_input
from equiview.mitigation.lists.settings import ListMaking
from equiview.subjects import Encoder, ResultLists, Subject, load_subject
from equiview.subjects.reranked import Reranking, Rule
from equiview.subjects.trained import Part


class Ordering(Job):
    """Lists to put in order."""

    def __init__(self, settings: ListMaking, subject: Subject) -> None:
        if not isinstance(subject, Encoder | ResultLists):
            raise InputError(f"{subject.name!r} is {subject.kind}; re-ranking needs result lists or vectors")
        self.settings, self.subject = settings, subject

    @classmethod
    def named(cls, settings: ListMaking) -> Ordering:
        """The job of these settings, with the system loaded by name."""
        return cls(settings, load_subject(settings.subject))

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The system."""
        return {"system": encoder_input(self.subject)}

    def plan(self) -> list[Task]:
        """Nothing is computed before lists are asked for."""
        return [Task("rule", 1, "file")]

    def make(self, work: Work) -> Outcome:
        """Write the rule and the card."""
        work.stage("rule", self._write)
        return Outcome(
            after={
                "Judge it": f"equiview audit reranked:{work.folder} --benchmark BENCHMARK --audit prevalence"
            }
        )

    def _write(self, folder: Path) -> None:
        chosen = self.settings
        rule = Rule(chosen.method, chosen.by, chosen.depth, chosen.share_of or None)
        content = json.dumps(asdict(rule), ensure_ascii=False, indent=1)
        write_bytes(content.encode() + b"\n", folder / Reranking.made)
        system = encoder_input(self.subject)
        Reranking(
            parent=Part(name=system.name, fingerprint=system.fingerprint),
            settings=chosen.model_dump(mode="json", exclude={"subject"}),
            versions=dict(self.subject.versions),
        ).save(folder, folder)
