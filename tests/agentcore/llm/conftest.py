import pytest
from leaping_clock import LeapingClock


@pytest.fixture
def clock() -> LeapingClock:
    return LeapingClock()


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AGENTCORE_MODEL", "AGENTCORE_DREAM_MODEL"):
        monkeypatch.delenv(name, raising=False)
