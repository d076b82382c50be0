"""What dreams may ask of the model."""

from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


class ModelOptions(Options):
    """What dreams may ask of the model."""

    section: ClassVar[str] = "dreaming.model"
    """What its fields are called after in errors."""

    calls_in_flight: int = Field(default=8, ge=1, le=64)
    """Calls made at once, over all the dreams of a host."""
    prompt_tokens: int = Field(default=6_000, ge=500)
    """The longest prompt, directives aside; what is more goes into another call."""
    answer_tokens: int = Field(default=4_000, ge=100)
    """The longest answer asked for."""
    max_rounds: int = Field(default=4, ge=1, le=20)
    """Rounds of one exchange at most: the question, lookups, a repair, a second reading."""
    tokens_per_run: int | None = Field(default=500_000, ge=0)
    """Tokens one run may cost, failed calls included; it ends as partial before it would cost more. None: no bound."""
    tokens_per_day: int | None = Field(default=2_000_000, ge=0)
    """Tokens all runs of a scope may cost in a day (UTC), failed calls included. None: no bound."""
