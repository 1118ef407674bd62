"""Chat models end to end: one small model of rules, asked by `equiview audit` and by `inspect eval`.

What it knows in which language is written down here, so that T's numbers are known beforehand.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from equiview import api, planning
from equiview.catalogue import catalogue
from equiview.data.run import Run
from equiview.errors import InputError
from tests.benchmarks import layouts
from tests.chat_server import chat_server, environment
from tests.faults.running import typed
from tests.processes import COMMAND, start

KNOWN = {  # (landmark, number of the question); the landmarks are local to Arabic, English and French
    "en": {(0, 0), (1, 0), (1, 1), (2, 0)},
    "ar": {(0, 0), (0, 1), (1, 0)},
    "fr": {(0, 0), (1, 0), (2, 0)},
}
# Consistency: Arabic .75 with both others, English .75 with both, French 1 with English; with Arabic it is
# not defined, since nothing about French landmarks is known in Arabic.
EXPECTED = {
    "EN": 4 / 6,
    "LOC": 5 / 6,
    "GLO": (1 / 2 + 0 + 1 / 2 + 1 / 2) / 4,
    "consistency": (4 * 0.75 + 1) / 5,
}
WORDS = ("one", "two", "three", "four")
REQUESTS = 18


def knower(prompt, pictures, model):
    """Replies the letter of the right option where it knows, and of the next one where it does not."""
    language, number, landmark = re.search(r"(\w\w) question (\d) about (\d)\?", prompt).groups()
    assert len(pictures) == 1
    right = WORDS[(int(landmark) + int(number)) % 4]
    (letter,) = re.findall(rf"([A-D])\. {language} {right} {number}\n", prompt)
    if (int(landmark), int(number)) in KNOWN[language]:
        return letter
    return "ABCD"[("ABCD".index(letter) + 1) % 4]


@pytest.fixture
def quiz(tmp_path, monkeypatch) -> str:
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    layouts.knowrecall(tmp_path / "quiz")
    return f"knowrecall:{tmp_path / 'quiz'}"


def numbers(run) -> dict[str, float]:
    estimates = run.estimates.of("knowledge")
    accuracies = {name: estimates.one("accuracy", setting=name).value for name in ("EN", "LOC", "GLO")}
    return accuracies | {"consistency": estimates.one("consistency").value}


def audit_command(subject: str, quiz: str, out: Path, *more: str) -> list[str]:
    return ["audit", subject, "--benchmark", quiz, "--audit", "knowledge", "--out", str(out), *more]


def typed_to(server, words: list[str]) -> str:
    """What a command prints that finds the server; it has to end well."""
    with patch.dict(os.environ, environment(server.url)):
        code, output, errors = typed(words)
    assert code == 0, errors
    return output


def inspect_eval(server, quiz: str, logs: Path) -> Path:
    """The log of Inspect's own command."""
    data = quiz.partition(":")[2]
    subprocess.run(
        [sys.executable, "-m", "inspect_ai", "eval", "equiview/knowrecall", "-T", f"data={data}",
         "--display", "none", "--model", "openai-api/loopback/knower", "--log-dir", str(logs)],
        env=os.environ | environment(server.url), check=True, capture_output=True,
    )  # fmt: skip
    (log,) = logs.glob("*.eval")
    return log


def test_a_chat_model_the_command_of_inspect_and_its_log_give_the_same_known_numbers(tmp_path, quiz):
    from inspect_ai.log import read_eval_log

    with chat_server(knower) as server:
        asked = api.audit(server.subject(), quiz, ["knowledge"], tmp_path / "asked")
        of_audit = Counter((request.prompt, *request.pictures) for request in server.requests)
        server.requests.clear()
        log = inspect_eval(server, quiz, tmp_path / "of-inspect")
        of_inspect = Counter((request.prompt, *request.pictures) for request in server.requests)
    finished = api.audit(f"inspect-log:{log}", quiz, ["knowledge"], tmp_path / "finished")
    assert numbers(asked) == pytest.approx(EXPECTED)
    # Inspect's own command sets no temperature, so that the log does not say whether answers are sampled.
    apart = pl.col("metric") != "lost to sampling"
    kept = asked.estimates.table.filter(apart).drop("p_holm")
    assert finished.estimates.table.drop("p_holm").equals(kept)
    assert of_audit == of_inspect
    assert of_audit.total() == REQUESTS
    (score,) = read_eval_log(str(log), header_only=True).results.scores
    reported = {name: metric.value for name, metric in score.metrics.items()}
    right = sum(map(len, KNOWN.values()))
    assert reported == pytest.approx(EXPECTED | {"accuracy": right / REQUESTS, "unread": 0})


def test_the_log_of_a_chat_model_is_a_finished_run(tmp_path, quiz):
    with chat_server(knower) as server:
        asked = api.audit(server.subject(), quiz, ["knowledge"], tmp_path / "asked")
    finished = api.audit(f"inspect-log:{tmp_path / 'logs'}", quiz, ["knowledge"], tmp_path / "finished")
    assert finished.estimates.table.equals(asked.estimates.table)


