from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from agentcore.errors import InvalidOptionsError
from agentcore.llm import ChatOptions, EndpointUse, ModelTier, from_environment

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"AGENTCORE_{name.upper()}" for name in ChatOptions.model_fields]
    for name in (*names, "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def write(folder: Path, text: str | bytes) -> Path:
    (folder / "agentcore.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_nothing_configured_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AGENTCORE_MODEL", "")
    assert from_environment() is None
    assert from_environment(tmp_path / "missing") is None
    assert from_environment(write(tmp_path, "[memory]\nfloor = 0.2\n")) is None
    assert from_environment(write(tmp_path, "[llm]\nretries = 1\n")) is None


def test_every_option_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    values = {
        "AGENTCORE_MODEL": "tiny",
        "AGENTCORE_DREAM_MODEL": "large",
        "OPENAI_BASE_URL": "http://localhost:11434/v1/",
        "OPENAI_API_KEY": f" {KEY} ",
        "AGENTCORE_TIMEOUT": "90",
        "AGENTCORE_RETRIES": "5",
        "AGENTCORE_RETRY_WAIT": "0.5",
        "AGENTCORE_MAX_RETRY_WAIT": "30",
        "AGENTCORE_MAX_OUTPUT_TOKENS": "2000",
        "AGENTCORE_MAX_ANSWER_BYTES": "100000",
        "AGENTCORE_ENDPOINT": "shared",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert from_environment() == ChatOptions(
        model="tiny",
        dream_model="large",
        base_url="http://localhost:11434/v1",
        api_key=SecretStr(KEY),
        timeout=timedelta(seconds=90),
        retries=5,
        retry_wait=timedelta(seconds=0.5),
        max_retry_wait=timedelta(seconds=30),
        max_output_tokens=2000,
        max_answer_bytes=100_000,
        endpoint=EndpointUse.SHARED,
    )
    assert len(values) == len(ChatOptions.model_fields)


def test_an_argument_wins_over_the_environment_and_that_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write(tmp_path, '[llm]\nmodel = "file"\ndream_model = "file"\nretries = 1\ntimeout = 10\n')
    monkeypatch.setenv("AGENTCORE_MODEL", "environment")
    monkeypatch.setenv("AGENTCORE_RETRIES", "2")
    monkeypatch.setenv("AGENTCORE_TIMEOUT", "")
    options = from_environment(folder, retries=3)
    assert options is not None
    assert (options.model, options.dream_model, options.retries) == ("environment", "file", 3)
    assert options.timeout == timedelta(seconds=10)


def test_dreams_ask_the_dream_model_and_without_one_the_model():
    both, one = ChatOptions(model="a", dream_model="b"), ChatOptions(model="a")
    assert [both.model_of(tier) for tier in (ModelTier.DREAMING, ModelTier.DEFAULT)] == ["b", "a"]
    assert {one.model_of(tier) for tier in ModelTier} == {"a"}


def test_a_dream_model_alone_is_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTCORE_DREAM_MODEL", "large")
    options = from_environment()
    assert options is not None
    assert options.model == "large"


def test_options_given_outright_ignore_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    options = ChatOptions(model="tiny")
    assert (options.base_url, options.api_key) == ("https://api.openai.com/v1", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", "soon"), ("timeout", "0"), ("timeout", "-1"), ("timeout", "nan"), ("timeout", "inf"),
        ("retries", "-1"), ("retries", "many"), ("retries", "21"), ("retry_wait", "-1"),
        ("max_output_tokens", "0"), ("max_answer_bytes", "10"), ("endpoint", "mine"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv("AGENTCORE_MODEL", "tiny")
    monkeypatch.setenv(f"AGENTCORE_{name.upper()}", value)
    with pytest.raises(InvalidOptionsError, match=rf"^Option llm\.{name} = .* is not possible: .*\.$"):
        from_environment()


def test_a_time_that_is_none_is_refused_with_how_to_write_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTCORE_MODEL", "tiny")
    monkeypatch.setenv("AGENTCORE_TIMEOUT", "soon")
    with pytest.raises(InvalidOptionsError) as refused:
        from_environment()
    assert str(refused.value) == "Option llm.timeout = 'soon' is not possible: write a time in seconds, such as 300."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[llm\n", "not TOML"),
        (b'[llm]\nmodel = "\xff"\n', "not UTF-8"),
        ("llm = 3\n", r"write a table \[llm\]"),
        ('[llm]\nmodel = "a"\nmodle = "b"\n', "none of that name; the options are .*model"),
        ("[llm]\nmodel = 3\n", "valid string"),
        ('[llm]\nmodel = ""\n', "at least 1 character"),
        ('[llm]\nmodell = "x"\n', "none of that name"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, text: str | bytes, says: str):
    with pytest.raises(InvalidOptionsError, match=says):
        from_environment(write(tmp_path, text))


def test_a_file_that_is_a_folder_is_refused(tmp_path: Path):
    (tmp_path / "agentcore.toml").mkdir()
    with pytest.raises(InvalidOptionsError, match="cannot be read"):
        from_environment(tmp_path)


def test_several_refusals_come_together():
    with pytest.raises(ExceptionGroup) as caught:
        ChatOptions(model="a", retries=-1, timeout="soon")
    assert len(caught.value.exceptions) == 2


@pytest.mark.parametrize(
    "values",
    [
        {"api_key": f"{KEY}\n{KEY}"},
        {"api_key": [KEY]},
        {"base_url": f"https://user:{KEY}@host/v1"},
        {"base_url": f"https://host/v1?key={KEY}"},
        {"base_url": KEY},
        {"apikey": KEY},
    ],
)
def test_a_refusal_never_shows_what_may_be_a_key(values: dict[str, object]):
    with pytest.raises(InvalidOptionsError) as caught:
        ChatOptions(model="tiny", **values)
    assert KEY not in f"{caught.value!s} {caught.value!r}"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_broken_file_never_shows_what_may_be_a_key(tmp_path: Path):
    with pytest.raises(InvalidOptionsError) as caught:
        from_environment(write(tmp_path, f'[llm]\napi_key = "{KEY}\n'))
    assert KEY not in str(caught.value)


def test_the_key_is_in_no_repr_and_no_dump():
    options = ChatOptions(model="tiny", api_key=KEY)
    assert options.api_key is not None
    assert options.api_key.get_secret_value() == KEY
    assert (
        KEY not in f"{options!r} {options} {options.model_dump()} {options.model_dump_json()} {options.model_copy()!r}"
    )
