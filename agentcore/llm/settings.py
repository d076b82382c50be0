"""Reads which model to ask and how: given outright, from the environment or from `agentcore.toml`."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from agentcore.errors import InvalidOptionsError
from agentcore.llm.chat import ModelTier
from agentcore.llm.embedding import OF_VECTORS
from agentcore.llm.settings_file import FILE_NAME, read_section

SECTION = "llm"
"""Its table that holds these options."""
EMBEDDINGS_SECTION = "embeddings"
"""Its table that says which embedding model to ask."""
OPENAI_URL = "https://api.openai.com/v1"

_LONGEST = timedelta(days=1)
_MOST_BYTES = 1 << 30


class EndpointUse(StrEnum):
    """Who else the model's server works for."""

    DEDICATED = "dedicated"
    """Calls do not slow each other down: a call in flight finishes though a person's turn begins."""
    SHARED = "shared"
    """One machine serves dreams and people, such as a local model: a call in flight makes room."""


def _seconds(value: object) -> object:
    """Read a bare number, as the environment spells it, as seconds."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


_Duration = Annotated[timedelta, BeforeValidator(_seconds)]


class ChatOptions(BaseModel):
    """Which model to ask, and how; frozen. `from_environment` reads what is not given outright.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value.
        ExceptionGroup: several are; one `InvalidOptionsError` for each.

    Example:
        >>> ChatOptions(model="qwen3:8b", base_url="http://localhost:11434/v1").timeout.total_seconds()
        300.0
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)

    section: ClassVar[str] = SECTION
    """What its fields are called after in errors."""

    model: str = Field(min_length=1, max_length=256)
    """The model's name, as its server spells it. Environment: AGENTCORE_MODEL."""
    dream_model: str | None = Field(default=None, min_length=1, max_length=256)
    """The model of the tier `dreaming`, which dreams ask; None for the same. Environment: AGENTCORE_DREAM_MODEL."""
    base_url: str = OPENAI_URL
    """Address of an OpenAI-compatible server, usually up to `/v1`. Environment: OPENAI_BASE_URL."""
    api_key: SecretStr | None = None
    """The key; None where the server wants none. Environment: OPENAI_API_KEY."""
    timeout: _Duration = Field(default=timedelta(minutes=5), gt=timedelta(), le=_LONGEST)
    """The time one try has for its whole answer, in seconds. Environment: AGENTCORE_TIMEOUT."""
    retries: int = Field(default=3, ge=0, le=20)
    """Further tries after one that may do better the next time. Environment: AGENTCORE_RETRIES."""
    retry_wait: _Duration = Field(default=timedelta(seconds=1), ge=timedelta(), le=_LONGEST)
    """Wait before the first further try, in seconds; it doubles each time. Environment: AGENTCORE_RETRY_WAIT."""
    max_retry_wait: _Duration = Field(default=timedelta(minutes=1), ge=timedelta(), le=_LONGEST)
    """Longest wait for a try, in seconds; a server that asks for more is given up. Environment:
    AGENTCORE_MAX_RETRY_WAIT."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Upper bound of what a request may ask for; None for none. Environment: AGENTCORE_MAX_OUTPUT_TOKENS."""
    max_answer_bytes: int = Field(default=4 << 20, ge=1024, le=_MOST_BYTES)
    """Longest answer that is read, in bytes. Environment: AGENTCORE_MAX_ANSWER_BYTES."""
    endpoint: EndpointUse = EndpointUse.DEDICATED
    """Who else the server works for. Environment: AGENTCORE_ENDPOINT."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            refusals = [_refusal(self.section, problem) for problem in error.errors(include_url=False)]
        else:
            return
        # Raised out here, where no chained error can show what was given as a key.
        raise refusals[0] if len(refusals) == 1 else ExceptionGroup("Several options are not possible", refusals)

    @field_validator("base_url")
    @classmethod
    def _is_plain_address(cls, value: str) -> str:
        parts = urlsplit(value.strip())
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("give an http or https address, such as http://localhost:11434/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("leave out user, password, query and fragment; the key goes into OPENAI_API_KEY")
        return value.strip().rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value().strip() if value else ""
        if not (key.isascii() and key.isprintable()):
            raise ValueError("give a key of printable ASCII characters")
        return SecretStr(key) if key else None

    def model_of(self, tier: ModelTier) -> str:
        """Return which model a call of that tier asks.

        Example:
            >>> ChatOptions(model="large", dream_model="small").model_of(ModelTier.DREAMING)
            'small'
        """
        return self.dream_model or self.model if tier is ModelTier.DREAMING else self.model

    def without_key(self, text: str) -> str:
        """Return *text* with the key blotted out, should a server have echoed it."""
        return text.replace(self.api_key.get_secret_value(), "(key)") if self.api_key else text


class EmbedderOptions(ChatOptions):
    """Which embedding model to ask, and how; frozen. What concerns the answers of a chat is not used.

    Its variables begin with AGENTCORE_EMBEDDINGS_, as in AGENTCORE_EMBEDDINGS_MODEL, and its table is `[embeddings]`.

    Example:
        >>> EmbedderOptions(model="nomic-embed-text", base_url="http://localhost:11434/v1").model
        'nomic-embed-text'
    """

    section: ClassVar[str] = EMBEDDINGS_SECTION


class _ChatEnvironment(BaseSettings):
    """The variables as they stand; `ChatOptions` reads their values."""

    model_config = SettingsConfigDict(env_prefix="AGENTCORE_", env_ignore_empty=True, extra="ignore")

    model: str | None = None
    dream_model: str | None = None
    base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    timeout: str | None = None
    retries: str | None = None
    retry_wait: str | None = None
    max_retry_wait: str | None = None
    max_output_tokens: str | None = None
    max_answer_bytes: str | None = None
    endpoint: str | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment alone."""
        _ = settings_cls, init_settings, dotenv_settings, file_secret_settings
        return (env_settings,)


