"""Reads the variables that tell options of dreams."""

from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class _DreamVariables(BaseSettings):
    """The variables as they stand: two underscores lead into a table, as in AGENTCORE_DREAMING__SCHEDULE__ZONE."""

    model_config = SettingsConfigDict(
        env_prefix="AGENTCORE_", env_nested_delimiter="__", env_ignore_empty=True, extra="ignore"
    )

    dreaming: dict[str, Any] = Field(default_factory=dict)

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


def read_variables() -> dict[str, Any]:
    """Return what the variables say, table by table, each value as it is written."""
    return _DreamVariables().dreaming
