"""Finished logs of Inspect: those that chat models leave, and what is said of bad ones."""

import shutil

import pytest

from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.chat_server import Fault, chat_server

REQUESTS = [Request(f"q{place}:en", f"question {place} {'?' * 300}", "en") for place in range(4)]


def reply(prompt, pictures, model):
    if "question 3" in prompt:
        return Fault("bad request")
    if "question 2" in prompt:
        return Fault("filtered", "no")
    return f"{model}: {prompt[:10]}"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Logs of model a about all four requests, the last of which failed, and of model b about two of them."""
    folder = tmp_path_factory.mktemp("logs")
    with chat_server(reply) as server:
        with pytest.raises(InputError, match="1 of 4 requests failed"):
            load_subject(server.subject("a", f"logs={folder / 'a'}")).ask(REQUESTS)
        load_subject(server.subject("b", f"logs={folder / 'b'}")).ask(REQUESTS[:2])
    return folder


def only(folder):
    (path,) = folder.glob("*.eval")
    return path


def test_a_log_answers_as_the_model_did(logs):
    subject = load_subject(f"inspect-log:{only(logs / 'a')}")
    replies = subject.ask(REQUESTS[2::-1])
    assert [reply.text for reply in replies] == ["no", "a: question 1", "a: question 0"]
    assert [reply.stopped for reply in replies] == ["refused", "stop", "stop"]
    assert replies[1].output_tokens == 4
    assert "log of openai-api/loopback/a, task equiview" in subject.about
    assert subject.looks_up


def test_a_log_as_json_answers_alike(logs, tmp_path):
    from inspect_ai.log import read_eval_log, write_eval_log

    write_eval_log(read_eval_log(str(only(logs / "a"))), str(tmp_path / "a.json"))
    replies = load_subject(f"inspect-log:{tmp_path / 'a.json'}").ask(REQUESTS[:3])
    assert replies == load_subject(f"inspect-log:{only(logs / 'a')}").ask(REQUESTS[:3])


def test_what_failed_has_no_answer_until_a_later_log_has_one(logs, tmp_path):
    shutil.copytree(logs / "a", tmp_path / "both")
    with pytest.raises(
        InputError, match=r"log of openai-api/loopback/a.*1 of 4 requests have no answer.*'q3:en'"
    ):
        load_subject(f"inspect-log:{tmp_path / 'both'}").ask(REQUESTS)
    with chat_server(lambda *_: "at last") as server:
        load_subject(server.subject("a", f"logs={tmp_path / 'both'}")).ask(REQUESTS[2:])
    replies = load_subject(f"inspect-log:{tmp_path / 'both'}").ask(REQUESTS)
    assert [reply.text for reply in replies] == ["a: question 0", "a: question 1", "at last", "at last"]


def test_of_logs_begun_in_the_same_second_the_latest_answer_counts(logs, tmp_path):
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(only(logs / "a")))
    write_eval_log(log, str(tmp_path / "z.json"))
    for sample in log.samples:
        sample.completed_at = f"{sample.completed_at[:4]}-12-31T23:59:59.999999+00:00"
        if sample.id == "q0:en":
            sample.output.completion = "on second thoughts"
    write_eval_log(log, str(tmp_path / "a.json"))
    (reply,) = load_subject(f"inspect-log:{tmp_path}").ask(REQUESTS[:1])
    assert reply.text == "on second thoughts"


def test_of_several_models_one_is_chosen(logs):
    with pytest.raises(
        InputError, match=r"logs of 2 models \(openai-api/loopback/a, openai-api/loopback/b\)"
    ):
        load_subject(f"inspect-log:{logs}").ask(REQUESTS[:1])
    chosen = load_subject(f"inspect-log:{logs},model=openai-api/loopback/b")
    assert chosen.ask(REQUESTS[:1])[0].text == "b: question 0"
    with pytest.raises(InputError, match="no log of 'c'; its models are"):
        load_subject(f"inspect-log:{logs},model=c").ask(REQUESTS[:1])


def test_a_log_of_another_task_says_so(logs):
    subject = load_subject(f"inspect-log:{only(logs / 'b')}")
    with pytest.raises(
        InputError, match=r"loopback/b, task equiview: none of the 1 requests.*something else\?"
    ):
        subject.ask([Request("landmark:en:0", "?", "en")])


def test_other_words_are_noticed_and_other_questions_refused(logs, caplog):
    name = f"inspect-log:{only(logs / 'b')}"
    subject = load_subject(name)
    subject.ask(REQUESTS[:2])
    assert not caplog.text
    same = Request("q1:en", "in other words: question 1", "en", question="question 1")
    subject.ask([REQUESTS[0], same])
    assert "1 of 2 samples were asked in other words" in caplog.text
    assert "'q1:en'" in caplog.text
    for other in (
        Request("q1:en", "other words", "en"),
        Request("q1:en", "question 7 ?", "en", question="question 7"),
        Request("q1:en", "question 1: dog", "en", question="question 1", options=("dog",)),
    ):
        with pytest.raises(InputError, match=r"1 of 2 samples were asked something else.*'q1:en'"):
            subject.ask([REQUESTS[0], other])
        assert load_subject(f"{name},prompts=other").ask([REQUESTS[0], other])
    with pytest.raises(InputError, match="prompts is 'any'; expected same or other"):
        load_subject(f"{name},prompts=any")


def test_a_sample_without_input_was_asked_something_else(logs, tmp_path):
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(only(logs / "a")))
    log.samples[0].input = []
    write_eval_log(log, str(tmp_path / "a.json"))
    with pytest.raises(InputError, match="1 of 4 samples were asked something else"):
        load_subject(f"inspect-log:{tmp_path}").ask(REQUESTS)


def test_the_fingerprint_is_of_the_content(logs, tmp_path):
    copy = shutil.copy(only(logs / "a"), tmp_path)
    subjects = [load_subject(f"inspect-log:{path}") for path in (only(logs / "a"), copy, only(logs / "b"))]
    first, again, other = (subject.fingerprint for subject in subjects)
    assert first == again != other


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.eval", None, "cut.eval: cannot be read as a log of Inspect"),
        ("no.eval", b"no log", "no.eval: cannot be read as a log of Inspect"),
        ("no.json", b'{"a": 1}', "no.json: cannot be read as a log of Inspect"),
        ("cut.json", b'{"version": 2, "ev', "cut.json: cannot be read as a log of Inspect"),
        ("log.txt", b"text", "log.txt: is not a log of Inspect; they end in .eval or .json"),
    ],
)
def test_a_file_that_is_no_log_is_said(logs, tmp_path, name, content, message):
    path = only(logs / "a")
    (tmp_path / name).write_bytes(path.read_bytes()[:2000] if content is None else content)
    with pytest.raises(InputError, match=message) as error:
        load_subject(f"inspect-log:{tmp_path / name}").ask(REQUESTS)
    assert "\n" not in str(error.value)


def test_no_log_is_said(tmp_path):
    with pytest.raises(InputError, match="needs a file or a folder"):
        load_subject("inspect-log:")
    with pytest.raises(InputError, match="holds no log of Inspect"):
        load_subject(f"inspect-log:{tmp_path}").ask(REQUESTS)
    with pytest.raises(InputError, match="no such file"):
        load_subject(f"inspect-log:{tmp_path / 'none.eval'}").ask(REQUESTS)