class _EmbedderEnvironment(_ChatEnvironment):
    """The same of the embedding model, which has an address and a key of its own."""

    model_config = SettingsConfigDict(env_prefix="AGENTCORE_EMBEDDINGS_", env_ignore_empty=True, extra="ignore")

    base_url: str | None = None
    api_key: SecretStr | None = None


def from_environment(data_dir: str | Path | None = None, **explicit: object) -> ChatOptions | None:
    """Return what is configured; None if nothing names a model.

    A value given here wins over the environment, and that over `agentcore.toml`. `dream_model` stands in for a
    missing `model`. An empty variable counts as unset.

    Args:
        data_dir: The folder with `agentcore.toml`, which need not exist; None for the environment alone.
        explicit: Options by name.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
        ExceptionGroup: several are.
    """
    written = {} if data_dir is None else read_section(Path(data_dir).expanduser() / FILE_NAME, SECTION)
    values = written | _ChatEnvironment().model_dump(exclude_unset=True) | explicit
    values.setdefault("model", values.get("dream_model"))
    # A mistake is told without a model, too.
    read = ChatOptions(**{**values, "model": "none" if values["model"] is None else values["model"]})
    return None if values["model"] is None else read


def embedder_from_environment(data_dir: str | Path | None = None, **explicit: object) -> EmbedderOptions | None:
    """Return which embedding model is configured; None if nothing names one.

    Values come from where `from_environment` takes them, by the names that `EmbedderOptions` tells. Without an address
    of its own it is asked where the chat model is, with that one's key; another address never gets that key.

    Args:
        data_dir: The folder with `agentcore.toml`, which need not exist; None for the environment alone.
        explicit: Options by name.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
        ExceptionGroup: several are.
    """
    path = None if data_dir is None else Path(data_dir).expanduser() / FILE_NAME
    section = {} if path is None else read_section(path, EMBEDDINGS_SECTION)
    written = {name: value for name, value in section.items() if name not in OF_VECTORS}
    values: dict[str, Any] = written | _EmbedderEnvironment().model_dump(exclude_unset=True) | explicit
    if values.get("model") is None:
        return None
    if values.get("base_url") is None:
        chat = ({} if path is None else read_section(path, SECTION)) | _ChatEnvironment().model_dump(exclude_unset=True)
        values = {name: chat[name] for name in ("base_url", "api_key") if name in chat} | values
    return EmbedderOptions(**values)


def _refusal(section: str, problem: Mapping[str, Any]) -> InvalidOptionsError:
    name = str(problem["loc"][0]) if problem["loc"] else ""
    message: str = str(problem.get("ctx", {}).get("error") or problem["msg"])
    allowed = message[:1].lower() + message[1:]
    value = problem["input"]
    if problem["type"] == "extra_forbidden":
        allowed = f"there is none of that name; the options are {', '.join(sorted(ChatOptions.model_fields))}"
    if problem["type"].startswith("time_delta"):
        allowed = "write a time in seconds, such as 300"
    if problem["type"] == "missing":
        value = None
    # Only these few are surely no secret: a key may stand under a misspelt name or inside an address.
    shown = value if name in _SHOWN else _Hidden()
    return InvalidOptionsError(field=f"{section}.{name}", value=shown, allowed=allowed)


_SHOWN = frozenset(ChatOptions.model_fields) - {"api_key", "base_url"}


class _Hidden:
    def __repr__(self) -> str:
        return "(not shown)"
