"""Defines what a host may tune of the calls to the model: their size and cost, how answers are verified, what waits."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar, Final, Self

from pydantic import Field

from agentcore.hosting.options import Options


class ModelProfile(StrEnum):
    """What size of model the other options of a model are for, where they are not given."""

    LARGE = "large"
    """A context of 16,000 tokens or more."""
    SMALL = "small"
    """A context of 8,192 tokens, prompt and answer together, whatever the tokenizer."""


_SMALL: Final[dict[str, Any]] = {"prompt_tokens": 1_500, "answer_tokens": 1_800, "calls_in_flight": 2}
_USUAL: Final[Mapping[str, dict[str, Any]]] = {ModelProfile.SMALL: _SMALL}


class ModelOptions(Options):
    """What dreams may ask of the model."""

    section: ClassVar[str] = "dreaming.model"
    """What its fields are called after in errors."""

    profile: ModelProfile = ModelProfile.LARGE
    """What size of model the options below are for, where they are not given themselves."""

    name: str | None = Field(default=None, min_length=1, max_length=256)
    """The model that dreams ask, as its server spells it; None for what the host's client is told to ask."""
    calls_in_flight: int = Field(default=8, ge=1, le=64)
    """Calls made at once, over all the dreams of a host."""
    prompt_tokens: int = Field(default=10_000, ge=500)
    """The longest prompt, directives aside; what is more goes into another call."""
    answer_tokens: int = Field(default=6_000, ge=100)
    """The longest answer asked for."""
    max_rounds: int = Field(default=4, ge=1, le=20)
    """Rounds of one exchange at most: the question, lookups, a repair; second readings come on top."""
    verifier: str | None = Field(default=None, min_length=1)
    """The model that reads a second time; None for the one that writes."""
    tokens_per_run: int | None = Field(default=500_000, ge=0)
    """Tokens one run may cost, failed calls included; it ends as partial before it would cost more. None: no bound."""
    tokens_per_day: int | None = Field(default=2_000_000, ge=0)
    """Tokens all runs of a scope may cost in a day (UTC), failed calls included. None: no bound."""
    calls_per_day: int | None = Field(default=None, ge=0)
    """Calls all runs of a scope may make in a day (UTC), failed ones included. None: no bound."""
    host_tokens_per_day: int | None = Field(default=None, ge=0)
    """Tokens the dreams of all scopes together may cost in a day (UTC). None: no bound."""
    host_calls_per_day: int | None = Field(default=None, ge=0)
    """Calls the dreams of all scopes together may make in a day (UTC). None: no bound."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**(_USUAL.get(values.get("profile", ""), {}) | values))

    def replace(self, **changes: object) -> Self:
        """Return a checked copy with other values in some fields; what is usual for a profile goes with it."""
        if changes.get("profile", self.profile) == self.profile:
            return super().replace(**changes)
        usual = {name: type(self).model_fields[name].default for name in _SMALL} | _USUAL.get(self.profile, {})
        own = {name: value for name, value in dict(self).items() if name not in usual or value != usual[name]}
        return type(self)(**(own | changes)).having_said(self.model_fields_set | changes.keys() | _SMALL.keys())


class VerificationMode(StrEnum):
    """What becomes of a text of the model's that its evidence neither proves to the letter nor refutes."""

    STRICT = "strict"
    """It waits for a person."""
    VERIFIED = "verified"
    """It is read a second time, and taken if the second reading finds all of it in the evidence."""
    OFF = "off"
    """It is not taken; what was said is kept word for word in its place."""


class WaitingOptions(Options):
    """How long an exchange with the model waits that could not be ended, such as for a verification."""

    section: ClassVar[str] = "dreaming.waiting"
    """What its fields are called after in errors."""

    runs: int = Field(default=3, ge=1)
    """So many runs take it up at most; then what it was about is looked at anew."""
    within: timedelta = Field(default=timedelta(hours=48), gt=timedelta(0))
    """So long it waits at most. What waits for room alone is paid for and decided, and has no bound."""


class ReviewOptions(Options):
    """How much may wait for a person, and how long."""

    section: ClassVar[str] = "dreaming.review"
    """What its fields are called after in errors."""

    expire_after: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """A proposal that nobody decided for so long is dropped; it is never applied by itself."""
    max_waiting: int | None = Field(default=200, ge=1)
    """Proposals of a scope that wait at once, of all passes together. None: no bound."""
    per_day: int | None = Field(default=50, ge=1)
    """Proposals made for a scope in a day (UTC), of all passes together. None: no bound."""
