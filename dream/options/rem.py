"""How the diary tells what recall keeps coming back to."""

from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


class Narrator(StrEnum):
    """Who finds the themes of a thematic summary."""

    MODEL = "model"
    """The model, in one call a day at most; arithmetic where there is no model."""
    ARITHMETIC = "arithmetic"
    """Arithmetic alone: concepts that many of the recalled entries share."""


class RemOptions(Options):
    """How the diary tells what recall keeps coming back to."""

    section: ClassVar[str] = "dreaming.rem"
    """What its fields are called after in errors."""

    narrator: Narrator = Narrator.MODEL
    """Who finds the themes: `model` (one call a day at most, none without a model) or `arithmetic`."""
    lookback: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Entries recalled within so long are looked at."""
    limit: int = Field(default=10, ge=0)
    """So many themes are told at most; 0 tells nothing, and asks nobody."""
    min_pattern_strength: float = Field(default=0.75, ge=0.0, le=1.0)
    """Twice the share of entries that a concept must have to be a theme (arithmetic alone)."""
    max_entries: int = Field(default=60, ge=2, le=500)
    """So many entries are looked at or shown to the model, first those that no summary told, then the most recalled."""