def test_a_second_run_asks_nothing_and_without_the_cache_everything(tmp_path, quiz):
    with chat_server(knower) as server:
        runs = [
            api.audit(server.subject(), quiz, ["knowledge"], tmp_path / name, cache=cache)
            for name, cache in (("first", True), ("kept", True), ("again", False))
        ]
        assert len(server.requests) == 2 * REQUESTS
    assert len({run.estimates.table.write_json() for run in runs}) == 1


def test_a_run_killed_half_way_and_run_again_asks_nothing_twice(tmp_path, quiz):
    connections = 2
    with chat_server(knower) as server:
        server.delay = 0.1
        subject = server.subject(options=f"connections={connections}")
        words = audit_command(subject, quiz, tmp_path / "run", "--json")
        environ = os.environ | environment(server.url)
        process = start(COMMAND, words, tmp_path, environment=environ)
        server.wait_for(REQUESTS // 2)
        process.kill()
        process.join()
        killed_at = server.answered
        again = typed_to(server, words)
    assert REQUESTS // 2 <= killed_at < REQUESTS
    assert json.loads(again)["runs"][0]["verdicts"]
    assert numbers(Run.open(tmp_path / "run")) == pytest.approx(EXPECTED)
    times = Counter(server.prompts)
    assert len(times) == REQUESTS
    assert times.total() <= REQUESTS + connections  # what was under way at the kill may be asked again


def test_a_limit_of_costs_stops_cleanly_and_the_same_command_goes_on(tmp_path, quiz):
    # Each answer is one token at a dollar; what is read is free.
    with chat_server(knower) as server:
        options = "connections=1,price_in=0,price_out=1000000"
        words = audit_command(server.subject(options=options), quiz, tmp_path / "run", "--max-cost", "10")
        with patch.dict(os.environ, environment(server.url)):
            code, _, errors = typed(words)
        assert code == 1
        assert "$10.0000 of at most $10 are spent; 10 of 18 requests are answered" in errors
        assert "every answer that came is kept" in errors
        assert "Traceback" not in errors
        assert len(server.requests) == 10
        assert "report.html" in typed_to(server, words)
        assert len(server.requests) == REQUESTS


def test_a_dry_run_prints_what_it_would_cost_and_asks_nothing(tmp_path, quiz):
    with chat_server(knower) as server:
        subject = server.subject(options="price_in=2,price_out=8")
        words = audit_command(subject, quiz, tmp_path / "run", "--dry-run", "--json")
        planned = json.loads(typed_to(server, words))
        (row,) = planned["asked"]
        assert (row["audit"], row["model"], row["requests"], row["pictures"]) == (
            "knowledge",
            subject,
            18,
            18,
        )
        assert row["dollars"] == pytest.approx((2 * row["input_tokens"] + 8 * row["output_tokens"]) / 1e6)
        assert row["input_tokens"] > 18 * 100
        assert {found["of"] for found in planned["found"]} == {"questions"}
        unpriced = planning.plan(server.subject(), quiz, ["knowledge"])
        assert unpriced["dollars"].to_list() == [None]
        assert not server.requests
    assert not (tmp_path / "run").exists()


def test_a_dry_run_of_kept_answers_says_so(tmp_path, quiz):
    with chat_server(knower) as server:
        api.audit(server.subject(), quiz, ["knowledge"], tmp_path / "run")
        plan = planning.plan(server.subject(), quiz, ["knowledge"])
    assert plan["kept"].to_list() == [REQUESTS]
    assert planning.plan("pictogram:aligned", "pictograms", ["prevalence"])["purpose"].to_list() == [
        "asks no model"
    ]


def test_a_model_of_this_machine_is_audited_by_one_command(tmp_path, quiz):
    from tests.subjects.encoders import tiny

    folder = tiny.build(tiny.qwen25_chat, tmp_path / "model")
    words = audit_command(
        f"chat:equiview-hf/{folder},device=cpu", quiz, tmp_path / "run", "--setting", "knowledge.max_tokens=4"
    )
    code, output, errors = typed(words)
    assert code == 0, errors
    assert "report.html" in output
    answers = Run.open(tmp_path / "run").folder / "observations" / "knowledge.answers.parquet"
    assert pl.read_parquet(answers)["tokens"].to_list() == [4] * REQUESTS


def test_finished_answers_give_the_same_numbers(tmp_path, quiz):
    from equiview.audits.knowledge import KNOWLEDGE
    from equiview.audits.knowledge.ask import requests_of
    from equiview.benchmarks import load_benchmark

    requests = requests_of(load_benchmark(quiz), KNOWLEDGE.configure({}))
    rows = [{"id": request.id, "answer": knower(request.prompt, [b""], "")} for request in requests]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert numbers(api.audit(f"answers:{path}", quiz, ["knowledge"], tmp_path / "a")) == pytest.approx(
        EXPECTED
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    with pytest.raises(InputError, match="1 of 18 requests have no answer"):
        api.audit(f"answers:{path}", quiz, ["knowledge"], tmp_path / "b")


def test_subjects_that_answer_are_listed():
    names = catalogue("subjects")["subjects"]["name"].to_list()
    assert {"chat:INSPECT_MODEL", "inspect-log:FILE", "answers:FILE"} <= set(names)
