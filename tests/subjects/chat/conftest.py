"""Nothing that a service's faults make Inspect or OpenAI's client wait for is waited for."""

import pytest


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow at once, as many as ever."""
    import openai._base_client
    from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
    from tenacity import wait_none

    monkeypatch.setattr(OpenAICompatibleAPI, "retry_wait", lambda self: wait_none(), raising=False)
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr(openai._base_client, "MAX_RETRY_DELAY", 0.0)


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("INSPECT_LOG_DIR", raising=False)
